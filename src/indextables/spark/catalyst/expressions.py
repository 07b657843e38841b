"""Catalyst's expressions as predicates.

Spark has resolved names and types by then: a condition is a tree of Java objects in which every conversion is spelled out.
What is not in the tables here is not translated, and the condition is left to Spark.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

from indextables.predicate import Cast, CastMode, Column, Like, Literal, Not, Predicate, conjunction, disjunction
from indextables.predicate.column_expression import ColumnExpression
from indextables.predicate.literals import TIMESTAMP
from indextables.predicate.nodes import Operand
from indextables.predicate.type_coercion import common_type
from indextables.schema import type_named
from indextables.spark.catalyst.java import Java, kind, sequence
from indextables.spark.planner.column_names import name_of

_LONG = 1_000  # literals of one list; each costs some calls into the JVM
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


class UntranslatableError(Exception):
    """An expression that only Spark can evaluate; never shown to a user."""


def conjuncts(condition: Java) -> Iterator[Java]:
    """The terms of a condition, all of which must be true."""
    if kind(condition) == "And":
        yield from conjuncts(condition.left())
        yield from conjuncts(condition.right())
    else:
        yield condition


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Conditions as predicates over columns named `#<number>`.

    `types` are the types of columns, by their numbers, as far as they are known without asking the JVM. `searches` are the
    columns of searches. Casts from and to timestamps are translated in `time_zone` alone.
    """

    searches: frozenset[int]
    time_zone: str | None
    types: dict[int, pa.DataType] = field(default_factory=dict)

    def predicate(self, node: Java) -> Predicate:  # noqa: C901, PLR0911 - one line per kind of expression
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
            case "Literal" if self.type_of(node) == pa.bool_():
                return Literal(node.value())
            case "Coalesce":
                return self.search_or_false(sequence(node.children()))
            case "AttributeReference":
                return self.boolean(node)
            case "In":
                return self.membership(node)
            case name if name in _COMPARISONS:
                return self.comparison(name, node.left(), node.right())
            case name if name in _TEXT:
                return _TEXT[name](ColumnExpression(self.text_operand(node.left())), text(node.right()))
            case "Like":
                return Like(self.text_operand(node.left()), text(node.right()), str(node.escapeChar()))
        raise UntranslatableError

    def boolean(self, node: Java) -> Predicate:
        number = int(node.exprId().id())
        column = ColumnExpression(Column(name_of(number)))
        if number in self.searches:
            return column.eq_null_safe(True)  # a search finds a row or not: it is never unknown
        if self.type_of(node) != pa.bool_():
            raise UntranslatableError
        return column == True  # noqa: E712 - it makes a predicate

    def membership(self, node: Java) -> Predicate:
        if node.list().size() > _LONG:
            raise UntranslatableError
        kind_of = self.type_of(node.value())
        values = [scalar(each, kind_of) for each in sequence(node.list())]
        return ColumnExpression(self.operand(node.value())).isin(*values)

    def comparison(self, name: str, left: Java, right: Java) -> Predicate:
        if kind(left) == "Literal":
            return self.comparison(_FLIPPED.get(name, name), right, left)
        operand = self.operand(left)
        return _COMPARISONS[name](ColumnExpression(operand), scalar(right, self.type_of(left)))

    def operand(self, node: Java) -> Operand:
        """A column, or a column in another type: where Spark only widens it, binding gives the column itself."""
        match kind(node):
            case "AttributeReference":
                self.type_of(node)
                return Column(name_of(int(node.exprId().id())))
            case "Cast":
                return self.cast(node)
        raise UntranslatableError

    def cast(self, node: Java) -> Operand:
        child, target = node.child(), self.type_of(node)
        inner, own = self.operand(child), self.type_of(child)
        if isinstance(inner, Cast):  # CAST(CAST(s AS INT) AS BIGINT): the literal is compared in the wider type
            if not _is_wider(own, target):
                raise UntranslatableError
            return inner
        if TIMESTAMP in {own, target} and own != target and not self.is_in_zone(node):
            raise UntranslatableError
        if not (pa.types.is_string(own) or _is_wider(own, target) or _is_day(own, target) or _is_spelled(own, target)):
            raise UntranslatableError
        return inner if own == target else Cast(inner.name, target, mode=CastMode[str(node.evalMode().toString())])

    def is_in_zone(self, cast: Java) -> bool:
        """Whether a cast from or to a timestamp is in the time zone of the scan, which the session may have left."""
        zone = cast.timeZoneId()
        return bool(zone.isDefined() and zone.get() == self.time_zone)

    def text_operand(self, node: Java) -> Operand:
        if self.type_of(node) != pa.string():
            raise UntranslatableError
        return self.operand(node)

    def search_or_false(self, children: list[Java]) -> Predicate:
        """A search, false where an outer join has no row to search."""
        if [kind(child) for child in children] == ["AttributeReference", "Literal"]:
            search, otherwise = children
            if int(search.exprId().id()) in self.searches and otherwise.value() is False:
                return self.boolean(search)
        raise UntranslatableError

    def type_of(self, node: Java) -> pa.DataType:
        if kind(node) != "AttributeReference":
            return arrow_type(node)
        number = int(node.exprId().id())
        if number not in self.types:
            self.types[number] = arrow_type(node)
        return self.types[number]


def _is_wider(own: pa.DataType, target: pa.DataType) -> bool:
    """Whether Spark itself casts so to compare: every value has its place among those of the other type."""
    return not pa.types.is_string(own) and common_type(own, target) == target


def _is_day(own: pa.DataType, target: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(own) and pa.types.is_date(target))


def _is_spelled(own: pa.DataType, target: pa.DataType) -> bool:
    return bool((pa.types.is_integer(own) or pa.types.is_boolean(own)) and pa.types.is_string(target))


def arrow_type(expression: Java) -> pa.DataType:
    """The type of an expression; a text with a collation is compared in other ways than ours."""
    try:
        return type_named(str(expression.dataType().typeName()))
    except KeyError:
        raise UntranslatableError from None


def plain_column(item: Java) -> int | None:
    """The id of the column that an output column of a projection simply is; None where it is computed."""
    expression = item.child() if kind(item) == "Alias" else item
    if kind(expression) == "Cast" and expression.dataType().equals(expression.child().dataType()):
        expression = expression.child()  # as views have it
    return int(expression.exprId().id()) if kind(expression) == "AttributeReference" else None


def text(node: Java) -> str:
    if kind(node) != "Literal" or node.dataType().typeName() != "string" or node.value() is None:
        raise UntranslatableError
    return str(node.value().toString())


def scalar(node: Java, expected: pa.DataType) -> pa.Scalar:
    """A literal of the type in which it is compared; null has any type."""
    if kind(node) != "Literal":
        raise UntranslatableError
    value, own = node.value(), arrow_type(node)
    if value is None:
        return pa.scalar(None, pa.null())
    if own != expected:
        raise UntranslatableError
    if pa.types.is_string(own):
        return pa.scalar(value.toString())
    if pa.types.is_decimal(own):
        return pa.scalar(Decimal(value.toString()), own)
    return pa.scalar(value, own)
