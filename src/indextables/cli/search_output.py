"""The results of a search: its words made visible, and notes below them: what was searched, and what would find more."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote

from rich.text import Text

from indextables.cli.terminal_tables import Style
from indextables.read import search_coverage
from indextables.read.scan import Scan
from indextables.read.scan_plan import columns_and_values
from indextables.read.search_suggestions import Suggestion, suggest
from indextables.search.match_spans import MatchSpans
from indextables.search.queries import Not
from indextables.table import IndexTable

_SAMPLE = 10_000  # rows


@contextmanager
def without_warning() -> Iterator[None]:
    """Inside, a search without hits logs no warning: the note below its results says more."""
    logger = logging.getLogger(search_coverage.__name__)
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def no_hits_note(path: str, table: IndexTable, scan: Scan) -> str:
    """For a search without results: its columns, and a search that finds something."""
    searched = f"searched: {columns_and_values(scan.scan_spec.search_columns) or 'no column'}"
    return "\n".join([searched, *_other_search(path, table, scan)])


def _other_search(path: str, table: IndexTable, scan: Scan) -> Iterator[str]:
    miss = suggest(scan.scan_spec, lambda columns: table.scan(columns=columns, limit=_SAMPLE).to_arrow())
    if miss is None:
        return
    if isinstance(miss, Suggestion):
        yield str(miss)
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


_STYLE = "bold yellow"


def highlighter(spans: MatchSpans) -> Style:
    """Highlights the words of a search in a text of a column.

    >>> from indextables.search import FieldRule
    >>> from indextables.search.queries import Prefix, Term
    >>> words = [Term("message", "disk"), Prefix("message", "ful")]
    >>> marked = highlighter(MatchSpans.of(words, {"message": FieldRule("text", "default")}))
    >>> text = marked("message", "Disk nearly full")
    >>> [text.plain[span.start:span.end] for span in text.spans]
    ['Disk', 'full']
    """

    def highlighted(column: str, value: str) -> Text:
        shown = Text(value)
        for start, end in spans.in_value(column, value):
            shown.stylize(_STYLE, start, end)
        return shown

    return highlighted
