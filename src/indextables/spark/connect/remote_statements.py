"""`spark.sql` over Spark Connect: our commands, run by the client, and the statements that change our tables.

Queries go to the server as they are; the stub plans them (`remote_queries`).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, assert_never

import pyarrow as pa
from sqlglot.tokenizer_core import TokenType

from indextables.config import Config
from indextables.errors import ExpressionError, IndexTablesError, PredicateError, UnsupportedStatementError
from indextables.log import Snapshot, TransactionLog
from indextables.maintain.compact_on_write import merge_after_write
from indextables.maintain.delete_rows import delete_rows
from indextables.maintain.merge_into import merge_into
from indextables.maintain.update_rows import update_rows
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_queries import RemoteQueries
from indextables.spark.connect.remote_writer import RemoteWriter
from indextables.spark.connect.server_answers import existing_table, table_description
from indextables.spark.environment.session_settings import condition_settings, settings_of
from indextables.spark.options import FORMAT
from indextables.spark.source.planning_requests import TableDescription
from indextables.spark.source.quoting import quote_name
from indextables.spark.statements.table_commands import COMMANDS, check
from indextables.spark.statements.table_listing import create_table_text, partition_rows, property_rows
from indextables.statements import Check, Command, Table, TableName, TablePath, parse_command
from indextables.statements.rewriting import immediate_text
from indextables.statements.row_changes import Action, Delete, Merge, Update, affected_rows
from indextables.statements.row_level_statements import RowLevelStatement, RowLevelText
from indextables.statements.tokens import tokens_of, word
from indextables.table import IndexTable

_NAME = r"((?:`(?:[^`]|``)+`|[\w]+)(?:\.(?:`(?:[^`]|``)+`|[\w]+))*)"
_CHANGE = re.compile(rf"\s*(ALTER|TRUNCATE|MSCK\s+REPAIR|ANALYZE)\s+TABLE\s+{_NAME}", re.IGNORECASE)
_SHOW = re.compile(rf"\s*SHOW\s+(CREATE\s+TABLE|PARTITIONS|TBLPROPERTIES)\s+{_NAME}\s*;?\s*", re.IGNORECASE)
_SHOW_ONE = re.compile(rf"\s*SHOW\s+(TBLPROPERTIES)\s+{_NAME}\s*\(\s*'(?P<key>[^'\\]*)'\s*\)\s*;?\s*", re.IGNORECASE)
_TRUNCATE = re.compile(rf"\s*(TRUNCATE)\s+TABLE\s+{_NAME}\s*;?\s*", re.IGNORECASE)
_RENAME = re.compile(r"\bRENAME\s+TO\b", re.IGNORECASE)
_CREATE = re.compile(
    rf"\s*(?:CREATE|REPLACE)\s+(?:OR\s+REPLACE\s+)?TABLE\b(?:.*\bUSING\s+`?{FORMAT}`?|\s+(?:IF\s+NOT\s+EXISTS\s+)?{FORMAT}\s*\.\s*`)",
    re.IGNORECASE | re.DOTALL,
)
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
    command = parse_command(text, lambda table: _is_ours(session, queries, table))
    if command is not None:
        return _run_command(session, queries, command)
    change = RowLevelText.of(text)
    if change is not None and (found := _described(session, queries, change.table)) is not None:
        statement = change.parse(case_sensitive=condition_settings(session)["case_sensitive"])
        return _change_rows(session, found, statement, has_parameters=bool(args or options))
    listed = _SHOW.fullmatch(text) or _SHOW_ONE.fullmatch(text) or _TRUNCATE.fullmatch(text)
    if listed is not None and (location := _target(queries, identifier_parts(listed[2]))) is not None:
        return _run_table_statement(spark_sql, session, queries, location, listed)
    _refuse_changes(queries, text)
    _refuse_new_tables(text)
    if (insert := _INSERT.match(text)) is not None and not args and not options:
        location = _target(queries, identifier_parts(insert[2]))
        if location is not None:
            return _insert(session, queries, location, text[insert.end() :], overwrites=insert[1].upper() != "INTO")
    return spark_sql(session, text, *args, **options)


def _described(session: Any, queries: RemoteQueries, table: Table | None) -> TableDescription | None:
    """The table of ours that a statement names, as the server has it; None for tables of the catalog that are not ours."""
    match table:
        case TableName(parts):
            location = queries.catalog.location_of(parts)
        case TablePath(path):
            location = path
        case None:
            location = None
    return None if location is None else table_description(session, _settings(session, location))


def _is_ours(session: Any, queries: RemoteQueries, table: Table) -> bool:
    if isinstance(table, TableName):
        return queries.catalog.location_of(table.parts) is not None
    return existing_table(session, _settings(session, table.path)) is not None


def _settings(session: Any, location: str) -> dict[str, str]:
    """The options of a read."""
    return {**settings_of(session, location), "path": location}


def _run_command(session: Any, queries: RemoteQueries, command: Command) -> Any:
    found = _described(session, queries, command.table)
    if found is None:
        name = ".".join(command.table.parts) if isinstance(command.table, TableName) else command.table.path
        raise UnsupportedStatementError(
            f"the server has no table of indextables {name}", table=name, statement=type(command).__name__
        )
    settings = settings_of(session, found.location)
    log, snapshot = _opened(found, Config.resolve(settings), type(command).__name__)
    if isinstance(command, Check):
        return session.createDataFrame(check(command, found.location, settings))
    table = IndexTable(log, snapshot, options=settings)
    return session.createDataFrame(COMMANDS[type(command)](session, command, table))


def _run_table_statement(
    spark_sql: Callable[..., Any], session: Any, queries: RemoteQueries, location: str, statement: re.Match[str]
) -> Any:
    """SHOW ... and TRUNCATE TABLE of a table of ours: the server's Spark knows neither its properties nor its layout."""
    parts, verb = identifier_parts(statement[2]), " ".join(statement[1].upper().split())
    found = table_description(session, _settings(session, location))
    settings = settings_of(session, found.location)
    table = IndexTable(*_opened(found, Config.resolve(settings), verb), options=settings)
    facts, name = queries.catalog.facts_of(parts), quote_name(parts)
    match verb:
        case "TRUNCATE":
            table.delete("true")
            return session.range(0).select()
        case "PARTITIONS":
            return session.createDataFrame(partition_rows(table, name))
        case "TBLPROPERTIES":
            rows = property_rows(table, name)
            return (
                session.createDataFrame(rows)
                if rows.num_rows
                else session.createDataFrame([], "key string, value string")
            )
        case _:
            described = spark_sql(session, f"DESCRIBE TABLE {name}").collect() if facts else []
            place = facts.get("Location") if facts.get("Type") == "EXTERNAL" else None
            comments = {row["col_name"]: row["comment"] for row in described}
            text = create_table_text(
                table,
                name if facts else f"{FORMAT}.{quote_name([found.location])}",
                comments=comments,
                comment=facts.get("Comment"),
                location=place,
            )
            return session.createDataFrame([(text,)], "createtab_stmt string")


