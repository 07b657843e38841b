"""The commit protocol: put-if-absent of the next version file; the loser of a race checks for conflicts with the winner."""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from indextables.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    CommitRetriesExhaustedError,
    ConflictError,
    CorruptLogError,
    IndexTablesError,
    LogError,
    NotDurableError,
    NotFoundError,
    StorageError,
    TableReplacedError,
    UncommittedSplitsLostError,
)
from indextables.events import log_event
from indextables.log.actions import CommitInfo
from indextables.log.clock import now
from indextables.log.confirm_put import confirm_put
from indextables.log.conflict import AlreadyDone, Conflict, Rebase, Replan, resolve
from indextables.log.log_files import UNLISTED, LogFiles, commit_key, list_log
from indextables.log.snapshot import Snapshot, initial
from indextables.log.table_identity import verify_table
from indextables.log.transaction import ROW_LEVEL, WITHOUT_INPUT, Transaction
from indextables.log.version_checksum import seal
from indextables.log.version_file import Version, parse_version, read_versions, verify_order
from indextables.release import __version__
from indextables.storage import Store

logger = logging.getLogger(__name__)
Plan = Callable[[Snapshot], Transaction]
"""Decides again, on a newer snapshot, what to commit."""

Check = Callable[[Transaction], object]
"""Raises an error where a transaction may not be committed any more."""

