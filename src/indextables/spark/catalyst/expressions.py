"""Spark's analyzed plans, as far as they are understood: filters and plain columns over one of our relations.

Spark has resolved names and types by then: a condition is a tree of Java objects in which every conversion is spelled out.
What is not in the tables here is not understood, and the caller leaves the query to Spark.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

import pyarrow as pa

from indextables.errors import PredicateError
from indextables.predicate import (
    Cast,
    CastMode,
    Column,
    IndexQuery,
    Like,
    Not,
    Predicate,
    bind,
    col,
    conjunction,
    disjunction,
)
from indextables.predicate import Literal as Known
from indextables.predicate.coerce import common_type
from indextables.predicate.literals import TIMESTAMP
from indextables.predicate.nodes import Operand
from indextables.predicate.python import ColumnExpression
from indextables.schema import type_named
from indextables.spark.catalyst.java import Java, jvm_of, kind, sequence
from indextables.spark.catalyst.relation import Relation
from indextables.spark.source.read_options import Asked

_RULES = ("ReplaceExpressions", "RewriteWithExpression", "ConstantFolding", "SimplifyCasts")
_TIMELESS = {"Literal", "AttributeReference", "CommonExpressionRef"}  # the last stands for a neighbour in the same tree
_LONG = 1_000  # each literal costs some calls into the JVM
_SAME_ROWS = {"SubqueryAlias", "View", "PipeOperator"}
_COMPARISONS: dict[str, Callable[[ColumnExpression, pa.Scalar], Predicate]] = {
    "EqualTo": lambda column, value: column == value,
    "EqualNullSafe": lambda column, value: column.eq_null_safe(value),
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
}
_FLIPPED = {
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_TEXT: dict[str, Callable[[ColumnExpression, str], Predicate]] = {
    "StartsWith": lambda column, text: column.startswith(text),
    "EndsWith": lambda column, text: column.endswith(text),
    "Contains": lambda column, text: column.contains(text),
}


class NotUnderstoodError(Exception):
    """Part of a plan that only Spark knows how to run; never shown to a user."""


def simplified(plan: Java, spark: Any) -> Java:
    """The plan with constants computed and shorthands spelled out, by Spark's own rules."""
    optimizer = jvm_of(spark).org.apache.spark.sql.catalyst.optimizer
    for rule in _RULES:
        plan = getattr(optimizer, rule).apply(plan)
    return plan


def conjuncts(condition: Java) -> Iterator[Java]:
    """The terms of a condition, all of which must be true."""
    if kind(condition) == "And":
        yield from conjuncts(condition.left())
        yield from conjuncts(condition.right())
    else:
        yield condition


def is_timeless(expression: Java) -> bool:
    """Whether an expression means the same whenever it is evaluated: a frame may run long after it was made."""
    children = expression.children()
    if children.size() == 0:
        return kind(expression) in _TIMELESS
    return children.size() <= _LONG and all(map(is_timeless, sequence(children)))


def is_over_a_table(plan: Java) -> bool:
    """Whether the one source of the plan's rows is a relation of ours, and no condition depends on the time."""
    conditions = []
    while plan.children().size() == 1:
        if kind(plan) == "Filter":
            conditions.append(plan.condition())
        plan = plan.children().apply(0)
    return Relation.of(plan) is not None and all(map(is_timeless, conditions))


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Rows of one of our relations, filtered; columns of the table and of searches are known by Spark's ids of them."""

    asked: Asked
    predicate: Predicate
    names: Mapping[int, str]
    searches: Mapping[int, IndexQuery]

    @classmethod
    def of(cls, relation: Relation) -> Self:
        """All rows."""
        return cls(relation.asked, Known(value=True), relation.names, relation.searches)

    def column(self, expression: Java) -> str:
        """The name of the table's column that an expression simply is."""
        if kind(expression) != "AttributeReference" or expression.exprId().id() not in self.names:
            raise NotUnderstoodError
        return self.names[expression.exprId().id()]


