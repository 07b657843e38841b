"""Rows of a table replaced by others, in one commit: what UPDATE and MERGE INTO have in common.

```
new rows, as they are computed ─▶ splits ──────────────────────────────────▶ adds
addresses of the old rows      ─▶ deletion vectors, removes, rewritten splits ┘ one transaction
```
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from indextables.config import Config
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata
from indextables.log.transaction import MayMatch
from indextables.maintain.row_addresses import RowAddresses
from indextables.maintain.row_deletion import RowDeletion, deletion_transaction, plan_deletion, write_deletion
from indextables.read.opener import SplitOpener
from indextables.write.commit_metrics import copy_metrics
from indextables.write.pipeline import write_rows
from indextables.write.sizing import sized
from indextables.write.uncommitted_files import discard
from indextables.write.write_plan import WritePlan, coalesced_like, plan_write

NewRows = Callable[[RowAddresses], Iterable[pa.RecordBatch]]
"""Computes the new rows; while they are read, it gives the addresses of the rows that are deleted."""


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
