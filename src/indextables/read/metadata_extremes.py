"""Minimum and maximum of a column from metadata."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import IndexTablesError
from indextables.log.actions import Metadata
from indextables.log.split_bounds import only_nulls
from indextables.log.splits import statistic
from indextables.predicate import Verdict
from indextables.read.scan_plan import TASK_COLUMNS, ScanPlan, SplitTask, tasks_for
from indextables.values import encode


def extremes_from_metadata(plan: ScanPlan, column: str, metadata: Metadata) -> tuple[pa.Table, list[SplitTask]]:
    """The minimum and maximum of a column in each split whose statistics are exact, and the splits to open.

    Statistics truncate long strings and ignore NaN, so bounds of such columns are not values.
    """
    splits, verdicts = plan.split_verdicts.splits, plan.split_verdicts.verdicts
    kind = metadata.arrow_schema().field(column).type
    ends = pa.table({end: _bound(splits, end, column, kind) for end in ("min", "max")})
    inexact = pa.types.is_string(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind)
    known = only_nulls(splits, column) if inexact else _have_ends(splits, ends, column)
    whole = splits["deletion_vector"].is_null().combine_chunks()  # a deleted row may have had the least value
    exact = pc.and_(pc.and_(pc.equal(verdicts, int(Verdict.ALWAYS)), known), pc.or_(whole, only_nulls(splits, column)))
    left = pc.and_(pc.not_equal(verdicts, int(Verdict.NEVER)), pc.invert(exact))
    return ends.filter(exact), list(
        tasks_for(splits.select(TASK_COLUMNS).filter(left), verdicts.filter(left), metadata)
    )


def extremes_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The minimum and maximum of one column in some rows; NaN is the greatest value."""
    values = pa.Table.from_batches(batches, schema).column(0)
    nan = pc.any(pc.is_nan(values)).as_py() if pa.types.is_floating(values.type) else False
    numbers = values.filter(pc.invert(pc.is_nan(values))) if nan else values
    ends = pc.min_max(numbers)
    greatest = pa.scalar(float("nan"), values.type) if nan else ends["max"]
    least = ends["min"] if ends["min"].is_valid or not nan else greatest
    return pa.table({"min": pa.array([least], values.type), "max": pa.array([greatest], values.type)})


def merged_extreme(ends: pa.Table, end: str) -> pa.Scalar:
    """The overall minimum or maximum, from the `min` or `max` of each split."""
    return extremes_of(ends.select([end]).to_batches(), ends.select([end]).schema)[end][0]


def python_value(value: pa.Scalar) -> Any:
    """The value as a Python object, or an error that shows it."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        raise IndexTablesError(
            f"the value is {encode(pa.array([value]))[0]}, outside the years 1 to 9999 of Python's datetime; "
            "cast the column that scan(...).to_arrow() gives, as in column.cast(pyarrow.int64())"
        ) from None


def _bound(splits: pa.Table, end: str, column: str, kind: pa.DataType) -> pa.Array:
    known = statistic(splits, end, column)
    return pa.nulls(len(splits), kind) if known is None else known.combine_chunks()


def _have_ends(splits: pa.Table, ends: pa.Table, column: str) -> pa.Array:
    """Whether both ends are known, or that there is no value at all."""
    both = pc.and_(ends["min"].is_valid(), ends["max"].is_valid()).combine_chunks()
    return pc.or_(both, only_nulls(splits, column))
