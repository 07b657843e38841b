"""A frame made ready to run: the driver plans its scans, so that Spark starts no process to plan them.

Each relation of ours becomes a node that reads splits which were chosen here, from the snapshot in memory: only the columns
that the query needs (see `needs`), only splits that its filters leave, and no more rows than its limit. The rest of the plan
is as Spark has analyzed it. What cannot be prepared runs as it is, and the data source plans then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.log import Snapshot
from indextables.predicate import And, Literal, Predicate, conjunction
from indextables.read.plan import SplitTask, plan_scan
from indextables.read.question import Question
from indextables.spark.asked import Asked
from indextables.spark.catalyst import (
    Conditions,
    Java,
    NotUnderstoodError,
    TableQuery,
    asked_of,
    bound,
    conjuncts,
    sequence,
)
from indextables.spark.needs import Above, Needs, UnknownNeedsError, ids_of, needs
from indextables.spark.options import FORMAT
from indextables.spark.packing import packed
from indextables.spark.reader import ScanWork
from indextables.spark.relations import framed
from indextables.spark.snapshots import settled
from indextables.spark.types import spark_schema

_TRUE = Literal(value=True)
_NOTHING_KNOWN = Above((), None)


def prepared(frame: DataFrame) -> DataFrame:
    """The same rows, read by a plan of our own; the very same frame if it is not over tables of ours."""
    spark: Any = frame.sparkSession
    query = frame._jdf.queryExecution()  # noqa: SLF001 - see catalyst
    try:
        plan = query.withCachedData()
        relations = {ids_of(leaf): (leaf, asked_of(leaf)) for leaf in sequence(plan.collectLeaves())}
        ours = {ids: (leaf, asked) for ids, (leaf, asked) in relations.items() if asked is not None}
        if not ours:
            return frame
        needed = _needs(query, plan, spark)
        scans = {ids: TableScan.of(leaf, asked, needed).node(spark) for ids, (leaf, asked) in ours.items()}
        return framed(spark, _replaced(plan, scans, spark))
    except (Py4JError, UnknownNeedsError):
        return frame  # a plan that we cannot look into is run as it is


def _needs(query: Java, plan: Java, spark: Any) -> Needs | None:
    """None where all columns and rows are needed, as far as is known."""
    pattern = spark._jvm.org.apache.spark.sql.catalyst.trees.TreePattern  # noqa: SLF001
    try:
        found = needs(plan, query.optimizedPlan())
    except UnknownNeedsError:
        return None
    # The optimized plan has the time of now in it, and the one that is run will have a later one.
    return replace(found, above={}) if plan.containsPattern(pattern.CURRENT_LIKE()) else found


def _replaced(plan: Java, scans: dict[tuple[int, ...], Java], spark: Any) -> Java:
    children = sequence(plan.children())
    if not children:
        return scans.get(ids_of(plan), plan) if asked_of(plan) is not None else plan
    new = [_replaced(child, scans, spark) for child in children]
    return plan.withNewChildren(spark._jvm.PythonUtils.toSeq(new))  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class TableScan:
    """A scan of one relation, planned; `columns` are those of the relation that are read."""

    relation: Java
    asked: Asked
    snapshot: Snapshot
    question: Question
    columns: tuple[str, ...]
    limit: int | None

    @classmethod
    def of(cls, relation: Java, asked: Asked, needed: Needs | None) -> "TableScan":
        snapshot, ids = settled(asked), ids_of(relation)
        names = list(relation.schema().fieldNames())
        above = _NOTHING_KNOWN if needed is None else needed.above.get(ids, _NOTHING_KNOWN)
        wanted = names if needed is None else [n for n, i in zip(names, ids, strict=True) if i in needed.columns]
        question = asked.question(snapshot, wanted or names[:1])
        terms, whole = _understood(asked, question, above, dict(zip(ids, names, strict=True)))
        return cls(
            relation,
            asked,
            snapshot,
            replace(question, predicate=_distinct(question.predicate, terms)),
            tuple(wanted or names[:1]),
            above.limit if whole else None,
        )

    def node(self, spark: Any) -> Java:
        """The node of Spark's plan, with the columns (to Spark) of the relation; those that are not read are null."""
        jvm = spark._jvm  # noqa: SLF001
        catalyst, attributes = jvm.org.apache.spark.sql.catalyst, sequence(self.relation.output())
        names = list(self.relation.schema().fieldNames())
        read = [attribute for attribute, name in zip(attributes, names, strict=True) if name in self.columns]
        scan = self._scan(spark, jvm.PythonUtils.toSeq(read))
        if len(read) == len(attributes):
            return scan
        outputs = [a if name in self.columns else _null(jvm, a) for a, name in zip(attributes, names, strict=True)]
        return catalyst.plans.logical.Project(jvm.PythonUtils.toSeq(outputs), scan)

    def _scan(self, spark: Any, output: Java) -> Java:
        logical = spark._jvm.org.apache.spark.sql.catalyst.plans.logical  # noqa: SLF001
        read = self.read()
        if not read.groups:
            return logical.LocalRelation.fromExternalRows(output, spark._jvm.PythonUtils.toSeq([]))  # noqa: SLF001
        numbers = spark.range(0, len(read.groups), 1, len(read.groups))._jdf.queryExecution().analyzed()  # noqa: SLF001
        function = UserDefinedFunction(
            read, spark_schema(self.question.answer_schema), FORMAT, PythonEvalType.SQL_MAP_ARROW_ITER_UDF
        )
        expression = function._judf.builder(numbers.output())  # noqa: SLF001
        return logical.MapInArrow(expression, output, numbers, False, spark._jvm.scala.Option.empty())  # noqa: SLF001

    def read(self) -> "PlannedRead":
        config = self.asked.config(self.snapshot.metadata.properties)
        plan = plan_scan(self.snapshot, self.question)
        schema = to_arrow_schema(spark_schema(self.question.answer_schema), timezone="UTC")
        work = ScanWork(self.asked.path, config, self.question, schema)
        return PlannedRead(work, tuple(map(tuple, packed(plan.tasks, config))), self.limit)


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """What executors run: they get the numbers of groups of splits, and give their rows."""

    work: ScanWork
    groups: tuple[tuple[SplitTask, ...], ...]
    limit: int | None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = chain.from_iterable(batch.column(0).to_pylist() for batch in numbers)
        rows = chain.from_iterable(self.work.rows(self.groups[number]) for number in groups)
        return rows if self.limit is None else _at_most(rows, self.limit)


