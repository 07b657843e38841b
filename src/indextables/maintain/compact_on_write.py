"""Merging right after a write, where it left many small splits. Whatever happens here, the write has happened."""

import logging
from dataclasses import replace

from indextables.config import Config
from indextables.log import Snapshot, TransactionLog
from indextables.log.log_files import list_log
from indextables.log.version_file import read_versions
from indextables.maintain.compact import merge
from indextables.maintain.compaction_request import MergeRequest, limits_of

logger = logging.getLogger(__name__)


def merge_after_write(log: TransactionLog, snapshot: Snapshot, config: Config) -> Snapshot:
    """The table after a write, its small splits merged if `mergeOnWrite` is on.

    Only partitions are looked at that the newest version of the snapshot added to, and only those with as many small splits
    as `mergeOnWrite.minSplits`. A failure is logged.
    """
    if not config.maintenance.merge_on_write:
        return snapshot
    try:
        [version] = read_versions(log.store, list_log(log.store), snapshot.version, snapshot.version)
        request = MergeRequest(
            limits=replace(limits_of(config), min_sources=config.maintenance.merge_on_write_min_splits),
            cluster_by=config.write.cluster_by,
            touching=frozenset(add.path for add in version.adds),
        )
        after, result = merge(log, snapshot, request, config)
    except Exception:
        logger.warning("version %d of %s is written, but not merged", snapshot.version, log.table, exc_info=True)
        return snapshot
    if result.conflicts or result.damaged:
        logger.warning("after version %d of %s: %s", snapshot.version, log.table, result)
    return after
