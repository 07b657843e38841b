"""A scan by Spark's Python workers, each with the splits, the columns and the condition that the driver has chosen."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.read.read_task import PlannedRead, ScanContext
from indextables.read.scan_plan import ScanPlan, SplitTask
from indextables.spark.catalyst.java import Java, jvm_of, named_as, seq, sequence
from indextables.spark.catalyst.relation import Relation
from indextables.spark.source.options import FORMAT
from indextables.spark.source.read_options import Asked
from indextables.spark.source.spark_types import spark_schema, to_arrow_utc
from indextables.spark.source.task_packing import packed

_SMALL = 2 * 1024 * 1024  # bytes of splits


def planned_read(
    asked: Asked, plan: ScanPlan, tasks: Sequence[SplitTask], limit: int | None, *, one_task: bool
) -> PlannedRead:
    """What workers do to read some splits of a plan."""
    config = asked.config(plan.snapshot.metadata.properties)
    schema = to_arrow_utc(spark_schema(plan.scan_spec.output_schema))
    work = ScanContext(asked.path, config, plan.scan_spec, schema, plan.snapshot.version)
    groups = [tasks] if one_task else packed(tasks, config)
    return PlannedRead(work, tuple(tuple(group) for group in groups if group), limit)


def node(spark: Any, read: PlannedRead, relation: Relation, columns: Sequence[str]) -> Java:
    """The node of Spark's plan, with the columns (to Spark) of the relation; in those that are not read is anything."""
    jvm, attributes = jvm_of(spark), sequence(relation.java.output())
    named = list(zip(attributes, relation.columns.values(), strict=True))
    scan = _scan(spark, read, seq([attribute for attribute, name in named if name in columns], spark))
    if len(columns) == len(attributes):
        return scan
    outputs = [attribute if name in columns else _unread(attribute, spark) for attribute, name in named]
    return jvm.org.apache.spark.sql.catalyst.plans.logical.Project(seq(outputs, spark), scan)


def _scan(spark: Any, read: PlannedRead, output: Java) -> Java:
    jvm = jvm_of(spark)
    size = sum(task.split.size for group in read.groups for task in group)
    numbers, types = _numbers(spark, len(read.groups), size), spark_schema(read.work.scan_spec.output_schema)
    function = UserDefinedFunction(read, types, FORMAT, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    expression = function._judf.builder(numbers.output())  # noqa: SLF001
    nothing = jvm.scala.Option.empty()
    return jvm.org.apache.spark.sql.catalyst.plans.logical.MapInArrow(expression, output, numbers, False, nothing)


def _numbers(spark: Any, count: int, size: int) -> Java:
    """The plan of so many numbers, each in a task of its own, for a node that reads so many bytes.

    Spark takes a node to be about as large as what is below it, and sends small sides of joins to all executors. It does not
    know how large an RDD is, and takes it for large.
    """
    numbers = spark.range(0, count, 1, count)._jdf  # noqa: SLF001
    if size > _SMALL:
        rows = numbers.queryExecution().toRdd()
        numbers = spark._jsparkSession.internalCreateDataFrame(rows, numbers.schema(), False)  # noqa: SLF001
    return numbers.queryExecution().analyzed()


def _unread(attribute: Java, spark: Any) -> Java:
    """Any value by the name and id of a column: null, or false for that of a search, which is never null to Spark."""
    expressions = jvm_of(spark).org.apache.spark.sql.catalyst.expressions
    if attribute.nullable():
        return named_as(expressions.Literal(None, attribute.dataType()), attribute, spark)
    return named_as(expressions.Literal.FalseLiteral(), attribute, spark)
