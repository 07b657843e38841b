"""Rows that the driver has already, as a node of Spark's plan."""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.spark.java import Java, jvm_of, kind, named_as, seq, sequence
from indextables.spark.types import spark_schema


def local_frame(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """These rows as a frame. They are in one batch, because Spark loses those that come after an empty batch."""
    return spark.createDataFrame(rows.combine_chunks(), schema)


def local_node(spark: Any, rows: pa.Table, output: Java) -> Java:
    """These rows under the names and ids of other columns: to the rest of a plan, they are those columns."""
    unnamed = rows.rename_columns([f"c{number}" for number in range(rows.num_columns)])
    types = spark_schema(unnamed.schema)  # told, because Spark takes times without a zone for times
    fields = [StructField(f.name, t.dataType, f.nullable) for f, t in zip(unnamed.schema, types, strict=True)]
    below = local_frame(spark, unnamed, StructType(fields))._jdf.queryExecution().analyzed()  # noqa: SLF001
    jvm = jvm_of(spark)
    logical, nothing = jvm.org.apache.spark.sql.catalyst.plans.logical, jvm.scala.Option.empty()
    if kind(below) == "LocalRelation":
        return logical.LocalRelation(output, below.data(), False, nothing)
    columns = zip(sequence(below.output()), sequence(output), strict=True)
    return logical.Project(seq([named_as(own, wanted, spark) for own, wanted in columns], spark), below)
