"""What Spark will read of our tables, told before it does."""

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from indextables.read.scan_plan import explain as explain_scan
from indextables.spark.answers import known_groups
from indextables.spark.catalyst.java import UnknownIdsError
from indextables.spark.prepared import planned
from indextables.spark.scans import TableScan


def explain(frame: DataFrame) -> str:
    """For each table that a frame reads: the columns, the condition, and which splits are pruned and why.

    Figures that the log knows, such as `groupBy("date").count()` of a table partitioned by `date`, read no table.
    """
    try:
        _, scans = planned(frame)
    except (Py4JError, UnknownIdsError):
        return "this plan is left to Spark, and the data source reads all columns; see df.explain()"
    if not scans:
        return "no table of indextables is read"
    if known_groups(frame, by_index=True) is not frame:
        return "\n".join(_told(scan, "nobody: indexes at hand know the count") for scan in scans.values())
    return "\n".join(_told(scan, scan.reader) for scan in scans.values())


def _told(scan: TableScan, by: str) -> str:
    limit = [] if scan.limit is None else [f"  rows wanted       {scan.limit:,}, of {len(scan.tasks):,} splits at most"]
    reader = f"  read by           {by}"
    table = f"{scan.relation.asked.path}, version {scan.plan.snapshot.version}"
    return "\n".join([table, str(explain_scan(scan.plan)), reader, *limit])
