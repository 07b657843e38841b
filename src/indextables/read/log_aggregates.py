"""Counts, grouped counts, minimum and maximum from metadata.

Every row of an ALWAYS split counts and no row of a NEVER split does; only SOMETIMES splits are opened. A coalesced split has
a verdict for each logical partition (`log/logical_partitions.py`): if all are ALWAYS or NEVER, it is not opened either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import IndexTablesError
from indextables.kernels import sum_of
from indextables.layout import Identity
from indextables.log.actions import Metadata
from indextables.log.split_bounds import only_nulls, partition_value
from indextables.log.splits import live_rows, num_deleted, partition_terms, statistic
from indextables.predicate import Verdict
from indextables.read.scan_plan import TASK_COLUMNS, ScanPlan, SplitTask, tasks_for
from indextables.values import canonical, encode

ROWS = "rows"


@dataclass(frozen=True, slots=True, eq=False)
class MetadataCount:
    """The parts that the log counts (`parts`), all rows of which match, and the splits that have to be opened."""

    parts: pa.Table
    unknown: list[SplitTask]

    @property
    def rows(self) -> int:
        return sum_of(self.parts[ROWS])


def key_names(keys: Sequence[str]) -> list[str]:
    """Unique names for grouping keys, whatever the columns are called."""
    return [f"key_{number}" for number in range(len(keys))]


def count_from_metadata(plan: ScanPlan) -> MetadataCount:
    return _metadata_count(plan, pa.table({ROWS: live_rows(plan.split_verdicts.parts.table)}))


def group_counts_from_metadata(
    plan: ScanPlan, keys: Sequence[str], metadata: Metadata
) -> tuple[pa.Table, MetadataCount]:
    """The keys and counts of the groups that the log can count, not yet summed, and the splits to open."""
    parts, names = plan.split_verdicts.parts.table, key_names(keys)
    constants = [_constant(parts, key, metadata) for key in keys]
    keyed = pa.table([*(c.value for c in constants), live_rows(parts)], names=[*names, ROWS])
    count = _metadata_count(plan, keyed, known=(c.known for c in constants))
    return count.parts.rename_columns([*names, ROWS]), count


def non_null_count_from_metadata(plan: ScanPlan, column: str) -> int | None:
    """How many rows are not null in a column; None if a split would have to be opened."""
    split_verdicts = plan.split_verdicts
    kept = split_verdicts.splits.filter(split_verdicts.possible)
    if len(kept) != split_verdicts.count(Verdict.ALWAYS):
        return None
    nulls = statistic(kept, "null_count", column)
    if nulls is None:
        return None if len(kept) else 0
    if pc.any(pc.greater(num_deleted(kept), 0)).as_py():  # how many of the deleted rows are null is not known
        return None
    values = pc.subtract(kept["num_records"], nulls)
    return None if values.null_count else sum_of(values)


def summed(groups: pa.Table, keys: Sequence[str], schema: pa.Schema) -> pa.Table:
    """One row per group, in the order of the keys."""
    names = key_names(keys)
    columns = [canonical(groups[name].combine_chunks()) for name in names]
    table = pa.table([*columns, groups[ROWS]], names=[*names, ROWS])
    total = table.group_by(names, use_threads=False).aggregate([(ROWS, "sum")])
    ordered = total.sort_by([(name, "ascending") for name in names])
    fields = [pa.field(key, schema.field(key).type) for key in keys]
    return pa.table(
        [*(ordered[name] for name in names), ordered[f"{ROWS}_sum"]],
        schema=pa.schema([*fields, ("count", pa.int64())]),
    )


def _metadata_count(plan: ScanPlan, parts: pa.Table, *, known: Iterable[pa.BooleanArray] = ()) -> MetadataCount:
    """The count of the `parts` (the same rows as those of the verdicts); a part counts where every `known` is true.

    A split is opened as a whole if one of its parts may match and cannot be counted.
    """
    split_verdicts = plan.split_verdicts
    inside = pc.equal(split_verdicts.part_verdicts, int(Verdict.ALWAYS))
    outside = pc.equal(split_verdicts.part_verdicts, int(Verdict.NEVER))
    countable = reduce(pc.and_, known, parts[ROWS].combine_chunks().is_valid())
    undecided = pc.invert(pc.or_(outside, pc.and_(inside, countable)))
    to_open = split_verdicts.parts.split.filter(undecided).unique()
    is_counted = pc.and_(inside, pc.invert(pc.is_in(split_verdicts.parts.split, to_open)))
    in_order = to_open.take(pc.array_sort_indices(to_open))
    splits, verdicts = split_verdicts.splits.select(TASK_COLUMNS), split_verdicts.verdicts.take(in_order)
    tasks = tasks_for(splits.take(in_order), verdicts, plan.snapshot.metadata)
    return MetadataCount(parts.filter(is_counted), list(tasks))


@dataclass(frozen=True, slots=True, eq=False)
class _Constant:
    """The single value that all rows of each part have in a column, where that is `known`."""

    value: pa.Array
    known: pa.BooleanArray


def _constant(parts: pa.Table, column: str, metadata: Metadata) -> _Constant:
    """From an identity partition value, or because all values are null."""
    value, known = pa.nulls(len(parts), metadata.arrow_schema().field(column).type), only_nulls(parts, column)
    for term, field in partition_terms(metadata).items():
        if field.source == column and isinstance(field.transform, Identity):
            value, has_value = partition_value(parts, term)
            known = pc.or_(known, has_value)
    return _Constant(value, known)


def extremes_from_metadata(plan: ScanPlan, column: str, metadata: Metadata) -> tuple[pa.Table, list[SplitTask]]:
    """The minimum and maximum of a column in each split whose statistics are exact, and the splits to open.

    Statistics truncate long strings and ignore NaN, so bounds of such columns are not values.
    """
    splits, verdicts = plan.split_verdicts.splits, plan.split_verdicts.verdicts
    kind = metadata.arrow_schema().field(column).type
    bounds = {end: statistic(splits, end, column) for end in ("min", "max")}
    ends = pa.table({end: pa.nulls(len(splits), kind) if of is None else of for end, of in bounds.items()})
    inexact = pa.types.is_string(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind)
    known = only_nulls(splits, column) if inexact else _have_ends(splits, ends, column)
    whole = splits["deletion_vector"].is_null().combine_chunks()  # a deleted row may have had the least value
    exact = pc.and_(pc.and_(pc.equal(verdicts, int(Verdict.ALWAYS)), known), pc.or_(whole, only_nulls(splits, column)))
    left = pc.and_(plan.split_verdicts.possible, pc.invert(exact))
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


def _have_ends(splits: pa.Table, ends: pa.Table, column: str) -> pa.Array:
    """Whether both ends are known, or that there is no value at all."""
    both = pc.and_(ends["min"].is_valid(), ends["max"].is_valid()).combine_chunks()
    return pc.or_(both, only_nulls(splits, column))
