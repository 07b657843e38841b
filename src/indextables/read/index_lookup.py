"""Point lookups: for `id = 7` and `id IN (7, 8)`, an exact index finds candidate rows, and the column is not read.

The whole condition is evaluated on the candidates, so the index may find too many. It must not miss one; where it might, it
is not used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of
from indextables.search.row_matching import Numbers
from indextables.split import SplitReader

_MAX_VALUES = 100_000
_SELECTIVITY = 64  # a lookup is cheaper than a read if it finds at most one row in 64


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


def look_up(
    reader: SplitReader, conditions: Sequence[PointCondition], *, usable: Callable[[str], bool] | None = None
) -> Numbers | None:
    """The candidates of some conditions, ascending; None if no exact index of this split can be used.

    `usable` tells of a column whether its index is worth using.
    """
    found = [
        candidates
        for condition in conditions
        if (wanted := _wanted(condition, reader)) is not None
        and (usable is None or usable(condition.column))
        and (candidates := reader.candidates(condition.column, wanted)) is not None
    ]
    if len(found) <= 1:
        return found[0] if found else None
    return reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), found)


def look_up_few(
    reader: SplitReader, conditions: Sequence[PointCondition], *, usable: Callable[[str], bool]
) -> Numbers | None:
    """The same, where the candidates are few."""
    found = look_up(reader, conditions, usable=usable)
    return found if found is not None and _SELECTIVITY * len(found) <= reader.num_rows else None


def _wanted(condition: PointCondition, reader: SplitReader) -> pa.Array | None:
    """The values that a condition asks for, if the split has an index of them."""
    if condition.column not in reader.footer.index.exact:
        return None
    return _values(condition.values, reader.schema.field(condition.column).type)


def _values(values: pa.Array, stored: pa.DataType) -> pa.Array | None:
    """Values in the type that the column has in a split; None where they cannot be compared in it."""
    if values.type == stored:
        return values
    if not (pa.types.is_integer(values.type) and pa.types.is_integer(stored)):
        return None
    possible = pc.cast(values, stored, safe=False)  # the column may have been narrower
    return possible.filter(pc.equal(possible.cast(values.type), values))
