"""The output of commands: aligned tables for people, JSON for scripts."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from indextables.display.plain_rows import plain_rows
from indextables.inspect.recommended_steps import Step, StepFormat
from indextables.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.terminal_tables import Style


def show_rows(rows: "pa.Table", *, as_json: bool, style: "Style | None" = None, note: str = "") -> None:
    """Shows rows; in a terminal, with their number or a note below."""
    if as_json:
        show_json(plain_rows(rows))
        return
    from indextables.cli.terminal_tables import draw_rows

    draw_rows(rows, style, note)


def show_lines(rows: "pa.Table") -> None:
    """Rows as JSON, one a line, which a pipe can read while more come."""
    lines = msgspec.json.Encoder(enc_hook=str).encode_lines(plain_rows(rows))
    typer.echo(lines, nl=False)
    sys.stdout.flush()


def show_json_rows(rows: "pa.Table") -> None:
    show_json(plain_rows(rows))


def show_csv(rows: "pa.Table") -> None:
    """Rows as CSV with a header; nested values are JSON."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.column_names)
    for row in plain_rows(rows):
        writer.writerow(map(_csv_value, row.values()))


def _csv_value(value: Any) -> Any:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value).lower() if isinstance(value, bool) else value


def show_metrics(metrics: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(metrics)
        return
    from indextables.cli.terminal_tables import draw_metrics

    draw_metrics(metrics)


def show_report(result: Any, *, as_json: bool) -> None:
    """Shows a result as text or as JSON."""
    if as_json:
        show_json(facts(result))
    else:
        typer.echo(str(result))


def facts(result: Any, format_step: StepFormat = str) -> Any:
    """A result as plain values: its fields by name, layouts as their text, steps as `format_step` renders them.

    >>> from indextables.maintain.drop_partitions import DropResult
    >>> facts(DropResult(version=3, dry_run=False, splits=1, rewritten=0, rows=7, copied=0, bytes=99))["rows"]
    7
    """
    match result:
        case Layout():
            return str(result)
        case Step():
            return format_step(result)
        case tuple():
            return [facts(part, format_step) for part in result]
        case _ if is_dataclass(result):
            return {field.name: facts(getattr(result, field.name), format_step) for field in fields(result)}
        case _:
            return result


def show_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode() + "\n")
