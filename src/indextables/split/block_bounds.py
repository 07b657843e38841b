"""Bounds of blocks of rows, from Parquet's column index: the least and the greatest value of each page.

The pages of one column begin at other rows than those of another. A block begins where a page of any of the columns does,
so that it lies in one page of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indextables.predicate import Bounds, ColumnBounds
from indextables.split.format import Footer
from indextables.split.pages import Numbers
from indextables.split.thrift import Struct

_NULL_PAGES, _MIN, _MAX, _NULL_COUNTS = 1, 2, 3, 5


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """`starts` are the first rows of the blocks, `ends` the rows after their last ones."""

    starts: Numbers
    ends: Numbers
    bounds: Bounds

    def rows(self, kept: Sequence[int]) -> Numbers:
        """The numbers of all rows of some blocks, which ascend."""
        parts = [np.arange(self.starts[block], self.ends[block]) for block in kept]
        return np.concatenate(parts) if parts else np.array([], np.int64)


def block_bounds(footer: Footer, columns: Sequence[str]) -> Blocks:
    """The blocks of some columns of a split, for `predicate.judge`."""
    for name in columns:
        if name not in footer.page_bounds:
            footer.page_bounds[name] = _page_bounds(footer, name)
    known = {name: bounds for name in columns if (bounds := footer.page_bounds[name]) is not None}
    firsts = [footer.pages(name).first_rows for name in known]
    groups = np.cumsum([0, *footer.group_rows[:-1]])
    starts = np.unique(np.concatenate([groups, *firsts]))
    blocks = {name: (_taken(bounds, starts, footer.pages(name).first_rows),) for name, bounds in known.items()}
    ends = np.append(starts[1:], footer.metadata.num_rows)
    return Blocks(starts, ends, Bounds(len(starts), blocks))


def _taken(bounds: ColumnBounds, starts: Numbers, first_rows: Numbers) -> ColumnBounds:
    """The bounds of the page in which each block lies."""
    page = pa.array(np.searchsorted(first_rows, starts, side="right") - 1)
    return ColumnBounds(
        lower=bounds.lower.take(page),
        upper=bounds.upper.take(page),
        may_be_null=bounds.may_be_null.take(page),  # type: ignore[union-attr]
        may_be_value=bounds.may_be_value.take(page),  # type: ignore[union-attr]
    )


def _page_bounds(footer: Footer, column: str) -> ColumnBounds | None:
    """The bounds of each page of a column; None where there are none."""
    kind = footer.schema.field(column).type
    indexes = footer.page_index.bounds(footer.stored(column))
    if pa.types.is_binary(kind) or any(index is None for index in indexes):
        return None
    known = [index for index in indexes if index is not None]
    empty = [flag for index in known for flag in index[_NULL_PAGES]]
    nulls = [flag for index in known for flag in _have_nulls(index)]
    return ColumnBounds(
        lower=_typed([value for index in known for value in index[_MIN]], empty, kind),
        upper=_typed([value for index in known for value in index[_MAX]], empty, kind),
        may_be_null=pa.array(nulls, pa.bool_()),
        may_be_value=pa.array([not flag for flag in empty], pa.bool_()),
    )


def _have_nulls(index: Struct) -> list[bool]:
    if _NULL_COUNTS not in index:
        return [True] * len(index[_NULL_PAGES])
    return [count != 0 for count in index[_NULL_COUNTS]]


def _typed(bounds: list[bytes], empty: list[bool], kind: pa.DataType) -> pa.Array:
    """Bounds from their bytes in Parquet's plain encoding; null for pages without values."""
    if pa.types.is_string(kind):
        return pa.array([None if none else value for value, none in zip(bounds, empty, strict=True)], pa.binary()).cast(
            kind
        )
    if pa.types.is_decimal(kind):
        whole = [int.from_bytes(value, "big", signed=True) for value in bounds]
        unscaled = pa.array(whole, pa.decimal128(38, 0), mask=np.array(empty, np.bool_))
        return unscaled.view(pa.decimal128(38, kind.scale)).cast(kind)
    stored = _STORED.get(kind, kind)
    width = _WIDTHS.get(stored, stored.bit_width // 8)
    data = b"".join(bytes(width) if none else value for value, none in zip(bounds, empty, strict=True))
    numbers = np.frombuffer(data, f"<{'f' if pa.types.is_floating(stored) else 'i'}{width}")
    return pa.array(numbers, mask=np.array(empty, np.bool_)).cast(stored).view(kind)


_STORED = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64(), pa.timestamp("us", "UTC"): pa.int64()}
_WIDTHS = {pa.bool_(): 1, pa.int8(): 4, pa.int16(): 4}
