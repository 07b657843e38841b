"""Conditions that exact indexes look up: `id = 7` and `id IN (7, 8)`, for every row of the result."""

from dataclasses import dataclass

import pyarrow as pa

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of

_MAX_VALUES = 100


@dataclass(frozen=True, slots=True)
class PointCondition:
    """A column has one of some values, none of which is null."""

    column: str
    values: tuple[pa.Scalar, ...]


def point_conditions(predicate: Predicate) -> tuple[PointCondition, ...]:
    """The terms of a predicate that ask for a few values of a column.

    >>> from indextables.predicate import parse
    >>> point_conditions(parse("id = 7 AND level IN ('WARN', 'ERROR') AND n > 3"))
    (PointCondition(column='id', values=(<pyarrow.Int32Scalar: 7>,)),
     PointCondition(column='level', values=(<pyarrow.StringScalar: 'WARN'>, <pyarrow.StringScalar: 'ERROR'>)))
    """
    found = []
    for term in terms_of(predicate):
        match term:
            case Comparison(Column(name), Op.EQ, value) if value.is_valid:
                found.append(PointCondition(name, (value,)))
            case In(Column(name), values):
                found.append(PointCondition(name, tuple(value for value in values if value.is_valid)))
    return tuple(condition for condition in found if 0 < len(condition.values) <= _MAX_VALUES)
