"""Conditions in DuckDB's SQL as predicates that are true, false and unknown for the same rows.

What is not listed here, or could differ in the least, is not pushed down: DuckDB evaluates all conditions on the rows.
A literal has to be one of the column's own type, so that no cast is involved.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from indextables.predicate import (
    Column,
    Comparison,
    In,
    IndexQuery,
    IsNull,
    Not,
    Op,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
)
from indextables.query.duckdb_dialect import SearchOperator

FindColumn = Callable[[exp.Column], pa.Field | None]
"""The column of the table that a name in the condition means; None where it may mean anything else."""
FindSearch = Callable[[exp.Expr], IndexQuery | None]
ReadInstant = Callable[[str], int]
"""The microseconds since 1970 that a time without a zone stands for: DuckDB takes it for one in the zone of the session."""
_OPS = {exp.EQ: Op.EQ, exp.NEQ: Op.NE, exp.LT: Op.LT, exp.LTE: Op.LE, exp.GT: Op.GT, exp.GTE: Op.GE}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_EXACT_DIGITS = 15  # DuckDB's decimals with more of them are doubles only nearly
_LOCAL = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATE})


class NotPushedError(Exception):
    """The condition stays with DuckDB."""


class ConditionReader:
    """Conditions on one table as predicates, or a NotPushedError."""

    def __init__(self, text: str, find_column: FindColumn, find_search: FindSearch, read_instant: ReadInstant) -> None:
        self._text = text
        self._find_column = find_column
        self._find_search = find_search
        self._read_instant = read_instant

    def predicate(self, node: exp.Expr) -> Predicate:  # noqa: PLR0911 - one line for each kind of node
        match node:
            case exp.Paren():
                return self.predicate(node.this)
            case exp.And():
                return conjunction(self.predicate(node.left), self.predicate(node.right))
            case exp.Or():
                return disjunction(self.predicate(node.left), self.predicate(node.right))
            case exp.Not():
                return Not(self.predicate(node.this))
            case SearchOperator() | exp.Anonymous():
                return self._search(node)
            case exp.Column():
                return self._truth(node)
            case _ if _is_plain(node):
                return self._comparison(node)
            case _:
                raise NotPushedError

    def _comparison(self, node: exp.Expr) -> Predicate:
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._compared(node.left, _OPS[type(node)], node.right)
            case exp.Between():
                low, high = (self._compared(node.this, *end) for end in _ends(node))
                return conjunction(low, high)
            case exp.In() if node.expressions:
                field = self._field(node.this)
                return In(Column(field.name), tuple(self._value(field, one) for one in node.expressions))
            case exp.Is(expression=exp.Null()):
                return IsNull(Column(self._field(node.this).name))
            case exp.Like(expression=exp.Literal()):
                return self._prefix(node)
            case _:
                raise NotPushedError

    def _search(self, node: exp.Expr) -> Predicate:
        found = self._find_search(node)
        if found is None:
            raise NotPushedError
        return found

    def _truth(self, node: exp.Column) -> Predicate:
        field = self._field(node)
        if not pa.types.is_boolean(field.type):
            raise NotPushedError
        return Comparison(Column(field.name), Op.EQ, pa.scalar(True))

    def _compared(self, left: exp.Expr, op: Op, right: exp.Expr) -> Predicate:
        if isinstance(right, exp.Column):
            left, op, right = right, op.flipped, left
        field = self._field(left)
        return Comparison(Column(field.name), op, self._value(field, right))

    def _prefix(self, node: exp.Like) -> Predicate:
        field, pattern = self._field(node.this), self._string(node.expression)
        if not pa.types.is_string(field.type) or not re.fullmatch(r"[^%_\\]+%", pattern):
            raise NotPushedError
        return StartsWith(Column(field.name), pattern[:-1])

    def _field(self, node: exp.Expr) -> pa.Field:
        found = self._find_column(node) if isinstance(node, exp.Column) else None
        if found is None:
            raise NotPushedError
        return found

    def _value(self, field: pa.Field, node: exp.Expr) -> pa.Scalar:
        """A literal as a value of the column's type."""
        kind = field.type
        try:
            if pa.types.is_string(kind):
                return pa.scalar(self._string(node), kind)
            if pa.types.is_date(kind):
                return pa.scalar(date.fromisoformat(self._time(node, _DATE, {exp.DType.DATE})), kind)
            if pa.types.is_timestamp(kind):
                return self._timestamp(node, kind)
            return _number(self._number_text(node), kind)
        except (ValueError, pa.ArrowInvalid, OverflowError):
            raise NotPushedError from None

    def _timestamp(self, node: exp.Expr, kind: pa.TimestampType) -> pa.Scalar:
        text = self._time(node, _TIME, _LOCAL | {exp.DType.TIMESTAMPTZ} if kind.tz else _LOCAL)
        moment = datetime.fromisoformat(text)  # refuses what is no time
        return pa.scalar(self._read_instant(text), pa.int64()).cast(kind) if kind.tz else pa.scalar(moment, kind)

    def _string(self, node: exp.Expr) -> str:
        """A string literal, if sqlglot has read it as DuckDB does."""
        if not isinstance(node, exp.Literal) or not node.is_string or "start" not in node.meta:
            raise NotPushedError
        text = str(node.this)
        written = self._text[node.meta["start"] : node.meta["end"] + 1]
        if written != "'" + text.replace("'", "''") + "'":
            raise NotPushedError
        return text

    def _time(self, node: exp.Expr, shape: re.Pattern[str], casts: set[exp.DType] | frozenset[exp.DType]) -> str:
        """A date or a time without a zone, as text: a string, or a cast of one."""
        if type(node) is exp.Cast:
            if node.to.this not in casts or (node.to.this == exp.DType.DATE and not _DATE.fullmatch(node.this.name)):
                raise NotPushedError
            node = node.this
        text = self._string(node)
        if not shape.fullmatch(text):
            raise NotPushedError
        return text

    def _number_text(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Neg):
            return f"-{self._number_text(node.this)}"
        if not isinstance(node, exp.Literal) or node.is_string or "start" not in node.meta:
            raise NotPushedError
        return self._text[node.meta["start"] : node.meta["end"] + 1]


def _number(text: str, kind: pa.DataType) -> pa.Scalar:
    if not _NUMBER.fullmatch(text):
        raise NotPushedError
    if pa.types.is_integer(kind):
        return pa.scalar(int(text), kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(text), kind)
    if pa.types.is_float64(kind) and sum(map(str.isdigit, text)) <= _EXACT_DIGITS:
        return pa.scalar(float(text), kind)
    raise NotPushedError


def _ends(node: exp.Between) -> tuple[tuple[Op, exp.Expr], tuple[Op, exp.Expr]]:
    return (Op.GE, node.args["low"]), (Op.LE, node.args["high"])


def _is_plain(node: exp.Expr) -> bool:
    """Whether a comparison has only its operands: no NOT, ESCAPE, SYMMETRIC or anything else that would change it."""
    operands = {"this", "expression", "expressions", "low", "high"}
    return all(name in operands or not value for name, value in node.args.items())
