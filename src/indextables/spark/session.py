"""Switching indextables on in a Spark session."""

from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from indextables.spark.source import IndexTablesDataSource
from indextables.spark.writer import TableWriter


def enable(spark: SparkSession) -> SparkSession:
    """The same session, which now knows the format `indextables`: all modes, `partitionBy`, optimized write.

    May be called again. Other formats are written as before.
    """
    spark.dataSource.register(IndexTablesDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    setattr(ClassicDataFrame, "write", property(TableWriter))  # noqa: B010 - a property of Spark's own class
    return spark
