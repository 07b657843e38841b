"""Log cleanup: which files of a transaction log have expired. A pure function."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from indextables.log.history import CommitRecord
from indextables.log.log_files import DIRECTORY, LogFiles
from indextables.log.ownership import is_temporary
from indextables.storage import Entry

_ABANDONED_AFTER = timedelta(days=1)


def expired_files(
    files: LogFiles, commit_records: Sequence[CommitRecord], *, now: datetime, retention: timedelta
) -> list[str]:
    """The keys to delete, oldest first, so that every state of the table that is no older than `retention` stays readable.

    The state at the beginning of that time is the last version at or before it. It is built from the newest checkpoint
    that is not younger; older files expire. Without such a checkpoint nothing expires. Temporary files of killed
    writers expire after a day.
    """
    limit = (now - retention).timestamp() * 1000
    oldest_kept = max((m.version for m in commit_records if m.timestamp <= limit), default=-1)
    checkpoint = max((number for number in files.checkpoints if number <= oldest_kept), default=-1)
    before = sorted(
        (n, e.key) for known in (files.commits, files.checkpoints) for n, e in known.items() if n < checkpoint
    )
    abandoned = [entry.key for entry in files.others if _is_leftover(entry) and entry.modified < now - _ABANDONED_AFTER]
    return [key for _, key in before] + abandoned


def _is_leftover(entry: Entry) -> bool:
    return entry.key.rpartition("/")[0] == DIRECTORY and is_temporary(entry.key) and not entry.link
