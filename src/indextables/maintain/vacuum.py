"""Vacuum (PURGE): deletes files that no version within the retention needs.

A table's directory holds the splits of the current version, of older versions, of running writers, and leftovers of failed
ones. Files that a version within the retention needs are kept, whatever their age; others are deleted once older than the
retention, because a writer's files are in no version until it commits. Files that are not the table's own stay, even if the
log says that it has removed them: those of other tables below its root, those that no writer of this table can have made,
and symbolic links. So a damaged log, or one that somebody has tampered with, costs no file of anybody else.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import ConfigError, CorruptLogError
from indextables.events import log_event
from indextables.log import Snapshot, TransactionLog
from indextables.log.clock import epoch_millis
from indextables.log.log_files import list_log
from indextables.log.ownership import Ownership, files_of_table, is_temporary, is_vectors
from indextables.log.splits import vector_files
from indextables.log.version_file import read_versions
from indextables.plural import agreeing, pluralize
from indextables.storage import Entry, Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """The files that were deleted, or in a dry run would be.

    `past` are splits of older versions, `vectors` files of deletion vectors, `orphans` splits of no version, `temporary`
    what killed writers left; `log_files` are old versions and checkpoints that clean-up took out of the log.
    """

    version: int
    before: datetime
    dry_run: bool
    files: int
    bytes: int
    past: int
    vectors: int
    orphans: int
    temporary: int
    log_files: int
    paths: tuple[str, ...]

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else f"{agreeing(self.files, 'was', 'were')} deleted"
        return (
            f"{pluralize(self.files, 'file')} with {pluralize(self.bytes, 'byte')} {verb}: "
            f"{pluralize(self.past, 'split')} of the past, {self.orphans:,} of no version, "
            f"{self.vectors:,} with deletion vectors, {self.temporary:,} temporary; and "
            f"{pluralize(self.log_files, 'file')} of the log"
        )

    _repr_html_ = text_output


def purge(
    log: TransactionLog,
    config: Config,
    *,
    older_than: timedelta | None = None,
    log_retention: timedelta | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> PurgeResult:
    """Deletes what has not been needed for `older_than`, at least `purge.minRetention` unless forced.

    With a `log_retention`, log files older than it go as well, whatever `log.retention` says, after a checkpoint.
    """
    least = config.maintenance.purge_min_retention
    retention = least if older_than is None else older_than
    _refuse_short(retention, least, force=force)
    _refuse_short_log(log_retention, least, force=force)
    entries = files_of_table(log.store)
    snapshot = log.snapshot()  # after the listing: what is committed in between is in no danger
    now = log.store_now(dry_run=dry_run)
    before = now - retention
    needed, past = _needed(log, snapshot, before), set(snapshot.tombstones["path"].to_pylist())
    _refuse_missing(snapshot, entries, log.store, before)
    own = Ownership.of(snapshot.metadata)
    old = (entry for entry in entries if entry.modified < before and entry.key not in needed)
    going = [entry for entry in old if own.includes(entry.key)]  # whatever the log says of other files
    if not dry_run:
        log.store.in_parallel(lambda entry: log.store.delete([entry.key]), going)
    temporary = sum(is_temporary(entry.key) for entry in going)
    vectors = sum(is_vectors(entry.key) for entry in going)
    of_the_past = sum(entry.key in past for entry in going)
    cleaned = log.clean_up(
        retention=log_retention,
        dry_run=dry_run,
        store_time=now,
        checkpoint=None if log_retention is None else snapshot,
    )
    result = PurgeResult(
        version=snapshot.version,
        before=before,
        dry_run=dry_run,
        files=len(going),
        bytes=sum(entry.size for entry in going),
        past=of_the_past,
        vectors=vectors,
        orphans=len(going) - of_the_past - vectors - temporary,
        temporary=temporary,
        log_files=len(cleaned),
        paths=tuple(sorted(entry.key for entry in going)),
    )
    _log_result(log, result)
    return result


def _log_result(log: TransactionLog, result: PurgeResult) -> None:
    if not result.dry_run and (result.files or result.log_files):
        names = ("version", "before", "files", "bytes", "past", "vectors", "orphans", "temporary", "log_files")
        log_event(logger, "Files purged", table=log.table, **{name: getattr(result, name) for name in names})


def _refuse_short(retention: timedelta, least: timedelta, *, force: bool) -> None:
    if retention < timedelta(0):
        raise ConfigError(f"older_than is {retention}; it cannot be below zero", key="older_than", value=str(retention))
    if retention < least and not force:
        raise ConfigError(
            f"files younger than {least} may belong to a running writer or to a reader of an older version, and older_than "
            f"(OLDER THAN or RETAIN in SQL) is {retention}; use {least} or more. FORCE in SQL (force=True, --force in a "
            "shell) deletes them all the same, which is safe only if no other process uses the table; "
            "spark.indextables.purge.minRetention lowers the limit for good",
            key="spark.indextables.purge.minRetention",
            value=str(retention),
        )


def _refuse_short_log(retention: timedelta | None, least: timedelta, *, force: bool) -> None:
    if retention is None:
        return
    if retention < timedelta(0):
        raise ConfigError(
            f"log_retention is {retention}; it cannot be below zero", key="log_retention", value=str(retention)
        )
    if retention < least and not force:
        raise ConfigError(
            f"log files younger than {least} may be needed by a running writer or by a reader of an older version, and "
            f"log_retention (LOG RETENTION in SQL) is {retention}; use {least} or more. FORCE in SQL (force=True, --force "
            "in a shell) deletes them all the same: older versions cannot be read, listed or restored any more",
            key="log_retention",
            value=str(retention),
        )


def _needed(log: TransactionLog, snapshot: Snapshot, before: datetime) -> set[str | None]:
    """The splits, and the files of deletion vectors of every readable version not older than `before`, by any clock."""
    known, files = log.version_at(before), list_log(log.store)
    start = log.snapshot(files.earliest if known is None else known)
    later = read_versions(log.store, files, start.version + 1, snapshot.version)
    recent = snapshot.tombstones.filter(pc.field("deletion_timestamp") > epoch_millis(before))
    undated = start.tombstones.slice(0, 0 if known is not None else None)  # the versions that removed them are gone
    live = pa.chunked_array(
        [chunk for rows in (start.splits, snapshot.splits, recent, undated) for chunk in rows["path"].chunks],
        pa.string(),
    )
    return {
        *live.to_pylist(),
        *vector_files(start.splits),
        *vector_files(snapshot.splits),
        *(add.path for version in later for add in version.adds),
        *(vector.file for version in later for vector in version.deletion_vectors),
    }


def _refuse_missing(snapshot: Snapshot, entries: Iterable[Entry], store: Store, before: datetime) -> None:
    """Refuses a table some of whose files are missing: it is unknown then which files may be deleted.

    Splits behind a symbolic link, or next to another table's log, are not listed: each is looked up.
    """
    listed = pa.array([entry.key for entry in entries], pa.string())
    committed = snapshot.splits.filter(pc.field("modification_time") < epoch_millis(before))["path"]
    vectors = pa.array(vector_files(snapshot.splits), pa.string())
    for kind, files in (("splits", committed), ("files of deletion vectors", vectors)):
        missing = store.missing(files.filter(pc.invert(pc.is_in(files, listed))).to_pylist())
        if missing:
            raise CorruptLogError(
                f"version {snapshot.version} of {store.location} has {len(missing)} {kind} that are not there, {missing[0]} "
                "among them; nothing is purged: restore them, or drop their partitions, and purge then",
                table=str(store.location),
                version=snapshot.version,
            )
