"""Aggregations, one part of a table after the other, and the parts put together.

A partial aggregate is a small Arrow table for one split: keys, as ordered integers or texts, and counts. Nothing that
`merge` returns is approximate but the last digits of a sum of floats.

>>> from indextables.search import aggregations, resolve
>>> schema = pa.schema({"level": pa.string()})
>>> top = aggregations.bind(aggregations.terms("level", size=1), schema, resolve(schema))
>>> merge(top, [over_rows(top, pa.array(["INFO", "WARN"])), over_rows(top, pa.array(["WARN", None]))]).to_pylist()
[{'key': 'WARN', 'count': 2}]
"""

from collections.abc import Sequence
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import flat, floor_divide, sum_of
from indextables.schema import MAX_DECIMAL_PRECISION
from indextables.search.aggregations import Bound, DateHistogram, Histogram, Ranges, Stats, Terms
from indextables.search.ordinals import is_ordinal, keys_of, ordinals, values_of
from indextables.values import in_table_type

_DIGITS_OF_A_COUNT = 19
COUNTS = pa.schema({"key": pa.int64(), "count": pa.int64()})
TEXT_COUNTS = pa.schema({"key": pa.string(), "count": pa.int64()})


def over_rows(bound: Bound, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The partial aggregate of the values of a column."""
    values = in_table_type(flat(column)).drop_null()
    match bound.aggregation:
        case Terms():
            return _count_values(keys_of(values), _key_schema(bound))
        case Histogram() | DateHistogram():
            return _count_values(floor_divide(ordinals(values), bound.step), COUNTS)
        case Ranges():
            keys = keys_of(values)
            counts = [_within(keys, bound.type, ends) for ends in bound.ends()]
            return pa.table([list(range(len(counts))), counts], schema=COUNTS)
        case Stats():
            return _row_stats(bound, values)
        case _:
            assert_never(bound.aggregation)


def merge(bound: Bound, partials: Sequence[pa.Table]) -> pa.Table:
    """The final aggregate, in the types of the table's columns.

    Terms come with the most frequent first, histograms in the order of their keys without empty intervals, ranges as they
    were given, statistics as one row.
    """
    match bound.aggregation:
        case Terms(_, size):
            return _merge_terms(bound, partials, size)
        case Histogram() | DateHistogram():
            return _merge_histogram(bound, partials)
        case Ranges():
            return _merge_ranges(bound, partials)
        case Stats():
            return _merge_stats(bound, partials)
        case _:
            assert_never(bound.aggregation)


def _key_schema(bound: Bound) -> pa.Schema:
    return COUNTS if is_ordinal(bound.type) else TEXT_COUNTS


def _count_values(keys: pa.Array, schema: pa.Schema) -> pa.Table:
    counted = pc.value_counts(keys)
    return pa.table([counted.field("values"), counted.field("counts")], schema=schema)


def _within(keys: pa.Array, arrow: pa.DataType, ends: tuple[pa.Scalar | None, pa.Scalar | None]) -> int:
    lower, upper = (None if end is None else keys_of(in_table_type(pa.array([end], arrow)))[0] for end in ends)
    after = pa.scalar(value=True) if lower is None else pc.greater_equal(keys, lower)
    before = pa.scalar(value=True) if upper is None else pc.less(keys, upper)
    if lower is None and upper is None:
        return len(keys)
    return sum_of(pc.and_(after, before))


def _row_stats(bound: Bound, values: pa.Array) -> pa.Table:
    summed = _sum_type(bound.type)
    total = pa.array([None], pa.int64()) if summed is None else pa.array([pc.sum(values.cast(summed))])
    ends = pc.min_max(keys_of(values))
    return _stats_partial(bound, len(values), total, ends["min"].as_py(), ends["max"].as_py())


def _stats_partial(bound: Bound, count: int, total: pa.Array, least: Any, greatest: Any) -> pa.Table:
    key = _key_schema(bound).field("key").type
    summed = _sum_type(bound.type)
    return pa.table(
        {
            "count": [count],
            "sum": pa.nulls(1, pa.int64()) if summed is None else total.cast(summed),
            "min": pa.array([least], key),
            "max": pa.array([greatest], key),
        }
    )


def _sum_type(arrow: pa.DataType) -> pa.DataType | None:
    """A type with room for a sum; None for dates and timestamps, which have none."""
    if pa.types.is_temporal(arrow):
        return None
    if pa.types.is_decimal(arrow):  # as many digits more as the number of rows may have; Arrow's sums wrap around
        wide = arrow.precision + _DIGITS_OF_A_COUNT > MAX_DECIMAL_PRECISION
        return pa.decimal256(76, arrow.scale) if wide else pa.decimal128(MAX_DECIMAL_PRECISION, arrow.scale)
    if pa.types.is_floating(arrow):
        return pa.float64()
    return pa.decimal128(38, 0) if arrow == pa.int64() else pa.int64()


def _together(partials: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The sum of the counts of each key."""
    counts = pa.concat_tables([schema.empty_table(), *partials]).group_by("key").aggregate([("count", "sum")])
    return counts.rename_columns(["key", "count"])


def _merge_terms(bound: Bound, partials: Sequence[pa.Table], size: int | None) -> pa.Table:
    counts = _together(partials, _key_schema(bound)).sort_by([("count", "descending"), ("key", "ascending")])
    best = counts.slice(0, size)
    return pa.table({"key": values_of(flat(best["key"]), bound.type), "count": best["count"]})


def _merge_histogram(bound: Bound, partials: Sequence[pa.Table]) -> pa.Table:
    counts = _together(partials, COUNTS).sort_by("key")
    lowest = -(2 ** (bound.type.bit_width - 1)) if not pa.types.is_decimal(bound.type) else -(2**63)
    starts = [max(number * bound.step, lowest) for number in counts["key"].to_pylist()]
    return pa.table({"key": values_of(pa.array(starts, pa.int64()), bound.type), "count": counts["count"]})


def _merge_ranges(bound: Bound, partials: Sequence[pa.Table]) -> pa.Table:
    counts = dict(zip(*_together(partials, COUNTS).to_pydict().values(), strict=True))
    lower, upper = ([ends[side] for ends in bound.ends()] for side in (0, 1))
    return pa.table(
        {
            "from": pa.array([None if end is None else end.as_py() for end in lower], bound.type),
            "to": pa.array([None if end is None else end.as_py() for end in upper], bound.type),
            "count": pa.array([counts.get(position, 0) for position in range(len(lower))], pa.int64()),
        }
    )


def _merge_stats(bound: Bound, partials: Sequence[pa.Table]) -> pa.Table:
    empty = _stats_partial(bound, 0, pa.nulls(1, pa.int64()), None, None)
    every = pa.concat_tables([empty, *partials])
    count = pc.sum(every["count"])
    least, greatest = (
        pa.array([of(every[name]).as_py()], every[name].type) for of, name in ((pc.min, "min"), (pc.max, "max"))
    )
    ends = {"min": values_of(least, bound.type), "max": values_of(greatest, bound.type)}
    if _sum_type(bound.type) is None:
        return pa.table({"count": [count.as_py()], **ends})
    total = pc.sum(every["sum"])
    average = (
        pc.divide(total.cast(pa.float64()), count.cast(pa.float64()))
        if count.as_py()
        else pa.scalar(None, pa.float64())
    )
    return pa.table(
        {"count": [count.as_py()], "sum": pa.array([total], total.type), **ends, "avg": pa.array([average])}
    )
