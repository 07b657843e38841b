"""Predicates built from Python.

>>> from indextables.predicate.sql_text import to_sql
>>> to_sql((col("year") >= 2024) & ~col("level").isin("DEBUG", "TRACE"))
"year >= 2024 AND NOT level IN ('DEBUG', 'TRACE')"
"""

from dataclasses import dataclass

from indextables.predicate import nodes
from indextables.predicate.literals import literal, whole_text
from indextables.predicate.nodes import Cast, CastMode, Column, Comparison, IndexQuery, Op, Operand, Predicate
from indextables.schema import parse_type


@dataclass(frozen=True, slots=True, eq=False)
class ColumnExpression:
    """A column, or a column in another type, that comparisons turn into predicates."""

    operand: Operand

    def __eq__(self, value: object) -> Comparison:  # type: ignore[override]  # a condition, as on Spark's columns
        return self._compare(Op.EQ, value)

    def __ne__(self, value: object) -> Comparison:  # type: ignore[override]
        return self._compare(Op.NE, value)

    def __lt__(self, value: object) -> Comparison:
        return self._compare(Op.LT, value)

    def __le__(self, value: object) -> Comparison:
        return self._compare(Op.LE, value)

    def __gt__(self, value: object) -> Comparison:
        return self._compare(Op.GT, value)

    def __ge__(self, value: object) -> Comparison:
        return self._compare(Op.GE, value)

    __hash__ = None  # type: ignore[assignment]  # equality makes a predicate, so a set of columns cannot work

    def eq_null_safe(self, value: object) -> Predicate:
        """`<=>`: like `==`, but null equals null."""
        return nodes.NullSafeEqual(self.operand, literal(value))

    def isin(self, *values: object) -> Predicate:
        return nodes.In(self.operand, tuple(map(literal, values)))

    def between(self, low: object, high: object) -> Predicate:
        """From low to high, both included."""
        return (self >= low) & (self <= high)

    def is_null(self) -> Predicate:
        return nodes.IsNull(self.operand)

    def is_not_null(self) -> Predicate:
        return ~self.is_null()

    def startswith(self, text: str) -> Predicate:
        return nodes.StartsWith(self.operand, whole_text(text))

    def endswith(self, text: str) -> Predicate:
        return nodes.EndsWith(self.operand, whole_text(text))

    def contains(self, text: str) -> Predicate:
        return nodes.Contains(self.operand, whole_text(text))

    def like(self, pattern: str, *, escape: str = "\\") -> Predicate:
        return nodes.Like(self.operand, whole_text(pattern), escape)

    def indexquery(self, query: str) -> Predicate:
        return IndexQuery(self.operand.name, query)

    def cast(self, type_: str) -> "ColumnExpression":
        """The column in another type, by the rules of CAST: a text that does not spell a value of it is an error.

        >>> col("month").cast("int").between(1, 3) == col("month").cast("integer").between(1, 3)
        True
        """
        return ColumnExpression(Cast(self.operand.name, parse_type(type_)))

    def try_cast(self, type_: str) -> "ColumnExpression":
        """The same by the rules of TRY_CAST: such a text is null."""
        return ColumnExpression(Cast(self.operand.name, parse_type(type_), mode=CastMode.TRY))

    def _compare(self, op: Op, value: object) -> Comparison:
        return Comparison(self.operand, op, literal(value))


def col(name: str) -> ColumnExpression:
    """A column by its name; a dot is part of the name.

    >>> col("ts").is_null()
    IsNull(operand=Column(name='ts'))
    """
    return ColumnExpression(Column(name))
