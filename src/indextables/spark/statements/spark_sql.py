"""`indextables.sql(spark, text)`, and `spark.sql(text)` after `enable(spark)`.

A text is one of our commands, or a statement of Spark's. In a statement, our operators become functions and paths become
views (`indextables.statements`), and tables of ours in the catalog get their paths (`locate_tables`). Spark parses it, and
`dispatch` selects the handler; Spark runs everything else.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, TypeAlias
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter
from pyspark.sql.types import StructType

from indextables.errors import ConfigError, UnsupportedOperatorError
from indextables.spark.catalyst.parsed_statement import (
    ChangeRows,
    ExecuteImmediate,
    Parsed,
    Script,
    TableStatement,
    WriteStatement,
    parse_statement,
)
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.query_parameters import bind_parameters
from indextables.spark.catalyst.query_planning import resolve_searches
from indextables.spark.catalyst.session_state import drop_view, run_plan
from indextables.spark.environment.session_settings import condition_settings
from indextables.spark.frames.catalog import resolve_relations
from indextables.spark.frames.dataframe_reader import frame_at, resolve_version
from indextables.spark.frames.insert import plan_query
from indextables.spark.frames.registration import ensure_registered
from indextables.spark.options import VIEW
from indextables.spark.statements.dispatch import is_ours, run_command, run_table_statement, run_write, writes_to_ours
from indextables.spark.statements.locate_tables import locate_tables, resolve_time_travel
from indextables.spark.statements.row_level import find_target, run_row_level
from indextables.statements import TableAt, parse_command, rewrite_statement
from indextables.statements.row_level_statements import RowLevelText

SparkSql: TypeAlias = Callable[..., DataFrame]
_IMMEDIATE = re.compile(r"\s*EXECUTE\s", re.IGNORECASE)
_SEARCH = re.compile(r"\b(?:indexquery(?:all)?|textsearch)\b", re.IGNORECASE)


def run_sql(spark_sql: SparkSql, spark: SparkSession, sqlQuery: str, *args: Any, **options: Any) -> DataFrame:  # noqa: N803
    """Runs a text; `spark_sql` is Spark's own `SparkSession.sql`, whose parameters these are."""
    ensure_registered(spark)
    inner = _immediate_text(spark, sqlQuery)
    if inner is not None:
        return run_sql(spark_sql, spark, inner, *args, **options)
    command = parse_command(sqlQuery, partial(is_ours, spark, sqlQuery))
    if command is not None:
        return run_command(spark, command)
    statement = rewrite_statement(sqlQuery, prefix=f"{VIEW}{uuid4().hex}_")
    with _views(spark, statement.tables):
        frame = _run_statement(spark_sql, spark, statement.text, *args, **options)
    return resolve_searches(resolve_relations(frame))


def _run_statement(
    spark_sql: SparkSql,
    spark: SparkSession,
    sqlQuery: str,  # noqa: N803 - Spark's name
    args: Any = None,
    **names: Any,
) -> DataFrame:
    with _formatted(spark, sqlQuery, names) as text:
        if args and Capability.SQL_PARAMETERS not in capabilities(spark):
            return spark_sql(spark, text, args)
        bound = bind_parameters(spark, text, args)
        parsed = parse_statement(spark, bound)
        if parsed is None:
            return spark_sql(spark, text, args)
        statement = resolve_time_travel(spark_sql, spark, bound, parsed)
        if not statement.tables:
            result = _run_parsed(spark_sql, spark, bound, parsed)
            return spark_sql(spark, text, args) if result is None else result
        with _views(spark, statement.tables):
            return _run_statement(spark_sql, spark, statement.text)


