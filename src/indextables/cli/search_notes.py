"""Notes below the results of a search: what was searched, and what would find more."""

from collections.abc import Iterator
from shlex import quote

from indextables.inspect.search_coverage import near_miss
from indextables.read.scan import Scan
from indextables.read.scan_plan import columns_and_values
from indextables.search.queries import Not
from indextables.table import IndexTable

_SAMPLE = 10_000  # rows


def no_hits_note(path: str, table: IndexTable, scan: Scan) -> str:
    """For a search without results: its columns, and one that has its words in other letter case or inside values."""
    searched = f"searched: {columns_and_values(scan.scan_spec.search_columns) or 'no column'}"
    return "\n".join([searched, *_exact_columns_hint(path, table, scan)])


def _exact_columns_hint(path: str, table: IndexTable, scan: Scan) -> Iterator[str]:
    miss = near_miss(scan.scan_spec, lambda columns: table.scan(columns=columns, limit=_SAMPLE).to_arrow())
    if miss is None:
        return
    if miss.is_whole:
        yield f"did you mean {miss.query}?{'' if miss.found == miss.word else ' exact values are case-sensitive'}"
        return
    yield f"{miss.column} has {miss.found!r} inside longer values, but is indexed as exact values:"
    yield f"  to find values that contain it, search for {miss.query}"
    yield "  to search its words:"
    yield f"    indextables set-indexing {quote(path)} {quote(f'{miss.column}=text')}"
    yield f"    indextables reindex {quote(path)}"


def negation_note(scan: Scan, text: str) -> str | None:
    """For a search such as `-1`, which finds all rows without `1`."""
    negated = [query for query in scan.scan_spec.queries.values() if isinstance(query, Not)]
    if not negated or not text.startswith("-"):
        return None
    return f"{text} means NOT {text[1:]}: all rows without it; to search for {text} itself, quote it: '\"{text}\"'"
