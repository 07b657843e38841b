"""Queries as they run: a frame's plan is read, planned and written once, when an action runs it.

What runs without an action that `api/hooks` sees, such as a frame that Spark caches, is read by the data source.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from indextables.predicate import Predicate, conjunction
from indextables.spark.catalyst.java import (
    Java,
    UnknownIdsError,
    frame_over,
    has,
    inlined,
    plan_of,
    replacing,
    sequence,
    simplified,
)
from indextables.spark.catalyst.plan_reader import PlanReader
from indextables.spark.catalyst.plan_writer import write_plan
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import distinct_relations
from indextables.spark.catalyst.search_columns import evaluated_searches, with_searches
from indextables.spark.catalyst.small_sides import SmallSides
from indextables.spark.planner.metadata_aggregates import count_rows, filtered_relation
from indextables.spark.planner.plan import Plan
from indextables.spark.planner.planner import QueryPlan, plan_query
from indextables.spark.planner.query_log import log_metadata_rows, log_query
from indextables.spark.planner.read_options import condition_text
from indextables.spark.planner.scan_builder import PlannedScan
from indextables.spark.planner.table_relation import TableRelation

T = TypeVar("T")
logger = logging.getLogger(__name__)
_UNREADABLE = (Py4JError, PySparkException, UnknownIdsError)
_NOT_PLANNED = "this plan is left to Spark, and the data source reads all columns; see df.explain()"


def planned_frame(frame: DataFrame) -> DataFrame:
    """The same rows by the plan of ours; the very same frame where none of our tables is read."""
    return _plan_and(Query.frame, frame)


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table of ours that a query reads; without a scan where metadata has all that it wants of the table."""

    table: TableRelation
    scan: PlannedScan | None


def planned_reads(frame: DataFrame) -> tuple[DataFrame, list[TableRead]]:
    """The same rows by the plan of ours, and what it reads of our tables; nothing is known where Spark plans by itself."""
    try:
        query = Query.of(frame)
        if query is None:
            return frame, []
        planned = query.planned()
        reads = [TableRead(table, planned.scans.get(number)) for number, table in query.reader.tables.items()]
        return query.frame(planned), reads
    except _UNREADABLE as error:
        _log_fallback(error)
        return frame, []


def count(frame: DataFrame) -> int | DataFrame:
    """The number of rows, where metadata has it; else a frame with as many rows."""
    return _plan_and(Query.count, frame)


def _plan_and(run: "Callable[[Query], T]", frame: DataFrame) -> T | DataFrame:
    """What is made of the query of a frame; the frame itself where none of our tables is read, or not by a plan of ours."""
    try:
        if Capability.PLANNED_SCANS not in capabilities(frame.sparkSession):
            return _with_search_columns(frame)
        query = Query.of(frame)
        return frame if query is None else run(query)
    except _UNREADABLE as error:
        _log_fallback(error)
        return frame


def reads_our_tables(frame: DataFrame) -> bool:
    """Whether rows of a frame come from tables of ours, and not from Spark's cache."""
    try:
        return bool(distinct_relations(frame._jdf.queryExecution().withCachedData()))
    except _UNREADABLE:
        return False


def query_plan(frame: DataFrame) -> tuple[QueryPlan, list[str]] | str:
    """What a frame reads, and which searches Spark evaluates; a sentence where nothing is read by a plan of ours."""
    if Capability.PLANNED_SCANS not in capabilities(frame.sparkSession):
        return _NOT_PLANNED
    try:
        query = Query.of(frame)
        if query is None:
            return "no table of indextables is read"
        return query.planned(), query.evaluated
    except _UNREADABLE:
        return _NOT_PLANNED


def resolve_searches(frame: DataFrame) -> DataFrame:
    """The same frame object, its searches columns of the scans: for whatever runs out of sight of `planned_frame`."""
    frame._jdf = _with_search_columns(frame)._jdf
    return frame


def with_stream_searches(frame: DataFrame) -> DataFrame:
    """A frame of streams, whose searches Spark evaluates by the field rules of the tables that it reads."""
    try:
        found = _with_search_columns(frame)
    except _UNREADABLE as error:
        _log_fallback(error)
        return frame
    if found is not frame:
        for sentence in evaluated_searches(plan_of(found), frame.sparkSession):
            logger.warning(sentence)
    return found


def _with_search_columns(frame: DataFrame) -> DataFrame:
    plan, spark = plan_of(frame), frame.sparkSession
    resolved = with_searches(plan, spark)
    return frame if resolved is plan else frame_over(resolved, spark)


