"""What Spark's plan says about an input before it runs: how many rows it has at most, and what counting them would take."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from indextables.spark.catalyst.java import Java, has, plan_of, sequence
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import relation_leaves
from indextables.spark.source.quoting import quote_name

_ROW_BY_ROW = {
    "BroadcastHashJoinExec",
    "CoalesceExec",
    "ExpandExec",
    "FilterExec",
    "GenerateExec",
    "ProjectExec",
    "UnionExec",
}
_STORED = {"CommandResultExec", "InMemoryTableScanExec", "LocalTableScanExec", "OneRowRelationExec", "RangeExec"}
_OPAQUE = ("PLAN_EXPRESSION", "SCALA_UDF")  # subqueries and functions that may take any time


def max_rows(frame: DataFrame) -> int | None:
    """The most rows that a frame can have, as Spark's optimizer knows it: of a limit, a range, local rows."""
    if not _is_known(frame) or _reads_python_source(plan_of(frame)):
        return None
    most = frame._jdf.queryExecution().optimizedPlan().maxRows()
    return int(most.get()) if most.isDefined() else None


def num_tasks(frame: DataFrame) -> int | None:
    """How many tasks compute the rows of a frame, as Spark plans it: it may join them where the plan is adaptive."""
    if not isinstance(frame.sparkSession, SparkSession):
        return None
    return int(frame._jdf.queryExecution().executedPlan().outputPartitioning().numPartitions())


def is_costly_to_count(frame: DataFrame, columns: Sequence[str]) -> bool | None:
    """Whether it takes more than reading to count rows by these columns, or by Spark's partitions where there are none.

    False where columns of files are read, or rows that Spark has stored, and each of them gives its result by itself: there
    is no shuffle, no Python and no other source, and the rows are the same each time. None where it is not known.
    """
    if not _is_known(frame):
        return None
    keys = [quote_name([name]) for name in columns]
    counted = frame.groupBy(*keys).count() if keys else frame.select()  # Spark drops a sort below a count by columns
    planned = counted._jdf.queryExecution()
    if _reads_python_source(planned.withCachedData()):
        return True
    if any(has(planned.optimizedPlan(), part, frame.sparkSession) for part in _OPAQUE):
        return True
    plan = planned.sparkPlan()
    for _ in range(2 if keys else 0):  # the counts of each task, and of all of them
        plan = plan.child() if _class(plan).endswith("AggregateExec") else plan
    return not plan.deterministic() or any(map(_is_costly, _nodes(plan)))


def _is_known(frame: DataFrame) -> bool:
    """Whether the plan of a frame can be seen; those of Spark Connect are on the server."""
    session = frame.sparkSession
    return isinstance(session, SparkSession) and Capability.INPUT_COST in capabilities(session)


def _is_costly(node: Java) -> bool:
    name = _class(node)
    if name == "RDDScanExec":
        return not (node.rdd().isCheckpointed() or node.rdd().getStorageLevel().isValid())
    if node.children().isEmpty():
        return name not in _STORED and not node.supportsColumnar()  # a columnar source reads no column in vain
    return name not in _ROW_BY_ROW


def _reads_python_source(plan: Java) -> bool:
    """Whether a plan reads a Python data source: Spark starts a process to plan it."""
    return any(_class(leaf.table()) == "PythonTable" for leaf in relation_leaves(plan))


def _nodes(plan: Java) -> Iterator[Java]:
    yield plan
    for child in sequence(plan.children()):
        yield from _nodes(child)


def _class(found: Java) -> str:
    return str(found.getClass().getSimpleName())
