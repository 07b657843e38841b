"""Conditions become predicates: the one table of operators, functions and casts, for every language that has conditions.

Each language has an adapter that reads its trees: `predicate/parser.py` for SQL text, `query/duckdb_conditions.py` for the
SQL of DuckDB, `spark/catalyst/expressions.py` and `spark/connect/remote_expressions.py` for Spark. An adapter turns one node
at a time into a `Node`. The arguments of a node stay nodes of the adapter's tree until they are read, each once.

>>> tree = Call("<", (Value(pa.scalar(5)), ColumnReference(Column("x"))))
>>> Translator(read=lambda node: node).predicate(tree)
Comparison(operand=Column(name='x'), op=<Op.GT: '>'>, value=<pyarrow.Int64Scalar: 5>)

Where the adapter does not know the type of a column, `bind` decides how a literal is compared with it. Where it does, the
literal has to be of the type in which it is compared, or the adapter converts it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa

from indextables.predicate import nodes
from indextables.predicate.evaluate import evaluate_leaf
from indextables.predicate.nodes import Cast, CastMode, Column, Comparison, Op, Operand, Predicate, conjunction
from indextables.predicate.type_coercion import common_type

Source: TypeAlias = Any
"""A node of the tree that an adapter reads, or a `Node` that needs no reading."""


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A column, or a column in another type, and the type in which it is compared.

    The operand is None where a name may mean anything else. The type is None where only `bind` knows it.
    """

    operand: Operand | None
    type: pa.DataType | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A literal."""

    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function, by the name that `Translator.predicate` has for it."""

    function: str
    arguments: tuple[Source, ...]


Node = ColumnReference | Value | Call | nodes.IndexQuery


def cast_node(node: Node | None, kind: pa.DataType, mode: CastMode = CastMode.ANSI) -> Node | None:
    """A column in another type, where `bind` knows the cast; None where only the engine does."""
    match node:
        case ColumnReference(_, own) if own == kind:
            return node
        case ColumnReference(Cast() as inner, pa.DataType() as own) if _widens(own, kind):
            return ColumnReference(inner, kind)  # CAST(CAST(s AS INT) AS BIGINT): the literal is of the wider type
        case ColumnReference(Column(name), own) if own is None or _widens(own, kind) or _is_known_cast(own, kind):
            return ColumnReference(Cast(name, kind, mode=mode), own and kind)
        case _:
            return None


