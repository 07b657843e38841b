"""Groups of splits that are merged: which they are, and how each is read and written again.

Small partitions that have splits of their own and are to share them are grouped here too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.errors import DamagedSplitError, StorageError
from indextables.layout import Coalescing
from indextables.log import Snapshot, TransactionLog
from indextables.log.actions import Add, Metadata
from indextables.log.splits import partition_terms, partition_texts
from indextables.maintain.bin_packing import Limits, bins, bins_of_other_layouts, packed, packed_sizes
from indextables.maintain.compaction_request import MergeRequest
from indextables.maintain.copy_rows import plan_copy, refs_to, rows_of
from indextables.predicate import Predicate, Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.read.prune import judge_splits
from indextables.write.coalescing import coalescing_for
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import WritePlan, coalesced_like


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """Splits that are written again together; it travels to executors. `complete` if each lists all its partitions."""

    splits: tuple[SplitRef, ...]
    plan: WritePlan
    merges: int
    complete: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(split.path for split in self.splits)

    @property
    def size(self) -> int:
        return sum(split.size for split in self.splits)

    @property
    def rows(self) -> int:
        return sum(split.live_rows or 0 for split in self.splits)

    @property
    def deleted_rows(self) -> int:
        """The rows that are not written again."""
        return sum(split.num_deleted for split in self.splits)


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """A rewritten group that is not committed yet: its new splits, and the damaged sources.

    `other_attempts` if the task was or may have been run more than once, so that there may be splits of other attempts.
    """

    group: MergeGroup
    adds: Sequence[Add]
    damaged: tuple[str, ...] = ()
    other_attempts: bool = False


def plan_merge(
    snapshot: Snapshot, request: MergeRequest, config: Config, *, job: str, among: pa.Array | None = None
) -> list[MergeGroup]:
    """The groups of a merge, those with the most splits first; none where there is nothing to do.

    With `among`, only splits with these paths are looked at.
    """
    splits = splits_matching(snapshot, request.where)
    if among is not None:
        splits = splits.filter(pc.is_in(splits["path"], among))
    if request.deleted_rows:
        splits = splits.filter(splits["deletion_vector"].is_valid())
    plans = _plans(snapshot, splits, request, config, job=job)
    moved: list[MergeGroup] = []
    if request.rewrite_layout:
        current = snapshot.metadata.current_spec_id
        old = bins_of_other_layouts(splits, snapshot.metadata, request.limits)
        moved = [_move(one, plans[current], request.limits) for one in old]
        splits = splits.filter(pc.field("spec_id") == current)
    shared: list[MergeGroup] = []
    if request.coalesce:
        together, splits = _to_share(snapshot, splits, plans[snapshot.metadata.current_spec_id], request.limits)
        shared = [_merge(one, plan) for one, plan in together]
    small = bins(splits, request.limits, touching=request.touching)
    merged = [_merge(one, _unchanged(one, plans[one["spec_id"][0].as_py()], snapshot)) for one in small]
    groups = sorted(moved + shared + merged, key=lambda group: (-len(group.splits), group.paths))
    return groups if request.max_dest_splits is None else groups[: request.max_dest_splits]


def write_group(table: str, group: MergeGroup) -> WrittenGroup:
    """Writes a group's rows again. A source that cannot be read is left out; so is the group, if too little is left."""
    config = group.plan.config
    store = TransactionLog.open(table, config).store
    opener = SplitOpener.of(store, config)
    left = list(group.splits)
    damaged: list[str] = []
    while len(left) > 1 or (left and not damaged):
        try:
            adds = write_rows(group.plan, all_rows(opener, left, group.plan.schema), store)
        except StorageError as error:
            bad = next((split for split in left if error.path == store.name_of(split.path)), None)
            if bad is None:
                raise
            left.remove(bad)
            damaged.append(bad.path)
            continue
        kept = replace(group, splits=tuple(left))
        return WrittenGroup(kept, [_merge_add(add, kept) for add in adds], tuple(damaged))
    return WrittenGroup(replace(group, splits=()), (), tuple(damaged))


def splits_matching(snapshot: Snapshot, where: Predicate | None) -> pa.Table:
    """The splits that may have rows in the partitions that a condition selects."""
    if where is None:
        return snapshot.splits
    split_verdicts = judge_splits(where, snapshot, statistics=False)
    return split_verdicts.splits.filter(pc.not_equal(split_verdicts.verdicts, int(Verdict.NEVER)))


def _plans(
    snapshot: Snapshot, splits: pa.Table, request: MergeRequest, config: Config, *, job: str
) -> dict[int, WritePlan]:
    """The write plan for each layout: one split per group, because a group fits into one."""
    target = request.limits.max_records
    write = replace(config.write, auto_size=False, cluster_by=request.cluster_by, target_records=target)
    config = replace(config, write=write)
    specs = {*splits["spec_id"].unique().to_pylist(), snapshot.metadata.current_spec_id}
    return {spec: replace(plan_copy(snapshot, config, spec_id=spec), job=job) for spec in specs}


