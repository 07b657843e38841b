"""Snapshots from the files of a log: the newest checkpoint that can be used, and the versions after it, all verified.

Also the version that was the newest one at a time.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from indextables.errors import CorruptLogError, VersionNotFoundError
from indextables.log.checkpoint import read_checkpoint
from indextables.log.clock import epoch_millis
from indextables.log.history import read_commit_records
from indextables.log.log_files import LogFiles
from indextables.log.snapshot import Snapshot, initial
from indextables.log.table_identity import is_of_other_history
from indextables.log.version_file import Version, read_versions, verify_order, verify_references
from indextables.storage import Store

logger = logging.getLogger(__name__)


def build_snapshot(store: Store, files: LogFiles, version: int) -> Snapshot:
    """The snapshot at a version, or a CorruptLogError that names what is missing or damaged."""
    for number in sorted((n for n in files.checkpoints if n <= version), reverse=True):
        try:
            start = read_checkpoint(store, files.checkpoints[number].key, number)
        except CorruptLogError as damage:
            if number == files.earliest:
                raise
            logger.warning("%s; an older state is used instead", damage)
            continue
        versions = read_versions(store, files, number + 1, version)
        stranger = is_of_other_history(store, start, versions, files)
        if not stranger or (number == files.earliest and versions):  # `advance_snapshot` says what does not fit
            return advance_snapshot(store, start, versions)
        logger.warning(
            "checkpoint %d of %s is of another table; an older state is used instead", number, store.location
        )
    first, *later = read_versions(store, files, 0, version)
    start = initial(str(store.location), [first])
    verify_references(store, start.metadata, [first])
    return advance_snapshot(store, start, later)


def advance_snapshot(store: Store, start: Snapshot, versions: Sequence[Version]) -> Snapshot:
    """A snapshot with later versions applied to it. Those that were committed to another table change nothing."""
    strays = [version.number for version in versions if not version.belongs_to(start.metadata.id)]
    if strays:
        logger.warning("versions %s of %s are of another table, and are passed over", strays, store.location)
    verify_order(store, start.checksum, versions, table_id=start.metadata.id)
    verify_references(store, start.metadata, versions)
    return start.advanced(versions)


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
