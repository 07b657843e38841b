"""The verbs of the command line. Each calls the library and hands what it gives to a renderer."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from typer.core import TyperGroup

from indextables.cli.highlight import Highlighter
from indextables.cli.output import show_figures, show_rows
from indextables.cli.sources import rows_in
from indextables.errors import ConfigError, IndexTablesError, TableNotFoundError
from indextables.release import __version__
from indextables.schema import normalize, type_name
from indextables.table import IndexTable


class _Verbs(TyperGroup):
    """Errors of the library come out as one sentence; with `--debug`, as they are."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except IndexTablesError as error:
            if ctx.params["debug"]:
                raise
            typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Searchable tables: look, search, count, import.",
)

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Where the table is: a directory, s3://..., abfss://...")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Settings = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="A setting; may be repeated.")
]
AtVersion = Annotated[int | None, typer.Option("--version", "-v", help="The table as it was after this version.")]
AtTime = Annotated[
    str | None, typer.Option("--timestamp", "-t", help="The table as it was then: 2024-01-31T12:00:00Z.")
]
Where = Annotated[
    str | None, typer.Option("--where", "-w", help="A condition in SQL: \"day = '2024-01-31' AND n > 3\".")
]
Query = Annotated[str | None, typer.Option("--query", "-q", help="A search: 'message:timeout AND NOT level:INFO'.")]
Columns = Annotated[
    str | None, typer.Option("--columns", "-c", help="Columns, separated by commas; all of them otherwise.")
]


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: ARG001
    version: Annotated[bool, typer.Option("--version", help="Print the release and end.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def info(
    path: Table,
    *,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """What a table is: its version, size, layout and columns."""
    table = _opened(path, option, version=version, timestamp=timestamp)
    splits = table.splits()
    figures = {
        "path": table.path,
        "version": table.version,
        "rows": table.count(),
        "splits": len(splits),
        "bytes": sum(splits["size"].to_pylist()),
        "layout": str(table.layout) or None,
        "columns": {field.name: type_name(field.type) for field in table.schema},
        "fields": {name: rule.type for name, rule in table.fields.items()},
        "properties": table.properties,
    }
    show_figures(figures, as_json=as_json)


@app.command()
def search(
    path: Table,
    query: Annotated[str, typer.Argument(help="What to look for: 'message:timeout AND NOT level:INFO'.")],
    *,
    where: Where = None,
    columns: Columns = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="So many rows at most.")] = 10,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """The rows that match a search best, best first."""
    table = _opened(path, option, version=version, timestamp=timestamp)
    found = table.search(query, where=where, columns=_names(columns), limit=limit)
    question = table.scan(where=where, query=query).question
    show_rows(found, as_json=as_json, style=Highlighter(question.queries.values(), question.rules))


@app.command()
def count(
    path: Table,
    *,
    where: Where = None,
    query: Query = None,
    by: Annotated[str | None, typer.Option("--by", "-b", help="Count for each value of these columns.")] = None,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """The number of rows; from the transaction log, as far as it knows."""
    scan = _opened(path, option, version=version, timestamp=timestamp).scan(where=where, query=query)
    if by is not None:
        show_rows(scan.group_by(*_names(by) or ()).count(), as_json=as_json)
    elif as_json:
        show_figures({"count": scan.count()}, as_json=True)
    else:
        typer.echo(scan.count())


@app.command()
def explain(
    path: Table,
    *,
    where: Where = None,
    query: Query = None,
    columns: Columns = None,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Which splits a question would open, and why; none is."""
    table = _opened(path, option, version=version, timestamp=timestamp)
    explanation = table.scan(where=where, query=query, columns=_names(columns)).explain()
    if as_json:
        show_figures(vars_of(explanation), as_json=True)
    else:
        typer.echo(str(explanation))


@app.command()
def partitions(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """The partitions of a table, with their splits, rows and bytes."""
    show_rows(_opened(path, option, version=version).partitions(), as_json=as_json)


@app.command()
def splits(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """The data files of a table."""
    found = _opened(path, option, version=version).splits()
    wanted = ["path", "num_records", "size", "spec_id", "modification_time"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


@app.command()
def history(path: Table, *, option: Settings = None, as_json: Json = False) -> None:
    """What was done to a table, the newest first."""
    found = _opened(path, option).history()
    wanted = ["version", "timestamp", "operation", "parameters", "metrics"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


@app.command("import")
def import_(
    path: Table,
    files: Annotated[list[Path], typer.Argument(help="Parquet, CSV or JSON lines.")],
    *,
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", "-p", help="The layout of a new table: 'tenant, day(ts)'.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Columns of a new table to be searched by their words.")
    ] = None,
    columns: Columns = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the rows of the table.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Writes files of rows to a table, which is made if it is not there."""
    rows, settings = rows_in(files, _names(columns)), _settings(option)
    table = _existing(path, settings)
    fields = dict.fromkeys(_names(text) or (), "text")
    if table is not None and (partition_by or fields):
        raise ConfigError(
            f"there is a table at {path} already, with the layout {str(table.layout) or 'none'!r}; "
            "--partition-by and --text are for new tables",
            key="--partition-by" if partition_by else "--text",
            value=partition_by or text,
        )
    if dry_run:
        types = {field.name: type_name(field.type) for field in normalize(rows.schema)}
        mode = "create" if table is None else "overwrite" if overwrite else "append"
        show_figures({"table": path, "would": mode, "columns": types}, as_json=as_json)
        return
    if table is None:
        table = IndexTable.create(path, rows.schema, partition_by=partition_by, fields=fields, options=settings)
    with _counted(rows) as batches:
        (table.overwrite if overwrite else table.append)(pa.RecordBatchReader.from_batches(rows.schema, batches))
    show_figures({"table": path, "version": table.version, "rows": table.count()}, as_json=as_json)


@app.command()
def checkpoint(path: Table, *, option: Settings = None, as_json: Json = False) -> None:
    """Writes a checkpoint of the log, so that the table opens faster."""
    show_figures(vars_of(_opened(path, option).checkpoint()), as_json=as_json)


@app.command()
def demo() -> None:
    """A tour with made-up log lines; needs PySpark and Java."""
    from indextables.demo import main as tour  # noqa: PLC0415 - nobody else needs it

    tour()


def main() -> None:
    app(prog_name="indextables")


def vars_of(value: Any) -> dict[str, Any]:
    """The fields of a result."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _opened(
    path: str, option: Iterable[str] | None, *, version: int | None = None, timestamp: str | None = None
) -> IndexTable:
    return IndexTable.open(path, version=version, timestamp=timestamp, options=_settings(option))


def _existing(path: str, settings: dict[str, str]) -> IndexTable | None:
    try:
        return IndexTable.open(path, options=settings)
    except TableNotFoundError:
        return None


def _settings(given: Iterable[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or ()]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise ConfigError(f"the option {wrong[0]!r} has no value; write KEY=VALUE", key=wrong[0], value=None)
    return {key: value for key, _, value in pairs}


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]


@contextmanager
def _counted(rows: pa.RecordBatchReader) -> Iterator[Iterator[pa.RecordBatch]]:
    """The batches; how many rows have been read is shown meanwhile, if somebody looks on."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    shown = [SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn()]
    with Progress(*shown, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("rows", total=None)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                progress.advance(task, batch.num_rows)
                yield batch

        yield batches()
