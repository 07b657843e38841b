"""Rows as an HTML table: numbers to the right, the words that a search has found marked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

import msgspec
import pyarrow as pa

from indextables.display.markup import Html, element, joined, markup
from indextables.display.panels import NUMBER, TIGHT, WIDE, notebook, table
from indextables.display.plain_values import SCORE, is_number, plain_rows, rounded, scalar_text
from indextables.plural import pluralize
from indextables.search.match_spans import MatchSpans

HIGHLIGHT = "_highlight"
MAX_ROWS = 20


@dataclass(frozen=True, slots=True)
class GridMark:
    """How a notebook shows a table: the words of a search that are marked, its columns, and columns that are left out."""

    spans: MatchSpans | None = None
    searched: str = ""
    hidden: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def from_json(text: bytes) -> "GridMark":
        return msgspec.json.decode(text, type=GridMark)


def marked_grid(rows: pa.Table, mark: bytes) -> str:
    """A table with such a mark, as the output of a cell."""
    known = GridMark.from_json(mark)
    shown = rows.drop_columns([name for name in known.hidden if name in rows.column_names])
    return notebook(grid(shown, spans=known.spans, note="" if len(rows) else no_rows(known.searched)))


def no_rows(searched: str) -> str:
    """Told instead of rows: the columns of a search are its likeliest mistake.

    >>> no_rows("city (exact values)")
    'no rows; searched: city (exact values)'
    """
    return f"no rows; searched: {searched}" if searched else "no rows"


def grid(rows: pa.Table, *, spans: MatchSpans | None = None, note: str = "", most: int = MAX_ROWS) -> Html:
    """The first rows, at most `most`, with the words of a search marked, which `spans` finds.

    A struct column `_highlight`, which has the texts of other columns with their marks, is shown in these.

    >>> shown = grid(pa.table({"n": [1, 2], "message": ["disk full", "<b>"]}), note="2 hits")
    >>> "<td>&lt;b&gt;</td>" in shown, shown.endswith('<div class="dim">2 hits</div>')
    (True, True)
    """
    shown = rows.slice(0, most)
    columns = [field for field in rows.schema if field.name != HIGHLIGHT or not pa.types.is_struct(field.type)]
    values = plain_rows(shown)
    cells = ([_cell(row, column.name, spans) for column in columns] for row in values)
    count = pluralize(len(rows), "row")
    text = note or (count if len(shown) == len(rows) else f"the first {most} of {count}")
    head = [column.name for column in columns]
    return joined([table(head, cells, [_kind(column.type) for column in columns]), element("div", text, class_="dim")])


def _cell(row: Mapping[str, Any], column: str, spans: MatchSpans | None) -> Html:
    value, marked = row[column], row.get(HIGHLIGHT)
    text = marked.get(column) if isinstance(marked, Mapping) and column != HIGHLIGHT else None
    if not isinstance(value, str):
        return cell(rounded(value) if column == SCORE else value)
    if isinstance(text, str):
        return marked_cell(text)
    return spanned_cell(value, spans.in_value(column, value)) if spans else cell(value)


def _kind(kind: pa.DataType) -> str:
    if is_number(kind):
        return NUMBER
    if pa.types.is_nested(kind):
        return WIDE
    return TIGHT if pa.types.is_temporal(kind) else ""


_LONGEST = 400  # characters of a text that are shown
_BEFORE = 80  # of these, before the first mark
_MARKS = ("<em>", "</em>")


def cell(value: Any) -> Html:
    r"""A value as the content of a cell.

    >>> cell(None), cell(0.5), cell("a < b"), cell({"n": [1, 2]})
    ('<span class="dim">null</span>', '0.5', 'a &lt; b', '<span class="dim">n</span> 1, 2')
    """
    match value:
        case None:
            return element("span", "null", class_="dim")
        case Mapping():
            return joined((joined([_name(key), " ", cell(inner)]) for key, inner in value.items()), ", ")
        case [tuple(), *_]:  # what Arrow makes of a map
            return cell(dict(value))
        case list() | tuple():
            return joined(map(cell, value), ", ")
        case _:
            return markup(_cut(scalar_text(value)))


def _name(key: Any) -> Html:
    return element("span", key, class_="dim")


def marked_cell(text: str) -> Html:
    """A text with `<em>` around words: these are marked, and whatever else looks like HTML is text.

    >>> marked_cell("<em>disk</em> is &lt;b&gt; <b>full</b>")
    '<mark>disk</mark> is &lt;b&gt; &lt;b&gt;full&lt;/b&gt;'
    """
    first, *others = text.split(_MARKS[0])
    parts: list[tuple[str, bool]] = [(unescape(first), False)]
    for other in others:
        word, _, rest = other.partition(_MARKS[1])
        parts += [(unescape(word), True), (unescape(rest), False)]
    return _marked(parts)


def spanned_cell(text: str, spans: Iterable[tuple[int, int]]) -> Html:
    """A text whose parts from one position to another are marked.

    >>> spanned_cell("disk is full", [(0, 4), (8, 12)])
    '<mark>disk</mark> is <mark>full</mark>'
    """
    parts: list[tuple[str, bool]] = []
    done = 0
    for start, end in spans:
        parts += [(text[done:start], False), (text[start:end], True)]
        done = end
    return _marked([*parts, (text[done:], False)])


def _marked(parts: Iterable[tuple[str, bool]]) -> Html:
    return joined(element("mark", part) if found else part for part, found in _shortened(parts))


def _shortened(parts: Iterable[tuple[str, bool]]) -> Iterable[tuple[str, bool]]:
    """The parts of a text around its first mark, as many as there is room for."""
    (first, _), *others = parts
    left = _LONGEST
    if others and len(first) > _LONGEST - _BEFORE:
        first = f"…{first[-_BEFORE:]}"
    for part, found in [(first, False), *others]:
        if len(part) > left:
            yield f"{part[:left]}…", found
            return
        left -= len(part)
        yield part, found


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
