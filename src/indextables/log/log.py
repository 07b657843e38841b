"""The transaction log of one table."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

import pyarrow as pa

from indextables.config import Config
from indextables.errors import (
    CorruptLogError,
    NotFoundError,
    TableNotFoundError,
    TableReplacedError,
    VersionNotFoundError,
)
from indextables.events import log_event
from indextables.log.actions import refuse_newer_reader, refuse_newer_writer
from indextables.log.checkpoint import read_checkpoint, write_checkpoint
from indextables.log.cleanup import CleanUpSchedule, expired_files, state_at, store_now, store_now_or_local
from indextables.log.clock import now, utc_now
from indextables.log.commit import Check, Committed, Plan, commit
from indextables.log.history import CommitRecord, history_table, read_commit_records
from indextables.log.log_files import LogFiles, commit_key, list_log
from indextables.log.snapshot import Snapshot
from indextables.log.snapshot_builder import (
    advance_snapshot,
    build_snapshot,
    commit_times,
    first_version_since,
    version_at,
)
from indextables.log.table_identity import (
    is_of_other_table,
    refuse_other_table,
    verify_log,
    verify_table,
    without_strays,
)
from indextables.log.transaction import Transaction
from indextables.log.version_file import Version, read_versions, refuse_gap
from indextables.storage import Entry, Store, open_store

logger = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    version: int
    num_splits: int
    size_in_bytes: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """A snapshot, and the file of its version."""

    entry: Entry
    snapshot: Snapshot

    def is_in(self, files: LogFiles) -> bool:
        """Whether a listing still has the file; not after the table has been deleted and created anew."""
        return files.commits.get(self.snapshot.version) == self.entry


class TransactionLog:
    """The transaction log of a table: its snapshots and their history.

    It caches the last snapshot and reads only newer versions. It is thread-safe.

    With a `table_id`, reading the log of another table that was created at the same path raises a
    TableReplacedError. Without, any table at the path is read.
    """

    def __init__(self, store: Store, config: Config | None = None, *, table_id: str | None = None) -> None:
        self.store = store
        self.config = config or Config()
        self.table_id = table_id
        self._seen: _Seen | None = None
        self._schedule = CleanUpSchedule()

    @classmethod
    def open(cls, uri: str | Path, config: Config | None = None) -> Self:
        """The log at a place; whether there is a table is found out when it is read."""
        return cls(open_store(uri, config), config)

    def configured(self, config: Config) -> "TransactionLog":
        """The same log under other settings; what has been read of it is kept."""
        log = TransactionLog(self.store.configured(config), config, table_id=self.table_id)
        log._seen, log._schedule = self._seen, self._schedule
        return log

    def for_table(self, table_id: str | None) -> "TransactionLog":
        """The same log, as that of the table with this id; what has been read of it is kept."""
        log = TransactionLog(self.store, self.config, table_id=table_id)
        log._seen, log._schedule = self._seen, self._schedule
        return log

    @property
    def table(self) -> str:
        return str(self.store.location)

    def exists(self) -> bool:
        return list_log(self.store).latest >= 0

    def snapshot(self, version: int | None = None, *, timestamp: datetime | None = None) -> Snapshot:
        """The current snapshot, or that of a version or a timestamp (time travel)."""
        seen = self._seen  # before the log is listed: other threads may read newer versions meanwhile
        if version is None and timestamp is None and (newer := self._newer_files(seen)) is not None:
            with suppress(CorruptLogError, NotFoundError):  # found again in all files, or explained by them
                return self._latest(newer, seen)
        return self._of_files(lambda files: self._snapshot_in(files, seen, version, timestamp))

    def version_at(self, limit: datetime) -> int | None:
        """The version that was current at a time, by the clock that makes it the older one; None where all are younger.

        Commit timestamps come from the clocks of writers, the times of their files from that of the store.
        """
        version = self._of_files(lambda files: state_at(files, commit_times(self.store, files), limit))
        return None if version < 0 else version

    def first_version_since(self, timestamp: datetime) -> int:
        """The first version that was committed at a time or later; the next one to come where all are older."""
        return self._of_files(lambda files: first_version_since(self.store, files, timestamp))

    def versions(self, first: int, last: int) -> list[Version]:
        """The actions of versions `first` to `last`; a VersionNotFoundError names one that a clean-up has deleted.

        What was committed to another table that was in the same place is left out.
        """
        if first > last:
            return []
        files = list_log(self.store, since=first)
        if any(number not in files.commits for number in range(first, last + 1)):
            files = self._files()
        self._refuse_cleaned_up(files, first)
        try:
            found = read_versions(self.store, files, first, last)
        except CorruptLogError:
            self._refuse_cleaned_up(self._files(), first)
            raise
        return [version for version in found if self.table_id is None or version.belongs_to(self.table_id)]

    def history(self) -> pa.Table:
        """Every version that the log still describes, the newest first."""
        return history_table(self._of_files(self._whole_history))

    def commit(self, transaction: Transaction, *, replan: Plan | None = None, check: Check | None = None) -> Committed:
        """Makes the transaction the next version; see `indextables.log.conflict` for what happens when others commit too.

        `check` may raise an error immediately before each attempt.

        A checkpoint that is due is written afterwards. If that fails, the commit stands and the failure is logged.
        """
        if transaction.snapshot is not None:
            snapshot = transaction.snapshot
            refuse_newer_writer(snapshot.protocol, table=self.table, version=snapshot.version)
        done = commit(
            self.store,
            transaction,
            max_retries=self.config.write.commit_max_retries,
            log_retention=self.config.maintenance.log_retention,
            replan=replan,
            check=check,
        )
        if done.written and done.version > 0 and done.version % self.config.maintenance.checkpoint_interval == 0:
            self._maintain(done.snapshot)
        return done

    def verify_table(self, snapshot: Snapshot) -> None:
        """Raises a TableReplacedError where the version that was read is not in the log any more, but another one is."""
        verify_table(self.store, snapshot)

    def checkpoint(self, snapshot: Snapshot | None = None) -> CheckpointResult:
        """Writes a checkpoint of the newest version, or of the given snapshot."""
        snapshot = snapshot or self.snapshot()
        verify_log(self.store, snapshot)
        retention = self.config.maintenance.tombstone_retention // timedelta(milliseconds=1)
        forgotten = min(now(), snapshot.timestamp) - retention  # whichever clock is behind
        size = write_checkpoint(
            self.store, snapshot, tombstones_after=forgotten, verify=lambda: verify_log(self.store, snapshot)
        )
        splits = len(snapshot.splits)
        log_event(
            logger, "Checkpoint written", table=self.table, version=snapshot.version, splits=splits, size_in_bytes=size
        )
        return CheckpointResult(snapshot.version, splits, size)

    def clean_up(
        self,
        *,
        retention: timedelta | None = None,
        dry_run: bool = False,
        store_time: datetime | None = None,
        checkpoint: Snapshot | None = None,
    ) -> list[str]:
        """Deletes log files that no version younger than `retention` needs; gives their names.

        Where the time by the store's clock is not given, the store is asked for it if anything may have expired. A
        `checkpoint` of the current snapshot is written first, if one is given: older files are needed without one.
        """
        retention = self.config.maintenance.log_retention if retention is None else retention
        if checkpoint is not None and not dry_run:
            self.checkpoint(checkpoint)
        planned = None if checkpoint is None else checkpoint.version
        files, expired = self._of_files(
            lambda files: (files, self._expired(files, retention, store_time, dry_run=dry_run, planned=planned))
        )
        self._schedule.looked(files, now=utc_now(), retention=retention)
        if not dry_run:
            by_key = {entry.key: entry for entry in files.entries}
            self.store.delete_unchanged(by_key[key] for key in expired)
            if expired:
                log_event(logger, "Log cleaned up", table=self.table, deleted_files=len(expired), retention=retention)
        return expired

    def _expired(
        self,
        files: LogFiles,
        retention: timedelta,
        store_time: datetime | None,
        *,
        dry_run: bool,
        planned: int | None = None,
    ) -> list[str]:
        """The files that have expired; in a dry run, as if there was a `planned` checkpoint."""
        if dry_run and planned in files.commits and planned not in files.checkpoints:
            files = replace(files, checkpoints={**files.checkpoints, planned: files.commits[planned]})
            return expired_files(
                files,
                self._commit_records(files),
                now=store_time or self.store_now(dry_run=True),
                retention=retention,
                is_sound=lambda number: number == planned or self._is_sound(files, number),
            )
        latest = store_time or max(utc_now(), *(entry.modified for entry in files.entries))
        old_enough = any(entry.modified <= latest - retention for entry in files.commits.values())
        commit_records = self._commit_records(files) if old_enough else []
        if not expired_files(files, commit_records, now=latest, retention=retention):
            return []
        return expired_files(
            files,
            commit_records,
            now=store_time or self.store_now(dry_run=dry_run),
            retention=retention,
            is_sound=lambda number: self._is_sound(files, number),
        )

    def store_now(self, *, dry_run: bool = False) -> datetime:
        """The time by the store's clock; in a dry run, which may lack the right to write, else by this machine's."""
        return store_now_or_local(self.store) if dry_run else store_now(self.store)

    def _is_sound(self, files: LogFiles, checkpoint: int) -> bool:
        """Whether the table can be built from a checkpoint, so that older files are not needed."""
        try:
            snapshot = read_checkpoint(self.store, files.checkpoints[checkpoint].key, checkpoint)
        except CorruptLogError as damage:
            logger.warning("%s; older files of the log are kept", damage)
            return False
        except NotFoundError:  # another process cleans up, or the table is gone
            return False
        return not is_of_other_table(self.store, snapshot, files)

    def _files(self) -> LogFiles:
        files = without_strays(self.store, list_log(self.store))
        if files.latest < 0:
            raise TableNotFoundError(
                f"there is no table at {self.table}: it has no _transaction_log with a version; check the path, "
                "or write a table there first",
                table=self.table,
            )
        return files

    def _of_files(self, made_of: Callable[[LogFiles], T]) -> T:
        """What is made of the files of the log.

        A clean-up may delete some of them between the listing and the read. Then it is made again of those that are left.
        """
        files = self._files()
        while True:
            try:
                return made_of(files)
            except (CorruptLogError, NotFoundError):
                left = self._files()
                if files.keys <= left.keys:
                    raise
                files = left

    def _snapshot_in(
        self, files: LogFiles, seen: _Seen | None, version: int | None, timestamp: datetime | None
    ) -> Snapshot:
        if timestamp is not None:
            version = version_at(self.store, files, timestamp)
        if version is None or version == files.latest:
            return self._latest(files, seen)
        self._refuse_unreadable(files, seen, version)
        return self._readable(build_snapshot(self.store, files, version))

    def _newer_files(self, seen: _Seen | None) -> LogFiles | None:
        """The files from the version on that was read last, so that a refresh costs the same whatever the age of the table.

        None where the others are needed: the log was not read yet, or it is not what it was, or a checkpoint is quicker.
        """
        if seen is None or seen.entry.key != commit_key(seen.snapshot.version):
            return None
        files = list_log(self.store, since=seen.snapshot.version)
        return files if seen.is_in(files) and not self._is_far_behind(seen.snapshot, files) else None

    def _is_far_behind(self, seen: Snapshot, files: LogFiles) -> bool:
        return max(files.checkpoints, default=-1) > seen.version + self.config.maintenance.checkpoint_interval

    def _whole_history(self, files: LogFiles) -> list[CommitRecord]:
        records = self._commit_records(files)
        refuse_gap(self.store, files, [record.version for record in records if record.version >= files.earliest])
        return records

    def _commit_records(self, files: LogFiles) -> list[CommitRecord]:
        commit_records = read_commit_records(self.store, files)
        first = next((record.info.table_id for record in commit_records if record.version >= files.earliest), None)
        if self.table_id is not None:
            refuse_other_table(self.table, self.table_id, first)  # later ones may be strays
        return commit_records

    def _latest(self, files: LogFiles, seen: _Seen | None) -> Snapshot:
        """The newest snapshot of a listing that was made after `seen`."""
        self._refuse_vanished(files, seen)
        if seen is None or not seen.is_in(files) or self._is_far_behind(seen.snapshot, files):
            snapshot = build_snapshot(self.store, files, files.latest)
        else:
            newer = read_versions(self.store, files, seen.snapshot.version + 1, files.latest)
            snapshot = advance_snapshot(self.store, seen.snapshot, newer)
        if snapshot.version in files.commits:
            self._seen = _Seen(files.commits[snapshot.version], snapshot)
        return self._readable(snapshot)

    def _refuse_vanished(self, files: LogFiles, seen: _Seen | None) -> None:
        """Raises a TableReplacedError, once, where the newest version that was read is gone and no newer one is there."""
        if seen is None or files.latest >= seen.snapshot.version:
            return
        before, self._seen = seen.snapshot, None
        if build_snapshot(self.store, files, files.latest).metadata.id == before.metadata.id:
            raise TableReplacedError(
                f"version {before.version} of {self.table}, which was read before, is gone, and the newest one is version "
                f"{files.latest}: its file was deleted, or an older state restored; restore the file, or open the table "
                "again to go on with the older state",
                table=self.table,
                table_id=before.metadata.id,
                found_id=before.metadata.id,
            )

    def _refuse_cleaned_up(self, files: LogFiles, version: int) -> None:
        """Raises a VersionNotFoundError where the file of a version is gone, and those of all older ones are too."""
        oldest = min(files.commits, default=files.latest + 1)
        if version < oldest:
            raise VersionNotFoundError(
                f"the log of {self.table} no longer says what version {version} added: a clean-up of the log deleted its "
                f"file, and the oldest that is left is version {oldest}; log.retention decides how long they are kept",
                table=self.table,
                version=version,
                earliest=oldest,
                latest=files.latest,
            )

    def _refuse_unreadable(self, files: LogFiles, seen: _Seen | None, version: int) -> None:
        if files.earliest <= version <= files.latest:
            return
        if self.table_id is not None:
            self._latest(files, seen)  # a version that another table has not is no news of this one
        gone = 0 <= version < files.earliest
        raise VersionNotFoundError(
            f"version {version} of {self.table} {'is no longer there' if gone else 'does not exist'}; "
            f"versions {files.earliest} to {files.latest} can be read",
            table=self.table,
            version=version,
            earliest=files.earliest,
            latest=files.latest,
        )

    def _readable(self, snapshot: Snapshot) -> Snapshot:
        if self.table_id is not None:
            refuse_other_table(self.table, self.table_id, snapshot.metadata.id)
        refuse_newer_reader(snapshot.protocol, table=self.table, version=snapshot.version)
        return snapshot

    def _maintain(self, snapshot: Snapshot) -> None:
        try:
            self.checkpoint(snapshot)
            if self._schedule.is_due(utc_now()):
                self.clean_up()
        except Exception as error:
            if isinstance(error, TableReplacedError) and error.found_id not in (None, error.table_id):
                raise  # the version went into the log of another table, where it has no effect
            committed = (snapshot.version, self.table)
            logger.warning("version %d of %s is committed, but its checkpoint is not", *committed, exc_info=True)
