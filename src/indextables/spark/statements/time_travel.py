"""`FROM t VERSION AS OF 3`, `FROM t TIMESTAMP AS OF '...'` for tables of ours in the catalog.

Spark has no time travel for tables of Python data sources. Such a reference becomes a temporary view of the version.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from indextables.errors import ConfigError, UnsupportedStatementError
from indextables.spark.catalog import CatalogTable, lookup_table
from indextables.spark.catalyst.parsed_statement import CreateView, Parsed
from indextables.spark.catalyst.table_references import TableReference
from indextables.spark.source.options import VIEW
from indextables.spark.source.quoting import quote_name
from indextables.statements import Statement, TableAt

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPTIONS = frozenset({"versionasof", "timestampasof"})


def resolve_time_travel(
    spark_sql: Callable[..., DataFrame], spark: SparkSession, text: str, parsed: Parsed
) -> Statement:
    """The text with a view in the place of each table of ours in the past, and these tables."""
    prefix = f"{VIEW}{uuid4().hex}_"
    tables: list[TableAt] = []
    for reference in sorted(parsed.references, key=lambda found: -found.start):
        if not reference.is_time_travel and _OPTIONS.isdisjoint(map(str.lower, reference.options)):
            continue
        entry = lookup_table(spark, reference.name)
        if entry is None:
            continue
        _refuse_unsupported(parsed, reference, entry)
        timestamp = None if reference.timestamp is None else _evaluate(spark_sql, spark, reference.timestamp)
        view = TableAt(f"{prefix}{len(tables)}", entry.location, reference.version, timestamp)
        tables.append(view)
        # In parentheses, because a sample or an alias may follow. Without an alias, columns are qualified by the table.
        shown = f"({view.name} AS {quote_name(reference.name[-1:])})"
        text = text[: reference.start] + shown + text[reference.end :]
    return Statement(text, tuple(tables))


def _refuse_unsupported(parsed: Parsed, reference: TableReference, entry: CatalogTable) -> None:
    instead = f'spark.read.option("versionAsOf", 3).table("{".".join(reference.name)}").createTempView("before")'
    if reference.options:
        raise ConfigError(
            f"options of a table cannot be combined with time travel in SQL; write {entry.name} VERSION AS OF 3, or make a "
            f"view: {instead}",
            key=min(reference.options),
            value=reference.options[min(reference.options)],
        )
    if isinstance(parsed.statement, CreateView):
        raise UnsupportedStatementError(
            f"a view of {entry.name} cannot have VERSION AS OF or TIMESTAMP AS OF; use {instead}",
            table=entry.name,
            statement="CREATE VIEW",
        )


def _evaluate(spark_sql: Callable[..., DataFrame], spark: SparkSession, expression: str) -> str:
    """The timestamp that an expression means now, in UTC."""
    (row,) = spark_sql(spark, f"SELECT unix_micros(TRY_CAST({expression} AS TIMESTAMP))").collect()
    if row[0] is None:
        raise ConfigError(
            f"TIMESTAMP AS OF {expression} is not a timestamp; write one such as '2024-01-31 12:00:00'",
            key="timestampAsOf",
            value=expression,
        )
    return (_EPOCH + timedelta(microseconds=row[0])).isoformat(sep=" ")
