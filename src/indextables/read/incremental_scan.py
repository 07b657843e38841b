"""Incremental scans: the rows that some versions of a table added."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from indextables.errors import IndexTablesError, VersionNotFoundError
from indextables.log import Snapshot, TransactionLog
from indextables.predicate import Predicate
from indextables.read.appended_splits import AppendedSplits, ChangePolicy
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import build_scan_spec
from indextables.read.stream_offset import StreamOffset
from indextables.search import FieldRule


class IncrementalScan(Scan):
    """A scan of added rows; its snapshot has the splits that were added, and no others."""

    def warn_of_missed_words(self) -> None:
        """Nothing: that no new row matches is usual, and readers of new rows look again and again."""

    def to_spark(self, spark: Any) -> NoReturn:  # noqa: ARG002 - as for other scans
        raise IndexTablesError(
            "an incremental scan is read without Spark; in Spark, read the same rows with "
            'spark.readStream.format("indextables").option("startingVersion", ...) and trigger(availableNow=True)'
        )


def scan_appended(
    log: TransactionLog,
    snapshot: Snapshot,
    rules: Mapping[str, FieldRule],
    opener: SplitOpener,
    *,
    after: int,
    where: str | Predicate | None,
    query: str | None,
    columns: Sequence[str] | None,
    limit: int | None,
    parallelism: int,
    policy: ChangePolicy,
) -> IncrementalScan:
    """A scan of the rows that the versions after a version added, as far as that of the snapshot."""
    if not -1 <= after <= snapshot.version:
        raise VersionNotFoundError(
            f"{log.table} is at version {snapshot.version}, so nothing can have been added after version {after}; "
            f"choose one from 0 to {snapshot.version}, or -1 for all that was ever added",
            table=log.table,
            version=after,
            earliest=0,
            latest=snapshot.version,
        )
    start, end = (
        StreamOffset(table_id=snapshot.metadata.id, version=version) for version in (after + 1, snapshot.version + 1)
    )
    added = AppendedSplits(log, snapshot, policy).between(start, end).snapshot
    spec = build_scan_spec(added, rules, where=where, query=query, columns=columns)
    return IncrementalScan(added, spec, opener, limit=limit, parallelism=parallelism)
