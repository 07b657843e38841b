"""Verbs that look at a table and leave it as it is. Each loads what it needs, so that the others need not wait."""

from collections.abc import Iterator
from time import sleep
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
    limit_option,
    open_table,
    parse_names,
)
from indextables.cli.output import more_rows_note, show_lines, show_metrics, show_report, show_rows
from indextables.config import duration_argument
from indextables.errors import ChangedRowsError
from indextables.plural import pluralize
from indextables.schema import type_name
from indextables.table import IndexTable

if TYPE_CHECKING:
    from indextables.read.scan import Scan
    from indextables.search import FieldRule
    from indextables.serve.server import Bound

_LOOK_BACK = 20  # commits


def info(
    path: Table,
    *,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show the version, size, layout, columns and properties of a table."""
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


def schema(
    path: Table,
    *,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show the columns of a table: types, how each is indexed, and the partition fields.

    Example:
      indextables schema logs
    """
    import pyarrow as pa

    table = open_table(path, option, version=version, timestamp=timestamp)
    terms: dict[str, list[str]] = {}
    for term in table.layout.fields:
        terms.setdefault(term.source, []).append(str(term))
    columns = [
        {
            "column": field.name,
            "type": type_name(field.type),
            "nullable": field.nullable,
            "index": str(rule) if as_json else _index_text(rule),
            "partition_by": ", ".join(terms.get(field.name, ())) or ("" if not as_json else None),
        }
        for field, rule in zip(table.schema, table.fields.values(), strict=True)
    ]
    names = {"column": pa.string(), "type": pa.string(), "nullable": pa.bool_(), "index": pa.string()}
    rows = pa.Table.from_pylist(columns, pa.schema({**names, "partition_by": pa.string()}))
    show_rows(rows, as_json=as_json, note=pluralize(len(rows), "column"))


def search(
    path: Table,
    query: Annotated[str, typer.Argument(metavar="SEARCH", help="The search: 'message:timeout AND NOT level:INFO'.")],
    *,
    where: Where = None,
    columns: Columns = None,
    limit: Annotated[int, limit_option("Print at most N rows.")] = 10,
    sort: Annotated[
        list[str] | None,
        typer.Option(
            "--sort", "-s", metavar="ORDER", help="Sort by columns, not by score: 'ts desc'. Can be repeated."
        ),
    ] = None,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Search a table and print the best matches first.

    Examples:
      indextables search logs 'timeout AND disk' --columns ts,message
      indextables search logs 'level:ERROR' --sort 'ts desc' --where "ts >= '2024-01-31'"
      indextables search logs -- -timeout
    """
    table = open_table(path, option, version=version, timestamp=timestamp)
    names = parse_names(columns)
    most = limit if as_json else limit + 1  # one more shows that there are more
    order = ", ".join(sort) if sort else None
    if as_json:
        show_rows(table.search(query, where=where, columns=names, limit=most, order_by=order), as_json=True)
        return
    from indextables.cli.search_output import highlighter, negation_note, no_hits_note, without_warning

    with without_warning():
        rows = table.search(query, where=where, columns=names, limit=most, order_by=order)
    scan = table.scan(where=where, query=query, columns=names)
    note = "" if len(rows) else f"0 rows; {no_hits_note(path, table, scan)}"
    show_rows(
        rows.slice(0, limit),
        as_json=False,
        style=highlighter(scan.scan_spec.match_spans),
        note=_of_all(scan, limit) if len(rows) > limit else note,
    )
    if (negation := negation_note(scan, query)) is not None:
        typer.echo(f"note: {negation}", err=True)


def tail(
    path: Table,
    *,
    query: Query = None,
    where: Where = None,
    columns: Columns = None,
    limit: Annotated[
        int | None, limit_option("Print at most the last N of these rows, and with --follow all new ones.")
    ] = None,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="N", help="Show rows added after this version. Default: the last commit."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new rows until Ctrl-C.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="How often --follow checks for new rows: '5s'.")
    ] = "1s",
    skip_change_commits: Annotated[
        bool,
        typer.Option("--skip-change-commits", help="Skip commits that removed rows; without it, they are an error."),
    ] = False,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Show the rows that were added last, and with --follow new rows as they arrive.

    With --json, prints JSON Lines: one row per line.

    Example:
      indextables tail logs --follow --query 'level:ERROR'
    """
    from indextables.cli.search_output import highlighter

    table = open_table(path, option)
    seen = max(table.version - 1, -1) if after is None else after
    for _ in _versions(table, interval=interval, follow=follow):
        scan = table.incremental_scan(
            seen, where=where, query=query, columns=parse_names(columns), skip_change_commits=skip_change_commits
        )
        found = scan.to_arrow()
        rows = found if limit is None else found.slice(max(0, len(found) - limit))
        if as_json:
            show_lines(rows)
        elif len(rows) or not follow:
            is_unexplained = not len(rows) and after is None
            note = _why_no_rows(table, skip_change_commits=skip_change_commits) if is_unexplained else ""
            note = more_rows_note(len(rows), len(found)) if len(rows) < len(found) else note
            show_rows(rows, as_json=False, style=highlighter(scan.scan_spec.match_spans), note=note)
        seen, limit = table.version, None


def _why_no_rows(table: IndexTable, *, skip_change_commits: bool) -> str:
    """For a last commit that has added no rows: what it did, and how to see the rows that were added last."""

    def added(after: int) -> int:
        return table.incremental_scan(after, columns=[], skip_change_commits=skip_change_commits).count()

    done = {entry["version"]: entry["operation"] for entry in table.history().to_pylist()}
    if table.version not in done or added(table.version - 1):  # and the search or the condition has none of them
        return ""
    note = f"0 rows: the last commit, version {table.version} ({done[table.version]}), added none"
    for version in range(table.version - 1, max(-1, table.version - _LOOK_BACK), -1):
        try:
            if version in done and added(version - 1):
                return f"{note}; for those of version {version} ({done[version]}), use --after {version - 1}"
        except ChangedRowsError:  # which --after would be refused for, too
            break
    return note


def _versions(table: IndexTable, *, interval: str, follow: bool) -> Iterator[int]:
    """The version of the table, and then each newer one that it is found at, until the user stops it.

    The handle moves along.
    """
    pause = duration_argument(interval, name="--interval")
    yield table.version
    try:
        while follow and pause is not None:
            sleep(pause.total_seconds())
            before = table.version
            if table.refresh().version > before:
                yield table.version
    except KeyboardInterrupt:
        return


def count(
    path: Table,
    *,
    where: Where = None,
    query: Query = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", metavar="COLUMNS", help="Count rows per value of these columns. Can be repeated."),
    ] = None,
    version: AtVersion = None,
    timestamp: AtTime = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Count rows, from the transaction log where its statistics suffice.

    With --by, the largest groups come first.

    Examples:
      indextables count logs --where "ts >= '2024-01-31'"
      indextables count logs --query timeout --by level
    """
    table = open_table(path, option, version=version, timestamp=timestamp)
    scan = table.scan(where=where, query=query)
    if by is not None:
        import pyarrow.compute as pc

        groups = scan.group_by(*parse_names(by) or ()).count()
        largest_first = pc.sort_indices(groups, sort_keys=[("count", "descending")])  # equal ones stay in their order
        show_rows(groups.take(largest_first), as_json=as_json)
    elif as_json:
        show_metrics({"count": scan.count()}, as_json=True)
    elif query is None:
        typer.echo(scan.count())
    else:
        from indextables.cli.search_output import no_hits_note, without_warning

        with without_warning():
            rows = scan.count()
        typer.echo(rows)
        if not rows:
            typer.echo(no_hits_note(path, table, scan), err=True)


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
    """Show which splits a scan would prune and which it would open, without opening any.

    Example:
      indextables explain logs --query timeout --where "ts >= '2024-01-31'"
    """
    table = open_table(path, option, version=version, timestamp=timestamp)
    explanation = table.scan(where=where, query=query, columns=parse_names(columns)).explain()
    show_report(explanation, as_json=as_json)


def partitions(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """List the partitions of a table with their splits, rows and bytes."""
    found = open_table(path, option, version=version).partitions()
    show_rows(found.sort_by([("spec_id", "ascending"), ("partition", "ascending")]), as_json=as_json)


def splits(path: Table, *, version: AtVersion = None, option: Settings = None, as_json: Json = False) -> None:
    """List the splits (data files) of a table."""
    found = open_table(path, option, version=version).splits()
    wanted = ["path", "num_records", "size", "spec_id", "modification_time"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


def history(path: Table, *, option: Settings = None, as_json: Json = False) -> None:
    """List the commits of a table, newest first."""
    found = open_table(path, option).history()
    wanted = ["version", "timestamp", "operation", "parameters", "metrics"]
    show_rows(found if as_json else found.select(wanted), as_json=as_json)


def serve(
    paths: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Paths of tables.")],
    *,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="The port to listen on; 0 picks a free one. Default: 8642, or a free one if another server has it.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="The time column. Default: a timestamp or date column."),
    ] = None,
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Serve a local web page to search tables.

    Prints the address of the page with its access token, opens it in a browser,
    and runs until Ctrl-C. With --json, prints the address and the token as JSON.
    /view.json and /view.csv in place of / in the address of a view are its rows.

    Examples:
      indextables serve logs
      indextables serve logs s3://bucket/events --port 8080 --no-open
    """
    import sys
    import webbrowser

    import msgspec

    from indextables.serve.server import bind_server, is_loopback
    from indextables.serve.server import serve as run

    def announce(bound: "Bound") -> None:
        line = msgspec.json.encode({"address": bound.address, "token": bound.access.token}).decode()
        typer.echo(line if as_json else bound.address)
        sys.stdout.flush()

    tables = [open_table(path, option) for path in paths]
    if not is_loopback(host):
        note = f"{host} is not a loopback address. Rows and the access token are sent unencrypted"
        typer.echo(f"warning: {note}; prefer an SSH tunnel to a loopback address", err=True)
    bound = bind_server(tables, host=host, port=port, time=time)
    run(bound, announce=announce, open_browser=None if no_open else webbrowser.open)


def _of_all(scan: "Scan", shown: int) -> str:
    """The note of a search whose rows are not all shown, with their total if the indexes alone can count them."""
    from indextables.read.split_scan import is_search_only

    return more_rows_note(shown, scan.count() if is_search_only(scan.scan_spec) else None)


def _index_text(rule: "FieldRule") -> str:
    """How a column is indexed, in words."""
    from indextables.search.field_rules import indexed_as

    if rule.type == "none":
        return "not indexed"
    return f"{rule} ({indexed_as(rule)})" if rule.type in ("text", "string") else indexed_as(rule)
