"""Merging: many small splits become few of a good size, with the same rows.

Each group of splits is read, written again and committed on its own, so that a writer who was first costs one group and
no more. What is committed says that no data changed: appends go on beside it, and readers of older versions see what
they saw.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeAlias
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.errors import ConflictError, DamagedSplitError, StorageError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.log.clock import now
from indextables.log.splits import removes_for
from indextables.predicate import Predicate, Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.read.prune import judge_splits
from indextables.rewrite.copy import plan_copy, refs_to, rows_of
from indextables.rewrite.gathering import bins_to_share
from indextables.rewrite.packing import Limits, bins, bins_of_other_layouts
from indextables.rewrite.request import MergeRequest
from indextables.write.job import sweep
from indextables.write.modes import figures
from indextables.write.pipeline import write_rows
from indextables.write.plan import WritePlan, sharing_as
from indextables.write.sharing import coalescing_for


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
        return sum(split.num_records or 0 for split in self.splits)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a group before it is committed: the splits that it is now, without those that could not be read."""

    group: MergeGroup
    adds: Sequence[Add]
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeProgress:
    """How far a merge is: groups that are done, of those that are known, and their figures so far."""

    done: int
    groups: int
    result: "MergeResult"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What was merged, or in a dry run would be: `splits_before` splits with `rows` rows are now `splits_after`.

    Groups that lost against another writer are `conflicts`, with the reason; their splits are as they were, and so are
    those that could not be read, the `damaged`.
    """

    version: int
    dry_run: bool = False
    groups: int = 0
    merged: int = 0
    rows: int = 0
    splits_before: int = 0
    splits_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    conflicts: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    def __str__(self) -> str:
        verb = "would become" if self.dry_run else "became"
        after = "" if self.dry_run else f", {self.bytes_before:,} bytes {self.bytes_after:,}"
        trouble = [f"  conflict: {reason}" for reason in self.conflicts] + [
            f"  left as it was, because it cannot be read: {path}" for path in self.damaged
        ]
        head = f"{self.splits_before:,} splits with {self.rows:,} rows {verb} {self.splits_after:,}{after}"
        return "\n".join([f"{head} (version {self.version})", *trouble])


Work: TypeAlias = Callable[[MergeGroup], Written]
Runner: TypeAlias = Callable[[Work, Sequence[MergeGroup]], Iterable[Written]]
"""Does the work of groups, here or elsewhere; results come in any order."""


def run_here(work: Work, groups: Sequence[MergeGroup]) -> Iterator[Written]:
    """One group after the other, each committed before the next is begun."""
    return map(work, groups)


def merge(
    log: TransactionLog,
    snapshot: Snapshot,
    request: MergeRequest,
    config: Config,
    *,
    run: Runner = run_here,
    progress: Callable[[MergeProgress], object] | None = None,
) -> tuple[Snapshot, MergeResult]:
    """Merges until there is nothing left that is worth it; gives the table afterwards, and what was done.

    Sizes are known when splits are written: where merged ones turned out small, they are merged once more.
    """
    merging = _Merging(log, snapshot, job=uuid4().hex[:12], result=MergeResult(version=snapshot.version))
    try:
        while groups := merging.next_groups(request, config):
            for written in run(partial(write_group, log.table), groups):
                merging.finish(written)
                if progress is not None:
                    progress(MergeProgress(merging.done, merging.result.groups, merging.result))
    except BaseException:
        sweep(merging.job, log)
        raise
    return merging.snapshot, merging.result


def plan_only(snapshot: Snapshot, request: MergeRequest, config: Config) -> MergeResult:
    """What a merge would begin with; nothing is read but the log."""
    groups = plan_merge(snapshot, request, config, job="")
    sources = list(chain.from_iterable(group.splits for group in groups))
    return MergeResult(
        version=snapshot.version,
        dry_run=True,
        groups=len(groups),
        rows=sum(group.rows for group in groups),
        splits_before=len(sources),
        splits_after=sum(-(-group.size // request.limits.target_size) for group in groups),
        bytes_before=sum(group.size for group in groups),
    )


def plan_merge(
    snapshot: Snapshot, request: MergeRequest, config: Config, *, job: str, among: pa.Array | None = None
) -> list[MergeGroup]:
    """The groups of a merge, those with the most splits first; none where there is nothing to do.

    With `among`, only splits with these paths are looked at.
    """
    splits = _concerned(snapshot, request.where)
    if among is not None:
        splits = splits.filter(pc.is_in(splits["path"], among))
    plans = _plans(snapshot, splits, request, config, job=job)
    moved: list[MergeGroup] = []
    if request.rewrite_layout:
        current = snapshot.metadata.current_spec_id
        old = bins_of_other_layouts(splits, snapshot.metadata, request.limits)
        moved = [_moved(one, plans[current], request.limits) for one in old]
        splits = splits.filter(pc.field("spec_id") == current)
    shared: list[MergeGroup] = []
    if request.coalesce:
        together, splits = _to_share(snapshot, splits, plans[snapshot.metadata.current_spec_id], request.limits)
        shared = [_merged(one, plan) for one, plan in together]
    small = bins(splits, request.limits, touching=request.touching)
    merged = [_merged(one, _as_they_are(one, plans[one["spec_id"][0].as_py()], snapshot)) for one in small]
    groups = sorted(moved + shared + merged, key=lambda group: (-len(group.splits), group.paths))
    return groups if request.max_dest_splits is None else groups[: request.max_dest_splits]


def write_group(table: str, group: MergeGroup) -> Written:
    """Writes a group's rows again. A source that cannot be read is left out; so is the group, if too little is left."""
    config = group.plan.config
    store = TransactionLog.open(table, config).store
    opener = SplitOpener.of(store, config)
    left = list(group.splits)
    damaged: list[str] = []
    while len(left) > 1 or (left and not damaged):
        try:
            adds = write_rows(group.plan, _all_rows(opener, left, group.plan.schema), store)
        except StorageError as error:
            bad = next((split for split in left if error.path == store.name_of(split.path)), None)
            if bad is None:
                raise
            left.remove(bad)
            damaged.append(bad.path)
            continue
        kept = replace(group, splits=tuple(left))
        return Written(kept, [_merged_add(add, kept) for add in adds], tuple(damaged))
    return Written(replace(group, splits=()), (), tuple(damaged))


