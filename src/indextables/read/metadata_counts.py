"""Counts and groups, as far as the log knows them.

Every row of an ALWAYS split counts and no row of a NEVER split does; only SOMETIMES splits have to be opened. A coalesced
split is judged by its logical partitions (`log/logical_partitions.py`): if each is wholly in or wholly out, it need not be
opened either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Identity
from indextables.log.actions import Metadata
from indextables.log.split_bounds import only_nulls, partition_value
from indextables.log.splits import partition_terms
from indextables.predicate import Verdict
from indextables.read.prune import Judged
from indextables.read.scan_plan import ScanPlan, SplitTask, tasks_for
from indextables.values import canonical

ROWS = "rows"


@dataclass(frozen=True, slots=True, eq=False)
class FromLog:
    """What the log answers: the `counted` parts, whose rows all count, and the splits that are left to be opened."""

    counted: pa.Table
    unknown: list[SplitTask]

    @property
    def rows(self) -> int:
        return int(pc.sum(self.counted["num_records"]).as_py() or 0)


def key_names(keys: Sequence[str]) -> list[str]:
    """Names for the keys of groups that cannot be taken for anything else, whatever the columns are called."""
    return [f"key_{number}" for number in range(len(keys))]


def count_from_log(plan: ScanPlan) -> FromLog:
    return _answered(plan.judged, plan.judged.parts.table)


def groups_from_log(plan: ScanPlan, keys: Sequence[str], metadata: Metadata) -> tuple[pa.Table, FromLog]:
    """The keys and counts of the groups that the log knows, not yet summed up, and what else is to be opened."""
    parts, names = plan.judged.parts.table, key_names(keys)
    constants = [_constant(parts, key, metadata) for key in keys]
    keyed = pa.table([*(c.value for c in constants), parts["num_records"]], names=[*names, "num_records"])
    answer = _answered(plan.judged, keyed, known=(c.known for c in constants))
    return answer.counted.rename_columns([*names, ROWS]), answer


def values_from_log(plan: ScanPlan, column: str) -> int | None:
    """How many rows have a value in a column; None if a split would have to be opened."""
    judged = plan.judged
    kept = judged.splits.filter(pc.not_equal(judged.verdicts, int(Verdict.NEVER)))
    if len(kept) != judged.count(Verdict.ALWAYS):
        return None
    if "null_count" not in kept.schema.names or kept.schema.field("null_count").type.get_field_index(column) < 0:
        return None if len(kept) else 0
    values = pc.subtract(kept["num_records"], pc.struct_field(kept["null_count"], [column]).cast(pa.int64()))
    return None if values.null_count else int(pc.sum(values).as_py() or 0)


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


def _answered(judged: Judged, parts: pa.Table, *, known: Iterable[pa.BooleanArray] = ()) -> FromLog:
    """What is counted of the `parts`, which have the judged ones' rows; `known` says where all else is known that must be.

    A split is left to be opened as a whole if one of its parts may be in, and is not known to be in with all its rows.
    """
    inside = pc.equal(judged.part_verdicts, int(Verdict.ALWAYS))
    outside = pc.equal(judged.part_verdicts, int(Verdict.NEVER))
    countable = reduce(pc.and_, known, parts["num_records"].combine_chunks().is_valid())
    undecided = pc.invert(pc.or_(outside, pc.and_(inside, countable)))
    to_open = judged.parts.split.filter(undecided).unique()
    counted = pc.and_(inside, pc.invert(pc.is_in(judged.parts.split, to_open)))
    in_order = to_open.take(pc.array_sort_indices(to_open))
    tasks = tasks_for(judged.splits.take(in_order), judged.verdicts.take(in_order))
    return FromLog(parts.filter(counted), list(tasks))


@dataclass(frozen=True, slots=True, eq=False)
class _Constant:
    """The one value that all rows of each part have in a column, where that is `known`."""

    value: pa.Array
    known: pa.BooleanArray


def _constant(parts: pa.Table, column: str, metadata: Metadata) -> _Constant:
    """From a Hive partition value, or because there are only nulls."""
    value, known = pa.nulls(len(parts), metadata.arrow_schema().field(column).type), only_nulls(parts, column)
    for term, field in partition_terms(metadata).items():
        if field.source == column and isinstance(field.transform, Identity):
            value, told = partition_value(parts, term)
            known = pc.or_(known, told)
    return _Constant(value, known)
