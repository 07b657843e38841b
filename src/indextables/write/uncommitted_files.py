"""Clean-up: the files of a commit that failed, and the files of a job that no version of the table refers to."""

from collections.abc import Iterable

from indextables.errors import AccessDeniedError, ConflictError, LogError, TableNotFoundError, UnsafeStoreError
from indextables.log import Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.log.commit import Committed, Plan
from indextables.log.ownership import files_of_table, is_split_of_job

_NOT_COMMITTED = (ConflictError, AccessDeniedError, LogError, TableNotFoundError, UnsafeStoreError)


def commit_or_discard(log: TransactionLog, transaction: Transaction, *, replan: Plan | None = None) -> Committed:
    """Commits a transaction; deletes the files that it would have added where they are not committed.

    That is so where the commit is known to have failed, was not needed, or was planned again with other files. Where the
    outcome is not known (the store stopped answering, the process is being stopped), the files stay: the table may refer
    to them.
    """
    latest = transaction

    def again(snapshot: Snapshot, plan: Plan) -> Transaction:
        nonlocal latest
        try:
            planned = plan(snapshot)
        except BaseException:
            discard(log, latest.adds)
            raise
        reused = {add.path for add in planned.adds}
        discard(log, (add for add in latest.adds if add.path not in reused))
        latest = planned
        return latest

    try:
        done = log.commit(transaction, replan=replan and (lambda snapshot: again(snapshot, replan)))
    except _NOT_COMMITTED:
        discard(log, latest.adds)
        raise
    if not done.written:
        discard(log, latest.adds)
    return done


def discard(log: TransactionLog, adds: Iterable[Add]) -> None:
    """Deletes splits that were written, but not committed; a failure to do so is not raised."""
    log.store.discard(add.path for add in adds)


def sweep(job: str, log: TransactionLog) -> list[str]:
    """Deletes every file whose name has the id of a job and that no version of the table refers to; gives their names."""
    committed = _committed(log)
    written = (entry.key for entry in files_of_table(log.store) if is_split_of_job(entry.key, job))
    uncommitted = [key for key in written if key not in committed]
    log.store.delete(uncommitted)
    return uncommitted


def _committed(log: TransactionLog) -> set[str]:
    """Every path that is in the table, or was and may still be needed by older versions."""
    try:
        snapshot = log.snapshot()
    except TableNotFoundError:
        return set()
    return {*snapshot.splits["path"].to_pylist(), *snapshot.tombstones["path"].to_pylist()}
