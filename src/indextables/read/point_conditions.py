"""Conditions that exact indexes look up: `id = 7` and `id IN (7, 8)`, for every row of the result."""

from dataclasses import dataclass

import pyarrow as pa

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of

_MAX_VALUES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class PointCondition:
    """A column has one of some values, none of which is null."""

    column: str
    values: pa.Array


def point_conditions(predicate: Predicate) -> tuple[PointCondition, ...]:
    """The terms of a predicate that ask for a few values of a column.

    >>> from indextables.predicate import parse
    >>> found = point_conditions(parse("id = 7 AND level IN ('WARN', 'ERROR') AND n > 3"))
    >>> [(condition.column, condition.values.to_pylist()) for condition in found]
    [('id', [7]), ('level', ['WARN', 'ERROR'])]
    """
    found = []
    for term in terms_of(predicate):
        match term:
            case Comparison(Column(name), Op.EQ, value) if value.is_valid:
                found.append(PointCondition(name, pa.array([value], value.type)))
            case In(Column(name)):
                found.append(PointCondition(name, term.array.drop_null()))
    return tuple(condition for condition in found if 0 < len(condition.values) <= _MAX_VALUES)
