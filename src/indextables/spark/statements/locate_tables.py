"""Statements that name tables of ours in the catalog, with the path of each table in the text, or a view of its version.

Spark has a notation for options of one table, `FROM t WITH ('path' = '...')`, and reads the table with them. It has no time
travel for tables of Python data sources: `FROM t VERSION AS OF 3` and `FROM t TIMESTAMP AS OF '...'` become temporary views.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from indextables.config import PREFIX, canonical
from indextables.errors import ConfigError, UnsupportedStatementError
from indextables.spark.catalyst.parsed_statement import CreateView, Parsed, Script
from indextables.spark.catalyst.session_state import parse_plan
from indextables.spark.catalyst.table_references import TableReference
from indextables.spark.environment.session_settings import settings_of
from indextables.spark.frames.catalog import CatalogTable, lookup_table, refresh_columns
from indextables.spark.options import VIEW
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.statements import Statement, TableAt

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_TRAVEL = frozenset({"versionasof", "timestampasof"})
_OPTIONS = re.compile(r"\s*WITH\s*\(", re.IGNORECASE)


def locate_tables(spark: SparkSession, text: str, parsed: Parsed) -> str:
    """The statement with a path for every table of ours, except where Spark takes none: `INSERT INTO t TABLE u`."""
    places = sorted(_places(spark, parsed), key=lambda place: -place[0])
    settings = _script_settings if isinstance(parsed.statement, Script) else _no_settings
    options = {entry: {**settings(spark, entry), "path": entry.location} for _, entry in places}
    located = text
    for end, entry in places:
        located = _with_options(located, end, options[entry])
    if located == text or parse_plan(spark, located) is not None:
        return located
    located = text
    for end, entry in places:
        one_more = _with_options(located, end, options[entry])
        located = located if parse_plan(spark, one_more) is None else one_more
    return located


def _places(spark: SparkSession, parsed: Parsed) -> Iterator[tuple[int, CatalogTable]]:
    """Where the name of each table of ours ends."""
    for reference in parsed.references:
        keys = {key.lower() for key in reference.options}
        if "path" not in keys and not reference.is_streaming and not reference.is_time_travel:
            entry = refresh_columns(spark, reference.name, reference.options)
            if entry is not None:
                yield reference.end, entry


def _script_settings(spark: SparkSession, entry: CatalogTable) -> dict[str, str]:
    """The session's settings for the statements of a script, which Spark runs. It refuses its own dynamic mode there."""
    return {f"{PREFIX}partitionOverwriteMode": "static", **canonical(settings_of(spark, entry.location))}


def _no_settings(_spark: SparkSession, _entry: CatalogTable) -> dict[str, str]:
    """Of other statements: the frames over their tables get those of the session."""
    return {}


def _with_options(text: str, end: int, given: Mapping[str, str]) -> str:
    """The text with options for the table whose name ends there."""
    written = ", ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in given.items())
    options = _OPTIONS.match(text, end)
    if options:
        return f"{text[: options.end()]}{written}, {text[options.end() :]}"
    return f"{text[:end]} WITH ({written}){text[end:]}"


def resolve_time_travel(
    spark_sql: Callable[..., DataFrame], spark: SparkSession, text: str, parsed: Parsed
) -> Statement:
    """The text with a view in the place of each table of ours in the past, and these tables."""
    prefix = f"{VIEW}{uuid4().hex}_"
    tables: list[TableAt] = []
    for reference in sorted(parsed.references, key=lambda found: -found.start):
        if not reference.is_time_travel and _TIME_TRAVEL.isdisjoint(map(str.lower, reference.options)):
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
