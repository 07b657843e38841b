"""Checks that the name of a new version was free because nobody had taken it, not because a clean-up had freed it.

A writer looks whether the version that it read is there, and puts the next one. Between the two, a clean-up may delete both
the version that was read and the one after it. The put then succeeds, but under a number that a checkpoint has passed long
ago: nobody would ever read it.
"""

from contextlib import suppress
from datetime import timedelta

import pyarrow as pa

from indextables.errors import AccessDeniedError, ConflictError, CorruptLogError, LogError, NotFoundError, StorageError
from indextables.log.checkpoint import read_checkpoint
from indextables.log.clock import now
from indextables.log.log_files import commit_key, list_log
from indextables.log.snapshot import Snapshot
from indextables.log.version_file import Version, read_info
from indextables.storage import Store

_AN_HOUR = timedelta(hours=1)


def confirm_put(store: Store, snapshot: Snapshot | None, mine: Version, *, log_retention: timedelta) -> None:
    """Raises a ConflictError where a version that was put is in no state of the table, a StorageError where that is unclear.

    Log files expire oldest first, so all is well as long as the version that was read is there. That is one small request,
    and none where that version is younger than an hour and than the `log_retention`.
    """
    if snapshot is None or timedelta(milliseconds=now() - snapshot.timestamp) < min(log_retention, _AN_HOUR):
        return
    try:
        later = None if _is_there(store, snapshot) else _later_state(store, mine.number)
    except (AccessDeniedError, LogError) as error:
        raise _unclear(store, mine) from error
    if later is None:
        return
    if later.timestamp <= mine.timestamp:  # a state that includes it has a greater one
        store.delete([commit_key(mine.number)])
        raise ConflictError(
            f"version {snapshot.version} of {store.location} was cleaned up during the commit, and so was the one after "
            "it; read the table again and retry",
            table=str(store.location),
            version=later.version,
            operation="clean-up",
            reason="the version that was read has been cleaned up",
            paths=(),
        )
    if not _includes(later, mine):
        raise _unclear(store, mine)


def _is_there(store: Store, snapshot: Snapshot) -> bool:
    try:
        with suppress(CorruptLogError):
            read_info(store, snapshot.version)
    except NotFoundError:
        return False
    return True


def _later_state(store: Store, number: int) -> Snapshot | None:
    """The first state after a version that a checkpoint has; None where there is none."""
    checkpoints = list_log(store).checkpoints
    later = min((other for other in checkpoints if other > number), default=None)
    return None if later is None else read_checkpoint(store, checkpoints[later].key, later)


def _includes(state: Snapshot, mine: Version) -> bool:
    """Whether a later state has the splits of the version, or has removed them."""
    known = pa.chunked_array([*state.splits["path"].chunks, *state.tombstones["path"].chunks], pa.string())
    return bool(mine.adds) and {add.path for add in mine.adds} <= set(known.to_pylist())


def _unclear(store: Store, mine: Version) -> StorageError:
    name = store.name_of(commit_key(mine.number))
    return StorageError(
        f"{name} was written while the log was cleaned up, and it is not known whether it is a version of the table; read "
        "the table to see whether the commit is there",
        path=name,
    )
