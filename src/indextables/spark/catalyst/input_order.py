"""Whether Spark gives the rows of a frame in the same order each time that it computes them."""

from pyspark.sql import DataFrame, SparkSession

from indextables.spark.catalyst.java import Java, kind
from indextables.spark.catalyst.probe import Capability, capabilities


def has_repeatable_order(frame: DataFrame) -> bool:
    """Whether each task of a frame gives its rows in the same order when it runs again: files, row by row."""
    if not isinstance(frame.sparkSession, SparkSession):
        return False  # the plans of Spark Connect are on the server
    known = Capability.INPUT_ORDER in capabilities(frame.sparkSession)
    return known and _is_repeatable(frame._jdf.queryExecution().optimizedPlan())


def _is_repeatable(plan: Java) -> bool:
    match kind(plan):
        case "Project":
            return _is_repeatable(plan.child())
        case "Filter":
            return bool(plan.deterministic()) and _is_repeatable(plan.child())
        case "LogicalRDD":
            return str(plan.rdd().outputDeterministicLevel()) == "DETERMINATE"
        case "LogicalRelation":
            return str(plan.relation().getClass().getSimpleName()) == "HadoopFsRelation"
        case "InMemoryRelation":
            return _is_repeatable(plan.cacheBuilder().logicalPlan())
        case other:
            return other in {"LocalRelation", "Range"}
