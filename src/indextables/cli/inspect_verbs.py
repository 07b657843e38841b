"""Verbs that look at a table and leave it as it is. Each loads what it needs, so that the others need not wait."""

from typing import TYPE_CHECKING, Annotated

import typer

from indextables.cli.arguments import (
    AtTime,
    AtVersion,
    Columns,
    Json,
    Query,
    Settings,
    Table,
    Where,
    open_table,
    parse_names,
)
from indextables.cli.output import show_lines, show_metrics, show_report, show_rows
from indextables.plural import pluralize
from indextables.schema import type_name

if TYPE_CHECKING:
    from indextables.cli.terminal_tables import Style
    from indextables.read.scan import Scan
    from indextables.read.scan_spec import ScanSpec


def info(
    path: Table,
    *,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show the version, size, layout and columns of a table."""
    table = open_table(path, option, version=version, timestamp=timestamp)
    splits = table.splits()
    metrics = {
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
    show_metrics(metrics, as_json=as_json)


def search(
    path: Table,
    query: Annotated[
        str, typer.Argument(metavar="SEARCH", help="What to look for: 'message:timeout AND NOT level:INFO'.")
    ],
    *,
    where: Where = None,
    columns: Columns = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The maximum number of rows.")] = 10,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """The rows that match a search best, best first."""
    from indextables.read.top_hits import search_top

    table = open_table(path, option, version=version, timestamp=timestamp)
    scan = table.scan(where=where, query=query, columns=parse_names(columns))
    if as_json:
        show_rows(search_top(scan, limit), as_json=True)
        return
    best = search_top(scan, limit + 1)
    note = _of_all(scan, limit) if len(best) > limit else "" if len(best) else f"0 rows; {_search_note(scan.scan_spec)}"
    show_rows(best.slice(0, limit), as_json=False, style=_highlighter(scan.scan_spec), note=note)


def tail(
    path: Table,
    *,
    query: Query = None,
    where: Where = None,
    columns: Columns = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", metavar="N", help="The rows added after this version; after the one before by default."
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new rows, until Ctrl-C.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="How often --follow looks for new rows: '5s'.")
    ] = "1s",
    skip_change_commits: Annotated[
        bool, typer.Option("--skip-change-commits", help="Skip commits that removed rows, in place of an error.")
    ] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show the rows that were added last; with --follow, new ones as they come. With --json, one row a line."""
    from indextables.cli.follow import versions_as_they_come

    table = open_table(path, option)
    seen = max(table.version - 1, -1) if after is None else after
    for _ in versions_as_they_come(table, interval=interval, follow=follow):
        scan = table.incremental_scan(
            seen, where=where, query=query, columns=parse_names(columns), skip_change_commits=skip_change_commits
        )
        rows = scan.to_arrow()
        if as_json:
            show_lines(rows)
        elif len(rows) or not follow:
            show_rows(rows, as_json=False, style=_highlighter(scan.scan_spec))
        seen = table.version


def count(
    path: Table,
    *,
    where: Where = None,
    query: Query = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", metavar="COLUMNS", help="Count for each value of these columns; may be repeated."),
    ] = None,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Count rows; from the transaction log, where its statistics suffice."""
    scan = open_table(path, option, version=version, timestamp=timestamp).scan(where=where, query=query)
    if by is not None:
        show_rows(scan.group_by(*parse_names(by) or ()).count(), as_json=as_json)
    elif as_json:
        show_metrics({"count": scan.count()}, as_json=True)
    else:
        rows = scan.count()
        typer.echo(rows)
        if not rows and query is not None:
            typer.echo(_search_note(scan.scan_spec), err=True)


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
    """Show which splits a scan would open, and why; it opens none."""
    table = open_table(path, option, version=version, timestamp=timestamp)
    explanation = table.scan(where=where, query=query, columns=parse_names(columns)).explain()
    show_report(explanation, as_json=as_json)


def partitions(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """The partitions of a table, with their splits, rows and bytes."""
    found = open_table(path, option, version=version).partitions()
    show_rows(found.sort_by([("spec_id", "ascending"), ("partition", "ascending")]), as_json=as_json)


def splits(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """The data files of a table."""
    found = open_table(path, option, version=version).splits()
    wanted = ["path", "num_records", "size", "spec_id", "modification_time"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


def history(path: Table, *, option: Settings = None, as_json: Json = False) -> None:
    """List the commits of a table, newest first."""
    found = open_table(path, option).history()
    wanted = ["version", "timestamp", "operation", "parameters", "metrics"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


def _of_all(scan: "Scan", shown: int) -> str:
    """The total number of rows where not all are shown, if the indexes alone can count them."""
    from indextables.read.split_scan import is_search_only

    if is_search_only(scan.scan_spec):
        return f"{shown:,} of {scan.count():,} rows; --limit for more"
    return f"{pluralize(shown, 'row')} and more; use --limit"


def _search_note(scan_spec: "ScanSpec") -> str:
    """A note for a search without results: its search columns, and how to match parts of exact values."""
    from indextables.read.scan_plan import columns_and_values

    columns = scan_spec.search_columns
    exact = next((name for name, values in columns.items() if values == "exact values"), None)
    hint = (
        f"; exact values are compared as a whole, letter case included; {exact}:*word* finds those that contain a word"
        if exact
        else ""
    )
    return f"search columns: {columns_and_values(columns) or 'no column'}{hint}"


def _highlighter(scan_spec: "ScanSpec") -> "Style":
    """Highlights the words of a search."""
    from indextables.cli.highlight import Highlighter

    return Highlighter(scan_spec.queries.values(), scan_spec.rules)