def _widens(own: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Spark itself casts so to compare: every value has its place among those of the other type."""
    return not pa.types.is_string(own) and common_type(own, kind) == kind


def _is_known_cast(own: pa.DataType, kind: pa.DataType) -> bool:
    """A cast of texts, to the day, or to the digits of an integer."""
    is_day = pa.types.is_timestamp(own) and pa.types.is_date(kind)
    is_spelled = (pa.types.is_integer(own) or pa.types.is_boolean(own)) and pa.types.is_string(kind)
    return bool(pa.types.is_string(own) or is_day or is_spelled)


class Refusal(Enum):
    """Why a node is not translated."""

    CONDITION = "it is not understood here"
    COMPARISON = "it compares no column with a literal"
    COLUMN = "a column's name was expected here"
    VALUE = "a literal was expected here"
    TEXT = "a text in quotes was expected here"
    CHARACTER = "the escape is not one character"


class UntranslatableError(Exception):
    """A condition that is left to the engine. Only the adapter for SQL text, which has no engine, tells the user why."""

    def __init__(self, source: Source = None, refusal: Refusal = Refusal.CONDITION) -> None:
        super().__init__(refusal.value)
        self.source = source
        self.refusal = refusal


def require_type(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
    """The literal itself, if it is of the type in which it is compared."""
    if value.type != kind:
        raise UntranslatableError
    return value


_COMPARISONS = {
    "=": Op.EQ, "==": Op.EQ, "<>": Op.NE, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE, "<=>": None,
}  # fmt: skip
_PATTERNS: dict[str, type[nodes.StartsWith | nodes.EndsWith | nodes.Contains]] = {
    "startswith": nodes.StartsWith,
    "endswith": nodes.EndsWith,
    "contains": nodes.Contains,
}
_TRUE, _FALSE = Value(pa.scalar(value=True)), Value(pa.scalar(value=False))


@dataclass(frozen=True, slots=True)
class _Term:
    """A node that was read, and what it was read from."""

    source: Source
    node: Node | None


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the conditions of one adapter, or raises an UntranslatableError.

    `read` gives None for a node that is not in this language. `convert` makes a literal one of the column's type.
    """

    read: Callable[[Source], Node | None]
    convert: Callable[[pa.Scalar, pa.DataType], pa.Scalar] = require_type

    def conjuncts(self, condition: Source) -> Iterator[Source]:
        """The terms of a condition, all of which must be true; a filter needs no difference between false and null."""
        match self._term(condition).node:
            case Call("and", terms):
                for term in terms:
                    yield from self.conjuncts(term)
            case Call("coalesce", (term, otherwise)) if self._term(otherwise).node == _FALSE:
                yield from self.conjuncts(term)
            case _:
                yield condition

    def predicate(self, condition: Source) -> Predicate:  # noqa: C901, PLR0911, PLR0912  (one line per function)
        term = self._term(condition)
        match term.node:
            case Call("and", terms):
                return conjunction(*map(self.predicate, terms))
            case Call("or", terms):
                return nodes.disjunction(*map(self.predicate, terms))
            case Call("not", (negated,)):
                return nodes.Not(self.predicate(negated))
            case Call(name, (left, right)) if name in _COMPARISONS:
                return self._comparison(term.source, _COMPARISONS[name], left, right)
            case Call("between", (operand, low, high)):
                between = self._term(operand)
                at_least = self._comparison(term.source, Op.GE, between, low, Refusal.COLUMN)
                return conjunction(at_least, self._comparison(term.source, Op.LE, between, high))
            case Call("in", (operand, *listed)):
                column, kind = self._operand(operand)
                return nodes.In(column, tuple(self._literal(each, kind) for each in listed))
            case Call("isnull", (operand,)):
                return nodes.IsNull(self._operand(operand)[0])
            case Call("isnotnull", (operand,)):
                return nodes.Not(nodes.IsNull(self._operand(operand)[0]))
            case Call("coalesce", (flag, otherwise)) if self._term(otherwise).node == _FALSE:
                return self._compared(None, flag, _TRUE)
            case Call("startswith" | "endswith" | "contains" as name, (operand, text)):
                return _PATTERNS[name](self._text_operand(operand), self._text(text))
            case Call("like", (operand, pattern)):
                return nodes.Like(self._text_operand(operand), self._text(pattern))
            case Call("like", (operand, pattern, escape)):
                character = self._character(escape)
                return nodes.Like(self._text_operand(operand), self._text(pattern), character)
            case Call("indexquery", (column, query)):
                return nodes.IndexQuery(self._name(column), self._text(query))
            case Call("indexqueryall", (query,)):
                return nodes.IndexQuery(None, self._text(query))
            case nodes.IndexQuery() as search:
                return search
            case Value(value) if pa.types.is_boolean(value.type) or not value.is_valid:
                return nodes.Literal(value.as_py())
            case ColumnReference():
                return self._compared(Op.EQ, term, _TRUE)
            case _:
                raise UntranslatableError(term.source, Refusal.CONDITION)

    def _term(self, source: Source) -> _Term:
        if isinstance(source, _Term):
            return source
        return _Term(source, source if isinstance(source, Node) else self.read(source))

    def _comparison(
        self, source: Source, op: Op | None, left: Source, right: Source, refusal: Refusal = Refusal.VALUE
    ) -> Predicate:
        """`op` is None for `<=>`. Two literals are compared here: `1 = 1`, as programs write it."""
        first = self._term(left)
        if isinstance(first.node, ColumnReference):
            return self._compared(op, first, right)
        literal, second = self._literal(first, refusal=refusal if op else Refusal.COLUMN), self._term(right)
        if isinstance(second.node, ColumnReference):
            return self._compared(op and op.flipped, second, first)
        if op is None:
            raise UntranslatableError(first.source, Refusal.COLUMN)
        other = self._literal(second)
        if literal.type != other.type:
            raise UntranslatableError(source, Refusal.COMPARISON)
        return nodes.Literal(evaluate_leaf(Comparison(Column(""), op, other), pa.array([literal]))[0].as_py())

    def _compared(self, op: Op | None, operand: Source, literal: Source) -> Predicate:
        column, kind = self._operand(operand)
        value = self._literal(literal, kind)
        return nodes.NullSafeEqual(column, value) if op is None else Comparison(column, op, value)

    def _operand(self, source: Source) -> tuple[Operand, pa.DataType | None]:
        term = self._term(source)
        match term.node:
            case ColumnReference(Column() | Cast() as operand, kind):
                return operand, kind
            case _:
                raise UntranslatableError(term.source, Refusal.COLUMN)

    def _text_operand(self, source: Source) -> Operand:
        operand, kind = self._operand(source)
        if kind is not None and kind != pa.string():
            raise UntranslatableError(source, Refusal.COLUMN)
        return operand

    def _literal(
        self, source: Source, kind: pa.DataType | None = None, *, refusal: Refusal = Refusal.VALUE
    ) -> pa.Scalar:
        """A literal, of the type in which it is compared; null has any type."""
        term = self._term(source)
        match term.node:
            case Value(value):
                return value if kind is None or not value.is_valid else self.convert(value, kind)
            case _:
                raise UntranslatableError(term.source, refusal)

    def _text(self, source: Source) -> str:
        text = self._literal(source).as_py()
        if not isinstance(text, str):
            raise UntranslatableError(source, Refusal.TEXT)
        return text

    def _character(self, source: Source) -> str:
        character = self._text(source)
        if len(character) != 1:
            raise UntranslatableError(source, Refusal.CHARACTER)
        return character

    def _name(self, source: Source) -> str:
        match self._operand(source):
            case Column(name), _:
                return name
            case _:
                raise UntranslatableError(source, Refusal.COLUMN)
