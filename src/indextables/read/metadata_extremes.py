"""The least and the greatest value of a column, from the log as far as it knows them."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import IndexTablesError
from indextables.log.actions import Metadata
from indextables.log.split_bounds import only_nulls
from indextables.predicate import Verdict
from indextables.read.scan_plan import ScanPlan, SplitTask, tasks_for
from indextables.values import encode


def extremes_from_log(plan: ScanPlan, column: str, metadata: Metadata) -> tuple[pa.Table, list[SplitTask]]:
    """The least and greatest value of a column in each split that the log knows them of, and the splits left to be opened.

    The log cuts long texts and does not know of NaN, so bounds of such columns are not values.
    """
    splits, verdicts = plan.judged.splits, plan.judged.verdicts
    kind = metadata.arrow_schema().field(column).type
    ends = pa.table({end: _bound(splits, end, column, kind) for end in ("min", "max")})
    inexact = pa.types.is_string(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind)
    known = only_nulls(splits, column) if inexact else _have_ends(splits, ends, column)
    answered = pc.and_(pc.equal(verdicts, int(Verdict.ALWAYS)), known)
    left = pc.and_(pc.not_equal(verdicts, int(Verdict.NEVER)), pc.invert(answered))
    return ends.filter(answered), list(tasks_for(splits.filter(left), verdicts.filter(left)))


def extremes_of(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The least and greatest value in some rows of one column; NaN is the greatest."""
    values = pa.Table.from_batches(batches, schema).column(0)
    nan = pc.any(pc.is_nan(values)).as_py() if pa.types.is_floating(values.type) else False
    numbers = values.filter(pc.invert(pc.is_nan(values))) if nan else values
    ends = pc.min_max(numbers)
    greatest = pa.scalar(float("nan"), values.type) if nan else ends["max"]
    least = ends["min"] if ends["min"].is_valid or not nan else greatest
    return pa.table({"min": pa.array([least], values.type), "max": pa.array([greatest], values.type)})


def merged_extreme(ends: pa.Table, end: str) -> pa.Scalar:
    """The least or greatest value of all, out of those of splits: their `min` or `max`."""
    return extremes_of(ends.select([end]).to_batches(), ends.select([end]).schema)[end][0]


def python_value(value: pa.Scalar) -> Any:
    """The value as Python has it, or an error that tells it."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        raise IndexTablesError(
            f"the value is {encode(pa.array([value]))[0]}, which is beyond the years 1 to 9999 of Python's datetime; "
            "cast the column that scan(...).to_arrow() gives, as in column.cast(pyarrow.int64())"
        ) from None


def _bound(splits: pa.Table, end: str, column: str, kind: pa.DataType) -> pa.Array:
    if end not in splits.schema.names or splits.schema.field(end).type.get_field_index(column) < 0:
        return pa.nulls(len(splits), kind)
    return pc.struct_field(splits[end], [column]).combine_chunks()


def _have_ends(splits: pa.Table, ends: pa.Table, column: str) -> pa.Array:
    """Whether both ends are known, or that there is no value at all."""
    both = pc.and_(ends["min"].is_valid(), ends["max"].is_valid()).combine_chunks()
    return pc.or_(both, only_nulls(splits, column))
