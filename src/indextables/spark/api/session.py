"""Switching indextables on in a Spark session."""

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from indextables.spark.api.dataframe_writer import TableWriter
from indextables.spark.api.dataframe_writer_v2 import TableWriterV2
from indextables.spark.api.hooks import install
from indextables.spark.api.registration import LOCK, configure_session, ensure_registered
from indextables.spark.catalyst.versions import refuse_unsupported
from indextables.spark.prepared import prepared
from indextables.spark.source.data_source import IndexTablesDataSource


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    Filters, searches and counts of frames reach the table. May be called again, for any number of sessions and from any
    thread; other formats are as before. Over Spark Connect, `spark.read` and `df.write` stay Spark's own: they know the
    modes append and overwrite, and settings as options.
    """
    refuse_unsupported(spark.version, "Spark")
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        ensure_registered(spark)
        configure_session(spark)
        with LOCK:
            install()
            setattr(ClassicDataFrame, "write", property(_writer))  # noqa: B010 - a property of Spark's own class
            setattr(ClassicDataFrame, "writeTo", _writer_to)  # noqa: B010
    else:
        _register_over_connect(spark)
    return spark


def _register_over_connect(spark: Any) -> None:
    try:
        spark.dataSource.register(IndexTablesDataSource)
    except PySparkException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # the server has found it by itself
            raise


def _writer(frame: ClassicDataFrame) -> TableWriter:
    return TableWriter(prepared(frame))


def _writer_to(frame: ClassicDataFrame, table: str) -> TableWriterV2:
    return TableWriterV2(frame, table)
