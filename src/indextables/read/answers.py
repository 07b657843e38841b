"""Counts, as far as the log knows them.

Every row of an ALWAYS split counts and no row of a NEVER split does; only SOMETIMES splits have to be opened. A coalesced
split whose logical partitions are all decided, some in and some out, is known too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Identity
from indextables.log.actions import Metadata
from indextables.log.facts import partition_value
from indextables.log.splits import partition_terms
from indextables.predicate import Verdict
from indextables.read.plan import ScanPlan, SplitTask, tasks_for
from indextables.values import canonical


@dataclass(frozen=True, slots=True, eq=False)
class FromLog:
    """What the log answers: `parts` whose rows all count, and the splits that are left to be opened."""

    parts: pa.Table
    unknown: list[SplitTask]

    @property
    def rows(self) -> int:
        return int(pc.sum(self.parts["num_records"]).as_py() or 0)


ROWS = "rows"


def key_names(keys: Sequence[str]) -> list[str]:
    """Names for the keys of groups that cannot be taken for anything else, whatever the columns are called."""
    return [f"key_{number}" for number in range(len(keys))]


def count_from_log(plan: ScanPlan) -> FromLog:
    return _from_log(plan, pa.repeat(pa.scalar(value=True), len(plan.judged.parts.table)))


def groups_from_log(plan: ScanPlan, keys: Sequence[str], metadata: Metadata) -> tuple[pa.Table, FromLog]:
    """The keys and counts of the groups that the log knows, not yet summed up, and what else is to be opened."""
    parts = plan.judged.parts.table
    values = [_exact_values(parts, key, metadata) for key in keys]
    known = pa.repeat(pa.scalar(value=True), len(parts))
    for _, is_known in values:
        known = pc.and_(known, is_known)
    answer = _from_log(plan, known)
    columns = [_exact_values(answer.parts, key, metadata)[0] for key in keys]
    return pa.table([*columns, answer.parts["num_records"]], names=[*key_names(keys), ROWS]), answer


def extremes_from_log(plan: ScanPlan, column: str, metadata: Metadata) -> tuple[pa.Table, list[SplitTask]]:
    """The least and greatest value of a column in each split that the log knows them of, and the splits left to be opened.

    The log cuts long texts and does not know of NaN, so bounds of such columns are not values.
    """
    splits, verdicts = plan.judged.splits, plan.judged.verdicts
    kind = metadata.arrow_schema().field(column).type
    ends = pa.table({end: _bound(splits, end, column, kind) for end in ("min", "max")})
    inexact = pa.types.is_string(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind)
    known = _only_nulls(splits, column) if inexact else _have_ends(splits, ends, column)
    wholly = pc.equal(verdicts, int(Verdict.ALWAYS))
    left = pc.and_(pc.not_equal(verdicts, int(Verdict.NEVER)), pc.invert(pc.and_(wholly, known)))
    return ends.filter(pc.and_(wholly, known)), list(tasks_for(splits.filter(left), verdicts.filter(left)))


def extremes_of(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The least and greatest value in some rows of one column; NaN is the greatest."""
    values = pa.Table.from_batches(batches, schema).column(0)
    nan = pc.any(pc.is_nan(values)).as_py() if pa.types.is_floating(values.type) else False
    numbers = values.filter(pc.invert(pc.is_nan(values))) if nan else values
    ends = pc.min_max(numbers)
    greatest = pa.array([float("nan")], values.type) if nan else pa.array([ends["max"].as_py()], values.type)
    least = ends["min"].as_py() if ends["min"].is_valid or not nan else float("nan")
    return pa.table({"min": pa.array([least], values.type), "max": greatest})


def merged_extremes(ends: pa.Table) -> dict[str, Any]:
    low, high = (extremes_of(ends.select([end]).to_batches(), ends.select([end]).schema) for end in ("min", "max"))
    return {"min": low["min"][0].as_py(), "max": high["max"][0].as_py()}


def _bound(splits: pa.Table, end: str, column: str, kind: pa.DataType) -> pa.Array:
    if end not in splits.schema.names or splits.schema.field(end).type.get_field_index(column) < 0:
        return pa.nulls(len(splits), kind)
    return pc.struct_field(splits[end], [column]).combine_chunks()


def _have_ends(splits: pa.Table, ends: pa.Table, column: str) -> pa.Array:
    """Whether both ends are known, or that there is no value at all."""
    both = pc.and_(ends["min"].is_valid(), ends["max"].is_valid()).combine_chunks()
    return pc.or_(both, _only_nulls(splits, column))


def _only_nulls(splits: pa.Table, column: str) -> pa.Array:
    """Whether a column is known to have no value at all; it may have been added to the table later."""
    if "null_count" not in splits.schema.names or splits.schema.field("null_count").type.get_field_index(column) < 0:
        return pa.repeat(pa.scalar(value=False), len(splits))
    nulls = pc.struct_field(splits["null_count"], [column])
    return pc.fill_null(pc.equal(nulls, splits["num_records"]), fill_value=False).combine_chunks()


def summed(groups: pa.Table, keys: Sequence[str], schema: pa.Schema) -> pa.Table:
    """One row per group, in the order of the keys."""
    names = key_names(keys)
    columns = [canonical(groups[name].combine_chunks()) for name in names]
    table = pa.table([*columns, groups[ROWS]], names=[*names, ROWS])
    total = table.group_by(names, use_threads=False).aggregate([(ROWS, "sum")])
    ordered = total.sort_by([(name, "ascending") for name in names])
    fields = [pa.field(key, schema.field(key).type) for key in keys]
    return pa.table(
        [*(ordered[n] for n in names), ordered[f"{ROWS}_sum"]], schema=pa.schema([*fields, ("count", pa.int64())])
    )


def _from_log(plan: ScanPlan, known: pa.Array) -> FromLog:
    """A split is known if each of its parts is out, or is in with a known count and whatever else must be known of it."""
    judged = plan.judged
    verdicts, table = judged.part_verdicts, judged.parts.table
    counted = pc.and_(known, table["num_records"].combine_chunks().is_valid())
    wholly = pc.equal(verdicts, int(Verdict.ALWAYS))
    decided = pc.or_(pc.equal(verdicts, int(Verdict.NEVER)), pc.and_(wholly, counted))
    open_splits = judged.parts.split.filter(pc.invert(decided)).unique()
    taken = pc.and_(wholly, pc.invert(pc.is_in(judged.parts.split, open_splits)))
    rows = pc.array_sort_indices(open_splits)
    unknown = judged.splits.take(open_splits.take(rows))
    unknown_verdicts = judged.verdicts.take(open_splits.take(rows))
    return FromLog(table.filter(taken), list(tasks_for(unknown, unknown_verdicts)))


def _exact_values(parts: pa.Table, column: str, metadata: Metadata) -> tuple[pa.Array, pa.Array]:
    """The one value that all rows of a part have in a column, and whether it is known: a Hive partition value, or null."""
    kind = metadata.arrow_schema().field(column).type
    value, known = pa.nulls(len(parts), kind), pa.repeat(pa.scalar(value=False), len(parts))
    for term, field in partition_terms(metadata).items():
        if field.source == column and isinstance(field.transform, Identity):
            value, known = partition_value(parts, term)
    return value, pc.or_(known, _only_nulls(parts, column))
