"""Point lookups: for `id = 7` and `id IN (7, 8)`, an exact index finds candidate rows, and the column is not read.

The whole condition is evaluated on the candidates, so the index may find too many. It must not miss one; where it might, it
is not used.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of
from indextables.search.row_matching import Numbers
from indextables.split import SplitReader

_MAX_VALUES = 100
_SELECTIVITY = 64  # a lookup is cheaper than a read if it finds at most one row in 64


def look_up(reader: SplitReader, predicate: Predicate, columns: Sequence[str] = (), rows: int = 0) -> Numbers | None:
    """The candidates of a condition, ascending; None if no exact index of this split can be used.

    With `columns` and `rows`, only an index is used that is on this machine or costs less than reading so many rows.
    """
    found = [
        candidates
        for term in terms_of(predicate)
        if (wanted := _wanted(term, reader)) is not None
        and (not columns or reader.index_costs_less(wanted[0], columns, rows))
        and (candidates := reader.candidates(*wanted)) is not None
    ]
    return reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), found) if found else None


def look_up_few(reader: SplitReader, predicate: Predicate, columns: Sequence[str], rows: int) -> Numbers | None:
    """The same, where the candidates are few."""
    found = look_up(reader, predicate, columns, rows)
    return found if found is not None and _SELECTIVITY * len(found) <= reader.num_rows else None


def is_local(reader: SplitReader, predicate: Predicate) -> bool:
    """Whether an exact index on this machine finds the candidates of a condition."""
    wanted = [_wanted(term, reader) for term in terms_of(predicate)]
    return any(one is not None and reader.has_exact_index(one[0]) for one in wanted)


def _wanted(term: Predicate, reader: SplitReader) -> tuple[str, pa.Array] | None:
    """The column of a term and the values that it asks for, in the type that the column has in the split."""
    match term:
        case Comparison(Column(name), Op.EQ, value):
            return _values(name, [value], reader)
        case In(Column(name), values):
            return _values(name, [value for value in values if value.is_valid], reader)
    return None


def _values(name: str, values: list[pa.Scalar], reader: SplitReader) -> tuple[str, pa.Array] | None:
    if name not in reader.footer.index.exact or not 0 < len(values) <= _MAX_VALUES:
        return None
    kind = reader.schema.field(name).type
    if not all(value.is_valid and _is_comparable(value.type, kind) for value in values):
        return None
    fitting = [cast for value in values if (cast := _cast(value, kind)) is not None]
    return name, pa.array(fitting, kind)


def _is_comparable(given: pa.DataType, stored: pa.DataType) -> bool:
    """Whether equal values of both types are equal after a cast; the column may have been narrower."""
    return bool(given == stored or (pa.types.is_integer(given) and pa.types.is_integer(stored)))


def _cast(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar | None:
    try:
        return value.cast(kind)
    except pa.ArrowInvalid:  # no value of the column is as large
        return None
