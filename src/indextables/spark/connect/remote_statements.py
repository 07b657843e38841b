"""`spark.sql` over Spark Connect: our commands, run by the client, and the statements that change our tables.

Queries go to the server as they are; the stub plans them (`remote_queries`).
"""

import re
from collections.abc import Callable
from typing import Any

from sqlglot.tokenizer_core import TokenType

from indextables.errors import IndexTablesError, UnsupportedStatementError
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_queries import RemoteQueries
from indextables.spark.connect.remote_row_changes import change_rows, statement_name
from indextables.spark.connect.remote_writer import RemoteWriter
from indextables.spark.connect.server_answers import existing_table
from indextables.spark.source.options import FORMAT, settings_of
from indextables.spark.statements.table_commands import COMMANDS, check
from indextables.statements import Check, Command, Table, TableName, parse_command
from indextables.statements.rewriting import immediate_text
from indextables.statements.row_level_statements import changed_table, parse_row_level
from indextables.statements.tokens import tokens_of, word
from indextables.table import IndexTable

_NAME = r"((?:`(?:[^`]|``)+`|[\w]+)(?:\.(?:`(?:[^`]|``)+`|[\w]+))*)"
_CHANGE = re.compile(rf"\s*(ALTER|TRUNCATE|MSCK\s+REPAIR|ANALYZE)\s+TABLE\s+{_NAME}", re.IGNORECASE)
_RENAME = re.compile(r"\bRENAME\s+TO\b", re.IGNORECASE)
_CREATE = re.compile(rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b.*\bUSING\s+`?{FORMAT}`?", re.IGNORECASE | re.DOTALL)
_LOCATED = re.compile(
    rf"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s+USING\s+`?{FORMAT}`?\s+(?:LOCATION\s|OPTIONS\s*\()(?!.*\bAS\s+SELECT\b)",
    re.IGNORECASE | re.DOTALL,
)
_INSERT = re.compile(rf"\s*INSERT\s+(INTO|OVERWRITE)\s+(?:TABLE\s+)?{_NAME}\s*", re.IGNORECASE)
_QUERY = frozenset({"SELECT", "VALUES", "WITH", "FROM"})


def run_remote_sql(
    spark_sql: Callable[..., Any],
    session: Any,
    queries: RemoteQueries,
    text: str,
    *args: Any,
    **options: Any,
) -> Any:
    """Runs a text; `spark_sql` is Spark's own `SparkSession.sql`."""
    inner = immediate_text(text)
    if inner is not None:
        return run_remote_sql(spark_sql, session, queries, inner, *args, **options)
    command = parse_command(text, lambda table: _location(session, queries, table) is not None)
    if command is not None:
        return _run_command(session, queries, command)
    changed = changed_table(text)
    if changed is not None and (location := _location(session, queries, changed)) is not None:
        return _change_rows(session, location, text, has_parameters=bool(args or options))
    _refuse_changes(queries, text)
    _refuse_new_tables(text)
    if (insert := _INSERT.match(text)) is not None and not args and not options:
        location = _target(queries, identifier_parts(insert[2]))
        if location is not None:
            return _insert(session, queries, location, text[insert.end() :], overwrites=insert[1].upper() != "INTO")
    return spark_sql(session, text, *args, **options)


def _location(session: Any, queries: RemoteQueries, table: Table) -> str | None:
    if isinstance(table, TableName):
        return queries.catalog.location_of(table.parts)
    found = existing_table(session, {**settings_of(session, table.path), "path": table.path})
    return None if found is None else found.location


def _run_command(session: Any, queries: RemoteQueries, command: Command) -> Any:
    location = _location(session, queries, command.table)
    if location is None:
        name = ".".join(command.table.parts) if isinstance(command.table, TableName) else command.table.path
        raise UnsupportedStatementError(
            f"the server has no table of indextables {name}", table=name, statement=type(command).__name__
        )
    settings = settings_of(session, location)
    table = _same_table(session, location, settings, type(command).__name__)
    if isinstance(command, Check):
        return session.createDataFrame(check(command, location, settings))
    return session.createDataFrame(COMMANDS[type(command)](session, command, table))


def _change_rows(session: Any, location: str, text: str, *, has_parameters: bool) -> Any:
    statement = parse_row_level(text)
    if statement is None:
        raise AssertionError("a statement that changes rows of a table")
    if has_parameters:
        raise UnsupportedStatementError(
            "over Spark Connect, a statement that changes rows of a table of indextables takes no parameters; write the "
            "values into the text",
            table=location,
            statement=statement_name(statement),
        )
    table = _same_table(session, location, settings_of(session, location), statement_name(statement))
    return session.createDataFrame(change_rows(session, table, statement))


def _same_table(session: Any, location: str, settings: dict[str, str], statement: str) -> IndexTable:
    """The table, opened by this process, if it is the one that the server has."""
    found = existing_table(session, {**settings, "path": location})
    try:
        table = IndexTable.open(location, options=settings)
        is_same = found is not None and table.detail().id == found.id
        reason = f"{location} is another table here"
    except (IndexTablesError, OSError) as error:
        is_same, reason = False, str(error)
    if not is_same:
        raise UnsupportedStatementError(
            f"{statement} is run by the client over Spark Connect, and this one cannot read the table of the server: "
            f"{reason}; run it where the table's storage can be read, for example by the command line",
            table=location,
            statement=statement,
        )
    return table


def _refuse_changes(queries: RemoteQueries, text: str) -> None:
    change = _CHANGE.match(text)
    location = None if change is None else _target(queries, identifier_parts(change[2]))
    if change is None or location is None or (change[1].upper() == "ALTER" and _RENAME.search(text)):
        return
    statement = f"{change[1].upper()} TABLE"
    raise UnsupportedStatementError(
        f"{statement} does not work over Spark Connect for a table of indextables; use IndexTable.open({location!r}), "
        "for example its add_columns, rename_column and set_properties, ALTER INDEXTABLE, or the command line",
        table=location,
        statement=statement,
    )


def _refuse_new_tables(text: str) -> None:
    """CREATE TABLE makes an entry of the catalog for a table that is there; Spark would make one without a table."""
    if _CREATE.match(text) and not _LOCATED.match(text):
        raise UnsupportedStatementError(
            "over Spark Connect, CREATE TABLE ... USING indextables names a table that exists: "
            "CREATE TABLE t USING indextables LOCATION '...'; write the first rows with "
            'df.write.format("indextables").option("path", ...).saveAsTable("t")',
            table=text[:80],
            statement="CREATE TABLE",
        )


def _target(queries: RemoteQueries, parts: tuple[str, ...]) -> str | None:
    """The location of the table that a statement changes, by its name or as ``indextables.`path` ``."""
    if len(parts) == 2 and parts[0].lower() == FORMAT:  # noqa: PLR2004
        return parts[1]
    return queries.catalog.current_location_of(parts)


def _insert(session: Any, queries: RemoteQueries, location: str, query: str, *, overwrites: bool) -> Any:
    """INSERT of a query, by the positions of columns."""
    first = next(iter(tokens_of(query)), None)
    if first is None or not (word(first) in _QUERY or (first.token_type == TokenType.TABLE)):
        raise UnsupportedStatementError(
            "over Spark Connect, INSERT takes a query by the positions of columns, and nothing else: no column list, "
            "BY NAME, PARTITION or REPLACE WHERE; use df.write with its options",
            table=location,
            statement="INSERT",
        )
    frame = session.sql(query)
    columns = session.read.format(FORMAT).load(location).columns
    if len(columns) != len(frame.columns):
        raise UnsupportedStatementError(
            f"the query has {len(frame.columns)} columns, and the table {len(columns)}: {', '.join(columns)}",
            table=location,
            statement="INSERT",
        )
    writer = RemoteWriter(frame.toDF(*columns), queries).format(FORMAT)
    writer.mode("overwrite" if overwrites else "append").save(location)
    return session.range(0).select()
