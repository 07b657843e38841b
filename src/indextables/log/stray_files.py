"""Log files of a table that was deleted, in the log of the one that took its place.

No store makes a put depend on another file. A writer of a deleted table may so put one version or one checkpoint into the
log of a new table, if that was made between its last look and the put. The id of the table in the file shows it.
"""

import logging
from collections.abc import Collection, Iterator, Sequence

from indextables.errors import CorruptLogError, IndexTablesError
from indextables.log.checkpoint import read_checkpoint
from indextables.log.log_files import LogFiles
from indextables.log.snapshot import Snapshot
from indextables.log.version_file import Version, read_info
from indextables.storage import Store

logger = logging.getLogger(__name__)


def without_strays(store: Store, files: LogFiles) -> LogFiles:
    """The listing without versions and checkpoints of another table that lie beyond a gap in the log.

    There is a gap only where something is wrong; otherwise nothing is read. Strays without a gap are recognized when they
    are read: see `is_of_other_table`, and `Version.belongs_to`.
    """
    founded = _founded_run(files)
    if founded is None:
        return files
    beyond = {number for number in (*files.commits, *files.checkpoints) if not _touches(number, founded)}
    own = _table_of_version(store, files, founded[-1]) if beyond else None
    strays = {number for number in beyond if own and _table_of_version(store, files, number) not in (None, own)}
    if not strays:
        return files
    logger.warning("versions %s of %s are of another table, and are passed over", sorted(strays), store.location)
    return LogFiles(
        {number: entry for number, entry in files.commits.items() if number not in strays},
        {number: entry for number, entry in files.checkpoints.items() if number not in strays},
        files.others,
    )


def is_of_other_history(store: Store, checkpoint: Snapshot, versions: Sequence[Version], files: LogFiles) -> bool:
    """Whether a checkpoint is not the state before some versions: it is of another table, or of another copy of this one."""
    if versions and all(version.belongs_to(checkpoint.metadata.id) for version in versions):
        before = versions[0].info.previous_checksum
        return None not in (before, checkpoint.checksum) and before != checkpoint.checksum
    return is_of_other_table(store, checkpoint, files)


def is_of_other_table(store: Store, checkpoint: Snapshot, files: LogFiles) -> bool:
    """Whether a checkpoint is of another table, or another state of it, than the versions around it; unknown means no."""
    version = checkpoint.version
    beside = next((number for number in (version, version + 1) if number in files.commits), None)
    if beside is None:
        return False
    try:
        info = read_info(store, beside, files.commits[beside])
    except CorruptLogError:  # the checkpoint has all that was in it
        return False
    if beside == version and None not in (info.txn_id, checkpoint.txn_id) and info.txn_id != checkpoint.txn_id:
        return True
    return info.table_id not in (None, checkpoint.metadata.id)


def _founded_run(files: LogFiles) -> range | None:
    """The versions without a gap from which the table can be built: from version 0, or else from a checkpoint."""
    runs = list(_runs(files.commits))
    founded = (run for run in runs if any(_touches(number, run) for number in files.checkpoints))
    return next((run for run in runs if 0 in run), next(founded, None))


def _runs(commits: Collection[int]) -> Iterator[range]:
    starts = sorted(number for number in commits if number - 1 not in commits)
    ends = sorted(number for number in commits if number + 1 not in commits)
    return (range(start, end + 1) for start, end in zip(starts, ends, strict=True))


def _touches(number: int, run: range) -> bool:
    """Whether a version, or the checkpoint of a version, is in a run or right before it."""
    return run.start - 1 <= number < run.stop


def _table_of_version(store: Store, files: LogFiles, number: int) -> str | None:
    """The id of the table that a version or its checkpoint is of; None where that is not known."""
    try:
        if number in files.commits:
            return read_info(store, number, files.commits[number]).table_id
        return read_checkpoint(store, files.checkpoints[number].key, number).metadata.id
    except IndexTablesError:  # whoever needs it will say so
        return None
