"""Predicates built from Python.

>>> from indextables.predicate.render import to_sql
>>> to_sql((col("year") >= 2024) & ~col("level").isin("DEBUG", "TRACE"))
"year >= 2024 AND NOT level IN ('DEBUG', 'TRACE')"
"""

from dataclasses import dataclass

from indextables.predicate import nodes
from indextables.predicate.literals import literal, whole_text
from indextables.predicate.nodes import Column, Comparison, IndexQuery, Op, Predicate


@dataclass(frozen=True, slots=True, eq=False)
class ColumnExpression:
    """A column that comparisons turn into predicates."""

    name: str

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
        return nodes.NullSafeEqual(Column(self.name), literal(value))

    def isin(self, *values: object) -> Predicate:
        return nodes.In(Column(self.name), tuple(map(literal, values)))

    def between(self, low: object, high: object) -> Predicate:
        """From low to high, both included."""
        return (self >= low) & (self <= high)

    def is_null(self) -> Predicate:
        return nodes.IsNull(Column(self.name))

    def is_not_null(self) -> Predicate:
        return ~self.is_null()

    def startswith(self, text: str) -> Predicate:
        return nodes.StartsWith(Column(self.name), whole_text(text))

    def endswith(self, text: str) -> Predicate:
        return nodes.EndsWith(Column(self.name), whole_text(text))

    def contains(self, text: str) -> Predicate:
        return nodes.Contains(Column(self.name), whole_text(text))

    def like(self, pattern: str, *, escape: str = "\\") -> Predicate:
        return nodes.Like(Column(self.name), whole_text(pattern), escape)

    def indexquery(self, query: str) -> Predicate:
        return IndexQuery(self.name, query)

    def _compare(self, op: Op, value: object) -> Comparison:
        return Comparison(Column(self.name), op, literal(value))


def col(name: str) -> ColumnExpression:
    """A column by its name; a dot is part of the name.

    >>> col("ts").is_null()
    IsNull(operand=Column(name='ts'))
    """
    return ColumnExpression(name)
