"""What a command found, for people as aligned tables, for scripts as JSON."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from indextables.cli.plain_rows import plain_rows
from indextables.inspect.steps import Saying, Step
from indextables.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.drawing import Style


def show_rows(rows: "pa.Table", *, as_json: bool, style: "Style | None" = None, note: str = "") -> None:
    """Rows, and below them for people how many there are, or what a note says of it."""
    if as_json:
        show_json(plain_rows(rows))
        return
    from indextables.cli.drawing import draw_rows

    draw_rows(rows, style, note)


def show_figures(figures: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(figures)
        return
    from indextables.cli.drawing import draw_figures

    draw_figures(figures)


def show_report(result: Any, *, as_json: bool) -> None:
    """A result that prints as a text for people."""
    if as_json:
        show_json(facts(result))
    else:
        typer.echo(str(result))


def facts(result: Any, say: Saying = str) -> Any:
    """A result as plain values: its fields by name, layouts as their text, steps as `say` says them.

    >>> from indextables.maintain.drop_partitions import Dropped
    >>> facts(Dropped(version=3, dry_run=False, splits=1, rewritten=0, rows=7, copied=0, bytes=99))["rows"]
    7
    """
    match result:
        case Layout():
            return str(result)
        case Step():
            return say(result)
        case tuple():
            return [facts(part, say) for part in result]
        case _ if is_dataclass(result):
            return {field.name: facts(getattr(result, field.name), say) for field in fields(result)}
        case _:
            return result


def show_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode() + "\n")
