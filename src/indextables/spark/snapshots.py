"""Snapshots that the driver has read, kept for the questions that follow.

A frame shows one version, and its plan is looked at several times before it runs. Only the driver uses what is kept:
`fresh` reads the log whenever a frame is made, so that a table that was deleted and made again is seen as it is now.
"""

from threading import Lock

from indextables.log import Snapshot
from indextables.spark.asked import Asked

_MOST = 16
_kept: dict[tuple[str, int | None], Snapshot] = {}
_lock = Lock()


def fresh(asked: Asked) -> Snapshot:
    """The snapshot that the log has now, kept for `settled`."""
    snapshot = asked.snapshot()
    with _lock:
        _kept.pop((asked.path, snapshot.version), None)
        _kept[asked.path, snapshot.version] = snapshot
        while len(_kept) > _MOST:
            _kept.pop(next(iter(_kept)))
    return snapshot


def settled(asked: Asked) -> Snapshot:
    """The snapshot of a version that is named, read once."""
    kept = _kept.get((asked.path, asked.version))
    return fresh(asked) if kept is None else kept