def _change_rows(session: Any, found: TableDescription, statement: RowLevelStatement, *, has_parameters: bool) -> Any:
    """Runs a DELETE, UPDATE or MERGE in this process, which evaluates conditions and expressions.

    The source of a MERGE is a query of the server, collected.
    """
    name = statement.change.name
    if has_parameters:
        raise UnsupportedStatementError(
            "over Spark Connect, a statement that changes rows of a table of indextables takes no parameters; write the "
            "values into the text",
            table=found.location,
            statement=name,
        )
    settings = settings_of(session, found.location)
    log, snapshot = _opened(found, Config.resolve(settings), name)
    config = Config.resolve(settings, properties=snapshot.metadata.properties)
    try:
        counts = _counts(session, log.configured(config), snapshot, config, statement)
    except (PredicateError, ExpressionError) as error:
        raise _unsupported(found.location, name, str(error)) from error
    return session.createDataFrame(pa.table({name: [count] for name, count in counts.items()}))


def _counts(
    session: Any, log: TransactionLog, snapshot: Snapshot, config: Config, statement: RowLevelStatement
) -> dict[str, int]:
    change, how = statement.change, condition_settings(session)
    if statement.with_clause and not isinstance(change, Merge):
        raise _unsupported(log.table, change.name, "it begins with WITH")
    match change:
        case Delete():
            _, deleted = delete_rows(log, snapshot, config, change, **how)
            return affected_rows(change, {Action.DELETE: deleted.rows})
        case Update():
            after, updated = update_rows(log, snapshot, config, change, **how)
            rows = {Action.UPDATE: updated.rows}
        case Merge():
            source = session.sql(f"{statement.with_clause}SELECT * FROM {statement.source}").toArrow()  # noqa: S608 - the user's own SQL
            merge = replace(change, merge_schema=change.merge_schema or config.write.merge_schema)
            after, merged = merge_into(log, snapshot, config, merge, source, **how)
            rows = {
                Action.UPDATE: merged.rows_updated,
                Action.DELETE: merged.rows_deleted,
                Action.INSERT: merged.rows_inserted,
            }
        case _:
            assert_never(change)
    if after.version > snapshot.version:
        merge_after_write(log, after, config)
    return affected_rows(change, rows)


def _opened(found: TableDescription, config: Config, statement: str) -> tuple[TransactionLog, Snapshot]:
    """The log of a table, opened by this process, if it is the table that the server has."""
    try:
        log = TransactionLog.open(found.location, config)
        snapshot = log.snapshot()
        is_same, reason = snapshot.metadata.id == found.id, f"{found.location} is another table here"
    except (IndexTablesError, OSError) as error:
        is_same, reason = False, str(error)
    if not is_same:
        raise UnsupportedStatementError(
            f"{statement} is run by the client over Spark Connect, and this one cannot read the table of the server: "
            f"{reason}; run it where the table's storage can be read, for example by the command line",
            table=found.location,
            statement=statement,
        )
    return log, snapshot


def _unsupported(table: str, statement: str, reason: str) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"{statement} is run by the client over Spark Connect, without Spark, and this one cannot be: {reason}; run it in a "
        "classic session, or use MERGE INTO with a query as its source, which the server runs",
        table=table,
        statement=statement,
    )


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
