"""Commands that change the rows, the layout, the columns or the properties of a table. Imports are lazy."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from indextables.cli.arguments import (
    ON_PARTITIONS,
    Columns,
    DryRun,
    Json,
    Query,
    Settings,
    Table,
    TimeZone,
    Where,
    open_table,
    parse_assignments,
    parse_names,
    parse_settings,
    parse_types,
    refuse_file,
)
from indextables.cli.output import facts, show_metrics, show_report
from indextables.config import Config
from indextables.errors import ConfigError, TableNotFoundError
from indextables.schema import normalize, type_name
from indextables.search.field_rules import STRING, TEXT
from indextables.table import IndexTable
from indextables.write.commit_metrics import split_metrics
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import refuse_contradictory_options
from indextables.write.write_job import Mode, TaskResult, WriteJob, commit_job, open_log, write_task
from indextables.write.write_progress import OnProgress, ProgressCounter

_NO_TEXT = (
    "note: no column of the new table is indexed as text, so searches compare exact values; "
    "--text COLUMN makes a column searchable by its words, and cannot be added later"
)


def import_(
    path: Table,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Parquet, CSV or JSON lines.")],
    *,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            "--partition-by",
            "-p",
            metavar="LAYOUT",
            help="The layout of a new table: 'tenant, day(ts)'; may be repeated.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="COLUMNS",
            help="Columns of a new table to be searched by their words, separated by commas; may be repeated.",
        ),
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
        str | None, typer.Option("--delimiter", metavar="MARK", help="The delimiter of a CSV file: ';'.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the rows of the table.")] = False,
    merge_schema: Annotated[
        bool,
        typer.Option(
            "--merge-schema",
            help="Add columns that the table does not have; columns that a file does not have are null in its rows.",
        ),
    ] = False,
    overwrite_schema: Annotated[
        bool,
        typer.Option(
            "--overwrite-schema", help="Replace the columns, the layout and the field types of the table with its rows."
        ),
    ] = False,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Writes files of rows to a table, which is made if it is not there."""
    from indextables.cli.import_files import rows_in
    from indextables.cli.progress import rows_imported
    from indextables.maintain.replace_where import resolve_overwrite

    refuse_file(path)
    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError("the delimiter is one character", key="--delimiter", value=delimiter)
    schema_options = {"mergeSchema": merge_schema, "overwriteSchema": overwrite_schema}
    options = {**parse_settings(option), **{key: "true" for key, given in schema_options.items() if given}}
    refuse_contradictory_options(options, overwrites=overwrite)
    table = _existing(path, options)
    fields = dict.fromkeys(parse_names(text) or (), "text")
    layout = ", ".join(partition_by or ())
    settings = Config.resolve(options, properties={} if table is None else table.properties).write
    is_new = table is None or settings.overwrite_schema
    if table is not None and not is_new and (layout or fields):
        raise _not_new(table, "--partition-by" if layout else "--text")
    merged = settings.merge_schema
    rows = rows_in(
        files,
        parse_names(columns),
        table=None if table is None or is_new else table.schema,
        merge_schema=merged,
        named=parse_types(type_),
        delimiter=delimiter,
    )
    mode = Mode.ERROR if table is None else Mode.OVERWRITE if overwrite else Mode.APPEND
    new = {f"indexing.typemap.{column}": kind for column, kind in fields.items()}
    if table is None or layout:
        new["partitionBy"] = layout
    job = plan_job(
        path,
        rows.schema,
        mode=mode,
        sources=[{**options, **(new if is_new else {})}],
        overwrite=resolve_overwrite,
    )
    without_words = table is None and not as_json and _has_only_exact_strings(job)
    if dry_run:
        found = {field.name: type_name(field.type) for field in normalize(rows.schema)}
        would = "create" if table is None else "overwrite" if overwrite else "append"
        read = sum(batch.num_rows for batch in rows)  # every value is looked at, as the import would
        show_metrics(
            {"table": path, "would": would, "files": len(files), "rows": read, "columns": found}, as_json=as_json
        )
    else:
        with rows_imported() as progress:
            version, added = _written(job, rows, progress)
        imported = {"files": len(files), "rows": added["numAddedRows"], "splits": added["numAddedSplits"]}
        show_metrics({"table": path, "version": version, **imported}, as_json=as_json)
    if without_words:
        typer.echo(_NO_TEXT, err=True)


def _has_only_exact_strings(job: WriteJob) -> bool:
    kinds = {rule.type for rule in job.plan.rules.values()}
    return STRING in kinds and TEXT not in kinds


def _written(job: WriteJob, rows: pa.RecordBatchReader, progress: OnProgress) -> tuple[int, dict[str, int]]:
    """The version of the table after a write, and the metrics of what it added; a failure leaves no files."""
    from indextables.maintain.compact_on_write import merge_after_write

    log = open_log(job)
    result = TaskResult(adds=[])
    if not job.already_committed:
        result = write_task(job, rows, task=0, store=log.store, counter=ProgressCounter(progress))
    after = commit_job(job, [result], log=log)
    return merge_after_write(log, after, job.plan.config).version, split_metrics(result.adds)


def _not_new(table: IndexTable, option: str) -> ConfigError:
    words = sorted(name for name, rule in table.fields.items() if rule.type == "text")
    return ConfigError(
        f"there is a table at {table.path} already, with the layout {str(table.layout) or 'none'!r} and the text columns "
        f"{', '.join(words) or 'none'!r}; --partition-by and --text are for new tables",
        key=option,
        value=None,
    )


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


def _existing(path: str, options: dict[str, str]) -> IndexTable | None:
    try:
        return IndexTable.open(path, options=options)
    except TableNotFoundError:
        return None
