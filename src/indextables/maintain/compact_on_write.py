"""Merging right after a write, where it left many small splits. Whatever happens here, the write has happened."""

import logging
from collections.abc import Iterable
from dataclasses import replace

from indextables.config import Config
from indextables.log import Snapshot, TransactionLog
from indextables.maintain.compact import merge
from indextables.maintain.compaction_request import MergeRequest, limits_of

logger = logging.getLogger(__name__)


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
