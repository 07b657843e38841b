"""A frame made ready to run: the driver plans its scans, so that Spark starts no process to plan them.

Each relation of ours, in subqueries too, becomes a node that reads splits which were chosen here, from the snapshot in
memory: only the columns that the query needs (see `needs`), only splits that its filters leave, and no more rows than its
limit. Where nothing is searched, this node is Spark's own Parquet reader (see `native`). The rest of the plan is as Spark
has analyzed it. What cannot be prepared runs as it is, and the data source plans then.
"""

from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from indextables.spark.catalyst.java import Java, UnknownIdsError, frame_over, has, ids_of, inlined, plan_of, replacing
from indextables.spark.catalyst.relation import Relation, relations_in
from indextables.spark.needs import Needs, needs
from indextables.spark.scans import TableScan


def is_over_tables(frame: DataFrame) -> bool:
    """Whether rows of a frame come from tables of ours, and not from Spark's cache."""
    try:
        return any(map(Relation.of, relations_in(frame._jdf.queryExecution().withCachedData())))  # noqa: SLF001
    except Py4JError:
        return False


def prepared(frame: DataFrame) -> DataFrame:
    """The same rows, read by a plan of our own; the very same frame if it is not over tables of ours."""
    spark: Any = frame.sparkSession
    try:
        plan, scans = planned(frame)
        if not scans:
            return frame
        nodes = [(scan.relation.java, scan.node(spark)) for scan in scans.values()]
        return frame_over(plan.transformWithSubqueries(replacing(nodes, spark)), spark)
    except (Py4JError, PySparkException, UnknownIdsError):
        return frame  # a plan that we cannot look into is run as it is


def planned(frame: DataFrame) -> tuple[Java, dict[tuple[int, ...], "TableScan"]]:
    """The plan of a frame, and the scans that its relations of ours become, by the ids of their columns."""
    query = _in_places(frame)._jdf.queryExecution()  # noqa: SLF001 - see catalyst
    plan = query.withCachedData()
    ours = [relation for relation in map(Relation.of, relations_in(plan)) if relation is not None]
    if not ours:
        return plan, {}
    needed = _needs(query, plan, frame.sparkSession)
    scans = {ids_of(relation.java): TableScan.of(relation, needed) for relation in ours}
    if len(scans) < len(ours):
        raise UnknownIdsError  # two relations with the same columns, to Spark, may ask for other rows
    if needed.first in scans and scans[needed.first].is_one_task:
        plan = plan.child().child()  # the scan limits itself; Spark would stop the worker, and not use it again
    return plan, scans


def _in_places(frame: DataFrame) -> DataFrame:
    """The frame with each common table expression where it is used: so Spark runs it, with other columns in each place."""
    plan, spark = plan_of(frame), frame.sparkSession
    return frame_over(inlined(plan, spark), spark) if has(plan, "CTE", spark) else frame


def _needs(query: Java, plan: Java, spark: Any) -> Needs:
    found = needs(plan, query.optimizedPlan())
    # The optimized plan has the time of now in it, and the one that is run will have a later one.
    return replace(found, above={}, first=None) if has(plan, "CURRENT_LIKE", spark) else found
