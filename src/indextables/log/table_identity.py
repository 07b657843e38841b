"""Checks that the log at a path still belongs to the table that was read.

A table may be deleted and another one created at the same path, or an older state of it restored. A commit based on the old
snapshot would then add rows to the wrong table.

No store makes a put depend on another file. A writer of a deleted table may so put one version or one checkpoint into the
log of a new table, if that was made between its last look and the put. The id of the table in the file shows it.
"""

import logging
from collections.abc import Collection, Iterator, Sequence

from indextables.errors import CorruptLogError, IndexTablesError, NotFoundError, TableNotFoundError, TableReplacedError
from indextables.log.actions import CommitInfo
from indextables.log.checkpoint import read_checkpoint
from indextables.log.log_files import LogFiles, list_log
from indextables.log.snapshot import Snapshot
from indextables.log.version_file import Version, read_info
from indextables.storage import Store

logger = logging.getLogger(__name__)
_MOST_READ = 200


def verify_table(store: Store, snapshot: Snapshot) -> LogFiles | None:
    """Raises a TableReplacedError unless the version that was read is still in the log, or was cleaned up there.

    That takes one small request. Gives what a listing shows where the version's file is no longer under its name.
    """
    try:
        info = read_info(store, snapshot.version)
    except NotFoundError:
        files = without_strays(store, list_log(store))
        _confirm_by_listing(store, snapshot, files)
        return files
    _refuse_other_commit(store, snapshot, info)
    return None


def verify_log(store: Store, snapshot: Snapshot) -> None:
    """As `verify_table`, and by the first version of the log too: the version that was read may have been put too late."""
    verify_table(store, snapshot)
    refuse_other_table(str(store.location), snapshot.metadata.id, _table_of_first_version(store))


def _table_of_first_version(store: Store) -> str | None:
    """The id of the table that the first version is for, None where it is not known. The log is listed if it has expired."""
    try:
        return read_info(store, 0).table_id
    except NotFoundError:
        files = without_strays(store, list_log(store))
        first = min((number for number in files.commits if number >= files.earliest), default=None)
        return None if first is None else read_info(store, first, files.commits[first]).table_id


def refuse_other_table(table: str, expected: str, found: str | None) -> None:
    """Raises a TableReplacedError where the id that was found is another one than expected; None is unknown."""
    if found not in (None, expected):
        raise TableReplacedError(
            f"the table at {table} was replaced by another one after it was opened (its id was {expected}, and is {found} "
            "now); open it again",
            table=table,
            table_id=expected,
            found_id=found,
        )


def _confirm_by_listing(store: Store, snapshot: Snapshot, files: LogFiles) -> None:
    table, expected = str(store.location), snapshot.metadata.id
    if files.latest < 0:
        raise TableNotFoundError(f"the table at {table} was deleted after it was opened", table=table)
    if snapshot.version in files.commits:  # under a name of another width
        info = read_info(store, snapshot.version, files.commits[snapshot.version])
        _refuse_other_commit(store, snapshot, info)
    elif files.latest in files.commits:
        refuse_other_table(table, expected, read_info(store, files.latest, files.commits[files.latest]).table_id)
    else:
        newest = read_checkpoint(store, files.checkpoints[files.latest].key, files.latest)
        refuse_other_table(table, expected, newest.metadata.id)


def _refuse_other_commit(store: Store, snapshot: Snapshot, info: CommitInfo) -> None:
    """The version that is there must be the one that was read, not another one of the same number."""
    if info.txn_id is not None and info.txn_id == snapshot.txn_id:
        return
    table, expected = str(store.location), snapshot.metadata.id
    refuse_other_table(table, expected, info.table_id)
    if None not in (info.txn_id, snapshot.txn_id):
        raise TableReplacedError(
            f"the table at {table} was replaced by another one, or an older state of it restored, after it was opened: "
            f"version {snapshot.version} is not the one that was read; open it again",
            table=table,
            table_id=expected,
            found_id=info.table_id,
        )


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


def stray_versions(store: Store, files: LogFiles, table_id: str) -> list[int]:
    """The versions of other tables in a log, also those before a checkpoint, which readers do not open.

    The first line of each version file is read: those of the oldest one, and of the newest ones of a long log.
    """
    numbers = sorted(files.commits)
    read = numbers if len(numbers) <= _MOST_READ else [numbers[0], *numbers[1 - _MOST_READ :]]
    owners = store.in_parallel(lambda number: _table_of_version(store, files, number), read)
    return [number for number, owner in zip(read, owners, strict=True) if owner not in (None, table_id)]


def owner_of(store: Store, files: LogFiles) -> str | None:
    """The id of the table that a log is of, where its first and its newest version are of two: that of a checkpoint.

    None where they agree, or where no checkpoint can tell.
    """
    ends = {_table_of_version(store, files, number) for number in (min(files.commits, default=-1), files.latest)}
    if len(ends) == 1 or None in ends:
        return None
    for number in sorted(files.checkpoints, reverse=True):
        try:
            checkpoint = read_checkpoint(store, files.checkpoints[number].key, number)
        except IndexTablesError:  # the check of the log says so
            continue
        if not is_of_other_table(store, checkpoint, files):
            return checkpoint.metadata.id
    return None


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
