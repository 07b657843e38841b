"""For a search without hits: a column of exact values that has its words, in other letter case or inside longer values."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.read.scan_spec import ScanSpec
from indextables.search.exact_values import matches
from indextables.search.field_rules import STRING
from indextables.search.queries import And, Boost, Or, Phrase, Prefer, Query, Term, Wildcard
from indextables.search.text_choice import ranked_as_text
from indextables.search.to_lucene import to_text


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
        return Wildcard(self.column, "*" + re.sub(r"([*?\\])", r"\\\1", self.found) + "*")


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


def _terms(query: Query) -> Iterator[Term | Phrase]:
    """The words that rows have to contain, with the columns that they were searched in."""
    match query:
        case And(terms) | Or(terms):
            for term in terms:
                yield from _terms(term)
        case Boost(term) | Prefer(term, _):
            yield from _terms(term)
        case Phrase():
            yield query
        case Term() if query.text:
            yield query
        case _:
            return
