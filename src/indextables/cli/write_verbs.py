"""Commands that change the rows, the layout, the columns or the properties of a table. Imports are lazy."""

from dataclasses import replace
from shlex import quote
from typing import Annotated

import typer

from indextables.cli.arguments import (
    ON_PARTITIONS,
    DryRun,
    Json,
    Query,
    Settings,
    Table,
    TimeZone,
    Where,
    open_table,
    parse_assignments,
    parse_settings,
)
from indextables.cli.output import commands_on, facts, show_metrics, show_report
from indextables.errors import IndexTablesError
from indextables.inspect.recommended_steps import Step


def drop_partitions(
    path: Table,
    *,
    where: Annotated[str, ON_PARTITIONS],
    time_zone: TimeZone = "UTC",
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Delete partitions: the rows that satisfy a condition on partition columns.

    Example:
      indextables drop-partitions logs --where "day < '2024-01-01'"
    """
    dropped = open_table(path, option).drop_partitions(where, dry_run=dry_run, time_zone=time_zone)
    show_metrics(facts(dropped), as_json=as_json)


def delete(
    path: Table,
    *,
    where: Where = None,
    query: Query = None,
    time_zone: TimeZone = "UTC",
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Delete the rows that satisfy a condition, a search, or both.

    `--where true` deletes all rows.

    Examples:
      indextables delete logs --where "user_id = 4711" --dry-run
      indextables delete logs --query 'message:"reset by peer"'
    """
    if where is None and query is None:
        raise IndexTablesError("give --where, --query or both; --where true deletes all rows")
    table = open_table(path, option)
    show_report(table.delete(where, query=query, dry_run=dry_run, time_zone=time_zone), as_json=as_json)


def update(
    path: Table,
    *,
    assignments: Annotated[
        list[str],
        typer.Option(
            "--set", "-s", metavar="COLUMN=SQL", help="Set a column to a SQL expression: 'n = n + 1'. Can be repeated."
        ),
    ],
    where: Where = None,
    query: Query = None,
    time_zone: TimeZone = "UTC",
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Update columns of the rows that satisfy a condition, a search, or both.

    Without --where and --query, updates all rows.

    Example:
      indextables update logs --set "level = upper(level)" --where "day = '2024-01-31'"
    """
    updates = parse_assignments(assignments)
    table = open_table(path, option)
    show_report(table.update(updates, where, query=query, dry_run=dry_run, time_zone=time_zone), as_json=as_json)


def restore(
    path: Table,
    *,
    version: Annotated[int | None, typer.Option("--version", "-v", metavar="N", help="The version to restore.")] = None,
    timestamp: Annotated[
        str | None,
        typer.Option(
            "--timestamp", "-t", metavar="TIME", help="Restore the version at this time: 2024-01-31T12:00:00Z."
        ),
    ] = None,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Restore an earlier version of a table, as a new commit.

    Another restore undoes it.

    Example:
      indextables restore logs --version 41 --dry-run
    """
    if version is None and timestamp is None:
        raise IndexTablesError(f"give --version or --timestamp; `indextables history {quote(path)}` lists the versions")
    table = open_table(path, option)
    result = table.restore_plan(version, timestamp)
    if not dry_run:
        result = replace(result, version=table.restore(result.restored), dry_run=False)
    show_report(result, as_json=as_json)


def evolve(
    path: Table,
    layout: Annotated[str, typer.Argument(metavar="LAYOUT", help="The new layout: 'tenant, day(ts)', or '' for none.")],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Change the partition layout for future writes.

    `merge --rewrite-layout` rewrites existing splits.

    Example:
      indextables evolve logs 'tenant, month(ts)'
    """
    show_report(open_table(path, option).evolve_layout(layout), as_json=as_json)


ColumnType = Annotated[str, typer.Argument(metavar="TYPE", help="A SQL type: string, long, decimal(10,2).")]


def add_column(
    path: Table,
    name: Annotated[str, typer.Argument(metavar="COLUMN", help="Name of the new column.")],
    kind: ColumnType,
    *,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="RULE", help="How to index a string column: text, string or none."),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Add a column, which is null in existing rows."""
    version = open_table(path, option).add_column(name, kind, field=field)
    show_metrics({"table": path, "version": version, "column": name, "type": kind}, as_json=as_json)


def widen_column(
    path: Table,
    name: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    kind: ColumnType,
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Widen the type of a column: integers up to long, float to double."""
    version = open_table(path, option).widen_column(name, kind)
    show_metrics({"table": path, "version": version, "column": name, "type": kind}, as_json=as_json)


def rename_column(
    path: Table,
    old: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    new: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Rename a column, without rewriting splits."""
    version = open_table(path, option).rename_column(old, new)
    show_metrics({"table": path, "version": version, "column": new, "renamed_from": old}, as_json=as_json)


def drop_column(
    path: Table,
    name: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    *,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Drop a column, without rewriting splits.

    `merge` and `purge` remove its values from the files.
    """
    version = open_table(path, option).drop_column(name, dry_run=dry_run)
    show_metrics({"table": path, "version": version, "dry_run": dry_run, "column": name}, as_json=as_json)


def set_indexing(
    path: Table,
    fields: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN=RULE", help="How to index a column: text, text:en_stem, string or none."),
    ],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Change how columns are indexed.

    Searches use the new index at once. `reindex` rebuilds the indexes of existing splits.

    Example:
      indextables set-indexing logs message=text level=string
    """
    table = open_table(path, option)
    table.set_indexing(parse_settings(fields))
    rules = {column: str(rule) for column, rule in table.fields.items()}
    show_metrics({"table": path, "version": table.version, "fields": rules}, as_json=as_json)
    if not as_json and len(table.splits()):
        step = commands_on(path)(Step("reindex"))
        typer.echo(f"splits that exist keep their indexes; to rebuild these: {step}", err=True)


def set_properties(
    path: Table,
    properties: Annotated[
        list[str],
        typer.Argument(metavar="KEY=VALUE", help="A setting, or a property of your own."),
    ],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Set properties of a table: settings that apply to all its users, and keys of your own."""
    table = open_table(path, option)
    table.set_properties(parse_settings(properties))
    show_metrics({"table": path, "version": table.version, "properties": table.properties}, as_json=as_json)


def unset_properties(
    path: Table,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="The properties to remove.")],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Remove properties of a table."""
    table = open_table(path, option)
    table.unset_properties(*keys)
    show_metrics({"table": path, "version": table.version, "properties": table.properties}, as_json=as_json)
