"""Switching indextables on in a Spark session."""

from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from indextables.spark.frames import register
from indextables.spark.function import register_functions
from indextables.spark.hooks import install
from indextables.spark.prepared import prepared
from indextables.spark.source import IndexTablesDataSource
from indextables.spark.writer import TableWriter

_REDACTED = "spark.sql.redaction.options.regex"
_ACCOUNT_KEYS = "(?i)account[._-]?key"
_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum."


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    Filters, searches and counts of frames reach the table. May be called again; other formats are as before. Over Spark
    Connect, `spark.read` and `df.write` stay Spark's own: they know the modes append and overwrite, and settings as options.
    """
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        register(spark)
        register_functions(spark)
        install()
        _hide_account_keys(spark)
        _check_shuffles(spark)
        setattr(ClassicDataFrame, "write", property(_writer))  # noqa: B010 - a property of Spark's own class
    else:
        spark.dataSource.register(IndexTablesDataSource)
    return spark


def _hide_account_keys(spark: SparkSession) -> None:
    """Spark shows options in plans and settings in its UI, but for names that it takes for secrets; not this one."""
    hidden = spark.conf.get(_REDACTED) or ""
    if _ACCOUNT_KEYS not in hidden:
        spark.conf.set(_REDACTED, f"{hidden}|{_ACCOUNT_KEYS}")


def _check_shuffles(spark: SparkSession) -> None:
    """Lets Spark notice that an input gave other rows the second time, as it does by default since 4.2.

    Without it, an optimized write of such an input loses rows when an executor is lost. What the session says is left alone.
    """
    for key in (f"{_CHECKSUMS}enabled", f"{_CHECKSUMS}enableFullRetryOnMismatch"):
        if spark.conf.get(key, "true") != "true" and key not in spark.conf.getAll:
            spark.conf.set(key, "true")


def _writer(frame: ClassicDataFrame) -> TableWriter:
    return TableWriter(prepared(frame))
