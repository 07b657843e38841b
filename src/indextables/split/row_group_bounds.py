"""Bounds of each row group from the statistics in the Parquet footer, for `predicate.judge`."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.predicate import ColumnBounds

# Python's dates end at the year 9999, so temporal bounds are taken as the numbers that they are.
_COUNTS = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64(), pa.timestamp("us", "UTC"): pa.int64()}


def row_group_bounds(metadata: pq.FileMetaData, schema: pa.Schema, column: str) -> ColumnBounds | None:
    """The bounds of a column, one element per row group; None where there can be none."""
    number = schema.get_field_index(column)
    if number < 0 or pa.types.is_binary(schema.field(number).type):
        return None
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    known = [group.column(number).statistics for group in groups]
    nulls = pa.array([facts.null_count if facts and facts.has_null_count else None for facts in known], pa.int64())
    rows = pa.array([group.num_rows for group in groups], pa.int64())
    kind = schema.field(number).type
    return ColumnBounds(
        lower=_typed([_bound(facts, "min", kind) for facts in known], kind),
        upper=_typed([_bound(facts, "max", kind) for facts in known], kind),
        may_be_null=pc.fill_null(pc.not_equal(nulls, 0), fill_value=True),
        may_be_value=pc.fill_null(pc.not_equal(nulls, rows), fill_value=True),
    )


def _bound(facts: pq.Statistics | None, end: str, kind: pa.DataType) -> object:
    if facts is None or not facts.has_min_max:
        return None
    return getattr(facts, f"{end}_raw" if kind in _COUNTS else end)


def _typed(bounds: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array(bounds, _COUNTS.get(kind, kind)).view(kind)
