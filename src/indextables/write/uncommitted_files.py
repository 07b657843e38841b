"""Files before they are committed: checked that they are there, and deleted where their commit failed."""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from indextables.errors import (
    AccessDeniedError,
    ConflictError,
    IndexTablesError,
    LogError,
    TableNotFoundError,
    UncommittedSplitsLostError,
    UnsafeStoreError,
)
from indextables.log import Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.log.clock import now
from indextables.log.commit import Committed, Plan
from indextables.log.ownership import files_of_table, is_split_of_job

logger = logging.getLogger(__name__)

NOT_COMMITTED = (
    ConflictError,
    AccessDeniedError,
    LogError,
    TableNotFoundError,
    UncommittedSplitsLostError,
    UnsafeStoreError,
)
"""The errors of a commit that is known to have failed."""
_CHECKED_AFTER = timedelta(hours=1)


def commit_or_discard(log: TransactionLog, transaction: Transaction, *, replan: Plan | None = None) -> Committed:
    """Commits a transaction; deletes the files that it would have added where they are not committed.

    That is so where the commit is known to have failed, was not needed, or was planned again with other files. Where the
    outcome is not known (the store stopped answering, the process is being stopped), the files stay: the table may refer
    to them. Before each attempt, splits that are not new any more are looked up; see `refuse_lost`.
    """
    latest = transaction

    def again(snapshot: Snapshot, plan: Plan) -> Transaction:
        nonlocal latest
        try:
            planned = plan(snapshot)
        except BaseException:
            log.store.discard(latest.new_files)
            raise
        reused = set(planned.new_files)
        log.store.discard(key for key in latest.new_files if key not in reused)
        latest = planned
        return latest

    try:
        done = log.commit(
            transaction,
            replan=replan and (lambda snapshot: again(snapshot, replan)),
            check=lambda attempt: refuse_lost(log, attempt.adds),
        )
    except NOT_COMMITTED:
        log.store.discard(latest.new_files)
        raise
    if not done.written:
        log.store.discard(latest.new_files)
    return done


def refuse_lost(log: TransactionLog, adds: Sequence[Add]) -> None:
    """Raises an UncommittedSplitsLostError where splits are gone: a vacuum takes those of a slow writer for leftovers.

    Only splits are looked up that may be so old, by the clock of the machine that wrote them: an hour, or half of
    `purge.minRetention`. That is safe as long as clocks differ by less than the other half.
    """
    limit = min(_CHECKED_AFTER, log.config.maintenance.purge_min_retention / 2) // timedelta(milliseconds=1)
    time = now()
    missing = log.store.missing([add.path for add in adds if abs(time - add.modification_time) > limit])
    if missing:
        raise UncommittedSplitsLostError(
            f"{len(missing)} of {len(adds)} splits that were written to {log.table} are not there any more, {missing[0]} "
            "among them, so they are not committed: probably a vacuum (PURGE) with a shorter retention than this write "
            "took has deleted them; write again, and purge with a longer retention",
            path=log.store.name_of(missing[0]),
            table=log.table,
            paths=missing,
        )


def discard(log: TransactionLog, adds: Iterable[Add]) -> None:
    """Deletes splits that were written, but not committed; a failure to do so is not raised."""
    log.store.discard(add.path for add in adds)


def sweep(job: str, log: TransactionLog, *, keep: Collection[str] = ()) -> list[str]:
    """Deletes every file whose name has the id of a job and that no version of the table refers to; gives their names.

    Files to `keep` are those of a commit of which it is not known whether it has happened.
    """
    committed = {*_committed(log), *keep}
    written = (entry.key for entry in files_of_table(log.store) if is_split_of_job(entry.key, job))
    uncommitted = [key for key in written if key not in committed]
    log.store.delete(uncommitted)
    return uncommitted


def sweep_after_commit(job: str, log: TransactionLog) -> None:
    """Deletes what other attempts of tasks have left. The commit has happened: a failure is logged, and a vacuum does it."""
    try:
        sweep(job, log)
    except IndexTablesError:
        logger.warning(
            "%s is written, but files of lost tasks may be left; a vacuum deletes them", log.table, exc_info=True
        )


def _committed(log: TransactionLog) -> set[str]:
    """Every path that is in the table, or was and may still be needed by older versions."""
    try:
        snapshot = log.snapshot()
    except TableNotFoundError:
        return set()
    return {*snapshot.splits["path"].to_pylist(), *snapshot.tombstones["path"].to_pylist()}
