"""Catalyst's expressions as predicates.

Spark has resolved names and types by then: a condition is a tree of Java objects in which every conversion is spelled out.
Each call of such an object costs time, so that a node is read when a rule of `predicate/translation.py` needs it, and once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

from indextables.predicate import CastMode, Column, Predicate
from indextables.predicate.literals import TIMESTAMP
from indextables.predicate.translation import (
    Call,
    ColumnReference,
    Node,
    Translator,
    UntranslatableError,
    Value,
    cast_node,
)
from indextables.schema import type_named
from indextables.spark.catalyst.java import Java, kind, sequence
from indextables.spark.planner.column_names import name_of

_LONG = 1_000  # literals of one list; each costs some calls into the JVM
_BINARY = {
    "And": "and", "Or": "or", "EqualTo": "=", "EqualNullSafe": "<=>", "LessThan": "<", "LessThanOrEqual": "<=",
    "GreaterThan": ">", "GreaterThanOrEqual": ">=", "StartsWith": "startswith", "EndsWith": "endswith",
    "Contains": "contains",
}  # fmt: skip
_UNARY = {"Not": "not", "IsNull": "isnull", "IsNotNull": "isnotnull"}


def conjuncts(condition: Java) -> Iterator[Java]:
    """The terms of a condition, all of which must be true."""
    if kind(condition) == "And":
        yield from conjuncts(condition.left())
        yield from conjuncts(condition.right())
    else:
        yield condition


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads conditions over columns named `#<number>`.

    `types` are the types of columns, by their numbers, as far as they are known without asking the JVM. Casts from and to
    timestamps are translated in `time_zone` alone.
    """

    time_zone: str | None
    types: dict[int, pa.DataType] = field(default_factory=dict)

    def predicate(self, condition: Java) -> Predicate:
        return Translator(self.read).predicate(condition)

    def read(self, node: Java) -> Node | None:  # noqa: PLR0911 - one line per kind of expression
        match kind(node):
            case "AttributeReference":
                return self.column(node)
            case "Literal":
                return Value(literal(node))
            case "Cast":
                return self.cast(node)
            case "In" if node.list().size() <= _LONG:
                return Call("in", (node.value(), *sequence(node.list())))
            case "Like":
                escape = Value(pa.scalar(str(node.escapeChar())))
                return Call("like", (node.left(), node.right(), escape))
            case "Coalesce":
                return Call("coalesce", tuple(sequence(node.children())))
            case name if name in _BINARY:
                return Call(_BINARY[name], (node.left(), node.right()))
            case name if name in _UNARY:
                return Call(_UNARY[name], (node.child(),))
            case _:
                return None

    def cast(self, node: Java) -> Node | None:
        """A cast, unless it is from or to a timestamp in another time zone than that of the scan."""
        child, target = self.read(node.child()), arrow_type(node)
        if not isinstance(child, ColumnReference):
            return None
        if TIMESTAMP in {child.type, target} and child.type != target:
            zone = node.timeZoneId()
            if not zone.isDefined() or zone.get() != self.time_zone:
                return None
        return cast_node(child, target, CastMode[str(node.evalMode().toString())])

    def equality(self, first: Java, second: Java) -> tuple[int, int] | None:
        """Two columns of which equal values are the same value: integers, or of one type; not so 0.0 and -0.0."""
        try:
            (one, type_of_one), (other, type_of_other) = self.key(first), self.key(second)
        except UntranslatableError:
            return None
        are_integers = pa.types.is_integer(type_of_one) and pa.types.is_integer(type_of_other)
        is_same = type_of_one == type_of_other and not pa.types.is_floating(type_of_one)
        return (one, other) if are_integers or is_same else None

    def key(self, node: Java) -> tuple[int, pa.DataType]:
        """A column that is compared with another one, and its type; Spark casts the narrower one of two integers."""
        name = kind(node)
        if name == "Cast" and pa.types.is_integer(own := self.type_of(node.child())):
            target = arrow_type(node)
            if pa.types.is_integer(target) and target.bit_width >= own.bit_width:
                node, name = node.child(), kind(node.child())
        if name != "AttributeReference":
            raise UntranslatableError
        return int(node.exprId().id()), self.type_of(node)

    def type_of(self, node: Java) -> pa.DataType:
        return self.column(node).type if kind(node) == "AttributeReference" else arrow_type(node)

    def column(self, attribute: Java) -> ColumnReference:
        number = int(attribute.exprId().id())
        if number not in self.types:
            self.types[number] = arrow_type(attribute)
        return ColumnReference(Column(name_of(number)), self.types[number])


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


def literal(node: Java) -> pa.Scalar:
    value = node.value()
    if value is None:
        return pa.NA
    own = arrow_type(node)
    if pa.types.is_string(own):
        return pa.scalar(value.toString())
    return pa.scalar(Decimal(value.toString()) if pa.types.is_decimal(own) else value, own)
