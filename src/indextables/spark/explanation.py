"""What Spark will read of our tables, told before it does."""

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from indextables.read.plan import explain as explain_scan
from indextables.spark.java import UnknownIdsError
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
    return "\n".join(map(_told, scans.values()))


def _told(scan: TableScan) -> str:
    limit = [] if scan.limit is None else [f"  rows wanted       {scan.limit:,}, of {len(scan.tasks):,} splits at most"]
    reader = f"  read by           {scan.reader}"
    table = f"{scan.relation.asked.path}, version {scan.plan.snapshot.version}"
    return "\n".join([table, str(explain_scan(scan.plan)), reader, *limit])