def _run_parsed(spark_sql: SparkSql, spark: SparkSession, text: str, parsed: Parsed) -> DataFrame | None:
    """The result of a statement, if tables of ours are in it; None if Spark has to run it as it is."""
    if isinstance(parsed.statement, Script):
        _refuse_searches(text)
    if isinstance(parsed.statement, ChangeRows):
        return _change_rows(spark_sql, spark, text, parsed.statement)
    if isinstance(parsed.statement, TableStatement):
        result = run_table_statement(spark, parsed.statement)
        if result is not None:
            return result
    located = locate_tables(spark, text, parsed)
    if isinstance(parsed.statement, WriteStatement):
        write = parsed if located == text else parse_statement(spark, located)
        if write is not None and isinstance(write.statement, WriteStatement):
            result = _run_write(spark, write.statement)
            if result is not None:
                return result
    return None if located == text else spark_sql(spark, located)


def _change_rows(spark_sql: SparkSql, spark: SparkSession, text: str, change: ChangeRows) -> DataFrame | None:
    """The result of DELETE, UPDATE or MERGE; None if the table is not one of ours."""
    target = find_target(spark, change.table, change.words)
    found = None if target is None else RowLevelText.of(text)
    if target is None or found is None:
        return None
    statement = found.parse(case_sensitive=condition_settings(spark)["case_sensitive"])
    return run_row_level(spark, target, statement, partial(run_sql, spark_sql, spark))


def _run_write(spark: SparkSession, statement: WriteStatement) -> DataFrame | None:
    """Writes to a table of ours, or to any table from one of ours; None if neither is."""
    if writes_to_ours(spark, statement):
        run_write(spark, statement)
        return spark.createDataFrame([], StructType())
    planned = plan_query(spark, statement)
    return None if planned is None else run_plan(spark, planned)


def _immediate_text(spark: SparkSession, text: str) -> str | None:
    """The text of `EXECUTE IMMEDIATE 'text'`, which is run like any other; None for other statements.

    Spark runs the statement of a variable, and one with USING or INTO.
    """
    parsed = parse_statement(spark, text) if _IMMEDIATE.match(text) else None
    if parsed is None or not isinstance(parsed.statement, ExecuteImmediate) or parsed.statement.text is None:
        return None
    inner = parsed.statement.text
    if not parsed.statement.has_parameters:
        return inner
    if _SEARCH.search(inner) or _writes(spark, inner):
        what = "a search or a write to a table of indextables"
        raise ConfigError(
            f"EXECUTE IMMEDIATE with USING or INTO cannot do {what}; use spark.sql(text, args=[...])",
            key="EXECUTE IMMEDIATE",
            value=inner,
        )
    return None


def _writes(spark: SparkSession, text: str) -> bool:
    match parse_statement(spark, text):
        case Parsed(statement=ChangeRows(table=table, words=words)):
            return find_target(spark, table, words) is not None
        case Parsed(statement=statement) if isinstance(statement, WriteStatement):
            return writes_to_ours(spark, statement)
        case _:
            return False


def _refuse_searches(script: str) -> None:
    if _SEARCH.search(script):
        reason = "Spark runs the statements of a script one after the other, out of reach"
        raise UnsupportedOperatorError(
            f"INDEXQUERY cannot be used in a script (BEGIN ... END): {reason}; run the query on its own",
            predicate=script,
            reason=reason,
            operator="INDEXQUERY",
        )


@contextmanager
def _views(spark: SparkSession, tables: Sequence[TableAt]) -> Iterator[None]:
    """The tables as views, while Spark analyzes a text that names them.

    A path that is named several times is read at one version.
    """
    created, decide = [], cache(lambda given: resolve_version(spark, dict(given)))
    try:
        for table in tables:
            given = {"path": table.path, "versionAsOf": table.version, "timestampAsOf": table.timestamp}
            options = frozenset((key, value) for key, value in given.items() if value is not None)
            frame_at(spark, *decide(options)).createTempView(table.name)
            created.append(table.name)
        yield
    finally:
        for name in created:
            drop_view(spark, name)


@contextmanager
def _formatted(spark: SparkSession, text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The text with `{name}` replaced; a frame becomes a temporary view until the context ends."""
    if not values:
        yield text
        return
    formatter = SQLStringFormatter(spark)
    try:
        yield formatter.format(text, **values)
    finally:
        formatter.clear()
