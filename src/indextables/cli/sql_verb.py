"""The verb that runs SQL queries without Spark."""

from typing import Annotated

import typer

from indextables.cli.arguments import Json, Settings, TimeZone, limit_option, parse_pairs, parse_settings
from indextables.cli.output import more_rows_note, show_csv, show_rows
from indextables.errors import StatementError

_SHOWN = 100
_VERBS = {
    "DELETE": "delete",
    "UPDATE": "update",
    "INSERT": "import",
    "COPY": "import",
    "CREATE": "import",
    "MERGE SPLITS": "merge",
    "OPTIMIZE": "merge",
    "REORG": "merge --deleted-rows",
    "VACUUM": "purge",
    "PURGE": "purge",
    "RESTORE": "restore",
    "REINDEX": "reindex",
    "CHECKPOINT": "checkpoint",
    "CHECK": "check",
    "PREWARM": "prewarm",
    "DROP": "drop-partitions",
    "ALTER": "add-column, rename-column, drop-column, set-indexing, set-properties or evolve",
    "DESCRIBE HISTORY": "history",
    "DESCRIBE DETAIL": "info",
    "DESCRIBE": "schema",
    "DESC": "schema",
    "SHOW PARTITIONS": "partitions",
    "SHOW": "schema",
    "EXPLAIN": "explain",
}


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A SELECT statement, in DuckDB's SQL with INDEXQUERY.")],
    *,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", "-t", metavar="NAME=PATH", help="Name a table for the query. Can be repeated."),
    ] = None,
    limit: Annotated[
        int | None,
        limit_option("Print at most N rows. Default: 100; all as JSON or CSV."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    time_zone: TimeZone = "UTC",
    option: Settings = None,
    as_json: Json = False,
) -> None:
    """Run a SELECT statement without Spark.

    Name a table by its path in single quotes, or with --table. Conditions and
    searches are pushed down to the scan of each table.

    Examples:
      indextables sql "SELECT level, count(*) FROM 'logs'
                       WHERE message INDEXQUERY 'timeout' GROUP BY level"
      indextables sql -t l=logs -t u=users "SELECT name, message
                       FROM l JOIN u USING (user_id) LIMIT 5"
    """
    from indextables.table import IndexTable

    if csv and as_json:
        raise typer.BadParameter("--csv and --json exclude each other")
    most = limit if limit is not None or csv or as_json else _SHOWN
    tables = parse_pairs("--table", table or (), "NAME=PATH")
    asked = None if most is None else most + 1
    try:
        rows = IndexTable.sql(query, tables=tables, limit=asked, time_zone=time_zone, options=parse_settings(option))
    except StatementError as error:
        raise _with_verb(query, error) from None
    cut = rows if most is None else rows.slice(0, most)
    if csv:
        show_csv(cut)
    else:
        note = more_rows_note(len(cut)) if len(rows) > len(cut) else ""
        show_rows(cut, as_json=as_json, note=note)


def _with_verb(query: str, error: StatementError) -> StatementError:
    """The error, with the command to use in place of a statement that is not a query."""
    words = query.upper().split()
    if "indextables export" in error.reason:
        return error
    verb = _VERBS.get(" ".join(words[:2])) or _VERBS.get(" ".join(words[:1]))
    if verb is None:
        return error
    reason = f"{error.reason}. To do this from a shell, see `indextables {verb.split()[0].rstrip(',')} --help`"
    if "," in verb:
        reason = f"{error.reason}. To do this from a shell, use indextables {verb}"
    return StatementError(
        f"the query {error.statement!r} cannot be run: {reason}",
        statement=error.statement,
        reason=reason,
        position=error.position,
    )
