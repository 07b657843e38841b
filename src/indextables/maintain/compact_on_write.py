"""Compaction after a write that left many small splits: at once, or beside the next batches of a stream.

Whatever happens here, the write has happened. A merge does not conflict with appends, so it need not hold up a stream. One
thread works per table and process; splits that come while it does are looked at when it is done. If the process ends, what
is not committed is left to a vacuum.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from threading import Lock, Thread

from indextables.config import Config
from indextables.log import Snapshot, TransactionLog
from indextables.maintain.compact import merge
from indextables.maintain.compaction_request import MergeRequest, limits_of

logger = logging.getLogger(__name__)
_FAR_BEHIND = 3  # times mergeOnWrite.minSplits: so many batches may wait for a merge before a batch waits for it


@dataclass(slots=True)
class _Merging:
    """A thread that merges, and the versions whose splits it is to look at next."""

    thread: Thread
    versions: set[int] = field(default_factory=set)


_at_work: dict[str, _Merging] = {}
_merged_before: set[str] = set()
_lock = Lock()


def merge_after_write(log: TransactionLog, snapshot: Snapshot, config: Config) -> Snapshot:
    """The table after a write, its small splits merged if `mergeOnWrite` is on. A failure is logged."""
    if not config.maintenance.merge_on_write:
        return snapshot
    try:
        return merge_partitions_of(log, snapshot, config, added_paths(log, snapshot.version))
    except Exception:
        logger.warning("version %d of %s is written, but not merged", snapshot.version, log.table, exc_info=True)
        return snapshot


def added_paths(log: TransactionLog, version: int) -> frozenset[str]:
    """The splits that a version added."""
    return frozenset(add.path for actions in log.versions(version, version) for add in actions.adds)


def merge_partitions_of(log: TransactionLog, snapshot: Snapshot, config: Config, paths: Iterable[str]) -> Snapshot:
    """Merges splits of the partitions that have one of these paths, where `mergeOnWrite.minSplits` are of about one size.

    Merged splits are merged again only with others of their size, so that a row is rewritten a few times, not with every
    write.
    """
    config = config.for_columns(snapshot.metadata.arrow_schema().names)
    min_splits = max(2, config.maintenance.merge_on_write_min_splits)  # one alone would be rewritten without end
    request = MergeRequest(
        limits=replace(limits_of(config), min_sources=min_splits, tiered=True),
        cluster_by=config.write.cluster_by,
        touching=frozenset(paths),
    )
    after, result = merge(log, snapshot, request, config)
    if result.conflicts or result.damaged:
        logger.warning("after version %d of %s: %s", snapshot.version, log.table, result)
    return after


def merge_beside_stream(log: TransactionLog, snapshot: Snapshot, config: Config, *, process_ends: bool) -> None:
    """Merges what a batch has left, in the background as far as that is safe.

    If the process ends with the batch, it returns when the merge is done. So it does for the first merge of a process: one
    that is started anew for each batch would otherwise never get a merge done. And if merges fall behind, a batch waits for
    them, so that the number of splits stays bounded.
    """
    thread = merge_in_background(log, snapshot, config)
    if thread is None:
        return
    with _lock:
        first = log.table not in _merged_before
        _merged_before.add(log.table)
        merging = _at_work.get(log.table)
        waiting = len(merging.versions) if merging else 0
    if process_ends or first or waiting >= _FAR_BEHIND * config.maintenance.merge_on_write_min_splits:
        thread.join()


def merge_in_background(log: TransactionLog, snapshot: Snapshot, config: Config) -> Thread | None:
    """Merges small splits of the partitions that the newest version added to, unless `mergeOnWrite` is off.

    It returns at once, with the thread that does it: a new one, or the one that is at work. A failure is logged.
    """
    if config.maintenance.merge_on_write is False:
        return None
    with _lock:
        merging = _at_work.get(log.table)
        if merging is None:
            thread = Thread(target=_merge_pending, args=(log, config), name=f"merge {log.table}", daemon=True)
            thread.start()  # it waits for the lock
            merging = _at_work[log.table] = _Merging(thread)
        merging.versions.add(snapshot.version)
        return merging.thread


def _merge_pending(log: TransactionLog, config: Config) -> None:
    while versions := _next(log.table):
        try:
            paths = chain.from_iterable(added_paths(log, version) for version in versions)
            merge_partitions_of(log, log.snapshot(), config, paths)
        except Exception:
            logger.warning("small splits of %s are not merged", log.table, exc_info=True)


def _next(table: str) -> frozenset[int]:
    """The versions to look at; none where the work is done, and the thread ends."""
    with _lock:
        versions = frozenset(_at_work[table].versions)
        if versions:
            _at_work[table].versions.clear()
        else:
            del _at_work[table]
        return versions
