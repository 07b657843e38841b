"""The ways to write: create, append, overwrite. Each decides, writes splits, and commits once; a failure leaves no files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from indextables.config import Config
from indextables.errors import AccessDeniedError, ConflictError, LogError, TableExistsError, UnsafeStoreError
from indextables.layout import Layout
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import READER_VERSION, WRITER_VERSION, Add, Protocol, Txn
from indextables.log.clock import now
from indextables.log.splits import removes_for
from indextables.log.transaction import everything
from indextables.search import FieldRule
from indextables.write.conform import conformer
from indextables.write.pipeline import write_rows
from indextables.write.plan import WritePlan, new_metadata, plan_write, with_columns_of
from indextables.write.sizing import sized

Batches = tuple[pa.Schema | None, Iterable[pa.RecordBatch]]
"""The schema of the data, where it is known before the first batch, and the data."""

PROTOCOL = Protocol(min_reader_version=READER_VERSION, min_writer_version=WRITER_VERSION)


def create(
    log: TransactionLog,
    schema: pa.Schema,
    *,
    layout: Layout,
    fields: Mapping[str, str | FieldRule],
    properties: Mapping[str, str],
) -> Snapshot:
    metadata = new_metadata(schema, layout=layout, fields=fields, properties=properties, created_time=now())
    first = Transaction(operation=Operation.CREATE, snapshot=None, protocol=PROTOCOL, metadata=metadata)
    try:
        return log.commit(first).snapshot
    except ConflictError as error:
        message = f"there is a table at {log.table} already; open it, or choose another path"
        raise TableExistsError(message, table=log.table) from error


def append(log: TransactionLog, snapshot: Snapshot, data: Batches, config: Config) -> Snapshot:
    if already_written(snapshot, config):
        return snapshot
    schema, batches = _peeked(data)
    metadata = snapshot.metadata
    if config.merge_schema and schema is not None:
        metadata = with_columns_of(metadata, schema, config.typemap)

    def transaction(adds: list[Add]) -> Transaction:
        return Transaction(
            operation=Operation.APPEND,
            snapshot=snapshot,
            adds=adds,
            metadata=None if metadata is snapshot.metadata else metadata,
            txn=progress(config),
            metrics=figures(adds),
        )

    return _write_and_commit(log, plan_write(metadata, sized(config, snapshot)), (schema, batches), transaction)


def overwrite(log: TransactionLog, snapshot: Snapshot, data: Batches, config: Config) -> Snapshot:
    if already_written(snapshot, config):
        return snapshot

    def transaction(adds: list[Add]) -> Transaction:
        removes = removes_for(snapshot.splits, snapshot.metadata, deletion_timestamp=now())
        return Transaction(
            operation=Operation.OVERWRITE,
            snapshot=snapshot,
            adds=adds,
            removes=removes,
            reads=everything,
            txn=progress(config),
            metrics={**figures(adds), "numRemovedSplits": len(removes)},
        )

    return _write_and_commit(log, plan_write(snapshot.metadata, sized(config, snapshot)), _peeked(data), transaction)


def _write_and_commit(
    log: TransactionLog, plan: WritePlan, data: Batches, transaction: Callable[[list[Add]], Transaction]
) -> Snapshot:
    """Writes the splits and commits them; a write that is known to have failed leaves no file behind.

    Where it is not known whether the commit has happened (the store stopped answering, the process is being ended), the
    files stay: the table may hold them.
    """
    schema, batches = data
    if schema is not None:
        conformer(schema, plan.schema)
    adds = write_rows(plan, batches, log.store)
    try:
        done = log.commit(transaction(adds))
    except (ConflictError, AccessDeniedError, LogError, UnsafeStoreError):
        log.store.discard(add.path for add in adds)
        raise
    if not done.written:
        log.store.discard(add.path for add in adds)
    return done.snapshot


def _peeked(data: Batches) -> Batches:
    """The same data, its schema taken from the first batch where it was not known."""
    schema, batches = data
    if schema is not None:
        return data
    rest: Iterator[pa.RecordBatch] = iter(batches)
    first = next(rest, None)
    return (None, ()) if first is None else (first.schema, chain([first], rest))


def already_written(snapshot: Snapshot, config: Config) -> bool:
    """Whether this batch of the application is in the table."""
    done = snapshot.txns.get(config.txn_app_id) if config.txn_app_id is not None else None
    return done is not None and config.txn_version is not None and done.version >= config.txn_version


def progress(config: Config) -> Txn | None:
    """The application's progress that is committed with its batch."""
    if config.txn_app_id is None or config.txn_version is None:
        return None
    return Txn(app_id=config.txn_app_id, version=config.txn_version, last_updated=now())


def figures(adds: Sequence[Add]) -> dict[str, int]:
    """What a commit says of the splits that it adds."""
    return {
        "numAddedSplits": len(adds),
        "numAddedRows": sum(add.num_records or 0 for add in adds),
        "numAddedBytes": sum(add.size for add in adds),
    }