def understood(plan: Java) -> TableQuery:
    """Filters, plain columns, aliases and views over one relation of ours, or NotUnderstoodError."""
    match kind(plan):
        case name if name in _SAME_ROWS:
            return understood(plan.child())
        case "Project":
            below = understood(plan.child())
            for expression in sequence(plan.projectList()):
                below.column(expression)
            return below
        case "Filter":
            below = understood(plan.child())
            condition = Conditions(below).predicate(plan.condition())
            return replace(below, predicate=conjunction(below.predicate, condition))
    relation = Relation.of(plan)
    if relation is None:
        raise NotUnderstoodError
    return TableQuery.of(relation)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Spark's expressions as predicates on the columns of a query's table."""

    query: TableQuery

    def predicate(self, node: Java) -> Predicate:  # noqa: C901, PLR0911, PLR0912 - one line per kind of expression
        match kind(node):
            case "And":
                return conjunction(self.predicate(node.left()), self.predicate(node.right()))
            case "Or":
                return disjunction(self.predicate(node.left()), self.predicate(node.right()))
            case "Not":
                return Not(self.predicate(node.child()))
            case "IsNull":
                return ColumnExpression(self.operand(node.child())).is_null()
            case "IsNotNull":
                return Not(ColumnExpression(self.operand(node.child())).is_null())
            case "Literal" if node.dataType().typeName() == "boolean":
                return Known(node.value())
            case "Coalesce":
                return self.search_or_false(sequence(node.children()))
            case "AttributeReference" if node.exprId().id() in self.query.searches:
                return self.query.searches[node.exprId().id()]
            case "AttributeReference" if node.dataType().typeName() == "boolean":
                return col(self.query.column(node)) == True  # noqa: E712 - it makes a predicate
            case "In":
                values = [scalar(each, arrow_type(node.value())) for each in sequence(node.list())]
                return ColumnExpression(self.operand(node.value())).isin(*values)
            case name if name in _COMPARISONS:
                return self.comparison(name, node.left(), node.right())
            case name if name in _TEXT:
                return _TEXT[name](ColumnExpression(self.text_operand(node.left())), text(node.right()))
            case "Like":
                return Like(self.text_operand(node.left()), text(node.right()), str(node.escapeChar()))
        raise NotUnderstoodError

    def comparison(self, name: str, left: Java, right: Java) -> Predicate:
        if kind(left) == "Literal":
            return self.comparison(_FLIPPED.get(name, name), right, left)
        return _COMPARISONS[name](ColumnExpression(self.operand(left)), scalar(right, arrow_type(left)))

    def operand(self, node: Java) -> Operand:
        """A column, or a column in another type: where Spark only widens it, binding gives the column itself."""
        if kind(node) != "Cast":
            return Column(self.query.column(node))
        child, target = node.child(), arrow_type(node)
        inner, own = self.operand(child), arrow_type(child)
        if isinstance(inner, Cast):  # CAST(CAST(s AS INT) AS BIGINT): the literal is compared in the wider type
            if not _is_wider(own, target):
                raise NotUnderstoodError
            return inner
        if TIMESTAMP in {own, target} and own != target and not self.is_in_zone(node):
            raise NotUnderstoodError
        if not (pa.types.is_string(own) or _is_wider(own, target) or _is_day(own, target) or _is_spelled(own, target)):
            raise NotUnderstoodError
        return inner if own == target else Cast(inner.name, target, mode=CastMode[str(node.evalMode().toString())])

    def is_in_zone(self, cast: Java) -> bool:
        """Whether a conversion to moments is in the time zone of the scan; a session may have changed its own since."""
        zone = cast.timeZoneId()
        return bool(zone.isDefined() and zone.get() == self.query.asked.time_zone)

    def text_operand(self, node: Java) -> Operand:
        if arrow_type(node) != pa.string():
            raise NotUnderstoodError
        return self.operand(node)

    def search_or_false(self, children: list[Java]) -> Predicate:
        """A search, false where an outer join has no row to search; of a scan's own rows it is the search."""
        if [kind(child) for child in children] == ["AttributeReference", "Literal"]:
            search, otherwise = children
            if search.exprId().id() in self.query.searches and otherwise.value() is False:
                return self.query.searches[search.exprId().id()]
        raise NotUnderstoodError


def _is_wider(own: pa.DataType, target: pa.DataType) -> bool:
    """Whether Spark itself casts so to compare: every value has its place among those of the other type."""
    return not pa.types.is_string(own) and common_type(own, target) == target


def _is_day(own: pa.DataType, target: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(own) and pa.types.is_date(target))


def _is_spelled(own: pa.DataType, target: pa.DataType) -> bool:
    return bool((pa.types.is_integer(own) or pa.types.is_boolean(own)) and pa.types.is_string(target))


def arrow_type(expression: Java) -> pa.DataType:
    try:
        return type_named(str(expression.dataType().typeName()))
    except KeyError:
        raise NotUnderstoodError from None


def text(node: Java) -> str:
    if kind(node) != "Literal" or node.dataType().typeName() != "string" or node.value() is None:
        raise NotUnderstoodError
    return str(node.value().toString())


def scalar(node: Java, expected: pa.DataType) -> pa.Scalar:
    """A literal of the type in which it is compared; null has any type."""
    if kind(node) != "Literal":
        raise NotUnderstoodError
    value, own = node.value(), arrow_type(node)
    if value is None:
        return pa.scalar(None, pa.null())
    if own != expected:
        raise NotUnderstoodError
    if pa.types.is_string(own):
        return pa.scalar(value.toString())
    if pa.types.is_decimal(own):
        return pa.scalar(Decimal(value.toString()), own)
    return pa.scalar(value, own)


def bound(query: TableQuery, schema: pa.Schema) -> Predicate:
    """The query's predicate in the table's types."""
    try:
        return bind(query.predicate, schema, time_zone=query.asked.time_zone)
    except PredicateError:
        raise NotUnderstoodError from None
