"""Small sides of joins: run ahead of the query, if they are as small as those that Spark sends to every executor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from indextables.spark.catalyst.java import (
    Java,
    frame_over,
    jvm_of,
    kind,
    named_as,
    seq,
    sequence,
)
from indextables.spark.catalyst.plan_reader import PlanReader
from indextables.spark.job_description import described_jobs
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import ADDED, Filter, Opaque, Plan, walk
from indextables.spark.planner.pushdown import push_down
from indextables.spark.planner.scan_builder import build_scan

_ROW_OVERHEAD = 64  # bytes of a row in memory, besides its values
_MOST_ROWS = 10_000  # of a local collection, which a function of Python may have made larger
_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
)


@dataclass(frozen=True, slots=True)
class SmallSides:
    """Evaluates parts of one query; `run` plans a frame as any other query."""

    reader: PlanReader
    spark: Any
    run: Callable[[DataFrame], DataFrame]

    def rows(self, plan: Plan, columns: frozenset[int]) -> pa.Table | None:
        """The rows of a part of the query, as columns of the planner; None where they may be many, or are of other types."""
        if self._size(plan) > int(self.spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()):
            return None
        node = self._node(plan)
        if node is None:
            return None
        output = {number: one for one in sequence(node.output()) if (number := int(one.exprId().id())) in columns}
        frame = frame_over(self._logical.Project(seq([*output.values()], self.spark), node), self.spark)
        is_collection = any(kind(leaf) == "LogicalRDD" for leaf in self._others(plan))
        with described_jobs(self.spark, "evaluate the small side of a join, to filter the other side"):
            rows = self.run(frame.limit(_MOST_ROWS + 1) if is_collection else frame).toArrow()
        if is_collection and len(rows) > _MOST_ROWS:
            return None
        if not all(any(is_kind(one) for is_kind in _PLAIN) for one in rows.schema.types):
            return None
        return rows.rename_columns([name_of(number) for number in output])

    def _node(self, plan: Plan) -> Java | None:
        """Spark's node; of a filter that the planner has added, a new one, with those of its conditions that can be run."""
        if not isinstance(plan, Filter) or plan.number != ADDED:
            return self.reader.nodes[plan.number]
        below, terms = self.reader.nodes[plan.child.number], []
        known = {int(one.exprId().id()): one for one in sequence(below.output())}
        aliases: dict[int, Java] = {}
        for expression in (condition.expression for condition in plan.conditions if condition.expression is not None):
            term, columns = self.reader.expressions[expression.number], dict(expression.columns)
            own = {int(one.exprId().id()): one for one in sequence(term.references().toSeq())}
            if not own.keys() <= columns.keys():
                continue  # the predicate has left out a column that makes no difference
            terms.append(term)
            renamed = [number for number in own if columns[number] != number]
            aliases |= {number: named_as(known[columns[number]], own[number], self.spark) for number in renamed}
        if not terms or aliases.keys() & known.keys():
            return None
        if aliases:
            below = self._logical.Project(seq([*known.values(), *aliases.values()], self.spark), below)
        return self._logical.Filter(reduce(self._catalyst.expressions.And, terms), below)

    @property
    def _catalyst(self) -> Any:
        return jvm_of(self.spark).org.apache.spark.sql.catalyst

    @property
    def _logical(self) -> Any:
        return self._catalyst.plans.logical

    def _size(self, plan: Plan) -> int:
        """The bytes below a part of the query, as far as they are known before it is run."""
        scans = [build_scan(self.reader.tables[table], found) for table, found in push_down(plan).items()]
        return sum(scan.bytes for scan in scans) + sum(self._size_of(node) for node in self._others(plan))

    def _others(self, plan: Plan) -> list[Java]:
        """The nodes of a part that are none of the planner's."""
        return [self.reader.nodes[node.number] for node in walk(plan) if isinstance(node, Opaque)]

    def _size_of(self, node: Java) -> int:
        """The bytes of a node's rows, as Spark estimates them; a cached frame is compressed, but knows how many it has."""
        if kind(node) == "LogicalRDD" and (collection := self._collection(node)) is not None:
            return collection
        stats = node.stats()
        size, rows = int(str(stats.sizeInBytes())), stats.rowCount()
        if kind(node) != "InMemoryRelation" or rows.isEmpty():
            return size
        width = sum(int(attribute.dataType().defaultSize()) for attribute in sequence(node.output()))
        return max(size, int(str(rows.get())) * (_ROW_OVERHEAD + width))

    def _collection(self, node: Java) -> int | None:
        """The bytes of a collection that the driver has, from which the rows of an RDD are made without a shuffle."""
        rdd = node.rdd()
        while (below := rdd.dependencies()).size() == 1 and _class(below.head()) == "OneToOneDependency":
            rdd = below.head().rdd()
        if _class(rdd) != "ParallelCollectionRDD":
            return None
        return int(jvm_of(self.spark).org.apache.spark.util.SizeEstimator.estimate(rdd.partitions()))


def _class(found: Java) -> str:
    return str(found.getClass().getSimpleName())