ENGINE = f"indextables/{__version__}"
_FIRST_WAIT = 0.01
_GROWTH = 1.5
_LONGEST_WAIT = 1.0
_LONG_AGO = 1.0  # seconds after a look at the log in which a table may have been deleted and made anew
_STALE = ROW_LEVEL | WITHOUT_INPUT  # operations that are planned again where a winner made them stale
_UNCLEAR_ANSWERS = 5  # each after all the retries of the store itself


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a commit: the snapshot after it, and whether a version was written.

    Nothing is written for a transaction that changes nothing, or whose work another commit of the same application did.
    """

    snapshot: Snapshot
    written: bool
    attempts: int

    @property
    def version(self) -> int:
        return self.snapshot.version


def commit(
    store: Store,
    transaction: Transaction,
    *,
    max_retries: int,
    log_retention: timedelta,
    replan: Plan | None = None,
    check: Check | None = None,
) -> Committed:
    """Makes the transaction the next version of the table, or raises a ConflictError and leaves the table as it is.

    Where the version that was read is older than the `log_retention`, or than an hour, the log may be cleaned up meanwhile.
    """
    store.verify_put_if_absent()
    reason: IndexTablesError | None = None
    doubt, looked, read = _Doubt(), time.monotonic(), transaction.snapshot
    caught_up = _against(store, transaction, _missed(store, transaction.snapshot), replan)
    if caught_up.transaction is None:
        return Committed(caught_up.snapshot_after(store), written=False, attempts=0)
    transaction = caught_up.transaction
    for attempt, pause in enumerate(_pauses(max_retries), 1):
        latest = transaction.snapshot
        if latest is not None and (latest.has_batch(transaction.txn) or not transaction.changes_anything):
            return Committed(latest, written=False, attempts=attempt)
        if check is not None:
            with doubt.prevails():
                check(transaction)
        mine, content = _as_version(transaction)
        reason = _put(store, mine.number, content)
        if reason is None:
            _confirm(store, transaction.snapshot, mine, log_retention, looked=looked)
            _log_version(store, transaction, mine, read=read, attempts=attempt)
            return Committed(_after(store, transaction, mine), written=True, attempts=attempt)
        doubt.add(reason)
        time.sleep(pause)  # before the look at what won, so that the next attempt follows the look at once
        looked = time.monotonic()
        with doubt.prevails():
            caught_up = _against(store, transaction, _winners(store, mine.number, transaction.snapshot), replan)
        if caught_up.transaction is None:
            if caught_up.is_mine:
                _confirm(store, transaction.snapshot, mine, log_retention, looked=looked)
                _log_version(store, transaction, mine, read=read, attempts=attempt)
            return Committed(caught_up.snapshot_after(store), written=caught_up.is_mine, attempts=attempt)
        transaction = caught_up.transaction
        if caught_up.winner is not None:
            reason = _exhausted(store, caught_up.winner, attempt)
            doubt.end()
    raise reason or AssertionError("there is at least one attempt")


def _log_version(
    store: Store, transaction: Transaction, mine: Version, *, read: Snapshot | None, attempts: int
) -> None:
    """Logs a version that was written, with the metrics of its history; `read` is the snapshot that was planned on."""
    facts = {
        "table": str(store.location),
        "version": mine.number,
        "operation": transaction.operation,
        "predicate": transaction.parameters.get("predicate"),
        "adds": len(transaction.adds),
        "removes": len(transaction.removes),
        "attempts": attempts,
        "rebased_over": mine.number - (0 if read is None else read.version + 1),
        "txn_id": transaction.txn_id,
    }
    log_event(logger, "Version committed", **{**facts, **transaction.metrics})


class _Doubt:
    """Whether an attempt may have succeeded, or may still do so: it had no answer, and its number may be free."""

    def __init__(self) -> None:
        self._error: StorageError | None = None
        self._unclear = 0

    def add(self, reason: StorageError) -> None:
        """Takes the reason why an attempt is not known to have succeeded; raises it where another attempt is of no use."""
        is_taken = isinstance(reason, AlreadyExistsError)
        self._unclear += not is_taken
        if isinstance(reason, AccessDeniedError | NotDurableError) or self._unclear > _UNCLEAR_ANSWERS:
            raise self._error or reason
        if not is_taken:
            self._error = reason

    def end(self) -> None:
        """The number of the attempt is taken by another version."""
        self._error = None

    @contextmanager
    def prevails(self) -> Iterator[None]:
        """An error in here does not say that the commit has failed: where that is in doubt, the doubt is raised."""
        try:
            yield
        except (AccessDeniedError, LogError, UncommittedSplitsLostError) as error:
            if self._error is None:
                raise
            raise self._error from error


def _confirm(
    store: Store, snapshot: Snapshot | None, mine: Version, log_retention: timedelta, *, looked: float
) -> None:
    """Raises an error where a version that was put is not one of the table that was read, as it was `looked` at before."""
    if time.monotonic() - looked > _LONG_AGO:
        _refuse_replaced(store, snapshot)
    confirm_put(store, snapshot, mine, log_retention=log_retention)


def _missed(store: Store, snapshot: Snapshot | None) -> list[Version]:
    """The versions after the one that was read, where its own file is no longer under its name.

    As long as it exists, the name of the next version shows whether there is one: log files expire oldest first. Where it
    does not, the log has been cleaned up (or has file names of another width), and the log is listed.
    """
    files = list_log(store) if snapshot is None else verify_table(store, snapshot)
    if files is None or (snapshot is None and (files.latest < 0 or 0 in files.commits)):
        return []
    read = -1 if snapshot is None else snapshot.version
    if not _has_all_after(files, read):
        raise _cleaned_up(store, files, read)
    try:
        return read_versions(store, files, read + 1, files.latest)
    except CorruptLogError as error:
        files = list_log(store)
        if _has_all_after(files, read):
            raise
        raise _cleaned_up(store, files, read) from error


def _has_all_after(files: LogFiles, read: int) -> bool:
    return files.latest >= read and files.commits.keys() >= set(range(read + 1, files.latest + 1))


def _cleaned_up(store: Store, files: LogFiles, read: int) -> ConflictError:
    return ConflictError(
        f"version {max(0, read)} of {store.location} is no longer in its log, which goes from version "
        f"{files.earliest} to {files.latest}; read the table again and retry",
        table=str(store.location),
        version=files.latest,
        operation="clean-up",
        reason="the version that was read has been cleaned up",
        paths=(),
    )


def _winners(store: Store, number: int, snapshot: Snapshot | None) -> Iterator[Version]:
    """The versions from a number on. They are of the table that was read: so is the one before them, if it is confirmed."""
    found = False
    for version in _versions_from(store, number):
        if snapshot is not None and not version.belongs_to(snapshot.metadata.id):
            verify_table(store, snapshot)
        found = True
        yield version
    if not found and snapshot is not None:
        verify_table(store, snapshot)


def _pauses(retries: int) -> Iterator[float]:
    """Exponential backoff with jitter: the pauses after failed attempts, in seconds."""
    for attempt in range(retries):
        yield random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * _GROWTH**attempt))  # noqa: S311 - no secret is made of it
    yield 0


def _as_version(transaction: Transaction) -> tuple[Version, bytes]:
    """The version that a transaction makes, and its file."""
    snapshot = transaction.snapshot
    read_version, last = (snapshot.version, snapshot.timestamp) if snapshot else (-1, -1)
    info = CommitInfo(
        timestamp=max(now(), last + 1),
        operation=transaction.operation,
        operation_parameters=transaction.parameters,
        operation_metrics=transaction.metrics,
        read_version=None if snapshot is None else read_version,
        txn_id=transaction.txn_id,
        table_id=_table_id(transaction),
        engine=ENGINE,
        version=read_version + 1,
        previous_checksum=None if snapshot is None else snapshot.checksum,
    )
    actions = transaction.actions
    sealed = seal(info, actions)
    return Version(read_version + 1, [sealed.info, *actions], info.timestamp or 0), sealed.content


def _table_id(transaction: Transaction) -> str | None:
    """The table that the commit is for: a put that comes too late to be refused is known by it."""
    metadata = transaction.metadata if transaction.snapshot is None else transaction.snapshot.metadata
    return None if metadata is None else metadata.id


def _put(store: Store, number: int, content: bytes) -> StorageError | None:
    """Puts a version file, or gives the reason why that is not known to have happened.

    A failure other than "already exists" may have come after the file was stored, so what is there then decides.
    """
    try:
        store.put_if_absent(commit_key(number), content)
    except StorageError as error:
        return error
    return None


def _refuse_replaced(store: Store, snapshot: Snapshot | None) -> None:
    """Raises a TableReplacedError where a version was put into the log of another table, where it has no effect.

    The version is committed otherwise, whatever happens here. It is never taken back: others may have built on it.
    """
    if snapshot is None:
        return
    try:
        verify_table(store, snapshot)
    except TableReplacedError as replaced:
        if replaced.found_id not in (None, replaced.table_id):
            raise
    except IndexTablesError as error:
        logger.info("%s is committed to, and could not be looked at again: %s", store.location, error)


def _versions_from(store: Store, number: int) -> Iterator[Version]:
    while True:
        try:
            content = store.read(commit_key(number))
        except NotFoundError:
            return
        yield parse_version(store, number, content, files=UNLISTED)
        number += 1


def _after(store: Store, transaction: Transaction, version: Version) -> Snapshot:
    if transaction.snapshot is None:
        return initial(str(store.location), [version])
    return transaction.snapshot.advanced([version])


@dataclass(frozen=True, slots=True)
class _CaughtUp:
    """A transaction after some winners: `transaction` is what to try next, None where its work is done.

    `before` is the transaction before the last `winner`, which is the transaction itself if `is_mine`.
    """

    transaction: Transaction | None
    before: Transaction
    winner: Version | None = None
    is_mine: bool = False

    def snapshot_after(self, store: Store) -> Snapshot:
        if self.winner is None:
            raise AssertionError("nothing has been committed")
        return _after(store, self.before, self.winner)


def _against(store: Store, transaction: Transaction, winners: Iterable[Version], replan: Plan | None) -> _CaughtUp:
    """The transaction after all winners. A change without input is planned again once, on the newest state.

    Planned again after each of them, it would never catch up with a writer that commits faster than it is planned.
    """
    winner, stale = None, False
    for winner in winners:
        if transaction.snapshot is not None:
            before = transaction.snapshot
            verify_order(store, before.checksum, [winner], table_id=before.metadata.id)
        if winner.info.txn_id == transaction.txn_id:
            return _CaughtUp(None, transaction, winner, is_mine=True)
        match resolution := resolve(transaction, winner):
            case Rebase():
                transaction = resolution.transaction
            case AlreadyDone():
                return _CaughtUp(None, transaction, winner)
            case Replan() if replan is not None and transaction.operation in _STALE:
                transaction, stale = replace(transaction, snapshot=_after(store, transaction, winner)), True
            case Replan() if replan is not None:
                transaction = replan(_after(store, transaction, winner))
            case Replan() | Conflict():
                raise _conflict(store, winner, resolution)
            case _:
                assert_never(resolution)
    if stale and replan is not None and transaction.snapshot is not None:
        transaction = replan(transaction.snapshot)
    return _CaughtUp(transaction, transaction, winner)


def _conflict(store: Store, winner: Version, found: Replan | Conflict) -> ConflictError:
    paths = found.paths if isinstance(found, Conflict) else ()
    return ConflictError(
        f"version {winner.number} of {store.location} was taken by {winner.info.operation}: {found.reason}"
        f"{f' ({len(paths)} splits, {paths[0]} among them)' if paths else ''}; read the table again and retry",
        table=str(store.location),
        version=winner.number,
        operation=winner.info.operation,
        reason=found.reason,
        paths=paths,
    )


def _exhausted(store: Store, winner: Version, attempts: int) -> ConflictError:
    return CommitRetriesExhaustedError(
        f"{attempts} attempts to commit to {store.location} were each beaten by another writer, the last one by "
        f"{winner.info.operation} (version {winner.number}); retry, or raise spark.indextables.commit.maxRetries",
        table=str(store.location),
        version=winner.number,
        operation=winner.info.operation,
        reason="too many concurrent writers",
        paths=(),
        attempts=attempts,
    )