def _concerned(snapshot: Snapshot, where: Predicate | None) -> pa.Table:
    if where is None:
        return snapshot.splits
    judged = judge_splits(where, snapshot, statistics=False)
    return judged.splits.filter(pc.not_equal(judged.verdicts, int(Verdict.NEVER)))


def _plans(
    snapshot: Snapshot, splits: pa.Table, request: MergeRequest, config: Config, *, job: str
) -> dict[int, WritePlan]:
    """How rows are written again under each layout: as one split, since what goes together fits into one."""
    settings = replace(
        config, auto_size=False, cluster_by=request.cluster_by, target_records=request.limits.max_records
    )
    specs = {*splits["spec_id"].unique().to_pylist(), snapshot.metadata.current_spec_id}
    return {spec: replace(plan_copy(snapshot, settings, spec_id=spec), job=job) for spec in specs}


def _to_share(
    snapshot: Snapshot, splits: pa.Table, plan: WritePlan, limits: Limits
) -> tuple[list[tuple[pa.Table, WritePlan]], pa.Table]:
    """Plain splits that are to become shared ones, each bin with its plan, and the splits that are left."""
    config = replace(plan.config, coalesce=True)
    coalescing = coalescing_for(plan.layout, config, beside=snapshot)
    if coalescing is None:
        return [], splits
    found = bins_to_share(splits, snapshot.metadata, coalescing, limits)
    taken = pa.array([path for one in found for path in one["path"].to_pylist()], pa.string())
    left = splits.filter(pc.invert(pc.is_in(splits["path"], taken)))
    return [(one, replace(plan, coalescing=coalescing)) for one in found], left


def _as_they_are(splits: pa.Table, plan: WritePlan, snapshot: Snapshot) -> WritePlan:
    """Splits stay plain, or shared by their group; a partition that has grown in the meantime gets splits of its own."""
    plain = replace(plan, coalescing=None)
    place = splits["physical_partition"][0].as_py()
    plan = sharing_as(splits, plain, beside=snapshot)
    if plan.coalescing is None or not place:
        return plan
    group = dict(place).get(plan.coalescing.columns[-1]) or plan.coalescing.group
    return replace(plan, coalescing=replace(plan.coalescing, group=group))


def _merged(splits: pa.Table, plan: WritePlan) -> MergeGroup:
    """Splits of one partition, or of some that share a split, that become one."""
    complete = pc.fill_null(pc.struct_field(splits["logical_partitions"], ["complete"]), fill_value=True)
    return MergeGroup(
        splits=tuple(refs_to(splits)),
        plan=plan,
        merges=_merges(splits),
        complete=bool(pc.all(complete).as_py()),
    )


