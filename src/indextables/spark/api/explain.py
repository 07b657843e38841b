"""What Spark will read of our tables, before it does."""

from pyspark.sql import DataFrame

from indextables.read.scan_plan import explain as explain_scan
from indextables.spark.api.session_kind import connect, is_remote
from indextables.spark.catalyst.query_planning import query_plan
from indextables.spark.planner.plan import Rows
from indextables.spark.planner.scan_builder import PlannedScan


def explain(frame: DataFrame) -> str:
    """For each table that a frame reads: the columns, the condition, and which splits are pruned and why.

    Aggregates that the transaction log stores, such as `groupBy("date").count()` of a table partitioned by `date`, read no
    split. A small side of a join is evaluated for this, as it is when the query runs.
    """
    if is_remote(frame.sparkSession):
        return str(connect().explain_remote(frame))
    found = query_plan(frame)
    if isinstance(found, str):
        return found
    plan, searches = found
    scans = [_explained(scan) for scan in plan.scans.values()]
    return "\n".join([*scans, *(_explained_rows(rows) for rows in plan.rows.values()), *searches])


def _explained_rows(rows: Rows) -> str:
    return f"{len(rows.rows):,} rows\n  read by           none: rows from {rows.origin.value}"


def _explained(scan: PlannedScan) -> str:
    limit = [] if scan.limit is None else [f"  rows wanted       {scan.limit:,}, of {len(scan.tasks):,} splits at most"]
    table = f"{scan.relation.options.path}, version {scan.plan.snapshot.version}"
    return "\n".join([table, str(explain_scan(scan.plan)), f"  read by           {scan.reader.value}", *limit])
