"""Which version was the newest one at a time."""

from datetime import UTC, datetime

from indextables.errors import VersionNotFoundError
from indextables.log.checkpoint import read_checkpoint
from indextables.log.clock import epoch_millis
from indextables.log.history import read_commit_records
from indextables.log.log_files import LogFiles
from indextables.storage import Store


def commit_times(store: Store, files: LogFiles) -> dict[int, int]:
    """When each readable version came to be; a version file that is gone may have left its time in a checkpoint."""
    orphans = {n: entry.key for n, entry in files.checkpoints.items() if n not in files.commits}
    kept = {number: read_checkpoint(store, key, number).timestamp for number, key in orphans.items()}
    records = read_commit_records(store, files)
    return kept | {record.version: record.timestamp for record in records if record.version >= files.earliest}


def version_at(store: Store, files: LogFiles, timestamp: datetime) -> int:
    """The newest version at a time (in UTC, if it has no zone), by commit timestamps."""
    millis = epoch_millis(timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC))
    times = commit_times(store, files)
    at_or_before = [version for version, time_of in times.items() if time_of <= millis]
    if not at_or_before:
        first = datetime.fromtimestamp(min(times.values()) / 1000, UTC)
        raise VersionNotFoundError(
            f"{store.location} had no version at {timestamp}; the oldest one that can be read is "
            f"version {files.earliest} of {first}",
            table=str(store.location),
            version=None,
            earliest=files.earliest,
            latest=files.latest,
        )
    return max(at_or_before)


def first_version_since(store: Store, files: LogFiles, timestamp: datetime) -> int:
    """The first version that was committed at a time or later; the next one to come where all are older."""
    millis = epoch_millis(timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC))
    times = {record.version: record.timestamp for record in read_commit_records(store, files)}
    since = min((version for version, time_of in times.items() if time_of >= millis), default=files.latest + 1)
    oldest = min(times, default=0)
    if since == oldest > 0:
        raise VersionNotFoundError(
            f"the log of {store.location} no longer says what was added since {timestamp}: version {oldest} is the oldest "
            "whose file is left, and older ones may have been committed after that time; choose a later time or a version",
            table=str(store.location),
            version=None,
            earliest=oldest,
            latest=files.latest,
        )
    return since
