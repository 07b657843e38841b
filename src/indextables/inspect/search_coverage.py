"""For a search without hits: a column that has one of its words inside longer values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.read.scan_spec import ScanSpec
from indextables.search.field_rules import STRING
from indextables.search.queries import And, Boost, Or, Phrase, Prefer, Query, Term


@dataclass(frozen=True, slots=True)
class WordInValues:
    """A word, and a column that is indexed as exact values and has the word inside longer ones."""

    column: str
    word: str


def word_inside_values(spec: ScanSpec, sample: Callable[[Sequence[str]], pa.Table]) -> WordInValues | None:
    """The first column whose values contain a word of the searches; `sample` gives some rows of columns."""
    words = [word for query in spec.queries.values() for word in _words(query)]
    columns = [name for name, rule in spec.rules.items() if rule.type == STRING]
    if not words or not columns:
        return None
    rows = sample(columns)
    found = (WordInValues(name, word) for name in columns for word in words if _contains(rows[name], word))
    return next(found, None)


def _contains(values: pa.ChunkedArray, word: str) -> bool:
    return bool(pc.any(pc.match_substring(values, word, ignore_case=True)).as_py())


def _words(query: Query) -> Iterator[str]:
    """The words that rows have to contain."""
    match query:
        case And(terms) | Or(terms):
            for term in terms:
                yield from _words(term)
        case Boost(term) | Prefer(term, _):
            yield from _words(term)
        case Term(_, str() as text):
            yield text
        case Phrase(_, texts):
            yield from texts
        case _:
            return
