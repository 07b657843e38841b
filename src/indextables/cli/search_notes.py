"""Notes below the results of a search: what was searched, and what would find more."""

from collections.abc import Iterator
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from indextables.read.scan import Scan
from indextables.read.scan_plan import columns_and_values
from indextables.search.field_rules import STRING
from indextables.search.queries import And, Boost, Not, Or, Phrase, Prefer, Query, Term
from indextables.table import IndexTable

_SAMPLE = 10_000  # rows


def no_hits_note(path: str, table: IndexTable, scan: Scan) -> str:
    """For a search without results: its columns, and those that have the words inside longer values."""
    searched = f"searched: {columns_and_values(scan.scan_spec.search_columns) or 'no column'}"
    return "\n".join([searched, *_exact_columns_hint(path, table, scan)])


def _exact_columns_hint(path: str, table: IndexTable, scan: Scan) -> Iterator[str]:
    words = [word for query in scan.scan_spec.queries.values() for word in _words(query)]
    columns = [name for name, rule in table.fields.items() if rule.type == STRING]
    if not words or not columns:
        return
    sample = table.scan(columns=columns, limit=_SAMPLE).to_arrow()
    held = {name: word for name in columns for word in words if _contains(sample[name], word)}
    for name, word in held.items():
        yield f"{name} has {word!r} inside longer values, but is indexed as exact values:"
        yield f"  to find values that contain it, search for {name}:*{word}*"
        yield "  to search its words:"
        yield f"    indextables set-indexing {quote(path)} {quote(f'{name}=text')}"
        yield f"    indextables reindex {quote(path)}"
        return  # one column shows how


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


def negation_note(scan: Scan, text: str) -> str | None:
    """For a search such as `-1`, which finds all rows without `1`."""
    negated = [query for query in scan.scan_spec.queries.values() if isinstance(query, Not)]
    if not negated or not text.startswith("-"):
        return None
    return f"{text} means NOT {text[1:]}: all rows without it; to search for {text} itself, quote it: '\"{text}\"'"
