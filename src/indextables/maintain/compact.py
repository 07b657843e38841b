"""Compaction (MERGE SPLITS): many small splits become few of the target size, with the same rows.

Groups of splits are rewritten one by one and committed in bundles (`merge.maxGroupsPerCommit`, `merge.commitInterval`). A
conflicting writer invalidates only the groups that it touched. The commits have dataChange=false: concurrent appends do
not conflict, and readers of older versions are not affected.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Protocol, TypeAlias
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.display.progress_bar import BarState
from indextables.display.text_output import text_output
from indextables.errors import CommitRetriesExhaustedError, ConflictError
from indextables.events import log_event
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Remove
from indextables.log.clock import now
from indextables.log.splits import deletion_vectors_of, removes_for
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup, plan_merge, write_group
from indextables.maintain.compaction_request import MergeRequest
from indextables.plural import agreeing, pluralize
from indextables.write.commit_metrics import split_metrics
from indextables.write.uncommitted_files import NOT_COMMITTED, refuse_lost, sweep, sweep_after_commit

logger = logging.getLogger(__name__)
_GONE = object()


@dataclass(frozen=True, slots=True)
class MergeProgress:
    """Progress of a merge: finished groups, all groups so far, and the result of the committed ones."""

    done: int
    groups: int
    result: "MergeResult"

    def state(self) -> BarState:
        return BarState(self.done, self.groups, f"{self.done:,} of {self.groups:,} groups of splits rewritten")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The result of a merge, or of a dry run: `splits_before` splits with `rows` rows became `splits_after`.

    `deleted_rows` were deleted before, and are not in the new splits any more.

    Groups that lost against another writer are `conflicts`, with the reason; their splits are as they were, and so are
    those that could not be read, the `damaged`.
    """

    version: int
    dry_run: bool = False
    groups: int = 0
    merged: int = 0
    rows: int = 0
    deleted_rows: int = 0
    splits_before: int = 0
    splits_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    conflicts: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    def __str__(self) -> str:
        verb = "would become" if self.dry_run else "became"
        after = "" if self.dry_run else f", {self.bytes_before:,} bytes became {self.bytes_after:,}"
        trouble = [f"  conflict: {reason}" for reason in self.conflicts] + [
            f"  left as it was, because it cannot be read: {path}" for path in self.damaged
        ]
        before = f"{pluralize(self.splits_before, 'split')} with {pluralize(self.rows, 'row')}"
        head = f"{before} {verb} {self.splits_after:,}{after}"
        head = head if self.splits_before else "nothing to merge"
        head += f", without {pluralize(self.deleted_rows, 'deleted row')}" if self.deleted_rows else ""
        return "\n".join([f"{head} (version {self.version})", *trouble])

    _repr_html_ = text_output


Work: TypeAlias = Callable[[MergeGroup], WrittenGroup]
Runner: TypeAlias = Callable[[Work, Sequence[MergeGroup]], Iterable[WrittenGroup]]
"""Does the work of groups, here or elsewhere; results come in any order."""


class Planner(Protocol):
    """Finds the groups to rewrite."""

    def __call__(
        self, snapshot: Snapshot, *, job: str, among: pa.Array, done: int, written: frozenset[str]
    ) -> list[MergeGroup]:
        """Groups of splits with paths `among` these. `done` groups are finished, and have left the splits `written`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A kind of rewrite that does not change a row. `verb` is how users ask for it, `event` names its log line."""

    operation: Operation
    plan: Planner
    work: Work
    verb: str
    event: str
    parameters: Mapping[str, str]


