"""Methods of Spark's classes that plan a query when it runs: actions, `spark.read`, `spark.sql`, `df.write`.

They are hooks on the classes, not a subclass of DataFrame: Spark's own methods make new frames of the plain class. In
sessions that are not enabled, they call Spark's methods and do nothing else. What only builds a frame is not hooked, except
that texts are looked at for search operators: `filter`, `select`, `join` and `groupBy` cost what they cost without us. An
action on a frame that reads none of our tables makes a few calls into the JVM to see that, and runs as before.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.query import StreamingQuery

from indextables.spark.catalyst.parquet_scan import missing_split_errors
from indextables.spark.catalyst.query_planning import count, planned_frame, push_to_data_source, reads_our_tables
from indextables.spark.catalyst.session_state import parse_name, session_of
from indextables.spark.environment.worker_failures import worker_errors
from indextables.spark.frames.catalog import refresh_columns, resolve_relations
from indextables.spark.frames.class_hooks import ClassHooks
from indextables.spark.frames.data_stream_reader import TableStreamFrameReader
from indextables.spark.frames.data_stream_writer import TableStreamWriter
from indextables.spark.frames.dataframe_reader import TableFrameReader
from indextables.spark.frames.dataframe_writer import TableWriter
from indextables.spark.frames.dataframe_writer_v2 import TableWriterV2
from indextables.spark.frames.registration import ensure_registered, is_enabled
from indextables.spark.frames.search_texts import hook_texts
from indextables.spark.frames.stream_progress import with_figures
from indextables.spark.options import FORMAT
from indextables.spark.statements.spark_sql import run_sql

_MAX_ROWS = 2**31 - 1  # that a limit of Spark's can have
_ACTIONS = ("collect", "toArrow", "toPandas", "tail", "checkpoint", "localCheckpoint")
_hooks = ClassHooks()


def install() -> None:
    """Puts the hooks in place, once."""
    if _hooks:
        return
    _replace_property(SparkSession, "read", TableFrameReader)
    _replace_property(SparkSession, "readStream", TableStreamFrameReader)
    _hook(SparkSession, "sql", run_sql)
    _hook(SparkSession, "table", _table)
    _hook(DataFrameReader, "table", _table)
    _hook(ClassicDataFrame, "count", _count)
    for action in _ACTIONS:
        _hook(ClassicDataFrame, action, _action)
    _hook(ClassicDataFrame, "toLocalIterator", _to_local_iterator)
    _hook(ClassicDataFrame, "isEmpty", _is_empty)
    _hook(ClassicDataFrame, "show", _show)
    for name in ("cache", "persist"):
        _hook(ClassicDataFrame, name, _persist)
    _replace_property(ClassicDataFrame, "rdd", _rdd)
    _replace_property(ClassicDataFrame, "write", TableWriter)
    _hook(ClassicDataFrame, "writeTo", _write_to)
    hook_texts(_hooks, ClassicDataFrame)
    _replace_property(ClassicDataFrame, "writeStream", TableStreamWriter)
    _hooks.replace(StreamingQuery, "lastProgress", property(_last_progress))
    _hooks.replace(StreamingQuery, "recentProgress", property(_recent_progress))


def uninstall() -> None:
    """Gives Spark's classes their own methods back."""
    _hooks.remove()


def _hook(owner: type, name: str, around: Callable[..., Any]) -> None:
    def with_our_errors(original: Callable[..., Any], hooked: Any, *args: Any, **options: Any) -> Any:
        if not is_enabled(_session_of(hooked)):
            return original(hooked, *args, **options)
        with missing_split_errors(), worker_errors(partial(_reads_ours, hooked)):
            return around(original, hooked, *args, **options)

    _hooks.hook(owner, name, with_our_errors)


def _replace_property(owner: type, name: str, make: Callable[[Any], Any]) -> None:
    def value(hooked: Any) -> Any:
        return make(hooked) if is_enabled(_session_of(hooked)) else _hooks.value(owner, name, hooked)

    _hooks.replace(owner, name, property(value))


def _session_of(hooked: Any) -> SparkSession:
    if isinstance(hooked, SparkSession):
        return hooked
    return session_of(hooked) if isinstance(hooked, DataFrameReader) else hooked.sparkSession


def _reads_ours(hooked: Any) -> bool:
    return isinstance(hooked, ClassicDataFrame) and reads_our_tables(hooked)


def _count(original: Callable[..., int], frame: DataFrame) -> int:
    rows = count(frame)
    return rows if isinstance(rows, int) else original(rows)


def _action(original: Callable[..., Any], frame: DataFrame, *args: Any, **options: Any) -> Any:
    return original(planned_frame(frame), *args, **options)


def _to_local_iterator(
    original: Callable[..., Iterator[Row]], frame: DataFrame, *args: Any, **options: Any
) -> Iterator[Row]:
    """Spark starts at once, and rows are read while they are fetched: a missing split may be noticed late."""
    return _with_our_errors(original(planned_frame(frame), *args, **options), partial(_reads_ours, frame))


def _with_our_errors(rows: Iterator[Row], reads_ours: Callable[[], bool]) -> Iterator[Row]:
    with missing_split_errors(), worker_errors(reads_ours):
        yield from rows


def _is_empty(original: Callable[..., bool], frame: DataFrame) -> bool:
    return original(planned_frame(frame.limit(1)) if reads_our_tables(frame) else frame)


def _show(original: Callable[..., None], frame: DataFrame, n: int = 20, *args: Any, **options: Any) -> None:
    """Spark reads one row more than it shows, to know whether there are more."""
    if isinstance(n, int) and n >= 0 and reads_our_tables(frame):
        frame = planned_frame(frame.limit(min(n + 1, _MAX_ROWS)))
    original(frame, n, *args, **options)


def _persist(original: Callable[..., DataFrame], frame: DataFrame, *args: Any, **options: Any) -> DataFrame:
    """Spark caches the plan of a frame as it is, and reads our tables by the data source."""
    push_to_data_source(frame)
    return original(frame, *args, **options)


def _rdd(frame: ClassicDataFrame) -> "RDD[Row]":
    rows: RDD[Row] = _hooks.value(ClassicDataFrame, "rdd", planned_frame(frame))
    return rows


def _write_to(_: Callable[..., Any], frame: ClassicDataFrame, table: str) -> TableWriterV2:
    return TableWriterV2(frame, table)


def _last_progress(query: StreamingQuery) -> Any:
    progress = _hooks.value(StreamingQuery, "lastProgress", query)
    return None if progress is None else with_figures(str(query.id), progress)


def _recent_progress(query: StreamingQuery) -> list[Any]:
    identity = str(query.id)
    return [with_figures(identity, progress) for progress in _hooks.value(StreamingQuery, "recentProgress", query)]


def _table(original: Callable[..., DataFrame], reader: Any, *args: Any, **options: Any) -> DataFrame:
    """`spark.table` and `spark.read.table`."""
    spark = _session_of(reader)
    ensure_registered(spark)
    name = str(next(iter((*args, *options.values())), ""))
    parts = parse_name(spark, name)
    entry = refresh_columns(spark, parts, reader.given if isinstance(reader, TableFrameReader) else None)
    if entry is not None and isinstance(reader, TableFrameReader) and reader.is_time_travel:
        return reader.load(entry.location, format=FORMAT).alias(parts[-1])  # Spark keeps the past of names to itself
    return resolve_relations(original(reader, *args, **options))
