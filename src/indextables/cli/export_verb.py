"""The command `export`: rows of a table to a file. Imports are lazy."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli.arguments import (
    AtTime,
    AtVersion,
    Columns,
    DryRun,
    Json,
    Query,
    Settings,
    Table,
    Where,
    limit_option,
    open_table,
    parse_names,
)
from indextables.cli.output import show_metrics
from indextables.errors import IndexTablesError
from indextables.plural import pluralize
from indextables.schema import type_name

if TYPE_CHECKING:
    from indextables.read.scan import Scan


def export(
    path: Table,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The file: .parquet, .csv, .tsv or .jsonl, the latter also with .gz or .zst; - writes to standard output.",
        ),
    ],
    *,
    where: Where = None,
    query: Query = None,
    columns: Columns = None,
    limit: Annotated[int | None, limit_option("Export at most N rows. Default: all.", least=0)] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="parquet, csv, tsv or json. Default: by file extension."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    version: AtVersion = None,
    timestamp: AtTime = None,
    dry_run: DryRun = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Export rows of a table to a Parquet, CSV or JSON lines file.

    The file appears once it is complete. In CSV, a null is an empty cell, and an
    empty string is "".

    Examples:
      indextables export logs errors.parquet --query 'level:ERROR'
      indextables export logs day.csv.gz --where "day = '2024-01-31'" --columns ts,message
      indextables export logs - --format json | jq .message
    """
    from indextables.cli.file_writer import output_file, refuse_columns, write_rows
    from indextables.cli.progress import rows_exported

    output = output_file(file, format_, replace=force)
    if output.path is None and as_json and not dry_run:
        raise typer.BadParameter("--json prints what was done, and rows go to standard output too; leave out one")
    table = open_table(path, option, version=version, timestamp=timestamp)
    scan = table.scan(where=where, query=query, columns=parse_names(columns), limit=limit)
    refuse_columns(scan.schema, output.format)
    if output.path is not None:
        _refuse_place(output.path, table.path)
    output.refuse_existing()
    facts = {"table": path, "version": table.version, "file": output.name, "format": output.format}
    if dry_run:
        would = {"would": "replace" if output.exists else "create"}
        types = {field.name: type_name(field.type) for field in scan.schema}
        show_metrics({**facts, **would, "rows": scan.count(), "columns": types}, as_json=as_json)
        return
    is_among_rows = output.path is None and sys.stdout.isatty()
    with rows_exported(_known_rows(scan), shown=not is_among_rows) as progress:
        rows, size = write_rows(output, scan.schema, scan.to_batches(), progress)
    if as_json:
        show_metrics({**facts, "rows": rows, "bytes": size}, as_json=True)
    else:
        done = f"exported {pluralize(rows, 'row')} of {path} (version {table.version}) to {output.name}"
        typer.echo(f"{done} ({pluralize(size, 'byte')})", err=output.path is None)
    if not rows and query is not None:
        from indextables.cli.search_output import no_hits_note

        typer.echo(no_hits_note(path, table, scan), err=True)


def _known_rows(scan: "Scan") -> int | None:
    """The number of rows, if the log has it."""
    from indextables.read.log_aggregates import count_from_metadata

    from_log = count_from_metadata(scan.plan)
    if from_log.unknown:
        return None
    return from_log.rows if scan.row_limit is None else min(from_log.rows, scan.row_limit)


def _refuse_place(file: Path, table: str) -> None:
    """A file is in a directory, and not among those of the table, where a vacuum would delete it."""
    if file.is_dir():
        raise IndexTablesError(f"{file} is a directory; name a file in it")
    if not file.parent.is_dir():
        raise IndexTablesError(f"there is no directory {file.parent}; create it first")
    if file.is_relative_to(Path(table).resolve()):
        raise IndexTablesError(
            f"{file} is in the directory of the table, whose files a purge deletes; choose another place"
        )
