"""Rows that the driver has, as a frame or as a node of Spark's plan."""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.spark.catalyst.java import Java, jvm_of, kind, named_as, nothing, seq, sequence
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.source.spark_types import spark_schema


def local_frame(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """These rows as a frame. They are in one batch, because Spark loses those that come after an empty batch."""
    return spark.createDataFrame(rows.combine_chunks(), schema)


def local_node(spark: Any, rows: pa.Table, output: list[Java]) -> Java:
    """These rows under the names and ids of other columns: to the rest of a plan, they are those columns."""
    below, jvm = _plan(spark, rows), jvm_of(spark)
    logical = jvm.org.apache.spark.sql.catalyst.plans.logical
    if kind(below) == "LocalRelation" and Capability.LOCAL_RELATIONS in capabilities(spark):
        return logical.LocalRelation(seq(output, spark), below.data(), False, nothing(spark))
    columns = zip(sequence(below.output()), output, strict=True)
    return logical.Project(seq([named_as(own, wanted, spark) for own, wanted in columns], spark), below)


def with_unread(spark: Any, node: Java, output: list[Java], read: set[int]) -> Java:
    """The node with all columns of an output, of which it has those in `read`; the others are not used."""
    if len(read) == len(output):
        return node
    columns = [one if int(one.exprId().id()) in read else _unread(one, spark) for one in output]
    return jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical.Project(seq(columns, spark), node)


def _unread(attribute: Java, spark: Any) -> Java:
    """Any value by the name and id of a column: null, or false for that of a search, which is never null to Spark."""
    expressions = jvm_of(spark).org.apache.spark.sql.catalyst.expressions
    if attribute.nullable() or str(attribute.dataType().typeName()) != "boolean":
        return named_as(expressions.Literal(None, attribute.dataType()), attribute, spark)
    return named_as(expressions.Literal.FalseLiteral(), attribute, spark)


def _plan(spark: Any, rows: pa.Table) -> Java:
    unnamed = rows.rename_columns([f"c{number}" for number in range(rows.num_columns)])
    types = spark_schema(unnamed.schema)  # given, because Spark reads times without a zone as timestamps
    fields = [StructField(f.name, t.dataType, f.nullable) for f, t in zip(unnamed.schema, types, strict=True)]
    return local_frame(spark, unnamed, StructType(fields))._jdf.queryExecution().analyzed()
