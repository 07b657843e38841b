"""Catalyst's analyzed plans in the planner's language. Every node and every condition is read once."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indextables.predicate.translation import UntranslatableError
from indextables.spark.catalyst.expressions import ConditionReader, arrow_type, conjuncts, plain_column
from indextables.spark.catalyst.java import Java, has, ids, ids_of, kind, labels, references_of, sequence, simplified
from indextables.spark.catalyst.relation import RelationNode
from indextables.spark.catalyst.subquery_matches import MatchingSubquery, matching_subquery
from indextables.spark.planner.column_names import columns_of
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Item,
    Join,
    JoinType,
    Limit,
    Opaque,
    Output,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    SetOperator,
    SparkExpression,
)
from indextables.spark.planner.snapshots import snapshot_of
from indextables.spark.planner.table_relation import TableRelation

_JOINS = {
    "Inner": JoinType.INNER,
    "Cross": JoinType.INNER,
    "LeftOuter": JoinType.LEFT_OUTER,
    "RightOuter": JoinType.RIGHT_OUTER,
    "FullOuter": JoinType.FULL_OUTER,
    "LeftSemi": JoinType.LEFT_SEMI,
    "LeftAnti": JoinType.LEFT_ANTI,
}
_SAME_ROWS = {"SubqueryAlias", "View", "PipeOperator", "ResolvedHint", "ReturnAnswer"}
_SAME_SET = {"Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions"}
_SOME_ROWS = {"Offset", "Tail", "Sample"}
_SETS = {"Union": SetOperator.UNION, "Intersect": SetOperator.INTERSECT, "Except": SetOperator.EXCEPT}
_LOCAL = {"LocalRelation", "LogicalRDD", "OneRowRelation", "Range", "CommandResult", "InMemoryRelation"}
_EXTREMES = {"Min": Function.MIN, "Max": Function.MAX}


@dataclass
class PlanReader:
    """Reads the plans of one query. Relations come first, so that the types of their columns are known.

    `relations` are ours by the number of the table; `nodes` are Spark's nodes by the number of ours, and `expressions` its
    conditions. `joined_subqueries` are those that have been read as a side of a join, and are not to be read again.
    """

    relations: Mapping[int, RelationNode]
    spark: Any
    has_subqueries: bool = False
    nodes: dict[int, Java] = field(default_factory=dict)
    expressions: list[Java] = field(default_factory=list)
    joined_subqueries: list[Java] = field(default_factory=list)
    _is_in_subquery: bool = False

    def __post_init__(self) -> None:
        self.tables: dict[int, TableRelation] = {number: found.table for number, found in self.relations.items()}
        self._by_columns = {tuple(table.columns): number for number, table in self.tables.items()}
        zones = {table.options.time_zone for table in self.tables.values()}
        self._conditions = ConditionReader(zones.pop() if len(zones) == 1 else None)
        for table in self.tables.values():
            schema = snapshot_of(table.options).metadata.arrow_schema()
            known = {name.lower(): kind_ for name, kind_ in zip(schema.names, schema.types, strict=True)}
            self._conditions.types.update({number: known[name.lower()] for number, name in table.names.items()})
            self._conditions.types.update(dict.fromkeys(table.searches, pa.bool_()))

    def read(self, node: Java) -> Plan:
        number = len(self.nodes)
        self.nodes[number] = node
        name = kind(node)
        if name in _SAME_ROWS:
            return Pass(number, frozenset(), (), self.read(node.child()), passes_limit=True)
        if name in _SETS:
            return self._set_operation(number, node, _SETS[name])
        reader = _READERS.get(name)
        return self._opaque(number, node, name) if reader is None else reader(self, number, node)

    def _relation(self, number: int, node: Java) -> Plan:
        columns = ids_of(node)
        table = self._by_columns.get(columns)
        return Opaque(number, columns) if table is None else Relation(number, columns, table)

    def _filter(self, number: int, node: Java) -> Plan:
        child, terms = self.read(node.child()), list(conjuncts(self._simplified(node).condition()))
        conditions = tuple(map(self._condition, terms))
        if self.has_subqueries and all(condition.is_deterministic for condition in conditions):
            for subquery in filter(None, (matching_subquery(term, self.spark) for term in terms)):
                child = self._joined(child, subquery)
        return Filter(number, conditions, child)

    def _joined(self, child: Plan, subquery: MatchingSubquery) -> Plan:
        """The rows that have a match in a subquery, by the columns that are compared. The condition stays in its filter."""
        compared = [
            Condition(references_of(outer) | references_of(own), equality=self._conditions.equality(outer, own))
            for outer, own in subquery.compared
        ]
        if not any(condition.equality for condition in compared):
            return child
        number = len(self.nodes)
        self.nodes[number] = subquery.root
        rows = self._in_subquery(subquery.rows)
        if set(rows.columns) & set(child.columns):
            return child
        self.joined_subqueries.append(subquery.root)
        conditions = (*compared, *map(self._condition, subquery.conditions), Condition(subquery.references))
        return Join(number, JoinType.LEFT_SEMI, conditions, _equalities(compared, child, rows), child, rows)

    def _in_subquery(self, node: Java) -> Plan:
        outside, self._is_in_subquery = self._is_in_subquery, True
        try:
            return self.read(node)
        finally:
            self._is_in_subquery = outside

    def _simplified(self, node: Java) -> Java:
        """The same node with simple conditions: Spark's rules do not reach into subqueries."""
        if not self._is_in_subquery:
            return node
        simple = simplified(node, self.spark)
        return simple if kind(simple) == kind(node) else node

    def _condition(self, term: Java) -> Condition:
        try:
            predicate = self._conditions.predicate(term)
        except UntranslatableError:
            return self._opaque_condition(term)
        references = columns_of(predicate)
        return Condition(references, predicate, expression=self._expression(term, references))

    def _opaque_condition(self, term: Java) -> Condition:
        references, is_deterministic = references_of(term), bool(term.deterministic())
        equality = self._conditions.equality(term.left(), term.right()) if kind(term) == "EqualTo" else None
        is_alone = not (self.has_subqueries and has(term, "PLAN_EXPRESSION", self.spark))
        expression = self._expression(term, references) if is_alone else None
        return Condition(references, None, is_deterministic, equality, expression)

    def _expression(self, term: Java, references: frozenset[int]) -> SparkExpression:
        self.expressions.append(term)
        return SparkExpression(len(self.expressions) - 1, tuple((column, column) for column in sorted(references)))

    def _project(self, number: int, node: Java) -> Plan:
        child = self.read(node.child())
        own, listed = set(child.columns), node.projectList()
        items = []
        for place, (column, text) in enumerate(labels(listed)):
            if column in own and " AS " not in text:
                items.append(Item(column, frozenset({column}), column))
            else:
                items.append(self._item(column, listed.apply(place)))
        return Project(number, tuple(items), child)

    def _item(self, column: int, item: Java) -> Item:
        source = plain_column(item)
        if source is None:
            return Item(column, references_of(item), None, bool(item.deterministic()))
        if source in self._conditions.types:
            self._conditions.types[column] = self._conditions.types[source]
        return Item(column, frozenset({source}), source)

    def _aggregate(self, number: int, node: Java) -> Plan:
        child = self.read(node.child())
        grouping = sequence(node.groupingExpressions())
        plain = all(kind(key) == "AttributeReference" for key in grouping)
        keys = tuple(int(key.exprId().id()) for key in grouping) if plain else None
        references = frozenset[int]().union(*map(references_of, grouping)) if not plain else frozenset(keys or ())
        outputs = tuple(map(self._output, sequence(node.aggregateExpressions())))
        return Aggregate(number, keys, references, outputs, child, bool(node.deterministic()))

    def _output(self, item: Java) -> Output:
        column, expression = int(item.exprId().id()), item.child() if kind(item) == "Alias" else item
        try:
            return self._understood_output(column, expression)
        except UntranslatableError:
            return Output(column, Function.OTHER, references_of(item))

    def _understood_output(self, column: int, expression: Java) -> Output:
        match kind(expression):
            case "AttributeReference":
                key = self._argument(expression, is_compared=True)
                return Output(column, Function.KEY, frozenset({key}), key)
            case "AggregateExpression" if not expression.isDistinct() and expression.filter().isEmpty():
                return self._function(column, expression.aggregateFunction())
        raise UntranslatableError

    def _function(self, column: int, function: Java) -> Output:
        of = sequence(function.children())
        match kind(function):
            case "Count" if all(map(_is_not_null, of)):
                return Output(column, Function.COUNT_ROWS, frozenset())
            case "Count" if len(of) == 1:
                argument = self._argument(of[0], is_compared=False)
                return Output(column, Function.COUNT_VALUES, frozenset({argument}), argument)
            case "Min" | "Max" as name:
                argument = self._argument(of[0], is_compared=True)
                return Output(column, _EXTREMES[name], frozenset({argument}), argument)
        raise UntranslatableError

    def _argument(self, expression: Java, *, is_compared: bool) -> int:
        """A plain column. Where its values are compared, Spark must compare them as a table does: without a collation."""
        if kind(expression) != "AttributeReference":
            raise UntranslatableError
        if is_compared:
            arrow_type(expression)
        return int(expression.exprId().id())

    def _limit(self, number: int, node: Java) -> Plan:
        limit = node.limitExpr()
        rows = int(limit.value()) if kind(limit) == "Literal" else None
        return Limit(number, rows, kind(node) == "GlobalLimit", self.read(node.child()))

    def _join(self, number: int, node: Java) -> Plan:
        join_type = _JOINS.get(str(node.joinType().toString()))
        if join_type is None:
            return self._opaque(number, node, "Join")
        left, right = self.read(node.left()), self.read(node.right())
        condition = self._simplified(node).condition()
        conditions = tuple(map(self._condition, conjuncts(condition.get()))) if condition.isDefined() else ()
        return Join(number, join_type, conditions, _equalities(conditions, left, right), left, right)

    def _set_operation(self, number: int, node: Java, operator: SetOperator) -> Plan:
        branches = tuple(map(self.read, sequence(node.children())))
        return SetOperation(number, operator, ids_of(node), branches)

    def _sorted(self, number: int, node: Java) -> Plan:
        return Pass(number, references_of(node), (), self.read(node.child()))

    def _some_rows(self, number: int, node: Java) -> Plan:
        return Pass(number, references_of(node), (), self.read(node.child()), movable=frozenset())

    def _distinct(self, number: int, node: Java) -> Plan:
        child = self.read(node.child())
        columns = frozenset(child.columns)
        return Pass(number, columns, (), child, movable=columns, is_distinct=True)

    def _deduplicate(self, number: int, node: Java) -> Plan:
        keys = frozenset(ids(node.keys()))
        return Pass(number, keys, (), self.read(node.child()), movable=keys, is_distinct=True)

    def _window(self, number: int, node: Java) -> Plan:
        child, partition = self.read(node.child()), sequence(node.partitionSpec())
        plain = all(kind(key) == "AttributeReference" for key in partition) and bool(node.deterministic())
        movable = frozenset(int(key.exprId().id()) for key in partition) if plain else frozenset[int]()
        added = tuple(column for column in ids_of(node) if column not in set(child.columns))
        return Pass(number, references_of(node), added, child, movable=movable)

    def _opaque(self, number: int, node: Java, name: str) -> Plan:
        children = tuple(map(self.read, sequence(node.children())))
        return Opaque(number, ids_of(node), children, is_local=name in _LOCAL)


_READERS: dict[str, Callable[[PlanReader, int, Java], Plan]] = {
    "DataSourceV2Relation": PlanReader._relation,
    "Filter": PlanReader._filter,
    "Project": PlanReader._project,
    "Aggregate": PlanReader._aggregate,
    "GlobalLimit": PlanReader._limit,
    "LocalLimit": PlanReader._limit,
    "Join": PlanReader._join,
    "Distinct": PlanReader._distinct,
    "Deduplicate": PlanReader._deduplicate,
    "Window": PlanReader._window,
    **dict.fromkeys(_SAME_SET, PlanReader._sorted),
    **dict.fromkeys(_SOME_ROWS, PlanReader._some_rows),
}


def _equalities(conditions: Iterable[Condition], left: Plan, right: Plan) -> tuple[tuple[int, int], ...]:
    found = (condition.equal_columns(left.columns, right.columns) for condition in conditions)
    return tuple(pair for pair in found if pair is not None)


def _is_not_null(counted: Java) -> bool:
    """count(1), count(*): a literal counts every row."""
    return kind(counted) == "Literal" and counted.value() is not None
