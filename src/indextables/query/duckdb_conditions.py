"""Conditions in DuckDB's SQL as predicates that are true, false and unknown for the same rows.

What is not listed here, or could differ in the least, is not pushed down: DuckDB evaluates all conditions on the rows.
A literal has to be one of the column's own type, so that no cast is involved.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from indextables.predicate import Column, IndexQuery
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ, literal
from indextables.predicate.parser import read_operator
from indextables.predicate.translation import ColumnReference, Node, Translator, UntranslatableError, Value
from indextables.query.duckdb_dialect import SearchOperator

FindColumn = Callable[[exp.Column], pa.Field | None]
"""The column of the table that a name in the condition means; None where it may mean anything else."""
FindSearch = Callable[[exp.Expr], IndexQuery | None]
ReadInstant = Callable[[str], int]
"""The microseconds since 1970 that a time without a zone stands for: DuckDB takes it for one in the zone of the session."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_NUMBER = re.compile(r"-?(?=.{1,38}$)\d+(\.\d+)?")
_EXACT_DIGITS = 15  # DuckDB's decimals with more of them are doubles only nearly
_TIMES = {
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: TIMESTAMP_NTZ,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads the conditions on one table."""

    text: str
    find_column: FindColumn
    find_search: FindSearch
    read_instant: ReadInstant

    @property
    def translator(self) -> Translator:
        return Translator(self.read, self.convert)

    def read(self, tree: exp.Expr) -> Node | None:  # noqa: PLR0911 - one line for each kind of node
        match tree.unnest():
            case exp.Column() as column:
                field = self.find_column(column)
                return None if field is None else ColumnReference(Column(field.name), field.type)
            case SearchOperator() | exp.Anonymous() as search:
                return self.find_search(search)
            case exp.Null():
                return Value(literal(None))
            case exp.Boolean() as truth:
                return Value(literal(bool(truth.this)))
            case exp.Literal() as number_or_text:
                return self.value(number_or_text)
            case exp.Neg(this=exp.Literal(is_string=False) as number):
                return self.value(number, sign="-")
            case exp.Cast(this=exp.Literal() as text, to=exp.DataType(this=kind)) as cast if kind in _TIMES:
                value = self.value(text) if type(cast) is exp.Cast else None
                return None if value is None else Value(self.convert(value.value, _TIMES[kind]))
            case exp.Escape() | exp.Like() as like if isinstance(like, exp.Escape) or "\\" in like.expression.name:
                return None  # a backslash stands for itself in DuckDB
            case operator:
                return read_operator(operator)

    def value(self, node: exp.Literal, sign: str = "") -> Value | None:
        """A string or a plain number, if sqlglot has read it as DuckDB does."""
        if "start" not in node.meta:
            return None
        written = sign + self.text[node.meta["start"] : node.meta["end"] + 1]
        if node.is_string:
            return Value(literal(node.name)) if written == "'" + node.name.replace("'", "''") + "'" else None
        if not _NUMBER.fullmatch(written):
            return None
        return Value(literal(Decimal(written) if "." in written else int(written)))

    def convert(self, value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
        """A literal as a value of the column's type; a text may spell a time."""
        if value.type == kind:
            return value
        given = value.as_py()
        try:
            if pa.types.is_temporal(kind) and isinstance(given, str | date):
                return self.time(str(given), kind)
            if isinstance(given, int | Decimal) and not isinstance(given, bool):
                return _number(given, kind)
        except (ValueError, OverflowError):  # which Arrow's errors are, too
            pass
        raise UntranslatableError

    def time(self, text: str, kind: pa.DataType) -> pa.Scalar:
        """A date or a time without a zone."""
        if not (_DATE if pa.types.is_date(kind) else _TIME).fullmatch(text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)  # refuses what is no time
        if pa.types.is_date(kind):
            return pa.scalar(moment.date(), kind)
        return pa.scalar(self.read_instant(text), pa.int64()).cast(kind) if kind.tz else pa.scalar(moment, kind)


def _number(number: int | Decimal, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_integer(kind) and isinstance(number, int):
        return pa.scalar(number, kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(number), kind)
    if pa.types.is_float64(kind) and sum(map(str.isdigit, f"{Decimal(number):f}")) <= _EXACT_DIGITS:
        return pa.scalar(float(number), kind)
    raise ValueError(number)
