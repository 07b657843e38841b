"""Figures that the log answers: `frame.count()`, `groupBy(...).count()`, `SELECT min(ts), max(ts), count(*), count(c) ...`.

Spark's Python data sources are not asked to aggregate. The plan of a frame says whether its answer is made of such figures
over filters and plain columns of one of our tables; if the log knows all of them exactly, no split is opened and no task is
run. How many rows a search finds is also known to indexes; those that are at hand are asked when a frame is run.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from indextables.errors import IndexTablesError
from indextables.log.actions import Metadata
from indextables.predicate import distinct_conjunction
from indextables.read.casts import proved
from indextables.read.driver_scan import is_countable
from indextables.read.metadata_counts import count_from_log, groups_from_log, summed, values_from_log
from indextables.read.metadata_extremes import extremes_from_log, merged_extreme
from indextables.read.scan_plan import ScanPlan, plan_scan
from indextables.schema import column_named
from indextables.spark.catalyst.expressions import (
    NotUnderstoodError,
    TableQuery,
    arrow_type,
    bound,
    is_over_a_table,
    simplified,
    understood,
)
from indextables.spark.catalyst.java import Java, UnknownIdsError, frame_over, jvm_of, kind, sequence
from indextables.spark.catalyst.local_relation import local_aggregate
from indextables.spark.source.read_options import Asked
from indextables.spark.source.snapshots import scan_of, settled


def known_count(frame: DataFrame) -> int | None:
    """The number of rows of a frame, if the log knows it, or indexes that are at hand."""
    try:
        return _Table.of(understood(_simplified(frame)), by_index=True).rows
    except _LEFT_TO_SPARK:
        return None


def known_groups(frame: DataFrame, *, by_index: bool = False) -> DataFrame:
    """The same frame, or one with the same columns whose rows are already known from the log.

    With `by_index`, indexes that are at hand are asked too: that takes longer, and is for a frame that is about to be run.
    """
    try:
        if not _is_grouped(_analyzed(frame)):
            return frame
        plan = _simplified(frame)
        rows = _grouped(plan, by_index=by_index)
        spark = frame.sparkSession
        return frame if rows is None else frame_over(local_aggregate(spark, rows, plan.aggregateExpressions()), spark)
    except _LEFT_TO_SPARK:
        return frame


# Spark runs what we cannot look into, and reports what is wrong with it.
_LEFT_TO_SPARK = (NotUnderstoodError, IndexTablesError, Py4JError, PySparkException, UnknownIdsError)
_LIMIT = "GlobalLimit"


@dataclass(frozen=True, slots=True)
class Key:
    column: str


@dataclass(frozen=True, slots=True)
class Rows:
    """count(*), of every row."""


@dataclass(frozen=True, slots=True)
class Values:
    """count(column): nulls do not count."""

    column: str


@dataclass(frozen=True, slots=True)
class Extreme:
    """min(column) or max(column)."""

    end: str
    column: str


Figure = Key | Rows | Values | Extreme
Columns: TypeAlias = dict[Figure, pa.Array | pa.ChunkedArray]
_EXTREMES = {"Min": "min", "Max": "max"}


@dataclass(frozen=True, slots=True)
class _Table:
    """What is asked of a table, planned; `by_index` if indexes that are at hand may be asked too."""

    asked: Asked
    plan: ScanPlan
    by_index: bool

    @classmethod
    def of(cls, query: TableQuery, *, by_index: bool) -> "_Table":
        snapshot = settled(query.asked)
        scan_spec = query.asked.scan_spec(snapshot, [])
        condition = proved(bound(query, scan_spec.schema), snapshot, where=scan_spec.predicate)
        if condition is None:
            raise NotUnderstoodError
        predicate = distinct_conjunction(scan_spec.predicate, condition)
        return cls(query.asked, plan_scan(snapshot, replace(scan_spec, predicate=predicate)), by_index)

    @property
    def metadata(self) -> Metadata:
        return self.plan.snapshot.metadata

    @property
    def schema(self) -> pa.Schema:
        return self.plan.scan_spec.schema

    @property
    def rows(self) -> int | None:
        """How many there are, if that is known."""
        answer = count_from_log(self.plan)
        if not answer.unknown:
            return answer.rows
        if not self.by_index:
            return None
        scan = scan_of(self.asked, self.plan)
        return scan.count() if is_countable(scan, answer.unknown) else None


def _is_grouped(plan: Java) -> bool:
    """Whether figures are what a plan gives, perhaps under the limit of a `first()`."""
    if kind(plan) == _LIMIT and kind(plan.child()) == "LocalLimit":
        plan = plan.child().child()
    return kind(plan) == "Aggregate"


def _grouped(plan: Java, *, by_index: bool) -> pa.Table | None:
    """The rows of an aggregate of plain columns; None if splits would have to be opened."""
    if kind(plan) != "Aggregate":
        raise NotUnderstoodError
    query = _spelled(understood(plan.child()))
    keys = list(dict.fromkeys(query.column(key) for key in sequence(plan.groupingExpressions())))
    figures = [_figure(expression, query, keys) for expression in sequence(plan.aggregateExpressions())]
    table = _Table.of(query, by_index=by_index)
    found = _by_key(table, keys, figures) if keys else _overall(table, figures)
    if found is None:
        return None
    columns = [found[figure] for figure in figures]
    fields = [
        pa.field(f"c{i}", column.type, nullable=isinstance(figure, (Key, Extreme)))  # counts are never null
        for i, (figure, column) in enumerate(zip(figures, columns, strict=True))
    ]
    return pa.table(columns, schema=pa.schema(fields))


def _spelled(query: TableQuery) -> TableQuery:
    """The query with columns spelled as the table spells them; a reader may have asked for them in other letters."""
    schema = settled(query.asked).metadata.arrow_schema()
    return replace(query, names={id_: column_named(schema, name) for id_, name in query.names.items()})


def _by_key(table: _Table, keys: list[str], figures: list[Figure]) -> Columns | None:
    """No groups without rows."""
    if any(isinstance(figure, (Values, Extreme)) for figure in figures):
        return None
    known, answer = groups_from_log(table.plan, keys, table.metadata)
    if answer.unknown:
        return None
    groups = summed(known, keys, table.schema)
    return {**{Key(key): groups.column(i) for i, key in enumerate(keys)}, Rows(): groups.column(len(keys))}


def _overall(table: _Table, figures: list[Figure]) -> Columns | None:
    """One row, of no rows too."""
    found: Columns = {}
    for figure in figures:
        value = _known(table, figure)
        if value is None:
            return None
        found[figure] = value
    return found


def _known(table: _Table, figure: Figure) -> pa.Array | None:
    match figure:
        case Rows():
            return None if (rows := table.rows) is None else pa.array([rows], pa.int64())
        case Values():
            values = values_from_log(table.plan, figure.column)
            return None if values is None else pa.array([values], pa.int64())
        case Extreme():
            ends, unknown = extremes_from_log(table.plan, figure.column, table.metadata)
            kind_of = table.schema.field(figure.column).type
            return None if unknown else pa.array([merged_extreme(ends, figure.end)], kind_of)
        case Key():
            raise AssertionError("there are no keys")
        case _:
            assert_never(figure)


def _figure(expression: Java, query: TableQuery, keys: list[str]) -> Figure:
    """What an output column is."""
    if kind(expression) == "Alias":
        return _figure(expression.child(), query, keys)
    if kind(expression) == "AggregateExpression":
        if expression.isDistinct() or expression.filter().isDefined():
            raise NotUnderstoodError
        return _aggregated(expression.aggregateFunction(), query)
    name = _compared(expression, query)
    if name not in keys:
        raise NotUnderstoodError
    return Key(name)


def _aggregated(function: Java, query: TableQuery) -> Figure:
    of = sequence(function.children())
    match kind(function):
        case "Count" if all(map(_is_not_null, of)):
            return Rows()
        case "Count" if len(of) == 1:
            return Values(query.column(of[0]))
        case "Min" | "Max" as name:
            return Extreme(_EXTREMES[name], _compared(of[0], query))
    raise NotUnderstoodError


def _compared(expression: Java, query: TableQuery) -> str:
    """A column whose values are told apart as the log does it; of a text with a collation, Spark does it otherwise."""
    arrow_type(expression)
    return query.column(expression)


def _is_not_null(counted: Java) -> bool:
    """count(1), count(*): a literal counts every row."""
    return kind(counted) == "Literal" and counted.value() is not None


def _simplified(frame: DataFrame) -> Java:
    """The plan of a frame, if it is worth a look: one over our tables that nobody wants in Spark's cache."""
    plan, spark, level = _analyzed(frame), frame.sparkSession, frame.storageLevel
    if not is_over_a_table(plan) or level.useMemory or level.useDisk:
        raise NotUnderstoodError
    if kind(plan) == _LIMIT:
        plan = jvm_of(spark).org.apache.spark.sql.catalyst.optimizer.EliminateLimits.apply(plan)
    return simplified(plan, spark)


def _analyzed(frame: DataFrame) -> Java:
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - see catalyst
