"""A scan by executors: each task has splits, columns and a condition that the driver has chosen."""

from typing import Any

from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.read.read_task import PlannedRead, ScanContext
from indextables.spark.catalyst.java import Java, jvm_of, nothing, seq
from indextables.spark.catalyst.local_relation import with_unread
from indextables.spark.planner.scan_builder import PlannedScan
from indextables.spark.source.options import FORMAT
from indextables.spark.source.spark_types import spark_schema, to_arrow_utc
from indextables.spark.source.task_packing import packed
from indextables.worker_versions import OnWorkers

_SMALL = 2 * 1024 * 1024  # bytes of splits


def node(spark: Any, scan: PlannedScan, output: list[Java]) -> Java:
    """The node of Spark's plan, with the columns (to Spark) of the relation; unread columns have any value."""
    named = list(zip(output, scan.relation.columns.items(), strict=True))
    read = [attribute for attribute, (_, name) in named if name in scan.columns]
    numbers = {number for number, name in scan.relation.columns.items() if name in scan.columns}
    return with_unread(spark, _scan(spark, planned_read(scan), seq(read, spark), scan.label), output, numbers)


def planned_read(scan: PlannedScan) -> PlannedRead:
    """What the tasks of a scan do."""
    options, plan = scan.relation.options, scan.plan
    config = options.config(plan.snapshot.metadata.properties)
    schema = to_arrow_utc(spark_schema(plan.scan_spec.output_schema))
    work = ScanContext(options.path, config, plan.scan_spec, schema, plan.snapshot.version)
    groups = (
        [scan.tasks] if scan.is_one_task else packed(scan.tasks, config, searched=plan.scan_spec.search is not None)
    )
    return PlannedRead(work, tuple(tuple(group) for group in groups if group), scan.limit)


def _scan(spark: Any, read: PlannedRead, output: Java, label: str) -> Java:
    """The node; plans show the label as the name of its function."""
    jvm = jvm_of(spark)
    size = sum(task.split.size for group in read.groups for task in group)
    numbers, types = _numbers(spark, len(read.groups), size), spark_schema(read.work.scan_spec.output_schema)
    function = UserDefinedFunction(OnWorkers(read), types, f"{FORMAT}[{label}]", PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    expression = function._judf.builder(numbers.output())
    return jvm.org.apache.spark.sql.catalyst.plans.logical.MapInArrow(
        expression, output, numbers, False, nothing(spark)
    )


def _numbers(spark: Any, count: int, size: int) -> Java:
    """The plan of `count` numbers, each in a task of its own, for a node that reads `size` bytes.

    Spark takes a node to be about as large as what is below it, and sends small sides of joins to all executors. It does not
    know how large an RDD is, and takes it for large.
    """
    numbers = spark.range(0, count, 1, count)._jdf
    if size > _SMALL:
        rows = numbers.queryExecution().toRdd()
        numbers = spark._jsparkSession.internalCreateDataFrame(rows, numbers.schema(), False)
    return numbers.queryExecution().analyzed()
