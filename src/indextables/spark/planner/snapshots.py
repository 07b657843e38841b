"""Snapshots that the driver has read, cached for the queries that follow.

A frame shows one version. Only the driver uses the cache: `latest_snapshot` looks at the log whenever a frame is made and
reads what is new in it, so that a table that was deleted and made again is seen as it is now.
"""

from threading import Lock

from cachetools import LRUCache

from indextables.config import canonical
from indextables.log import Snapshot, TransactionLog
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_plan import ScanPlan
from indextables.spark.planner.read_options import ReadOptions
from indextables.storage import open_store

_Place = tuple[str, frozenset[tuple[str, str]]]
_logs: LRUCache[_Place, TransactionLog] = LRUCache(16)
_kept: LRUCache[tuple[_Place, int | None], Snapshot] = LRUCache(16)
_lock = Lock()  # looking into a cache changes what was used last


def log_of(options: ReadOptions) -> TransactionLog:
    """The log of a table, with what the driver has read of it."""
    place = _place(options)
    with _lock:
        return _logs.get(place) or _logs.setdefault(place, options.log())


def latest_snapshot(options: ReadOptions) -> Snapshot:
    """The snapshot that the log has now, kept for `snapshot_of`."""
    snapshot = options.snapshot_in(log_of(options))
    with _lock:
        _kept[_place(options), snapshot.version] = snapshot
    return snapshot


def snapshot_of(options: ReadOptions) -> Snapshot:
    """The snapshot of a version that is named, read once; where only its number is known, another table may have it now."""
    with _lock:
        kept = _kept.get((_place(options), options.version))
    return latest_snapshot(options) if kept is None or options.table is None else options.verified(kept)


def scan_of(options: ReadOptions, plan: ScanPlan, *, limit: int | None = None) -> Scan:
    """A scan of the driver's own, as it is without Spark."""
    config = options.config(plan.snapshot.metadata.properties)
    opener = SplitOpener.of(open_store(options.path, config), config)
    return Scan.of(plan, opener, limit=limit, parallelism=config.read.parallelism)


def _place(options: ReadOptions) -> _Place:
    """Where a table is: two stores may have the same path, and settings tell them apart."""
    return options.path, frozenset(canonical(options.settings).items())
