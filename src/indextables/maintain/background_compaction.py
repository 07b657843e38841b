"""Compaction beside a stream: small splits are merged while the next batches are written.

A merge does not conflict with appends, so it need not hold up the stream. One thread works per table and process; splits
that come while it does are looked at when it is done. If the process ends, what is not committed is left to a vacuum.
"""

import logging
from itertools import chain
from threading import Lock, Thread

from indextables.config import Config
from indextables.log import Snapshot, TransactionLog
from indextables.maintain.compact_on_write import added_paths, merge_partitions_of

logger = logging.getLogger(__name__)
_pending: dict[str, set[int]] = {}  # versions whose splits are to be merged, by table
_lock = Lock()


def merge_in_background(log: TransactionLog, snapshot: Snapshot, config: Config) -> Thread | None:
    """Merges small splits of the partitions that the newest version added to, unless `mergeOnWrite` is off.

    It returns at once, with the thread that it started, if any: where one is at work, that one does it. A failure is logged.
    """
    if config.maintenance.merge_on_write is False:
        return None
    with _lock:
        running = log.table in _pending
        _pending.setdefault(log.table, set()).add(snapshot.version)
    if running:
        return None
    thread = Thread(target=_merge_pending, args=(log, config), name=f"merge {log.table}", daemon=True)
    thread.start()
    return thread


def _merge_pending(log: TransactionLog, config: Config) -> None:
    while versions := _next(log.table):
        try:
            paths = chain.from_iterable(added_paths(log, version) for version in versions)
            merge_partitions_of(log, log.snapshot(), config, paths)
        except Exception:
            logger.warning("small splits of %s are not merged", log.table, exc_info=True)


def _next(table: str) -> frozenset[int]:
    with _lock:
        versions = frozenset(_pending[table])
        if versions:
            _pending[table] = set()
        else:
            del _pending[table]
        return versions
