"""A frame made ready to run: the driver plans its scans, so that Spark starts no process to plan them.

Each relation of ours becomes a node that reads splits which were chosen here, from the snapshot in memory: only the columns
that the query needs (see `needs`), only splits that its filters leave, and no more rows than its limit. Where nothing is
searched, this node is Spark's own Parquet reader (see `native`). The rest of the plan is as Spark has analyzed it. What
cannot be prepared runs as it is, and the data source plans then.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.predicate import Predicate, distinct_conjunction
from indextables.read.plan import ScanPlan, SplitTask, plan_scan
from indextables.read.question import Question
from indextables.read.work import PlannedRead, ScanWork
from indextables.spark import native
from indextables.spark.catalyst import Conditions, NotUnderstoodError, TableQuery, bound, conjuncts
from indextables.spark.java import Java, UnknownIdsError, frame_over, ids_of, jvm_of, sequence
from indextables.spark.needs import Above, Needs, needs
from indextables.spark.options import FORMAT
from indextables.spark.packing import enough, packed
from indextables.spark.relation import Relation
from indextables.spark.snapshots import settled
from indextables.spark.types import spark_schema

_FEW_SPLITS = 16
_FEW_ROWS = 10_000
_SMALL = 2 * 1024 * 1024  # bytes of splits
_NOTHING_KNOWN = Above((), None)


def is_over_tables(frame: DataFrame) -> bool:
    """Whether the rows of a frame come from tables of ours, and not from Spark's cache."""
    try:
        leaves = frame._jdf.queryExecution().withCachedData().collectLeaves()  # noqa: SLF001
        return any(Relation.of(leaf) is not None for leaf in sequence(leaves))
    except Py4JError:
        return False


def prepared(frame: DataFrame) -> DataFrame:
    """The same rows, read by a plan of our own; the very same frame if it is not over tables of ours."""
    spark: Any = frame.sparkSession
    try:
        plan, scans = planned(frame)
        if not scans:
            return frame
        nodes = {ids: scan.node(spark) for ids, scan in scans.items()}
        return frame_over(_replaced(plan, nodes, spark), spark)
    except (Py4JError, UnknownIdsError):
        return frame  # a plan that we cannot look into is run as it is


def planned(frame: DataFrame) -> tuple[Java, dict[tuple[int, ...], "TableScan"]]:
    """The plan of a frame, and the scans that its relations of ours become, by the ids of their columns."""
    query = frame._jdf.queryExecution()  # noqa: SLF001 - see catalyst
    plan = query.withCachedData()
    relations = map(Relation.of, sequence(plan.collectLeaves()))
    ours = [relation for relation in relations if relation is not None]
    if not ours:
        return plan, {}
    needed = _needs(query, plan, frame.sparkSession)
    scans = {ids_of(relation.java): TableScan.of(relation, needed) for relation in ours}
    if len(scans) < len(ours):
        raise UnknownIdsError  # two relations with the same columns, to Spark, may ask for other rows
    if needed.first in scans and scans[needed.first].is_one_task:
        plan = plan.child().child()  # the scan limits itself; Spark would stop the worker, and not use it again
    return plan, scans


def _needs(query: Java, plan: Java, spark: Any) -> Needs:
    pattern = jvm_of(spark).org.apache.spark.sql.catalyst.trees.TreePattern
    found = needs(plan, query.optimizedPlan())
    # The optimized plan has the time of now in it, and the one that is run will have a later one.
    return replace(found, above={}, first=None) if plan.containsPattern(pattern.CURRENT_LIKE()) else found


def _replaced(plan: Java, scans: dict[tuple[int, ...], Java], spark: Any) -> Java:
    children = sequence(plan.children())
    if not children:
        return scans.get(ids_of(plan), plan) if Relation.of(plan) is not None else plan
    new = [_replaced(child, scans, spark) for child in children]
    return plan.withNewChildren(jvm_of(spark).PythonUtils.toSeq(new))


