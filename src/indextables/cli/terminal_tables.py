"""Aligned tables for a terminal."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indextables.display.plain_values import SCORE, is_number, plain_rows, printable, rounded, scalar_text
from indextables.plural import pluralize

_GAP = 2  # between columns
_LEAST = 20  # a column of strings is folded to this width, and not further
Style = Callable[[str, str], Text]
"""The style of a text in a column."""


def draw_rows(rows: pa.Table, style: Style | None, note: str) -> None:
    """Draws rows as a table, or where the terminal is too narrow for one, each row as lines of names and values."""
    console = _console()
    cells = [[_cell(name, value, style) for name, value in row.items()] for row in plain_rows(rows)]
    draw = _draw_table if _least_width(rows.schema, cells) <= console.width else _draw_records
    draw(console, rows.schema, cells)
    console.print(note or pluralize(len(rows), "row"), style="dim")


def _draw_table(console: Console, schema: pa.Schema, cells: list[list[Text]]) -> None:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for field in schema:
        is_text = _is_text(field.type)
        justify: Any = "right" if is_number(field.type) else "left"
        shown.add_column(field.name, justify=justify, overflow="fold", no_wrap=not is_text)
    for row in cells:
        shown.add_row(*row)
    console.print(shown)


def _draw_records(console: Console, schema: pa.Schema, cells: list[list[Text]]) -> None:
    for row in cells:
        shown = Table(box=None, pad_edge=False, show_header=False)
        shown.add_column(style="bold", no_wrap=True)
        shown.add_column(overflow="fold")
        for name, cell in zip(schema.names, row, strict=True):
            shown.add_row(name, cell)
        console.print(shown)
        console.print()


def _least_width(schema: pa.Schema, cells: list[list[Text]]) -> int:
    """The width that a table needs: only strings are folded."""
    widths = [_GAP * (len(schema) - 1)]
    for place, field in enumerate(schema):
        widest = max((row[place].cell_len for row in cells), default=0)
        widths.append(max(cell_len(field.name), min(widest, _LEAST) if _is_text(field.type) else widest))
    return sum(widths)


def draw_metrics(metrics: Mapping[str, Any]) -> None:
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for name, value in metrics.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        shown.add_row(name.replace("_", " "), f"{value:,}" if number else _cell(name, rounded(value), None))
    _console().print(shown)


def _console() -> Console:
    """Standard output: as wide as the terminal, or as COLUMNS says, and 80 columns otherwise."""
    return Console(highlight=False)


def _cell(column: str, value: Any, style: Style | None) -> Text:
    if value is None:
        return Text("null", style="dim")
    if column == SCORE:
        value = rounded(value)
    return style(column, shown(value)) if style and isinstance(value, str) else Text(_plain(value))


def _plain(value: Any) -> str:
    """The display text of a value.

    >>> _plain({"day": "mon", "names": ["a", "b"]}), _plain([("rows", 3), ("splits", 1)])
    ('day=mon, names=a, b', 'rows=3, splits=1')
    """
    match value:
        case dict():
            return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
        case [tuple(), *_]:  # what Arrow makes of a map
            return _plain(dict(value))
        case list() | tuple():
            return ", ".join(map(_plain, value))
        case _:
            return shown(scalar_text(value))


def shown(text: str) -> str:
    r"""A text without what would change a terminal: control characters are spelt out, but for tabs and line breaks.

    >>> shown("a\x1b[31mb"), shown("a\tb\n")
    ('a\\x1b[31mb', 'a   b\n')
    """
    return printable(text.expandtabs(4))


def _is_text(kind: pa.DataType) -> bool:
    """Whether values can be folded without being misread."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_nested(kind))
