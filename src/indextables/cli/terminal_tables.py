"""Aligned tables for a terminal."""

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indextables.display.plain_rows import plain_rows
from indextables.plural import pluralize

_PIPE_WIDTH = 200  # where there is no terminal that would have a width
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
Style = Callable[[str, str], Text]
"""The style of a text in a column."""


def draw_rows(rows: pa.Table, style: Style | None, note: str) -> None:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for field in rows.schema:
        shown.add_column(field.name, justify="right" if _is_number(field.type) else "left", overflow="fold")
    for row in plain_rows(rows):
        shown.add_row(*(_cell(name, value, style) for name, value in row.items()))
    console = _console()
    console.print(shown)
    console.print(note or pluralize(len(rows), "row"), style="dim")


def draw_metrics(metrics: Mapping[str, Any]) -> None:
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for name, value in metrics.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        shown.add_row(name.replace("_", " "), f"{value:,}" if number else _cell(name, value, None))
    _console().print(shown)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def _cell(column: str, value: Any, style: Style | None) -> Text:
    if value is None:
        return Text("null", style="dim")
    return style(column, shown(value)) if style and isinstance(value, str) else Text(_plain(value))


def _plain(value: Any) -> str:
    """The display text of a value.

    >>> _plain({"day": "mon", "names": ["a", "b"]}), _plain([("rows", 3), ("splits", 1)])
    ('day=mon, names=a, b', 'rows=3, splits=1')
    """
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.4g}"
        case dict():
            return ", ".join(f"{key}={_plain(inner)}" for key, inner in value.items())
        case [tuple(), *_]:  # what Arrow makes of a map
            return _plain(dict(value))
        case list() | tuple():
            return ", ".join(map(_plain, value))
        case _:
            return shown(str(value))


def shown(text: str) -> str:
    r"""A text without what would change a terminal: control characters are spelt out, but for tabs and line breaks.

    >>> shown("a\x1b[31mb"), shown("a\tb\n")
    ('a\\x1b[31mb', 'a   b\n')
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text.expandtabs(4))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
