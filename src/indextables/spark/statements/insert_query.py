"""The queries of statements that write: INSERT into a table of any format, CREATE TABLE ... AS SELECT.

Spark runs a command as soon as it is analyzed. So the query is analyzed and planned first, like that of any frame, and the
command is run over the planned query.
"""

from pyspark.sql import DataFrame, SparkSession

from indextables.spark.catalog import resolve_relations
from indextables.spark.catalyst.handles import SPARK_ERRORS, LogicalPlan
from indextables.spark.catalyst.parsed_statement import WriteStatement, has_query, query_of, with_query
from indextables.spark.catalyst.query_planning import planned_frame, reads_our_tables
from indextables.spark.catalyst.session_state import plan_of_frame, run_plan


def query_rows(spark: SparkSession, query: LogicalPlan) -> DataFrame:
    """The rows of a query, for a writer, which plans them."""
    return resolve_relations(run_plan(spark, query))


def plan_query(spark: SparkSession, statement: WriteStatement) -> LogicalPlan | None:
    """The plan of a statement over its planned query; None if the query reads no table of ours."""
    if not has_query(statement):
        return None
    try:
        frame = resolve_relations(run_plan(spark, query_of(statement)))
        if not reads_our_tables(frame):
            return None
    except SPARK_ERRORS:
        return None  # not valid without its command; Spark reports why when it runs the statement
    return with_query(spark, statement, plan_of_frame(planned_frame(frame)))
