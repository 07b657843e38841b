"""Catalyst's expressions as predicates.

Spark has resolved names and types by then: a condition is a tree of Java objects in which every conversion is spelled out.
Each call of such an object costs time, so that a node is read when a rule of `predicate/translation.py` needs it, and once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa

from indextables.predicate import CastMode, Predicate
from indextables.predicate.literals import TIMESTAMP
from indextables.predicate.translation import (
    Call,
    ColumnReference,
    Conversion,
    Node,
    Translator,
    UntranslatableError,
    Value,
)
from indextables.schema import type_named
from indextables.spark.catalyst.java import Java, kind, sequence
from indextables.spark.planner.column_names import name_of

_LONG = 1_000  # literals of one list; each costs some calls into the JVM
_BOTH = ("left", "right")
_CALLS: dict[str, tuple[str, tuple[str, ...]]] = {  # the function of a class, and its members with the arguments
    "And": ("and", _BOTH),
    "Or": ("or", _BOTH),
    "Not": ("not", ("child",)),
    "IsNull": ("isnull", ("child",)),
    "IsNotNull": ("isnotnull", ("child",)),
    "EqualTo": ("=", _BOTH),
    "EqualNullSafe": ("<=>", _BOTH),
    "LessThan": ("<", _BOTH),
    "LessThanOrEqual": ("<=", _BOTH),
    "GreaterThan": (">", _BOTH),
    "GreaterThanOrEqual": (">=", _BOTH),
    "StartsWith": ("startswith", _BOTH),
    "EndsWith": ("endswith", _BOTH),
    "Contains": ("contains", _BOTH),
}


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
                return ColumnReference(name_of(int(node.exprId().id())), self.type_of(node))
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
            case name if name in _CALLS:
                function, arguments = _CALLS[name]
                return Call(function, tuple(getattr(node, argument)() for argument in arguments))
        return None

    def cast(self, node: Java) -> Node | None:
        """A cast, unless it is from or to a timestamp in another time zone than that of the scan."""
        child, target = self.read(node.child()), arrow_type(node)
        if not isinstance(child, ColumnReference | Conversion):
            return None
        if child.type == target:
            return child
        if TIMESTAMP in {child.type, target}:
            zone = node.timeZoneId()
            if not zone.isDefined() or zone.get() != self.time_zone:
                return None
        return Conversion(child, target, CastMode[str(node.evalMode().toString())])

    def type_of(self, attribute: Java) -> pa.DataType:
        number = int(attribute.exprId().id())
        if number not in self.types:
            self.types[number] = arrow_type(attribute)
        return self.types[number]


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
