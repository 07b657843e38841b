"""A scan by executors: each task has splits, columns and a condition that the driver has chosen."""

import logging
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.read.read_task import PlannedRead, ScanContext
from indextables.spark.catalyst.executor_jobs import executor_hosts
from indextables.spark.catalyst.java import Java, jvm_of, kind, nothing, seq
from indextables.spark.catalyst.local_relation import local_frame, with_unread
from indextables.spark.catalyst.probe import REQUIREMENTS, Capability, capabilities
from indextables.spark.options import FORMAT
from indextables.spark.planner.scan_builder import PlannedScan
from indextables.spark.planner.split_placement import PlacedGroup, busiest, placed
from indextables.spark.planner.task_packing import packed
from indextables.spark.source.spark_types import spark_schema, to_arrow_utc
from indextables.worker_versions import OnWorkers

logger = logging.getLogger(__name__)
_SMALL = 2 * 1024 * 1024  # bytes of splits


def node(spark: Any, scan: PlannedScan, output: list[Java]) -> Java:
    """The node of Spark's plan, with the columns (to Spark) of the relation; unread columns have any value."""
    named = list(zip(output, scan.relation.columns.items(), strict=True))
    read = [attribute for attribute, (_, name) in named if name in scan.columns]
    numbers = {number for number, name in scan.relation.columns.items() if name in scan.columns}
    return with_unread(spark, _scan(spark, scan, seq(read, spark)), output, numbers)


def _scan(spark: Any, scan: PlannedScan, output: Java) -> Java:
    jvm, spec = jvm_of(spark), scan.plan.scan_spec
    size = sum(task.split.size for task in scan.tasks)
    groups = _groups(scan, _hosts(spark, scan) if size > _SMALL else [])
    read = PlannedRead(_work(scan), tuple(group.tasks for group in groups), scan.limit)
    numbers = _numbers(spark, [group.host for group in groups], size)
    function = UserDefinedFunction(
        OnWorkers(read),
        spark_schema(spec.output_schema),
        f"{FORMAT}[{scan.label}]",  # plans show it
        PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    )
    expression = function._judf.builder(numbers.output())
    return jvm.org.apache.spark.sql.catalyst.plans.logical.MapInArrow(
        expression, output, numbers, False, nothing(spark)
    )


def _work(scan: PlannedScan) -> ScanContext:
    """What the tasks of a scan do."""
    options, plan = scan.relation.options, scan.plan
    schema = to_arrow_utc(spark_schema(plan.scan_spec.output_schema))
    return ScanContext(options.path, scan.config, plan.scan_spec, schema, plan.snapshot.version)


def _hosts(spark: Any, scan: PlannedScan) -> list[str]:
    """The hosts to choose from, where tasks use indexes that a host keeps; rows are not kept."""
    spec = scan.plan.scan_spec
    if not (spec.queries or spec.point_conditions) or Capability.SPLIT_PLACEMENT not in capabilities(spark):
        return []
    try:
        return executor_hosts(spark)
    except (PySparkException, Py4JError) as error:
        _warn(type(error).__name__)
        return []


@cache
def _warn(reason: str) -> None:
    logger.warning(
        "switched off: %s. Spark does not say where its executors are (%s): %s",
        Capability.SPLIT_PLACEMENT.value,
        reason,
        REQUIREMENTS[Capability.SPLIT_PLACEMENT].cost,
    )


def _groups(scan: PlannedScan, hosts: Sequence[str]) -> list[PlacedGroup]:
    """The splits of each task."""
    if scan.is_one_task:
        return [PlacedGroup(tuple(scan.tasks), busiest(scan.tasks, hosts))]
    pack = partial(packed, config=scan.config, searched=scan.plan.scan_spec.search is not None)
    return list(placed(scan.tasks, hosts, pack))


def _numbers(spark: Any, hosts: Sequence[str | None], size: int) -> Java:
    """The plan of the numbers of the tasks, each in a task of its own on its host, for a node that reads `size` bytes.

    Spark takes a node to be about as large as what is below it, and sends small sides of joins to all executors. It does not
    know how large an RDD is, and takes it for large.
    """
    if any(hosts) and (rows := _placed_rows(spark, hosts)):
        numbers = spark.range(0)._jdf
    else:
        numbers = spark.range(0, len(hosts), 1, len(hosts))._jdf
        if size <= _SMALL:
            return numbers.queryExecution().analyzed()
        rows = numbers.queryExecution().toRdd()
    return spark._jsparkSession.internalCreateDataFrame(rows, numbers.schema(), False).queryExecution().analyzed()


def _placed_rows(spark: Any, hosts: Sequence[str | None]) -> Java | None:
    """An RDD of numbers, each in a partition with its preferred location."""
    jvm, context = jvm_of(spark), spark.sparkContext
    local = local_frame(spark, pa.table({"id": range(len(hosts))}))._jdf.queryExecution().analyzed()
    if kind(local) != "LocalRelation":
        return None
    locations, names = jvm.java.util.HashMap(), {host: seq([host], spark) for host in {*hosts} if host}
    for number, host in enumerate(hosts):
        if host:
            locations.put(number, names[host])
    preferred = jvm.PythonUtils.toScalaMap(locations)
    any_class = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("java.lang.Object"))
    rdd = jvm.org.apache.spark.rdd.ParallelCollectionRDD
    return rdd(context._jsc.sc(), local.data(), len(hosts), preferred, any_class)
