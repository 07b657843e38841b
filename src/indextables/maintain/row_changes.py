"""Rows that were found before, deleted and replaced in one commit: what an UPDATE or a MERGE INTO by Spark commits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
import pyarrow as pa

from indextables.config import Config
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Add
from indextables.log.transaction import MayMatch, everything
from indextables.maintain.changed_rows import may_match
from indextables.maintain.row_deletion import deletion_transaction, plan_deletion, write_deletion
from indextables.read.opener import SplitOpener
from indextables.read.scan_spec import build_scan_spec
from indextables.split.deletion_bitmap import decode_bitmap
from indextables.write.commit_metrics import split_metrics
from indextables.write.overwrite import RemovedSplits, RunCopies
from indextables.write.uncommitted_files import commit_or_discard
from indextables.write.write_plan import WritePlan, current_rules


class RowsRead(msgspec.Struct, frozen=True):
    """The rows that a statement depends on: those that may satisfy `where`, or any; or the `whole_table`, as it was."""

    where: str | None = None
    whole_table: bool = False

    def in_splits(self, snapshot: Snapshot) -> MayMatch:
        if self.whole_table:
            return everything
        if self.where is None:
            return _any_rows
        return may_match(build_scan_spec(snapshot, current_rules(snapshot.metadata), where=self.where), snapshot)


class RowChanges(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The deletion of rows of one version, found by a statement, which the new rows of a write replace, if there are any.

    `rows` are bitmaps of row numbers by the paths of the splits. `metrics` and `parameters` are recorded with the commit.
    """

    operation: Operation
    version: int
    rows: Mapping[str, bytes]
    reads: RowsRead
    metrics: Mapping[str, int]
    parameters: Mapping[str, str]

    def checked(self, batches: Iterable[pa.RecordBatch], _: pa.Schema) -> Iterable[pa.RecordBatch]:
        return batches

    def removed_splits(
        self,
        log: TransactionLog,
        snapshot: Snapshot | None,
        plan: WritePlan,
        adds: Sequence[Add],
        *,
        run: RunCopies,  # noqa: ARG002 - few rows are copied, here
    ) -> RemovedSplits:
        if snapshot is None or snapshot.version != self.version:
            raise AssertionError("rows are deleted where they were found")
        return self._removed(log, snapshot, plan.config, adds)

    def commit_without_rows(self, log: TransactionLog, snapshot: Snapshot, config: Config) -> Snapshot:
        """Commits the deletion alone; a ConflictError where another writer changed what it depends on."""
        removed = self._removed(log, snapshot, config, ())
        transaction = deletion_transaction(
            self.operation, snapshot, removed, parameters=removed.parameters, metrics=removed.metrics
        )
        return commit_or_discard(log, transaction, replan=None).snapshot

    def _removed(self, log: TransactionLog, snapshot: Snapshot, config: Config, adds: Sequence[Add]) -> RemovedSplits:
        found = {path: decode_bitmap(bitmap) for path, bitmap in self.rows.items()}
        deletion = plan_deletion(snapshot, found, config, SplitOpener.of(log.store, config))
        removed = write_deletion(log, deletion, config, reads=self.reads.in_splits(snapshot))
        added = {**split_metrics([*adds, *removed.copies]), "numAddedRows": split_metrics(adds)["numAddedRows"]}
        metrics = {**removed.metrics, **added, **self.metrics}
        return replace(removed, metrics=metrics, parameters=self.parameters)


def _any_rows(_: pa.Table) -> bool:
    """Any row that is added may be one that the statement would have changed."""
    return True
