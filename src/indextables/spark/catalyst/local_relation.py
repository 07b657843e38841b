"""Rows that the driver has already, as a node of Spark's plan."""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.spark.catalyst.java import Java, jvm_of, kind, named_as, seq, sequence
from indextables.spark.source.spark_types import spark_schema


def local_frame(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """These rows as a frame. They are in one batch, because Spark loses those that come after an empty batch."""
    return spark.createDataFrame(rows.combine_chunks(), schema)


def local_node(spark: Any, rows: pa.Table, output: Java) -> Java:
    """These rows under the names and ids of other columns: to the rest of a plan, they are those columns."""
    return _renamed(spark, _plan(spark, rows), sequence(output))


def local_aggregate(spark: Any, rows: pa.Table, expressions: Java) -> Java:
    """The rows of an aggregate in place of it, each column from one of its expressions.

    Grouping columns keep the ids of the columns that they are; figures have ids of their own and stand in a node above. In a
    join, Spark gives new ids to a leaf of the right side, to all of its columns at once: a figure must not be among them.
    """
    below, listed = _plan(spark, rows), sequence(expressions)
    own = sequence(below.output())
    leaf = [item if _is_plain(item) else mine for item, mine in zip(listed, own, strict=True)]
    node = _renamed(spark, below, leaf)
    if all(map(_is_plain, listed)):
        return node
    project = jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical.Project
    items = [item if _is_plain(item) else named_as(mine, item, spark) for item, mine in zip(listed, own, strict=True)]
    return project(seq(items, spark), node)


def _is_plain(expression: Java) -> bool:
    return kind(expression) == "AttributeReference"


def _plan(spark: Any, rows: pa.Table) -> Java:
    unnamed = rows.rename_columns([f"c{number}" for number in range(rows.num_columns)])
    types = spark_schema(unnamed.schema)  # told, because Spark takes times without a zone for times
    fields = [StructField(f.name, t.dataType, f.nullable) for f, t in zip(unnamed.schema, types, strict=True)]
    return local_frame(spark, unnamed, StructType(fields))._jdf.queryExecution().analyzed()  # noqa: SLF001


def _renamed(spark: Any, below: Java, output: list[Java]) -> Java:
    jvm = jvm_of(spark)
    logical, nothing = jvm.org.apache.spark.sql.catalyst.plans.logical, jvm.scala.Option.empty()
    if kind(below) == "LocalRelation":
        return logical.LocalRelation(seq(output, spark), below.data(), False, nothing)
    columns = zip(sequence(below.output()), output, strict=True)
    return logical.Project(seq([named_as(own, wanted, spark) for own, wanted in columns], spark), below)