@dataclass(frozen=True)
class TableScan:
    """A scan of one relation, planned; `columns` are those of the relation that are read, searches too.

    `is_native` if Spark's own reader reads the splits.
    """

    relation: Relation
    plan: ScanPlan
    columns: tuple[str, ...]
    limit: int | None
    is_native: bool

    @classmethod
    def of(cls, relation: Relation, needed: Needs) -> "TableScan":
        asked, columns = relation.asked, relation.columns
        snapshot, names = settled(asked), list(columns.values())
        above = needed.above.get(tuple(columns), _NOTHING_KNOWN)
        wanted = [name for number, name in columns.items() if number in needed.columns] or names[:1]
        searches = {name: search for name, search in asked.searched.items() if name in wanted}
        question = asked.question(snapshot, [name for name in wanted if name not in asked.searched])
        terms, whole = _understood(relation, question, above)
        question = replace(question, predicate=distinct_conjunction(question.predicate, *terms), searched=searches)
        judged = [name for number, name in columns.items() if number in needed.judged]
        plan, limit = plan_scan(snapshot, question), above.limit if whole else None
        return cls(relation, plan, tuple(wanted), limit, native.is_native(relation, plan, judged))

    @cached_property
    def tasks(self) -> list[SplitTask]:
        return self.plan.tasks if self.limit is None else enough(self.plan.tasks, self.limit)

    @property
    def is_one_task(self) -> bool:
        """Whether so few splits may have the rows wanted that they are best read one after the other."""
        few = self.limit is not None and self.limit <= _FEW_ROWS and len(self.tasks) <= _FEW_SPLITS
        return few and not self.is_native

    def node(self, spark: Any) -> Java:
        """The node of Spark's plan, with the columns (to Spark) of the relation; those that are not read are null."""
        if self.is_native and self.tasks:
            splits = [task.split for task in self.tasks]
            return native.node(spark, self.relation.asked.path, splits, self.relation.java.output())
        jvm = jvm_of(spark)
        catalyst, attributes = jvm.org.apache.spark.sql.catalyst, sequence(self.relation.java.output())
        names = list(self.relation.columns.values())
        read = [attribute for attribute, name in zip(attributes, names, strict=True) if name in self.columns]
        scan = self._scan(spark, jvm.PythonUtils.toSeq(read))
        if len(read) == len(attributes):
            return scan
        outputs = [a if name in self.columns else _null(jvm, a) for a, name in zip(attributes, names, strict=True)]
        return catalyst.plans.logical.Project(jvm.PythonUtils.toSeq(outputs), scan)

    def _scan(self, spark: Any, output: Java) -> Java:
        logical = jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical
        read = self.read()
        if not read.groups:
            return logical.LocalRelation.fromExternalRows(output, jvm_of(spark).PythonUtils.toSeq([]))
        numbers = _numbers(spark, len(read.groups), sum(task.split.size for task in self.tasks))
        function = UserDefinedFunction(read, self._schema, FORMAT, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        expression = function._judf.builder(numbers.output())  # noqa: SLF001
        return logical.MapInArrow(expression, output, numbers, False, jvm_of(spark).scala.Option.empty())

    def read(self) -> PlannedRead:
        asked, snapshot = self.relation.asked, self.plan.snapshot
        config = asked.config(snapshot.metadata.properties)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        work = ScanWork(asked.path, config, self.plan.question, schema, snapshot.version)
        groups = [self.tasks] if self.is_one_task else packed(self.tasks, config)
        return PlannedRead(work, tuple(tuple(group) for group in groups if group), self.limit)

    @property
    def _schema(self) -> StructType:
        return spark_schema(self.plan.question.answer_schema)


def _numbers(spark: Any, count: int, size: int) -> Java:
    """The plan of so many numbers, each in a task of its own, for a node that reads so many bytes.

    Spark takes a node to be about as large as what is below it, and sends small sides of joins to all executors. It does not
    know how large an RDD is, and takes it for large.
    """
    numbers = spark.range(0, count, 1, count)._jdf  # noqa: SLF001
    if size > _SMALL:
        rows = numbers.queryExecution().toRdd()
        numbers = spark._jsparkSession.internalCreateDataFrame(rows, numbers.schema(), False)  # noqa: SLF001
    return numbers.queryExecution().analyzed()


def _understood(relation: Relation, question: Question, above: Above) -> tuple[list[Predicate], bool]:
    """The conditions that a scan can judge, bound to the table, and whether these are all of them."""
    terms = [term for condition in above.conditions for term in conjuncts(condition)]
    if not terms:
        return [], True
    query = TableQuery.of(relation)
    found = [_bound_term(term, query, question) for term in terms]
    return [term for term in found if term is not None], None not in found


def _bound_term(term: Java, query: TableQuery, question: Question) -> Predicate | None:
    try:
        return bound(replace(query, predicate=Conditions(query).predicate(term)), question.schema)
    except NotUnderstoodError:
        return None


def _null(jvm: Any, attribute: Java) -> Java:
    """Null by the name and id of a column."""
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    nothing, empty = expressions.Literal(None, attribute.dataType()), jvm.PythonUtils.toSeq([])
    return expressions.Alias(
        nothing, attribute.name(), attribute.exprId(), attribute.qualifier(), jvm.scala.Option.empty(), empty
    )
