"""Rows of a table that are found, deleted and replaced by others, in one commit: what DELETE, UPDATE and MERGE INTO share.

```
new rows, as they are computed ─▶ splits ──────────────────────────────────▶ adds
addresses of the old rows      ─▶ deletion vectors, removes, rewritten splits ┘ one transaction
```
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata
from indextables.log.snapshot import TOMBSTONES, Rows
from indextables.log.transaction import MayMatch, everything
from indextables.maintain.row_deletion import RowDeletion, deletion_transaction, plan_deletion, write_deletion
from indextables.predicate import to_sql
from indextables.read import scan_plan
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import ADDRESS, ScanSpec, build_scan_spec
from indextables.read.split_scan import matching_numbers
from indextables.split.deletion_bitmap import RowNumbers, decode_bitmap
from indextables.statements.row_changes import Delete, Update, unqualified_condition
from indextables.write.commit_metrics import copy_metrics, split_metrics
from indextables.write.overwrite import RemovedSplits, RunCopies
from indextables.write.pipeline import write_rows
from indextables.write.sizing import sized
from indextables.write.uncommitted_files import commit_or_discard, discard
from indextables.write.write_plan import WritePlan, coalesced_like, current_rules, plan_write


class RowAddresses:
    """Collects the addresses of rows that a scan has read, batch by batch: the split of each, and its number there.

    >>> addresses = RowAddresses()
    >>> addresses.add(pa.table({ADDRESS[0]: ["a", "b", "a"], ADDRESS[1]: [4, 0, 2]}))
    >>> addresses.rows()
    {'a': array([2, 4]), 'b': array([0])}
    """

    def __init__(self) -> None:
        self._found: dict[str, list[RowNumbers]] = {}

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        paths, numbers = rows[ADDRESS[0]], np.asarray(rows[ADDRESS[1]])
        for path in pc.unique(paths).to_pylist():
            selected = np.asarray(pc.equal(paths, path))
            self._found.setdefault(path, []).append(numbers[selected])

    def rows(self) -> dict[str, RowNumbers]:
        """The numbers of the rows in each split, ascending."""
        return {path: np.sort(np.concatenate(numbers)) for path, numbers in self._found.items()}


NewRows = Callable[[RowAddresses], Iterable[pa.RecordBatch]]
"""Computes the new rows; while they are read, it gives the addresses of the rows that are deleted."""


def find_rows(
    snapshot: Snapshot, spec: ScanSpec, opener: SplitOpener, *, parallelism: int
) -> dict[str, RowNumbers | None]:
    """The numbers of the matching rows in each split that may have some; None for all, where the log says so."""
    plan = scan_plan.plan_scan(snapshot, spec)
    scan = Scan.of(plan, opener, limit=None, parallelism=parallelism)
    whole = [task.split.path for task in plan.tasks if task.all_rows_match]
    unsure = [task for task in plan.tasks if not task.all_rows_match]
    found = scan.over(unsure, lambda task: matching_numbers(scan.open(task), spec, all_rows_match=False))
    return {**dict.fromkeys(whole), **dict(zip([task.split.path for task in unsure], found, strict=True))}


def condition_spec(
    change: Delete | Update,
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    *,
    time_zone: str,
    case_sensitive: bool,
) -> ScanSpec:
    """The scan of the rows that satisfy the condition and the search of a change."""
    return build_scan_spec(
        snapshot,
        current_rules(snapshot.metadata),
        where=unqualified_condition(change),
        query=change.query,
        columns=columns,
        time_zone=time_zone,
        case_sensitive=case_sensitive,
    )


def condition_parameters(change: Delete | Update) -> dict[str, str]:
    """The condition and the search, as the history shows them."""
    where = unqualified_condition(change)
    text = {} if where is None else {"predicate": where if isinstance(where, str) else to_sql(where)}
    return text if change.query is None else {**text, "query": change.query}


def may_match(spec: ScanSpec, snapshot: Snapshot) -> MayMatch:
    """Whether a split that another writer added may have a row that the scan would find."""

    def may(splits: pa.Table) -> bool:
        rows = Rows(splits, TOMBSTONES.empty_table(), snapshot.metadata.current_doc_mapping_id)
        only = replace(snapshot, base=rows, pending={}, pending_vectors={})
        return bool(pc.any(scan_plan.may_match(spec, only)).as_py())

    return may


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowReplacement:
    """What was written: new splits, and the deletion of the rows that they replace."""

    adds: list[Add]
    deletion: RowDeletion
    transaction: Transaction


def replace_rows(
    log: TransactionLog,
    current: Snapshot,
    config: Config,
    new_rows: NewRows,
    *,
    operation: Operation,
    reads: MayMatch,
    metadata: Metadata | None = None,
    parameters: Mapping[str, Any],
    metrics: Callable[[RowDeletion], Mapping[str, int]],
) -> RowReplacement:
    """Writes the new rows and deletes the old ones; a failure leaves no file. The transaction is not committed yet.

    `metadata` is that of the table afterwards, None where it does not change.
    """
    addresses = RowAddresses()
    adds = write_rows(plan_rows(current, metadata or current.metadata, config), new_rows(addresses), log.store)
    try:
        deletion = plan_deletion(current, addresses.rows(), config, SplitOpener.of(log.store, config))
        removed = write_deletion(log, deletion, config, reads=reads)
    except BaseException:
        discard(log, adds)
        raise
    transaction = deletion_transaction(
        operation,
        current,
        removed,
        adds=adds,
        metadata=metadata,
        parameters=parameters,
        metrics={**removed.metrics, **copy_metrics([*adds, *removed.copies]), **metrics(deletion)},
    )
    return RowReplacement(adds=adds, deletion=deletion, transaction=transaction)


def plan_rows(snapshot: Snapshot, metadata: Metadata, config: Config) -> WritePlan:
    """How changed rows are written: as an append would, and partitions that share splits share them again."""
    config = replace(config, write=replace(config.write, typemap={}))
    plan = plan_write(metadata, sized(config, snapshot), existing=snapshot)
    return coalesced_like(snapshot.splits, plan, existing=snapshot)


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


class FoundRowsOverwrite(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The deletion of rows of one version that Spark has found, which the new rows of a write replace, if there are any.

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
