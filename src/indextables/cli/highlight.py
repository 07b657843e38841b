"""The words of a search, made visible in its results."""

from collections.abc import Iterable, Mapping

from rich.text import Text

from indextables.search import FieldRule
from indextables.search.match_spans import MatchSpans
from indextables.search.queries import Query

_STYLE = "bold yellow"


class Highlighter:
    """Highlights the words of a search.

    >>> from indextables.search.queries import Prefix, Term
    >>> marked = Highlighter([Term("message", "disk"), Prefix("message", "ful")], {"message": FieldRule("text", "default")})
    >>> text = marked("message", "Disk nearly full")
    >>> [text.plain[span.start:span.end] for span in text.spans]
    ['Disk', 'full']
    """

    def __init__(self, queries: Iterable[Query], rules: Mapping[str, FieldRule]) -> None:
        self._spans = MatchSpans.of(queries, rules)

    def __call__(self, column: str, value: str) -> Text:
        shown = Text(value)
        for start, end in self._spans.in_value(column, value):
            shown.stylize(_STYLE, start, end)
        return shown
