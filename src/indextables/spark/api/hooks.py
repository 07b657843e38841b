"""Methods of Spark's frames that look whether a table can do better: prune, search, count.

Hooks on the class, not a subclass of DataFrame: Spark's own methods make new frames of the plain class, so that a subclass
would have to repeat each of them, and would be lost in views and SQL. A hook sees every frame and reads its plan; a frame
that is not over one of our tables runs as before.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.group import GroupedData
from pyspark.sql.readwriter import DataFrameReader

from indextables.spark.absorb import absorbed, searched
from indextables.spark.answers import known_count, known_groups
from indextables.spark.api.dataframe_reader import TableFrameReader
from indextables.spark.api.registration import ensure_registered
from indextables.spark.catalog import refresh_columns, resolve_relations
from indextables.spark.catalyst.parquet_scan import missing_split_errors
from indextables.spark.catalyst.session_state import parse_name
from indextables.spark.prepared import is_over_tables, prepared
from indextables.spark.source.options import FORMAT
from indextables.spark.statements.spark_sql import run_sql

_MARK = "_of_indextables"
_MAX_ROWS = 2**31 - 1  # that a limit of Spark's can have
_ACTIONS = ("collect", "toArrow", "toPandas", "tail", "checkpoint", "localCheckpoint")


def install() -> None:
    """Puts the hooks in place, once."""
    SparkSession.read = property(TableFrameReader)  # type: ignore[method-assign,assignment]
    _hook(SparkSession, "sql", run_sql)
    _hook(SparkSession, "table", _table)
    _hook(DataFrameReader, "table", _table)
    _hook(ClassicDataFrame, "count", _count)
    for action in _ACTIONS:
        _hook(ClassicDataFrame, action, _prepared)
    _hook(ClassicDataFrame, "toLocalIterator", _iterated)
    _hook(ClassicDataFrame, "isEmpty", _is_empty)
    _hook(ClassicDataFrame, "show", _show)
    _hook(ClassicDataFrame, "filter", _filter)
    for name in ("select", "selectExpr", "withColumn", "join"):
        _hook(ClassicDataFrame, name, _searched)
    for aggregate in ("count", "agg", "min", "max"):
        _hook(GroupedData, aggregate, _groups)


def _hook(owner: type, name: str, around: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if hasattr(original, _MARK):
        return

    @wraps(original)
    def hooked(self: Any, *args: Any, **options: Any) -> Any:
        with missing_split_errors():
            return around(original, self, *args, **options)

    setattr(hooked, _MARK, True)
    setattr(owner, name, hooked)


def _count(original: Callable[..., int], frame: DataFrame) -> int:
    known = known_count(frame)
    return original(prepared(frame)) if known is None else known


def _prepared(original: Callable[..., Any], frame: DataFrame, *args: Any, **options: Any) -> Any:
    return original(_ready(frame), *args, **options)


def _ready(frame: DataFrame) -> DataFrame:
    """A frame that is about to be run."""
    return prepared(known_groups(frame, by_index=True))


def _iterated(original: Callable[..., Iterator[Row]], frame: DataFrame, *args: Any, **options: Any) -> Iterator[Row]:
    """Spark starts at once, and rows are read while they are asked for: what is missing may be missed late."""
    return _told(original(_ready(frame), *args, **options))


def _told(rows: Iterator[Row]) -> Iterator[Row]:
    with missing_split_errors():
        yield from rows


def _is_empty(original: Callable[..., bool], frame: DataFrame) -> bool:
    return original(prepared(frame.limit(1)) if is_over_tables(frame) else frame)


def _show(original: Callable[..., None], frame: DataFrame, n: int = 20, *args: Any, **options: Any) -> None:
    """Spark reads one row more than it shows, to know whether there are more."""
    if isinstance(n, int) and n >= 0 and is_over_tables(frame):
        frame = _ready(frame.limit(min(n + 1, _MAX_ROWS)))
    original(frame, n, *args, **options)


def _filter(original: Callable[..., DataFrame], frame: DataFrame, condition: Any) -> DataFrame:
    return absorbed(original(frame, condition))


def _table(original: Callable[..., DataFrame], asked: Any, *args: Any, **options: Any) -> DataFrame:
    """`spark.table` and `spark.read.table`."""
    spark = asked if isinstance(asked, SparkSession) else asked._spark  # noqa: SLF001 - the reader's session
    ensure_registered(spark)
    name = str(next(iter((*args, *options.values())), ""))
    parts = parse_name(spark, name)
    entry = refresh_columns(spark, parts, asked.given if isinstance(asked, TableFrameReader) else None)
    if entry is not None and isinstance(asked, TableFrameReader) and asked.is_of_the_past:
        return asked.load(entry.location, format=FORMAT).alias(parts[-1])  # Spark keeps the past of names to itself
    return searched(resolve_relations(original(asked, *args, **options)))


def _searched(original: Callable[..., DataFrame], frame: DataFrame, *args: Any, **options: Any) -> DataFrame:
    return searched(original(frame, *args, **options))


def _groups(original: Callable[..., DataFrame], grouped: Any, *args: Any, **options: Any) -> DataFrame:
    return known_groups(original(grouped, *args, **options))