def push_to_data_source(frame: DataFrame) -> None:
    """Makes conditions and searches options of the relations, in the frame itself, for a frame that Spark caches."""
    spark = frame.sparkSession
    try:
        query = Query.over(plan_of(frame), spark)
        if query is not None:
            query.log_evaluated_searches()
            frame._jdf = frame_over(query.with_where_options(), spark)._jdf
    except _UNREADABLE as error:
        _log_fallback(error)


def filter_predicate(plan: Java, spark: Any) -> Predicate | None:
    """The predicate of a filter over one of our relations, on the table's columns; None where it is left to Spark."""
    query = Query.over(plan, spark)
    found = None if query is None else filtered_relation(query.plans[0])
    if query is None or found is None:
        return None
    return conjunction(*map(query.reader.tables[found.table].predicate, found.conditions))


@dataclass
class Query:
    """A query over tables of ours, as Spark has analyzed it; `evaluated` has a sentence for each search without an index."""

    plan: Java
    plans: list[Plan]
    reader: PlanReader
    evaluated: list[str]
    spark: Any

    @classmethod
    def of(cls, frame: DataFrame) -> "Query | None":
        """None where no table of ours is read."""
        return cls.over(frame._jdf.queryExecution().withCachedData(), frame.sparkSession)

    @classmethod
    def over(cls, plan: Java, spark: Any) -> "Query | None":
        if Capability.PLANNED_SCANS not in capabilities(spark) or not _may_read_relations(plan, spark):
            return None
        plan = with_searches(inlined(plan, spark), spark)
        found = dict(enumerate(distinct_relations(plan)))
        if not found:
            return None
        evaluated, plan = evaluated_searches(plan, spark), simplified(plan, spark)
        subqueries = sequence(plan.subqueriesAll())
        reader = PlanReader(found, spark, has_subqueries=bool(subqueries))
        top = reader.read(plan)
        others = [part for part in subqueries if part not in reader.joined_subqueries]
        plans = [top, *(reader.read(simplified(part, spark)) for part in others)]
        return cls(plan, plans, reader, evaluated, spark)

    def count(self) -> int | DataFrame:
        """The number of rows, or a frame with as many rows."""
        rows = count_rows(self.plans[0], self.reader.tables)
        if rows is None:
            return self.frame(is_counted=True)
        log_metadata_rows(self.plans[0], self.reader.tables)
        return rows

    def planned(self, *, is_counted: bool = False) -> QueryPlan:
        small_sides = SmallSides(self.reader, self.spark, planned_frame)
        return plan_query(self.plans, self.reader.tables, evaluate=small_sides.rows, is_counted=is_counted)

    def with_where_options(self) -> Java:
        """The plan, whose relations have the conditions of their scans as text, where the text means the same."""
        scans = plan_query(self.plans, self.reader.tables).scans
        conditions = {number: condition_text(scan.plan.scan_spec) for number, scan in scans.items()}
        found = {number: text for number, text in conditions.items() if text is not None}
        pairs = [
            (relation.java, relation.with_where(self.spark, found[number]).java)
            for number, relation in self.reader.relations.items()
            if number in found
        ]
        return self.plan.transformWithSubqueries(replacing(pairs, self.spark)) if pairs else self.plan

    def frame(self, planned: QueryPlan | None = None, *, is_counted: bool = False) -> DataFrame:
        planned = planned or self.planned(is_counted=is_counted)
        log_query(planned, self.plans[0], self.reader.tables)
        self.log_evaluated_searches()
        return frame_over(write_plan(self.plan, planned, self.reader, self.spark), self.spark)

    def log_evaluated_searches(self) -> None:
        for sentence in self.evaluated:
            logger.warning(sentence)


def _may_read_relations(plan: Java, spark: Any) -> bool:
    """A cheap look, for frames of other formats: the texts of the leaves, and whether there are subqueries.

    Two calls for a plan of any size; their classes, which `distinct_relations` asks for, take one for each leaf, and Spark
    has no tree pattern for relations.
    """
    return "RelationV2[" in plan.collectLeaves().mkString("\n") or has(plan, "PLAN_EXPRESSION", spark)


def _log_fallback(error: Exception) -> None:
    logger.warning("a query is left to the data source, because its plan could not be read: %s", type(error).__name__)
    logger.debug("the plan could not be read", exc_info=error)
