"""Switching indextables on in a Spark session, and SQL in sessions where it is not."""

from inspect import unwrap
from typing import Any
from weakref import WeakSet

from pyspark.sql import DataFrame, SparkSession

from indextables.spark.api.hooks import install, uninstall
from indextables.spark.api.session_kind import connect, is_remote
from indextables.spark.catalyst.probe import capabilities
from indextables.spark.frames.registration import LOCK, configure_session, ensure_registered, set_enabled
from indextables.spark.statements.spark_sql import run_sql
from indextables.spark.versions import refuse_unsupported

_enabled: WeakSet[SparkSession] = WeakSet()


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    Queries are planned by the driver when they run: filters, searches and counts reach the table. May be called again, for
    any number of sessions and from any thread; other formats are as before. Over Spark Connect, the client plans what it
    sends, and the server has to have indextables installed (docs/connect.md).
    """
    refuse_unsupported(spark.version, "Spark")
    if is_remote(spark):
        with LOCK:
            connect().enable_remote(spark)
        return spark
    capabilities(spark)  # what Spark lacks is logged now, not in the middle of a query
    ensure_registered(spark)
    configure_session(spark)
    with LOCK:
        install()
        _enabled.add(spark)
        set_enabled(spark, enabled=True)
    return spark


def disable(spark: SparkSession) -> SparkSession:
    """The same session, whose tables are read and written by the plain data source from now on.

    The hooks on Spark's classes do nothing in sessions that are not enabled. They go with the last one that is disabled.
    """
    if is_remote(spark):
        with LOCK:
            connect().disable_remote(spark)
        return spark
    with LOCK:
        _enabled.discard(spark)
        set_enabled(spark, enabled=False)
        if not _enabled:
            uninstall()
    return spark


def sql(spark: SparkSession, text: str, args: Any = None, **frames: Any) -> DataFrame:
    """The result of a SQL text, as `spark.sql` gives it after `indextables.enable(spark)`, in a session without that.

    `indextables.sql(spark, "SELECT count(*) FROM indextables.`/data/logs` WHERE message INDEXQUERY :q", {"q": "disk"})`
    """
    if is_remote(spark):
        frame: DataFrame = connect().sql_remote(spark, text, args, **frames)
        return frame
    return run_sql(unwrap(SparkSession.sql), spark, text, args, **frames)
