"""Switching indextables on in a Spark session."""

from typing import Any
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from indextables.spark.api.hooks import install, uninstall
from indextables.spark.api.registration import LOCK, configure_session, ensure_registered
from indextables.spark.catalyst.probe import capabilities
from indextables.spark.catalyst.versions import refuse_unsupported
from indextables.spark.source.data_source import IndexTablesDataSource

_enabled: WeakSet[SparkSession] = WeakSet()


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    Queries are planned by the driver when they run: filters, searches and counts reach the table. May be called again, for
    any number of sessions and from any thread; other formats are as before. Over Spark Connect, `spark.read` and `df.write`
    stay Spark's own: they know the modes append and overwrite, and settings as options.
    """
    refuse_unsupported(spark.version, "Spark")
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        capabilities(spark)  # what Spark lacks is logged now, not in the middle of a query
        ensure_registered(spark)
        configure_session(spark)
        with LOCK:
            install()
            _enabled.add(spark)
    else:
        _register_over_connect(spark)
    return spark


def disable(spark: SparkSession) -> SparkSession:
    """The same session, whose tables are read and written by the plain data source from now on.

    The hooks on Spark's classes serve all sessions of a process; they go with the last session that is disabled.
    """
    with LOCK:
        _enabled.discard(spark)
        if not _enabled:
            uninstall()
    return spark


def _register_over_connect(spark: Any) -> None:
    try:
        spark.dataSource.register(IndexTablesDataSource)
    except PySparkException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # the server has found it by itself
            raise
