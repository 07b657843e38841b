"""The statistics of a split: bounds and null counts of each column.

>>> first = Statistics.of(pa.record_batch({"n": [3, 1, None], "name": ["b", "a", "c"]}))
>>> whole = first.merged(Statistics.of(pa.record_batch({"n": [7], "name": ["x" * 40]})))
>>> whole.min_values(), whole.max_values()
({'n': 1, 'name': 'a'}, {'n': 7, 'name': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy'})
>>> whole.rows, whole.null_counts()
(4, {'n': 1, 'name': 0})

Bounds hold for every value that is not null and not NaN. Those of binary columns are not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from indextables import values
from indextables.kernels import where
from indextables.predicate.successors import after_prefix

MAX_CHARACTERS = 32
"""Longer texts are cut in the log. The rows of a split still have them whole."""

_MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """`extremes` are the least and the greatest value, in this order; empty where there is no value to compare."""

    extremes: pa.Array
    nulls: int

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray) -> Self:
        return cls(_extremes(array), array.null_count)

    def merged(self, other: Self) -> Self:
        return type(self)(_extremes(pa.concat_arrays([self.extremes, other.extremes])), self.nulls + other.nulls)


@dataclass(frozen=True)
class Statistics:
    rows: int
    columns: Mapping[str, ColumnStatistics]

    @classmethod
    def of(cls, batch: pa.RecordBatch | pa.Table) -> Self:
        columns = zip(batch.schema.names, batch.columns, strict=True)
        return cls(batch.num_rows, {name: ColumnStatistics.of(column) for name, column in columns})

    def merged(self, other: Self) -> Self:
        """The statistics of the rows of both, which have the same columns."""
        columns = {name: column.merged(other.columns[name]) for name, column in self.columns.items()}
        return type(self)(self.rows + other.rows, columns)

    def min_values(self) -> dict[str, Any]:
        """Lower bounds as JSON values; a column without one is left out."""
        return {name: bounds[0] for name, bounds in self._bounds.items()}

    def max_values(self) -> dict[str, Any]:
        """Upper bounds as JSON values; a column without one is left out."""
        return {name: bounds[1] for name, bounds in self._bounds.items() if bounds[1] is not None}

    @cached_property
    def _bounds(self) -> dict[str, tuple[Any, Any]]:
        return {name: _bounds(column.extremes) for name, column in self.columns.items() if len(column.extremes)}

    def null_counts(self) -> dict[str, int]:
        return {name: column.nulls for name, column in self.columns.items()}

    def time_range(self) -> tuple[str, str] | None:
        """The first and last time of the first timestamp column, or else of the first date column, as text in UTC.

        None where there is no such column, no value in it, or a day so far away that no timestamp is.

        >>> from datetime import date
        >>> Statistics.of(pa.record_batch({"on": [date(1970, 1, 2), date(1970, 1, 1)]})).time_range()
        ('1970-01-01T00:00:00Z', '1970-01-02T00:00:00Z')
        """
        for kind, unit in ((pa.types.is_timestamp, 1), (pa.types.is_date, _MICROSECONDS_PER_DAY)):
            for column in self.columns.values():
                if kind(column.extremes.type):
                    counts = column.extremes.cast(pa.int32() if unit > 1 else pa.int64()).to_pylist()
                    ends = [count * unit for count in counts]
                    if not ends or ends[0] < -(2**63) or ends[1] >= 2**63:
                        return None
                    first, last = values.encode(pa.array(ends, pa.timestamp("us", "UTC"))).to_pylist()
                    return first, last
        return None


def _extremes(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    kind = array.type
    if pa.types.is_binary(kind):
        return pa.array([], kind)
    if pa.types.is_floating(kind):
        array = where(pc.invert(pc.is_nan(array)), values.canonical(array))
    found = pc.min_max(array)
    return pa.array([bound for bound in (found["min"], found["max"]) if bound.is_valid], kind)


def _bounds(extremes: pa.Array) -> tuple[Any, Any]:
    """The bounds as JSON values. A text that is cut may have no upper bound."""
    lower, upper = values.json_values(extremes)
    if not pa.types.is_string(extremes.type):
        return lower, upper
    return lower[:MAX_CHARACTERS], upper if len(upper) <= MAX_CHARACTERS else after_prefix(upper[:MAX_CHARACTERS])
