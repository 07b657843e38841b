"""Verbs that change the rows, the layout, the columns or the properties of a table. Each loads what it needs."""

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from indextables.cli.options import (
    ON_PARTITIONS,
    Columns,
    DryRun,
    Json,
    Settings,
    Table,
    names,
    opened,
    refuse_file,
    settings,
    types,
)
from indextables.cli.output import facts, show_figures, show_report
from indextables.errors import ConfigError, TableNotFoundError
from indextables.schema import normalize, type_name
from indextables.table import IndexTable
from indextables.write.job import Mode, commit_job, plan_job, write_task


def import_(
    path: Table,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Parquet, CSV or JSON lines.")],
    *,
    partition_by: Annotated[
        str | None,
        typer.Option("--partition-by", "-p", metavar="LAYOUT", help="The layout of a new table: 'tenant, day(ts)'."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="COLUMNS", help="Columns of a new table to be searched by their words."),
    ] = None,
    columns: Columns = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="The type of a column in CSV or JSON lines: 'price=decimal(10,2)'; may be repeated.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="MARK", help="What parts the values of a CSV file: ';'.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the rows of the table.")] = False,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Writes files of rows to a table, which is made if it is not there."""
    from indextables.cli.progress import rows_read
    from indextables.cli.sources import rows_in
    from indextables.rewrite.replace import scope_of

    refuse_file(path)
    given = settings(option)
    table = _existing(path, given)
    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError("the delimiter is one character", key="--delimiter", value=delimiter)
    known = {} if table is None else dict(zip(table.schema.names, table.schema.types, strict=True))
    rows = rows_in(files, names(columns), types=known, named=types(type_), delimiter=delimiter)
    fields = dict.fromkeys(names(text) or (), "text")
    if table is not None and (partition_by or fields):
        raise ConfigError(
            f"there is a table at {path} already, with the layout {str(table.layout) or 'none'!r}; "
            "--partition-by and --text are for new tables",
            key="--partition-by" if partition_by else "--text",
            value=partition_by or text,
        )
    mode = Mode.ERROR if table is None else Mode.OVERWRITE if overwrite else Mode.APPEND
    new = {"partitionBy": partition_by or "", **{f"indexing.typemap.{column}": kind for column, kind in fields.items()}}
    job = plan_job(path, rows.schema, mode=mode, sources=[{**given, **(new if table is None else {})}], scope=scope_of)
    if dry_run:
        found = {field.name: type_name(field.type) for field in normalize(rows.schema)}
        would = "create" if table is None else "overwrite" if overwrite else "append"
        show_figures({"table": path, "would": would, "columns": found}, as_json=as_json)
        return
    with rows_read(rows) as batches:
        read = pa.RecordBatchReader.from_batches(rows.schema, batches)
        if table is None:
            commit_job(
                job, [write_task(job, read, task=0)]
            )  # one commit: where a row cannot be read, there is no table
            table = IndexTable.open(path, options=given)
        else:
            (table.overwrite if overwrite else table.append)(read)
    show_figures({"table": path, "version": table.version, "rows": table.count()}, as_json=as_json)


def drop_partitions(
    path: Table,
    *,
    where: Annotated[str, ON_PARTITIONS],
    time_zone: Annotated[
        str, typer.Option("--time-zone", metavar="ZONE", help="That of times in the condition that name none.")
    ] = "UTC",
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Deletes the rows that satisfy a condition on partition columns."""
    dropped = opened(path, option).drop_partitions(where, dry_run=dry_run, time_zone=time_zone)
    show_figures(facts(dropped), as_json=as_json)


def evolve(
    path: Table,
    layout: Annotated[str, typer.Argument(metavar="LAYOUT", help="The new layout: 'tenant, day(ts)'; '' for none.")],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Lays out what is written from now on another way; `merge --rewrite-layout` moves what is there."""
    show_report(opened(path, option).evolve_layout(layout), as_json=as_json)


ColumnType = Annotated[str, typer.Argument(metavar="TYPE", help="A type of SQL: string, long, decimal(10,2).")]


def add_column(
    path: Table,
    name: Annotated[str, typer.Argument(metavar="COLUMN", help="The new column.")],
    kind: ColumnType,
    *,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="RULE", help="How a column of strings is indexed: text, string or none."),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Adds a column, which is null in all rows that are there."""
    version = opened(path, option).add_column(name, kind, field=field)
    show_figures({"table": path, "version": version, "column": name, "type": kind}, as_json=as_json)


def widen_column(
    path: Table,
    name: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    kind: ColumnType,
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Gives a column a wider type: integers up to long, float to double."""
    version = opened(path, option).widen_column(name, kind)
    show_figures({"table": path, "version": version, "column": name, "type": kind}, as_json=as_json)


def set_properties(
    path: Table,
    properties: Annotated[
        list[str],
        typer.Argument(metavar="KEY=VALUE", help="A setting of the table, or a property of your own."),
    ],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Sets properties of a table: settings for everybody who uses it, and keys of your own."""
    table = opened(path, option)
    table.set_properties(settings(properties))
    show_figures({"table": path, "version": table.version, "properties": table.properties}, as_json=as_json)


def unset_properties(
    path: Table,
    keys: Annotated[list[str], typer.Argument(metavar="KEY", help="The properties that go.")],
    *,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Removes properties of a table."""
    table = opened(path, option)
    table.unset_properties(*keys)
    show_figures({"table": path, "version": table.version, "properties": table.properties}, as_json=as_json)


def _existing(path: str, given: dict[str, str]) -> IndexTable | None:
    try:
        return IndexTable.open(path, options=given)
    except TableNotFoundError:
        return None
