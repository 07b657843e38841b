"""Plans made by hand: relations of ours without a Python process to make them, and frames of plans."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from indextables.spark.catalyst import Java
from indextables.spark.options import FORMAT


def framed(spark: SparkSession, plan: Java) -> DataFrame:
    """A frame that runs this plan."""
    session: Any = spark
    return DataFrame(session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), spark)  # noqa: SLF001


def relation(spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> Java:
    """What `spark.read.format("indextables").schema(...).load()` makes, but for the process that Spark starts there."""
    session: Any = spark
    jvm, columns = session._jvm, session._jsparkSession.parseDataType(schema.json())  # noqa: SLF001
    nothing = jvm.scala.Option.empty()
    relations = jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
    return asking(spark, relations.create(_table(spark, columns), nothing, nothing), options)


def asking(spark: SparkSession, old: Java, options: Mapping[str, str]) -> Java:
    """A relation of its own, with the same columns (to Spark) as the old one, and these options."""
    session: Any = spark
    return old.copy(
        _table(spark, old.table().schema()),
        old.output(),
        old.catalog(),
        old.identifier(),
        session._jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(dict(options)),  # noqa: SLF001
        old.timeTravelSpec(),
    )


def _table(spark: SparkSession, schema: Java) -> Java:
    """The format as a table of these columns; Spark asks the data source itself when it plans a scan."""
    session: Any = spark
    python = session._jvm.org.apache.spark.sql.execution.datasources.v2.python  # noqa: SLF001
    source = python.PythonDataSourceV2()
    source.setShortName(FORMAT)
    return python.PythonTable(source, FORMAT, schema)
