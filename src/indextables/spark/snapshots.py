"""Snapshots that the driver has read, kept for the questions that follow.

A frame shows one version, and its plan is looked at several times before it runs. Only the driver uses what is kept:
`fresh` reads the log whenever a frame is made, so that a table that was deleted and made again is seen as it is now.
"""

from threading import Lock

from cachetools import LRUCache

from indextables.log import Snapshot
from indextables.spark.asked import Asked

_kept: LRUCache[tuple[str, int | None], Snapshot] = LRUCache(16)
_lock = Lock()


def fresh(asked: Asked) -> Snapshot:
    """The snapshot that the log has now, kept for `settled`."""
    snapshot = asked.snapshot()
    with _lock:
        _kept[asked.path, snapshot.version] = snapshot
    return snapshot


def settled(asked: Asked) -> Snapshot:
    """The snapshot of a version that is named, read once."""
    with _lock:  # looking into it changes what was used last
        kept = _kept.get((asked.path, asked.version))
    return fresh(asked) if kept is None else kept
