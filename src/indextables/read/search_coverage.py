"""What a search misses because a column is indexed by exact values.

After a search without hits: a column that has its words, in other letter case or inside longer values (`near_miss`), for
the shell and the search page. Before that, from the log alone: words that are searched in a column whose values have
several words (`exact_words`), for a warning in Python and Spark, and for `explain`.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.splits import statistic
from indextables.predicate.sql_text import name_sql
from indextables.read.scan_spec import ScanSpec
from indextables.search.exact_values import matches
from indextables.search.field_queries import wildcard_literal
from indextables.search.field_rules import STRING, TEXT
from indextables.search.queries import And, Boost, Leaf, Not, Or, Phrase, Prefer, Query, Term, Wildcard
from indextables.search.text_choice import ranked_as_text
from indextables.search.to_lucene import to_text

logger = logging.getLogger(__name__)
_SEVERAL_WORDS = r"\S\s+\S"
_MOST = 0.5  # of the bounds of a column


@dataclass(frozen=True, slots=True)
class ExactWord:
    """A word that is searched in a column of exact values which have several words, most of them.

    >>> print(ExactWord("message", "disk"))
    message is indexed by exact values, so 'disk' finds only rows whose whole value it is
    """

    column: str
    word: str

    def __str__(self) -> str:
        return f"{self.column} is indexed by exact values, so {self.word!r} finds only rows whose whole value it is"


def exact_words(spec: ScanSpec, splits: pa.Table) -> list[ExactWord]:
    """The words that rows have to contain, in columns of exact values whose bounds in the log have several words."""
    terms = [term for query in spec.queries.values() for term in _terms(query)]
    words = (term for term in terms if isinstance(term, Term) and not re.search(r"\s", term.text))
    found = dict.fromkeys(ExactWord(t.field, t.text) for t in words if spec.rules[t.field].type == STRING)
    return [one for one in found if _has_several_words(one.column, splits)]


def _has_several_words(column: str, splits: pa.Table) -> bool:
    bounds = [known.drop_null() for end in ("min", "max") if (known := statistic(splits, end, column)) is not None]
    share = [pc.mean(pc.match_substring_regex(values, _SEVERAL_WORDS)).as_py() for values in bounds if len(values)]
    return bool(share) and sum(share) / len(share) >= _MOST


def never_finds(word: ExactWord, rows: pa.Table) -> bool:
    """Whether a search for a word finds none of some rows, for which they have a reason.

    All values of the column have several words, or some have the word inside.
    """
    values = rows[word.column].drop_null()
    if not len(values) or matches(Term(word.column, word.word), values).any():
        return False
    all_have_several = pc.all(pc.match_substring_regex(values, _SEVERAL_WORDS)).as_py()
    return bool(all_have_several or pc.any(pc.match_substring(values, word.word, ignore_case=True)).as_py())


def warn_of_exact_words(words: Sequence[ExactWord], table: str, *, in_sql: bool = False) -> None:
    """Logs one warning for a search, with the statements that let it find words; they are SQL for users of Spark."""
    if not words:
        return
    columns = dict.fromkeys(word.column for word in words)
    if in_sql:
        rules, name = ", ".join(f"{name_sql(column)} = text" for column in columns), f"indextables.`{table}`"
        how = f"ALTER TABLE {name} SET INDEXING ({rules}), then REINDEX TABLE {name}"
    else:
        how = f"table.set_indexing({dict.fromkeys(columns, TEXT)}), then table.reindex()"
    logger.warning("a search of %s finds no words: %s; to search by words: %s", table, "; ".join(map(str, words)), how)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A word of a search, and a column of exact values that has it: `found` is the word in the letter case of the column.

    >>> NearMiss("level", "error", "ERROR", is_whole=True).query, NearMiss("host", "web", "web", is_whole=False).query
    ('level:ERROR', 'host:*web*')
    """

    column: str
    word: str
    found: str
    is_whole: bool  # it is a value, not a part of longer ones

    @property
    def query(self) -> str:
        """A search that finds it."""
        return to_text(self.leaf)

    @property
    def leaf(self) -> Term | Wildcard:
        if self.is_whole:
            return Term(self.column, self.found)
        return Wildcard(self.column, f"*{wildcard_literal(self.found)}*")


def near_miss(spec: ScanSpec, sample: Callable[[Sequence[str]], pa.Table]) -> NearMiss | None:
    """The first column whose values have a word of the searches; `sample` gives some rows of columns."""
    terms = [term for query in spec.queries.values() for term in _terms(query)]
    columns = [name for name, rule in spec.rules.items() if rule.type == STRING]
    if not terms or not columns:
        return None
    rows = sample(columns)
    return next(
        (miss for name in ranked_as_text(rows) for term in terms if (miss := _in_column(name, term, rows))), None
    )


def _in_column(column: str, term: Term | Phrase, rows: pa.Table) -> NearMiss | None:
    """How a column has a word; None if it has not, or if the search has found it or looked for it in another column."""
    values = rows[column]
    if term.field != column and term.field in rows.column_names:
        return None
    if isinstance(term, Phrase):
        return next(_of_phrase(column, term.words, values), None)
    if matches(Term(column, term.text), values).any():
        return None if term.field == column else NearMiss(column, term.text, term.text, is_whole=True)
    candidates = (*_whole(column, term.text, values), *_inside(column, term.text, values))
    return next((miss for miss in candidates if matches(miss.leaf, values).any()), None)


def _whole(column: str, word: str, values: pa.ChunkedArray) -> Iterator[NearMiss]:
    same = values.filter(pc.equal(pc.utf8_lower(values), word.lower()))
    if len(same):
        yield NearMiss(column, word, same[0].as_py(), is_whole=True)


def _inside(column: str, word: str, values: pa.ChunkedArray) -> Iterator[NearMiss]:
    """The word as it is, if some values contain it so; else as the first value has it."""
    yield NearMiss(column, word, word, is_whole=False)
    longer = values.filter(pc.match_substring(values, word, ignore_case=True))
    if len(longer) and (found := re.search(re.escape(word), longer[0].as_py(), re.IGNORECASE)):
        yield NearMiss(column, word, found[0], is_whole=False)


def _of_phrase(column: str, words: Sequence[str], values: pa.ChunkedArray) -> Iterator[NearMiss]:
    """The words of a phrase as values have them, one after the other: `10.2.61.170` is four words of a text column."""
    separated = r"[^\pL\pN]+".join(map(re.escape, words))
    found = pc.struct_field(pc.extract_regex(values, f"(?i)(?P<found>{separated})"), "found")
    for is_whole, texts in ((True, found.filter(pc.equal(found, values))), (False, found.drop_null())):
        for text in texts.slice(0, 1).to_pylist():
            yield NearMiss(column, text, text, is_whole=is_whole)


def _terms(query: Query) -> list[Term | Phrase]:
    """The words that rows have to contain, with the columns that they were searched in."""
    return [leaf for leaf in positive_leaves(query) if isinstance(leaf, Term | Phrase)]


def positive_leaves(query: Query) -> Iterator[Leaf]:
    """What rows have to contain, all of it or some."""
    match query:
        case And(terms) | Or(terms):
            for term in terms:
                yield from positive_leaves(term)
        case Boost(term) | Prefer(term, _):
            yield from positive_leaves(term)
        case Not() | Term(text=""):
            return
        case _:
            yield query
