"""A planned query as a plan of Spark: scans and rows in the places of relations and nodes."""

from typing import Any, assert_never

import pyarrow as pa

from indextables.spark.catalyst import arrow_scan, parquet_scan
from indextables.spark.catalyst.java import Java, ids, replacing, sequence
from indextables.spark.catalyst.local_relation import local_node, with_unread
from indextables.spark.catalyst.plan_reader import PlanReader
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.planner import QueryPlan
from indextables.spark.planner.scan_builder import PlannedScan, ScanReader


def write_plan(plan: Java, query: QueryPlan, reader: PlanReader, spark: Any) -> Java:
    """The plan to run; the rest of it stays as it is."""
    rows = [
        (reader.nodes[number], _rows(reader.nodes[number], found.rows, spark)) for number, found in query.rows.items()
    ]
    scans = [
        (reader.relations[number].java, _scan(scan, reader.relations[number].java, spark))
        for number, scan in query.scans.items()
    ]
    if query.drops_limit:
        plan = plan.child().child()  # Spark would not reuse the Python process of a scan with its own limit
    return plan.transformWithSubqueries(replacing([*rows, *scans], spark))


def _scan(scan: PlannedScan, relation: Java, spark: Any) -> Java:
    """The node that reads, with the columns of the relation; those that are not required have arbitrary values."""
    match scan.reader:
        case ScanReader.NONE | ScanReader.DRIVER:
            return local_node(spark, scan.rows(), sequence(relation.output()))
        case ScanReader.SPARK_PARQUET if Capability.PARQUET_SCANS in capabilities(spark):
            splits = [task.split for task in scan.tasks]
            return parquet_scan.node(spark, scan.relation.options.path, splits, relation.output(), label=scan.label)
        case ScanReader.SPARK_PARQUET | ScanReader.EXECUTORS:
            return arrow_scan.node(spark, scan, sequence(relation.output()))
        case _:
            assert_never(scan.reader)


def _rows(replaced: Java, rows: pa.Table, spark: Any) -> Java:
    """The rows in place of a node; of its output, they have the columns that anything reads."""
    attributes = replaced.output()
    output, numbers = sequence(attributes), ids(attributes)
    if len(output) == rows.num_columns:
        return local_node(spark, rows, output)
    read = [number for number in numbers if name_of(number) in rows.column_names]
    present = [one for one, number in zip(output, numbers, strict=True) if number in read]
    node = local_node(spark, rows.select([name_of(number) for number in read]), present)
    return with_unread(spark, node, output, set(read))