def _at_most(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    while rows > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, rows)
        rows -= batch.num_rows


def _understood(asked: Asked, question: Question, above: Above, names: dict[int, str]) -> tuple[list[Predicate], bool]:
    """The conditions that a scan can judge, bound to the table, and whether these are all of them."""
    terms = [term for condition in above.conditions for term in conjuncts(condition)]
    found = [_bound_term(term, asked, question, names) for term in terms]
    return [term for term in found if term is not None], None not in found


def _bound_term(term: Java, asked: Asked, question: Question, names: dict[int, str]) -> Predicate | None:
    try:
        query = TableQuery(asked, _TRUE, names)
        return bound(replace(query, predicate=Conditions(query).predicate(term)), question.schema)
    except NotUnderstoodError:
        return None


def _distinct(before: Predicate, terms: Sequence[Predicate]) -> Predicate:
    flat = conjunction(before, *terms)
    distinct = {repr(term): term for term in (flat.terms if isinstance(flat, And) else (flat,))}
    return conjunction(*(term for term in distinct.values() if term != _TRUE))


def _null(jvm: Any, attribute: Java) -> Java:
    """Null by the name and id of a column."""
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    nothing, empty = expressions.Literal(None, attribute.dataType()), jvm.PythonUtils.toSeq([])
    return expressions.Alias(
        nothing, attribute.name(), attribute.exprId(), attribute.qualifier(), jvm.scala.Option.empty(), empty
    )