def run_in_process(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
    """One group after the other."""
    return map(work, groups)


def merge(
    log: TransactionLog,
    snapshot: Snapshot,
    request: MergeRequest,
    config: Config,
    *,
    run: Runner = run_in_process,
    progress: Callable[[MergeProgress], object] | None = None,
) -> tuple[Snapshot, MergeResult]:
    """Merges until there is nothing left that is worth it; gives the table afterwards, and what was done.

    Sizes are known when splits are written: where merged ones turned out small, they are merged once more. Whatever ends it
    early, groups that are finished are committed, and files of others are deleted; so are those of lost attempts of tasks.
    """

    def plan(snapshot: Snapshot, *, job: str, among: pa.Array, done: int, written: frozenset[str]) -> list[MergeGroup]:
        left = request
        if left.max_dest_splits is not None:
            left = replace(left, max_dest_splits=left.max_dest_splits - done)
        if left.touching is not None:
            left = replace(left, touching=left.touching | written)
        return plan_merge(snapshot, left, config, job=job, among=among)

    rewrite = Rewrite(
        operation=Operation.MERGE,
        plan=plan,
        work=partial(write_group, log.table),
        verb="merge",
        event="Splits merged",
        parameters={"clusterBy": ", ".join(request.cluster_by)},
    )
    return rewrite_in_bundles(log, snapshot, rewrite, config, run=run, progress=progress)


def rewrite_in_bundles(
    log: TransactionLog,
    snapshot: Snapshot,
    rewrite: Rewrite,
    config: Config,
    *,
    run: Runner = run_in_process,
    progress: Callable[[MergeProgress], object] | None = None,
) -> tuple[Snapshot, MergeResult]:
    """Rewrites groups of splits until the plan has no more, and commits them in bundles."""
    result = MergeResult(version=snapshot.version)
    merging = _Compaction(log, snapshot, config, rewrite, job=uuid4().hex[:12], result=result)
    try:
        while groups := merging.next_groups():
            for number, written in enumerate(run(rewrite.work, groups), 1):
                merging.finish(written, last=number == len(groups))
                if progress is not None:
                    progress(MergeProgress(merging.done, merging.result.groups, merging.result))
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            merging.commit()
        sweep(merging.job, log, keep=merging.in_doubt)
        raise
    if merging.other_attempts:
        sweep_after_commit(merging.job, log)
    _log_result(log, merging.result, rewrite.event)
    return merging.snapshot, merging.result


def _log_result(log: TransactionLog, result: MergeResult, event: str) -> None:
    if not result.groups:
        return
    names = ("version", "groups", "merged", "splits_before", "splits_after", "rows", "bytes_before", "bytes_after")
    dropped = {"deleted_rows": result.deleted_rows} if result.deleted_rows else {}
    trouble = {**dropped, "conflicts": len(result.conflicts), "damaged": len(result.damaged)}
    log_event(logger, event, table=log.table, **{name: getattr(result, name) for name in names}, **trouble)


def plan_only(snapshot: Snapshot, request: MergeRequest, config: Config) -> MergeResult:
    """Plans a merge without running it; only the log is read."""
    groups = plan_merge(snapshot, request, config, job="")
    sources = list(chain.from_iterable(group.splits for group in groups))
    return MergeResult(
        version=snapshot.version,
        dry_run=True,
        groups=len(groups),
        rows=sum(group.rows for group in groups),
        deleted_rows=sum(group.deleted_rows for group in groups),
        splits_before=len(sources),
        splits_after=_splits_after(groups, request),
        bytes_before=sum(group.size for group in groups),
    )


def _splits_after(groups: Sequence[MergeGroup], request: MergeRequest) -> int:
    """How many splits there will be: one of each group, and about as many as fit where groups move to another layout."""
    if not request.rewrite_layout:
        return len(groups)
    return sum(-(-group.size // request.limits.target_size) for group in groups)


@dataclass(slots=True)
class _Compaction:
    """A merge on its way: the table as it is by now, what has been done, and the groups that wait for their commit.

    New splits are `in_doubt` while it is not known whether their commit has happened.
    Splits that others add in the meantime are left to the next merge; otherwise this one might never end.
    """

    log: TransactionLog
    snapshot: Snapshot
    config: Config
    rewrite: Rewrite
    job: str
    result: MergeResult
    done: int = 0
    written_paths: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    candidates: pa.Array | None = None
    bundle: list[WrittenGroup] = field(default_factory=list)
    in_doubt: set[str] = field(default_factory=set)
    other_attempts: bool = False
    committed_at: float = field(default_factory=time.monotonic)

    def next_groups(self) -> list[MergeGroup]:
        if self.candidates is None:
            self.candidates = self.snapshot.splits["path"].combine_chunks()
        among = pa.concat_arrays([self.candidates, pa.array(self.written_paths, pa.string())])
        among = among.filter(pc.invert(pc.is_in(among, pa.array(self.skipped, pa.string()))))
        groups = self.rewrite.plan(
            self.snapshot, job=self.job, among=among, done=self.done, written=frozenset(self.written_paths)
        )
        self.result = replace(self.result, groups=self.result.groups + len(groups))
        return groups

    def finish(self, written: WrittenGroup, *, last: bool) -> None:
        """Takes a group into the bundle, and commits that if it is time. The splits of a failure are not tried again."""
        self.done += 1
        self.other_attempts |= written.other_attempts
        self.skipped.update(written.damaged)
        self.result = replace(self.result, damaged=(*self.result.damaged, *written.damaged))
        if written.adds:
            self.bundle.append(written)
        else:
            self.skipped.update(written.group.paths)
        waited = time.monotonic() - self.committed_at
        full = len(self.bundle) >= self.config.maintenance.merge_max_groups_per_commit
        if last or full or waited >= self.config.maintenance.merge_commit_interval.total_seconds():
            self.commit()

    def commit(self) -> None:
        """Makes one version of the bundle. Groups that lost a split to another writer are given up, the others tried again.

        Each group of a bundle brings the attempts that it would have if it was committed alone.
        """
        bundle, self.bundle = self._still_there(self.bundle), []
        outrun = 0
        while bundle:
            try:
                after = self._after_commit(bundle)
            except CommitRetriesExhaustedError as error:
                outrun += 1
                if outrun >= len(bundle):
                    bundle = self._give_up(bundle, error)
            except ConflictError as error:
                bundle = self._give_up(bundle, error)
            else:
                self._count(bundle, after)
                break
        self.committed_at = time.monotonic()

    def _after_commit(self, bundle: Sequence[WrittenGroup]) -> Snapshot:
        paths = {add.path for written in bundle for add in written.adds}
        self.in_doubt |= paths
        try:
            transaction = _transaction(bundle, self.snapshot, self.rewrite)
            after = self.log.commit(transaction, check=lambda attempt: refuse_lost(self.log, attempt.adds)).snapshot
        except NOT_COMMITTED:
            self.in_doubt -= paths
            raise
        self.in_doubt -= paths
        return after

    def _still_there(self, bundle: Sequence[WrittenGroup]) -> list[WrittenGroup]:
        """The bundle without groups whose splits are no longer in the table after the last commit, or lost rows."""
        refs = [split for written in bundle for split in written.group.splits]
        splits = self.snapshot.splits.select(["path", "deletion_vector"])
        splits = splits.filter(pc.is_in(splits["path"], pa.array([split.path for split in refs], pa.string())))
        there = dict(zip(splits["path"].to_pylist(), deletion_vectors_of(splits), strict=True))
        gone = [split.path for split in refs if there.get(split.path, _GONE) != split.deletion_vector]
        return self._without(bundle, frozenset(gone), "another writer") if gone else list(bundle)

    def _give_up(self, bundle: Sequence[WrittenGroup], error: ConflictError) -> list[WrittenGroup]:
        """The groups of a bundle that a conflict does not name; none if it names no split."""
        gone = frozenset(error.paths)
        if gone.isdisjoint(path for written in bundle for path in written.group.paths):
            self._discard(bundle, [str(error)] * len(bundle))
            return []
        return self._without(bundle, gone, f"{error.operation} (version {error.version})")

    def _without(self, bundle: Sequence[WrittenGroup], gone: frozenset[str], winner: str) -> list[WrittenGroup]:
        lost = [written for written in bundle if not gone.isdisjoint(written.group.paths)]
        self._discard(lost, [_lost_to(winner, written.group, gone, self.rewrite.verb) for written in lost])
        return [written for written in bundle if gone.isdisjoint(written.group.paths)]

    def _discard(self, lost: Sequence[WrittenGroup], reasons: Sequence[str]) -> None:
        self.log.store.discard(add.path for written in lost for add in written.adds)
        self.skipped.update(path for written in lost for path in written.group.paths)
        self.result = replace(self.result, conflicts=(*self.result.conflicts, *reasons))

    def _count(self, bundle: Sequence[WrittenGroup], after: Snapshot) -> None:
        """Counts rows and splits once that this merge has written and then merged again."""
        before, metrics = self.result, _metrics(bundle)
        again = [split for written in bundle for split in written.group.splits if split.path in self.written_paths]
        size, rows = sum(split.size for split in again), sum(split.live_rows or 0 for split in again)
        self.result = replace(
            before,
            version=after.version,
            merged=before.merged + len(bundle),
            rows=before.rows + metrics["numAddedRows"] - rows,
            deleted_rows=before.deleted_rows + sum(written.group.deleted_rows for written in bundle),
            splits_before=before.splits_before + metrics["numRemovedSplits"] - len(again),
            splits_after=before.splits_after + metrics["numAddedSplits"] - len(again),
            bytes_before=before.bytes_before + metrics["numRemovedBytes"] - size,
            bytes_after=before.bytes_after + metrics["numAddedBytes"] - size,
        )
        self.snapshot = after
        self.written_paths.update(add.path for written in bundle for add in written.adds)


def _transaction(bundle: Sequence[WrittenGroup], snapshot: Snapshot, rewrite: Rewrite) -> Transaction:
    removes = _removes(bundle, snapshot)
    layouts = dict.fromkeys(str(written.group.plan.layout) for written in bundle)
    return Transaction(
        operation=rewrite.operation,
        snapshot=snapshot,
        adds=_adds(bundle),
        removes=removes,
        rewritten=frozenset(remove.path for remove in removes),
        parameters={**rewrite.parameters, "partitionBy": "; ".join(layouts)},
        metrics=_metrics(bundle),
    )


def _adds(bundle: Sequence[WrittenGroup]) -> list[Add]:
    return [
        msgspec.structs.replace(add, merge_group=number)
        for number, written in enumerate(bundle)
        for add in written.adds
    ]


def _removes(bundle: Sequence[WrittenGroup], snapshot: Snapshot) -> list[Remove]:
    number_of = {path: number for number, written in enumerate(bundle) for path in written.group.paths}
    splits = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], pa.array(number_of, pa.string())))
    removes = removes_for(splits, snapshot.metadata, deletion_timestamp=now(), data_change=False)
    return [msgspec.structs.replace(remove, merge_group=number_of[remove.path]) for remove in removes]


def _metrics(bundle: Sequence[WrittenGroup]) -> dict[str, int]:
    return {
        **split_metrics([add for written in bundle for add in written.adds]),
        "numRemovedSplits": sum(len(written.group.splits) for written in bundle),
        "numRemovedBytes": sum(written.group.size for written in bundle),
        "numMergedGroups": len(bundle),
    }


def _lost_to(winner: str, group: MergeGroup, gone: frozenset[str], verb: str) -> str:
    lost = sorted(gone.intersection(group.paths))
    changed = f"{len(lost)} of {len(group.paths)} splits {agreeing(len(lost), 'was', 'were')} changed by {winner}"
    return f"{changed}, {lost[0]} among them; {verb} again"