def _moved(splits: pa.Table, plan: WritePlan, limits: Limits) -> MergeGroup:
    """Splits of any layout that become splits of the current one, each of about the wanted size."""
    refs = tuple(refs_to(splits))
    rows, size = sum(ref.num_records or 0 for ref in refs), sum(ref.size for ref in refs)
    target = min(max(1, rows * limits.target_size // max(1, size)), limits.max_records)
    config = replace(plan.config, target_records=target)
    plan = sharing_as(splits, replace(plan, config=config))
    return MergeGroup(splits=refs, plan=plan, merges=_merges(splits))


def _merges(splits: pa.Table) -> int:
    return 1 + (pc.max(splits["num_merge_ops"]).as_py() or 0)


def _all_rows(opener: SplitOpener, splits: Iterable[SplitRef], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of splits, each of which has as many as the log says; a row that is missing here would be lost for good."""
    for split in splits:
        seen = 0
        for batch in rows_of(opener, [split], schema):
            seen += batch.num_rows
            yield batch
        if split.num_records not in (None, seen):
            reason = f"it has {seen} rows, and the log says {split.num_records}"
            name = opener.store.name_of(split.path)
            raise DamagedSplitError(f"{name} is damaged: {reason}", path=name, reason=reason)


def _merged_add(add: Add, group: MergeGroup) -> Add:
    logical = add.logical_partitions
    if logical is not None and not group.complete:  # who wrote a list that is not complete may have known of more
        logical = msgspec.structs.replace(logical, complete=False)
    return msgspec.structs.replace(add, data_change=False, num_merge_ops=group.merges, logical_partitions=logical)


@dataclass(slots=True)
class _Merging:
    """A merge on its way: the table as it is by now, and what has been done.

    What others add in the meantime is left to the next merge: this one would never end beside busy writers.
    """

    log: TransactionLog
    snapshot: Snapshot
    job: str
    result: MergeResult
    done: int = 0
    made: list[str] = field(default_factory=list)
    aside: set[str] = field(default_factory=set)
    known: pa.Array | None = None

    def next_groups(self, request: MergeRequest, config: Config) -> list[MergeGroup]:
        if request.max_dest_splits is not None:
            request = replace(request, max_dest_splits=request.max_dest_splits - self.done)
        if self.known is None:
            self.known = self.snapshot.splits["path"].combine_chunks()
        among = pa.concat_arrays([self.known, pa.array(self.made, pa.string())])
        among = among.filter(pc.invert(pc.is_in(among, pa.array(self.aside, pa.string()))))
        groups = plan_merge(self.snapshot, request, config, job=self.job, among=among)
        self.result = replace(self.result, groups=self.result.groups + len(groups))
        return groups

    def finish(self, written: Written) -> None:
        """Commits a group, or remembers why not: its splits are then not tried again."""
        self.done += 1
        self.aside.update(written.damaged)
        self.result = replace(self.result, damaged=(*self.result.damaged, *written.damaged))
        if not written.adds:
            self.aside.update(written.group.paths)
            return
        try:
            self._commit(written)
        except ConflictError as error:
            self.log.store.discard(add.path for add in written.adds)
            self.aside.update(written.group.paths)
            self.result = replace(self.result, conflicts=(*self.result.conflicts, str(error)))

    def _commit(self, written: Written) -> None:
        group, before = written.group, self.result
        made = set(self.made)
        again = replace(group, splits=tuple(split for split in group.splits if split.path in made))
        metrics = {**figures(written.adds), "numRemovedSplits": len(group.splits), "numRemovedBytes": group.size}
        self.snapshot = self.log.commit(self._transaction(written, metrics)).snapshot
        self.result = replace(
            before,
            version=self.snapshot.version,
            merged=before.merged + 1,
            rows=before.rows + metrics["numAddedRows"] - again.rows,
            splits_before=before.splits_before + len(group.splits) - len(again.splits),
            splits_after=before.splits_after + len(written.adds) - len(again.splits),
            bytes_before=before.bytes_before + group.size - again.size,
            bytes_after=before.bytes_after + metrics["numAddedBytes"] - again.size,
        )
        self.made += [add.path for add in written.adds]

    def _transaction(self, written: Written, metrics: Mapping[str, int]) -> Transaction:
        group, snapshot = written.group, self.snapshot
        sources = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], pa.array(group.paths, pa.string())))
        if len(sources) != len(group.splits):
            raise self._lost(group, sources)
        return Transaction(
            operation=Operation.MERGE,
            snapshot=snapshot,
            adds=written.adds,
            removes=removes_for(sources, snapshot.metadata, deletion_timestamp=now(), data_change=False),
            rewritten=frozenset(group.paths),
            parameters={"clusterBy": ", ".join(group.plan.config.cluster_by), "partitionBy": str(group.plan.layout)},
            metrics=metrics,
        )

    def _lost(self, group: MergeGroup, sources: pa.Table) -> ConflictError:
        """Another writer removed some of a group's splits, before an earlier group was committed."""
        gone = sorted(set(group.paths) - set(sources["path"].to_pylist()))
        reason = "it removed splits that this one rewrites"
        return ConflictError(
            f"{len(gone)} of {len(group.splits)} splits of {self.log.table} were removed by another writer, {gone[0]} "
            "among them; merge again",
            table=self.log.table,
            version=self.snapshot.version,
            operation=Operation.MERGE,
            reason=reason,
            paths=gone,
        )
