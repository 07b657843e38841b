"""The output of commands: aligned tables for people, JSON for scripts; recommended steps as commands."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from shlex import join
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from indextables.display.plain_values import plain_rows
from indextables.inspect.recommended_steps import Step, StepFormat
from indextables.layout import Layout

if TYPE_CHECKING:
    import pyarrow as pa

    from indextables.cli.terminal_tables import Style


_VERBS = {"merge_splits": "merge", "evolve_layout": "evolve"}


def show_rows(rows: "pa.Table", *, as_json: bool, style: "Style | None" = None, note: str = "") -> None:
    """Shows rows; in a terminal, with their number or a note below."""
    if as_json:
        show_json(plain_rows(rows))
        return
    from indextables.cli.terminal_tables import draw_rows

    draw_rows(rows, style, note)


def more_rows_note(shown: int, total: int | None = None) -> str:
    """The note below rows that are not all.

    >>> more_rows_note(2, 2_000), more_rows_note(2)
    ('2 of 2,000 rows; --limit for more', '2 of more rows; --limit for more')
    """
    return f"{shown:,} of {'more' if total is None else f'{total:,}'} rows; --limit for more"


def show_lines(rows: "pa.Table") -> None:
    """Rows as JSON, one a line, which a pipe can read while more come."""
    lines = msgspec.json.Encoder(enc_hook=str).encode_lines(plain_rows(rows))
    typer.echo(lines, nl=False)
    sys.stdout.flush()


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


def show_with_commands(result: Any, table: str, *, as_json: bool, **more: object) -> None:
    """The same, with its steps as commands on a table; `more` are facts that only JSON has."""
    format_step = commands_on(table)
    if as_json:
        show_json({**more, **facts(result, format_step)})
    else:
        typer.echo(result.render(format_step))


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


def commands_on(table: str) -> StepFormat:
    """Renders steps as shell commands on a table.

    >>> format_step = commands_on("my logs")
    >>> format_step(Step("evolve_layout", "month(ts)"))
    "indextables evolve 'my logs' 'month(ts)'"
    >>> format_step(Step("merge_splits", options={"rewrite_layout": True, "cluster_by": ("tenant", "n")}))
    "indextables merge 'my logs' --rewrite-layout --cluster-by tenant,n"
    """

    def format_step(step: Step) -> str:
        subject = [] if step.subject is None else [step.subject]
        options = [word for name, value in step.options.items() for word in _words(name, value)]
        return join(["indextables", _VERBS.get(step.method, step.method), table, *subject, *options])

    return format_step


def _words(name: str, value: bool | str | tuple[str, ...]) -> list[str]:  # noqa: FBT001 - a value of an option
    flag = f"--{name.replace('_', '-')}"
    match value:
        case bool():
            return [flag] if value else []
        case str():
            return [flag, value]
        case _:
            return [flag, ",".join(value)]
