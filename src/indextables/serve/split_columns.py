"""Columns of a split in the shape that a view computes with, kept in memory: times as numbers, other values as codes."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import cast_to, flat
from indextables.search.row_matching import Numbers
from indextables.serve.computed_cache import ComputedCache
from indextables.serve.time_column import TimeColumn
from indextables.split import SplitReader

NULL_TIME = np.iinfo(np.int64).min
"""The number of a null: it comes before all times, as in Spark."""
_COLUMN_BYTES = 512 * 1024 * 1024
_MANY = 8  # a column is read as a whole for more than one row in so many
_kept = ComputedCache(_COLUMN_BYTES, getsizeof=lambda column: column.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The values of rows as numbers of the entries of a dictionary; the number after the last one is a null."""

    codes: np.ndarray[Any, Any]
    dictionary: pa.Array

    @property
    def nbytes(self) -> int:
        return int(self.codes.nbytes + self.dictionary.nbytes)

    @classmethod
    def of(cls, values: pa.Array) -> "Codes":
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        entries = len(encoded.dictionary)
        narrow = np.min_scalar_type(entries)
        indices = encoded.indices
        if indices.null_count:
            indices = pc.fill_null(indices.cast(pa.int64()), entries)
        return cls(np.asarray(indices).astype(narrow), encoded.dictionary)

    def at(self, rows: Numbers | None) -> np.ndarray[Any, Any]:
        return self.codes if rows is None else self.codes[rows]


def times_of(reader: SplitReader, time: TimeColumn, rows: Numbers | None) -> np.ndarray[Any, Any]:
    """The times of some rows (ascending), or of all, as numbers; NULL_TIME for a null."""
    key = *column_identity(reader, time.name), "times", str(time.type)
    if rows is not None and len(rows) * _MANY < reader.num_rows and key not in _kept:
        return _time_numbers(_values(reader, time.name, time.type, rows), time)
    whole = _kept.get(key, lambda: _time_numbers(_values(reader, time.name, time.type, None), time))
    return whole if rows is None else whole[rows]


def codes_of(reader: SplitReader, field: pa.Field, rows: Numbers | None) -> tuple[np.ndarray[Any, Any], pa.Array]:
    """The codes of the values of some rows (ascending), or of all, and the values that they stand for."""
    key = *column_identity(reader, field.name), "codes", str(field.type)
    if rows is not None and len(rows) * _MANY < reader.num_rows and key not in _kept:
        some = Codes.of(_values(reader, field.name, field.type, rows))
        return some.codes, some.dictionary
    whole = _kept.get(key, lambda: Codes.of(_values(reader, field.name, field.type, None)))
    return whole.at(rows), whole.dictionary


def column_identity(reader: SplitReader, column: str) -> tuple[Hashable, ...]:
    """What tells a column of a split from others; it may have had another name when the split was written."""
    stored = reader.footer.stored(column) if column in reader.footer.column_numbers else None
    return *reader.identity, stored


def _time_numbers(values: pa.Array, time: TimeColumn) -> np.ndarray[Any, Any]:
    return np.asarray(pc.fill_null(time.numbers(values), NULL_TIME))


def _values(reader: SplitReader, column: str, kind: pa.DataType, rows: Numbers | None) -> pa.Array:
    """The values of a column in its current type; null where the split does not have it."""
    if column not in reader.footer.column_numbers:
        return pa.nulls(reader.num_rows if rows is None else len(rows), kind)
    values = flat(reader.whole_column(column) if rows is None else reader.take(rows, [column])[column])
    return values if pa.types.is_dictionary(values.type) else cast_to(values, kind)
