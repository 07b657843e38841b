"""What a command found, for people as aligned tables, for scripts as JSON."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from indextables.layout import Layout

_PIPE_WIDTH = 200  # where there is no terminal that would have a width
Style = Callable[[str, str], Text]
"""How a text in a column is shown."""


def show_rows(rows: pa.Table, *, as_json: bool, style: Style | None = None) -> None:
    if as_json:
        show_json(rows.to_pylist())
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for field in rows.schema:
        shown.add_column(field.name, justify="right" if _is_number(field.type) else "left", overflow="fold")
    for row in rows.to_pylist():
        shown.add_row(*(_cell(name, value, style) for name, value in row.items()))
    console = _console()
    console.print(shown)
    console.print(f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}", style="dim")


def show_figures(figures: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(figures)
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for name, value in figures.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        shown.add_row(name.replace("_", " "), f"{value:,}" if number else _cell(name, value, None))
    _console().print(shown)


def show_report(result: Any, *, as_json: bool) -> None:
    """A result that prints as a text for people."""
    if as_json:
        show_json(facts(result))
    else:
        typer.echo(str(result))


def facts(result: Any) -> Any:
    """A result as plain values: its fields by name, layouts as their text.

    >>> from indextables.rewrite.drop import Dropped
    >>> facts(Dropped(version=3, dry_run=False, splits=1, rewritten=0, rows=7, copied=0, bytes=99))["rows"]
    7
    """
    match result:
        case Layout():
            return str(result)
        case tuple():
            return [facts(part) for part in result]
        case _ if is_dataclass(result):
            return {field.name: facts(getattr(result, field.name)) for field in fields(result)}
        case _:
            return result


def show_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode() + "\n")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def _cell(column: str, value: Any, style: Style | None) -> Text:
    if value is None:
        return Text("null", style="dim")
    return style(column, value) if style and isinstance(value, str) else Text(_plain(value))


def _plain(value: Any) -> str:
    """A value as people read it.

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
            return str(value)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