def _to_share(
    snapshot: Snapshot, splits: pa.Table, plan: WritePlan, limits: Limits
) -> tuple[list[tuple[pa.Table, WritePlan]], pa.Table]:
    """Plain splits that are to become shared ones, each bin with its plan, and the splits that are left."""
    config = replace(plan.config, write=replace(plan.config.write, coalesce=True))
    coalescing = coalescing_for(plan.layout, config, existing=snapshot)
    if coalescing is None:
        return [], splits
    found = bins_to_share(splits, snapshot.metadata, coalescing, limits)
    taken = pa.array([path for one in found for path in one["path"].to_pylist()], pa.string())
    left = splits.filter(pc.invert(pc.is_in(splits["path"], taken)))
    return [(one, replace(plan, coalescing=coalescing)) for one in found], left


def _unchanged(splits: pa.Table, plan: WritePlan, snapshot: Snapshot) -> WritePlan:
    """Splits stay plain, or shared by their group; a partition that has grown in the meantime gets splits of its own."""
    plain = replace(plan, coalescing=None)
    place = splits["physical_partition"][0].as_py()
    plan = coalesced_like(splits, plain, existing=snapshot)
    if plan.coalescing is None or not place:
        return plan
    group = dict(place).get(plan.coalescing.columns[-1]) or plan.coalescing.group
    return replace(plan, coalescing=replace(plan.coalescing, group=group))


def _merge(splits: pa.Table, plan: WritePlan) -> MergeGroup:
    """Splits of one partition, or of some that share a split, that become one."""
    complete = pc.fill_null(pc.struct_field(splits["logical_partitions"], ["complete"]), fill_value=True)
    return MergeGroup(
        splits=tuple(refs_to(splits, plan.metadata)),
        plan=plan,
        merges=_merges(splits),
        complete=bool(pc.all(complete).as_py()),
    )


def _move(splits: pa.Table, plan: WritePlan, limits: Limits) -> MergeGroup:
    """Splits of any layout that become splits of the current one, each of about the wanted size."""
    refs = tuple(refs_to(splits, plan.metadata))
    counted = [ref for ref in refs if ref.num_records is not None]
    rows, size = sum(ref.num_records or 0 for ref in counted), sum(ref.size for ref in counted)
    target = limits.max_records
    if counted:
        target = min(max(1, rows * limits.target_size // max(1, size)), target)
    config = replace(plan.config, write=replace(plan.config.write, target_records=target))
    plan = coalesced_like(splits, replace(plan, config=config))
    return MergeGroup(splits=refs, plan=plan, merges=_merges(splits))


def _merges(splits: pa.Table) -> int:
    return 1 + (pc.max(splits["num_merge_ops"]).as_py() or 0)


def all_rows(opener: SplitOpener, splits: Iterable[SplitRef], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of splits, checked against the row counts in the log: a row that is missing here would be lost."""
    for split in splits:
        seen = 0
        for batch in rows_of(opener, [split], schema):
            seen += batch.num_rows
            yield batch
        if split.live_rows not in (None, seen):
            reason = f"it has {seen} rows, but the log records {split.live_rows}"
            name = opener.store.name_of(split.path)
            raise DamagedSplitError(f"{name} is damaged: {reason}", path=name, reason=reason)


def _merge_add(add: Add, group: MergeGroup) -> Add:
    logical = add.logical_partitions
    if logical is not None and not group.complete:  # who wrote a list that is not complete may have known of more
        logical = msgspec.structs.replace(logical, complete=False)
    return msgspec.structs.replace(add, data_change=False, num_merge_ops=group.merges, logical_partitions=logical)


def bins_to_share(splits: pa.Table, metadata: Metadata, coalescing: Coalescing, limits: Limits) -> list[pa.Table]:
    """The small splits of small partitions of the current layout, those together that may share a split.

    They are sorted by their values, so that neighbours end up in one split. One whose values are not in the log is
    left out.
    """
    names = {
        field.name
        for field in metadata.layouts[metadata.current_spec_id].fields
        if field.term in partition_terms(metadata)
    }
    plain = pc.and_(splits["logical_partitions"].is_null(), pc.equal(splits["spec_id"], metadata.current_spec_id))
    own = splits.filter(pc.and_(plain, pc.less(packed_sizes(splits, limits), limits.small)))
    if not len(own):
        return []
    own = _in_order(own)
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for number, texts in enumerate(partition_texts(own, metadata)):
        group = coalescing.group_of(texts, rows=0) if texts.keys() == names else None
        if group is not None:
            groups[*coalescing.common(texts).values(), group].append(number)
    sizes, rows = packed_sizes(own, limits).to_pylist(), pc.fill_null(own["num_records"], 0).to_pylist()
    return [
        own.take([numbers[n] for n in together])
        for numbers in groups.values()
        for together in packed([(sizes[n], rows[n]) for n in numbers], limits)
    ]


def _in_order(splits: pa.Table) -> pa.Table:
    """The splits by their partition values."""
    partition = splits["partition"].combine_chunks()
    values = [pc.struct_field(term, ["value"]) for term in partition.flatten()]
    names = [f"value {number}" for number in range(len(values))]
    order = pc.sort_indices(pa.table(values, names=names), sort_keys=[(name, "ascending") for name in names])
    return splits.take(order)
