"""Snapshots that the driver has read, kept for the questions that follow.

A frame shows one version, and its plan is looked at several times before it runs. Only the driver uses what is kept:
`fresh` looks at the log whenever a frame is made and reads what is new in it, so that a table that was deleted and made
again is seen as it is now.
"""

from threading import Lock

from cachetools import LRUCache

from indextables.config import canonical
from indextables.log import Snapshot, TransactionLog
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_plan import ScanPlan
from indextables.spark.source.read_options import Asked
from indextables.storage import open_store

_Place = tuple[str, frozenset[tuple[str, str]]]
_logs: LRUCache[_Place, TransactionLog] = LRUCache(16)
_kept: LRUCache[tuple[_Place, int | None], Snapshot] = LRUCache(16)
_lock = Lock()  # looking into a cache changes what was used last


def fresh(asked: Asked) -> Snapshot:
    """The snapshot that the log has now, kept for `settled`."""
    place = _place(asked)
    with _lock:
        log = _logs.get(place) or _logs.setdefault(place, asked.log())
    snapshot = asked.snapshot_in(log)
    with _lock:
        _kept[place, snapshot.version] = snapshot
    return snapshot


def settled(asked: Asked) -> Snapshot:
    """The snapshot of a version that is named, read once; where only its number is known, another table may have it now."""
    with _lock:
        kept = _kept.get((_place(asked), asked.version))
    return fresh(asked) if kept is None or asked.table is None else asked.checked(kept)


def scan_of(asked: Asked, plan: ScanPlan, *, limit: int | None = None) -> Scan:
    """A scan of the driver's own, as it is without Spark."""
    config = asked.config(plan.snapshot.metadata.properties)
    opener = SplitOpener.of(open_store(asked.path, config), config)
    return Scan.of(plan, opener, limit=limit, parallelism=config.read.parallelism)


def _place(asked: Asked) -> _Place:
    """Where a table is: two stores may have the same path, and settings tell them apart."""
    return asked.path, frozenset(canonical(asked.settings).items())
