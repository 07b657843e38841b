"""Log cleanup: which files of a transaction log have expired, when to look for them, and the time by the clock of a store.

The clock of a writer may be wrong by days. A version is as young as its commit timestamp says, or the time of its file in
the store, whichever is later.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from indextables.errors import StorageError
from indextables.log.clock import epoch_millis, utc_now
from indextables.log.history import CommitRecord
from indextables.log.log_files import DIRECTORY, LogFiles
from indextables.log.ownership import is_temporary
from indextables.storage import Entry, Store
from indextables.storage.local import TEMPORARY

_ABANDONED_AFTER = timedelta(days=1)


def expired_files(
    files: LogFiles,
    commit_records: Sequence[CommitRecord],
    *,
    now: datetime,
    retention: timedelta,
    is_sound: Callable[[int], bool] = lambda _: True,
) -> list[str]:
    """The keys to delete, oldest first, so that every state of the table that is no older than `retention` stays readable.

    The state at the beginning of that time is the last version at or before it. It is built from the newest checkpoint
    that is not younger and `is_sound`; older files expire. Without such a checkpoint nothing expires. Temporary files of
    killed writers expire after a day.
    """
    oldest_kept = state_at(files, {m.version: m.timestamp for m in commit_records}, now - retention)
    candidates = sorted((number for number in files.checkpoints if number <= oldest_kept), reverse=True)
    checkpoint = next((number for number in candidates if is_sound(number)), -1)
    before = sorted(
        (n, e.key) for known in (files.commits, files.checkpoints) for n, e in known.items() if n < checkpoint
    )
    abandoned = [entry.key for entry in files.others if _is_leftover(entry) and entry.modified < now - _ABANDONED_AFTER]
    return [key for _, key in before] + abandoned


def state_at(files: LogFiles, timestamps: Mapping[int, int], limit: datetime) -> int:
    """The last of some versions before all those that are younger than `limit`; -1 where there is none.

    `timestamps` has the commit timestamp of each version.
    """
    millis = epoch_millis(limit)
    young = (
        version for version, timestamp in timestamps.items() if max(timestamp, _file_time(files, version)) > millis
    )
    first_young = min(young, default=files.latest + 1)
    return max((version for version in timestamps if version < first_young), default=-1)


def _file_time(files: LogFiles, version: int) -> int:
    """When the store wrote the file of a version; where only its checkpoint is left, when it wrote that."""
    entry = files.commits.get(version) or files.checkpoints.get(version)
    return epoch_millis(entry.modified) if entry else 0


def _is_leftover(entry: Entry) -> bool:
    return entry.key.rpartition("/")[0] == DIRECTORY and is_temporary(entry.key) and not entry.link


_AT_LEAST_EVERY = timedelta(days=1)  # killed writers leave temporary files
_AT_MOST_EVERY = 100  # looks per retention, so that files are kept a hundredth longer


class CleanUpSchedule:
    """The time of the next look, as far as this process knows; the handles of a table share it."""

    def __init__(self) -> None:
        self._due = datetime.min.replace(tzinfo=UTC)

    def is_due(self, now: datetime) -> bool:
        return now >= self._due

    def looked(self, files: LogFiles, *, now: datetime, retention: timedelta) -> None:
        """Plans the next look, after one at these files: when the oldest of them expires."""
        oldest = min((entry.modified for entry in files.commits.values()), default=now)
        wait = min(max(oldest + retention - now, retention / _AT_MOST_EVERY), _AT_LEAST_EVERY)
        self._due = now + wait


_RESOLUTION = timedelta(seconds=2)  # S3 rounds the times of files down to seconds, and so do some file systems
logger = logging.getLogger(__name__)


def store_now(store: Store) -> datetime:
    """The time that the store gives to a file that is written now.

    The file is deleted again; if that fails, it is a leftover like that of a killed writer. Where this machine's clock
    agrees, it is the answer, because it is finer.
    """
    key = f"{DIRECTORY}/{TEMPORARY}{uuid4().hex}"
    store.put(key, b"")
    try:
        modified = store.head(key).modified
    finally:
        store.discard([key])
    here = utc_now()
    return here if timedelta(0) <= here - modified <= _RESOLUTION else modified


def store_now_or_local(store: Store) -> datetime:
    """As `store_now`; this machine's time, with a warning, where nothing can be written."""
    try:
        return store_now(store)
    except StorageError as error:
        logger.warning("the clock of %s is not known, this machine's is used instead: %s", store.location, error)
        return utc_now()
