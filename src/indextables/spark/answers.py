"""Counts that the log answers: `frame.count()`, `frame.groupBy(...).count()`, `SELECT p, count(*) ... GROUP BY p`.

Spark's Python data sources are not asked to aggregate. The plan of a frame says whether its answer is a count over filters
and plain columns of one of our tables; if the log knows that count exactly, no split is opened and no task is run.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from indextables.errors import IndexTablesError
from indextables.log import Snapshot
from indextables.predicate import conjunction
from indextables.read.answers import count_from_log, groups_from_log, summed
from indextables.read.plan import ScanPlan, plan_scan
from indextables.spark.catalyst import (
    Java,
    NotUnderstoodError,
    TableQuery,
    bound,
    is_over_a_table,
    kind,
    sequence,
    simplified,
    understood,
)
from indextables.spark.relations import framed
from indextables.spark.snapshots import settled


def known_count(frame: DataFrame) -> int | None:
    """The number of rows of a frame, if the log knows it."""
    try:
        answer = count_from_log(_planned(understood(_simplified(frame)))[1])
    except _LEFT_TO_SPARK:
        return None
    return None if answer.unknown else answer.rows


def known_groups(frame: DataFrame) -> DataFrame:
    """The same frame, or one with the same columns whose rows are already known from the log."""
    try:
        plan = _simplified(frame)
        rows = _grouped(plan)
        return frame if rows is None else _frame_like(frame, plan, rows)
    except _LEFT_TO_SPARK:
        return frame


# Spark runs what we cannot look into, and reports what is wrong with it.
_LEFT_TO_SPARK = (NotUnderstoodError, IndexTablesError, Py4JError)


def _grouped(plan: Java) -> pa.Table | None:
    """The rows of an aggregate of counts by plain columns; None if splits would have to be opened."""
    if kind(plan) != "Aggregate":
        raise NotUnderstoodError
    query = understood(plan.child())
    keys = list(dict.fromkeys(query.column(key) for key in sequence(plan.groupingExpressions())))
    outputs = [_output(expression, query, keys) for expression in sequence(plan.aggregateExpressions())]
    snapshot, scan = _planned(query)
    counted = _counted(snapshot, scan, keys)
    if counted is None:
        return None
    return pa.table([counted[output] for output in outputs], names=[f"c{i}" for i in range(len(outputs))])


def _counted(snapshot: Snapshot, scan: ScanPlan, keys: list[str]) -> pa.Table | None:
    """The keys and `count`. No groups without rows, but one where there are no keys."""
    if not keys:
        total = count_from_log(scan)
        return None if total.unknown else pa.table({_COUNT: [total.rows]})
    known, answer = groups_from_log(scan, keys, snapshot.metadata)
    if answer.unknown:
        return None
    groups = summed(known, keys, scan.question.schema)
    return groups.rename_columns([*keys, _COUNT])


_COUNT = "\0count"  # no column has this name


def _output(expression: Java, query: TableQuery, keys: list[str]) -> str:
    """The key that an output column is, or the count."""
    if kind(expression) == "Alias":
        return _output(expression.child(), query, keys)
    if kind(expression) == "AggregateExpression":
        function = expression.aggregateFunction()
        plain = not expression.isDistinct() and expression.filter().isEmpty()
        if plain and kind(function) == "Count" and all(map(_is_not_null, sequence(function.children()))):
            return _COUNT
        raise NotUnderstoodError
    name = query.column(expression)
    if name not in keys:
        raise NotUnderstoodError
    return name


def _is_not_null(counted: Java) -> bool:
    """count(1), count(*): a literal counts every row."""
    return kind(counted) == "Literal" and counted.value() is not None


def _planned(query: TableQuery) -> tuple[Snapshot, ScanPlan]:
    snapshot = settled(query.asked)
    question = query.asked.question(snapshot, [])
    predicate = conjunction(question.predicate, bound(query, question.schema))
    return snapshot, plan_scan(snapshot, replace(question, predicate=predicate))


def _simplified(frame: DataFrame) -> Java:
    """The plan of a frame, if it is worth a look: one over our tables that nobody wants in Spark's cache."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - see catalyst
    level = frame.storageLevel
    if not is_over_a_table(plan) or level.useMemory or level.useDisk:
        raise NotUnderstoodError
    return simplified(plan, frame.sparkSession)


def _frame_like(frame: DataFrame, plan: Java, rows: pa.Table) -> DataFrame:
    """A frame of these rows whose columns are, to Spark, the columns of the plan: `logs["day"]` still means one of them."""
    spark: Any = frame.sparkSession
    local = spark.createDataFrame(rows)
    return _relabelled(spark, local, plan)


def _relabelled(spark: SparkSession, local: DataFrame, plan: Java) -> DataFrame:
    jvm: Any = spark._jvm  # noqa: SLF001
    catalyst, empty = jvm.org.apache.spark.sql.catalyst, jvm.PythonUtils.toSeq([])
    below = local._jdf.queryExecution().analyzed()  # noqa: SLF001
    labels = [
        catalyst.expressions.Alias(
            own, wanted.name(), wanted.exprId(), wanted.qualifier(), jvm.scala.Option.empty(), empty
        )
        for own, wanted in zip(sequence(below.output()), sequence(plan.output()), strict=True)
    ]
    return framed(spark, catalyst.plans.logical.Project(jvm.PythonUtils.toSeq(labels), below))
