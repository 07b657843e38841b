"""Methods of Spark Connect's classes that a plan alone cannot express: `read`, `write`, `writeTo`, `sql`.

Queries need no hooks: the stub of an enabled session plans whatever is sent (`remote_queries`). Sessions that are not
enabled keep Spark's own methods.
"""

from collections.abc import Callable, Mapping
from inspect import unwrap
from typing import Any

from pyspark.sql.connect.catalog import Catalog
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from indextables.errors import UnsupportedStatementError
from indextables.spark.connect.remote_compaction import on_remote_executors
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_reader import RemoteReader, frame_at
from indextables.spark.connect.remote_session import any_enabled, queries_of, register, unregister
from indextables.spark.connect.remote_statements import run_remote_sql
from indextables.spark.connect.remote_writer import RemoteWriter
from indextables.spark.frames.class_hooks import ClassHooks
from indextables.spark.frames.search_texts import hook_texts
from indextables.spark.source.search_function import FUNCTIONS, search_udf

__all__ = ["disable_remote", "enable_remote", "explain_remote", "on_remote_executors", "scan_remote", "sql_remote"]

_hooks = ClassHooks()


def enable_remote(session: Any) -> Any:
    """The same session, whose frames, writes and SQL know our tables."""
    register(session)
    for name in FUNCTIONS:
        session.udf.register(name, search_udf)
    if not _hooks:
        _install()
    return session


def disable_remote(session: Any) -> Any:
    unregister(session)
    if not any_enabled():
        _hooks.remove()
    return session


def explain_remote(frame: Any) -> str:
    """What the server reads of our tables for a frame."""
    queries = register(frame.sparkSession)
    return queries.explain(frame._plan.plan(frame.sparkSession.client))


def sql_remote(session: Any, text: str, args: Any = None, **frames: Any) -> Any:
    """The result of a SQL text in a session that need not be enabled."""
    return run_remote_sql(unwrap(SparkSession.sql), session, register(session), text, args, **frames)


def scan_remote(session: Any, options: Mapping[str, str], schema: StructType) -> Any:
    """A frame over a table, with the columns of a schema."""
    return frame_at(session, register(session), options, schema.json())


def _install() -> None:
    _hooks.replace(SparkSession, "read", property(_read))
    _hooks.replace(DataFrame, "write", property(_write))
    _hooks.hook(DataFrame, "writeTo", _write_to)
    _hooks.hook(SparkSession, "sql", _sql)
    _hooks.hook(Catalog, "dropTempView", _drop_view)
    hook_texts(_hooks, DataFrame)


def _read(session: Any) -> Any:
    queries = queries_of(session)
    return _hooks.value(SparkSession, "read", session) if queries is None else RemoteReader(session, queries)


def _write(frame: Any) -> Any:
    queries = queries_of(frame.sparkSession)
    return _hooks.value(DataFrame, "write", frame) if queries is None else RemoteWriter(frame, queries)


def _sql(original: Callable[..., Any], session: Any, sqlQuery: str, *args: Any, **options: Any) -> Any:  # noqa: N803
    queries = queries_of(session)
    if queries is None:
        return original(session, sqlQuery, *args, **options)
    return run_remote_sql(original, session, queries, sqlQuery, *args, **options)


def _write_to(original: Callable[..., Any], frame: Any, table: str) -> Any:
    queries = queries_of(frame.sparkSession)
    if queries is not None and queries.catalog.location_of(identifier_parts(table)) is not None:
        raise UnsupportedStatementError(
            f"df.writeTo({table!r}) does not work over Spark Connect for a table of indextables; "
            f"use df.write.insertInto({table!r}) or df.write.mode(...).saveAsTable({table!r})",
            table=table,
            statement="writeTo",
        )
    return original(frame, table)


def _drop_view(original: Callable[..., Any], catalog: Any, viewName: str) -> Any:  # noqa: N803 - Spark's name
    queries = queries_of(catalog._sparkSession)
    if queries is not None:
        queries.forget_view(viewName)
    return original(catalog, viewName)
