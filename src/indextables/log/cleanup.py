"""Log cleanup: which files of a transaction log have expired. Pure functions.

The clock of a writer may be wrong by days. A version is as young as its commit timestamp says, or the time of its file in
the store, whichever is later.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from indextables.log.clock import epoch_millis
from indextables.log.history import CommitRecord
from indextables.log.log_files import DIRECTORY, LogFiles
from indextables.log.ownership import is_temporary
from indextables.storage import Entry

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
