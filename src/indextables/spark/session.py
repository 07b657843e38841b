"""Switching indextables on in a Spark session."""

from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from indextables.spark.source import IndexTablesDataSource
from indextables.spark.writer import TableWriter


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    May be called again. Other formats are written as before. Over Spark Connect, `df.write` stays Spark's own: it knows the
    modes append and overwrite, and settings as options.
    """
    spark.dataSource.register(IndexTablesDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    if isinstance(spark, SparkSession):  # a session of Spark Connect is of another class
        setattr(ClassicDataFrame, "write", property(TableWriter))  # noqa: B010 - a property of Spark's own class
    return spark
