"""Checks that the log at a path still belongs to the table that was read.

A table may be deleted and another one created at the same path, or an older state of it restored. A commit based on the old
snapshot would then add rows to the wrong table.
"""

from indextables.errors import NotFoundError, TableNotFoundError, TableReplacedError
from indextables.log.actions import CommitInfo
from indextables.log.checkpoint import read_checkpoint
from indextables.log.log_files import LogFiles, list_log
from indextables.log.snapshot import Snapshot
from indextables.log.stray_files import without_strays
from indextables.log.version_file import read_info
from indextables.storage import Store


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
