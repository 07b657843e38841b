"""The ways to write: create, append, overwrite. Each decides, writes splits, and commits once; a failure leaves no files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import pyarrow as pa

from indextables.config import Config
from indextables.errors import (
    AccessDeniedError,
    ConflictError,
    LogError,
    TableExistsError,
    TableNotFoundError,
    UnsafeStoreError,
)
from indextables.layout import Layout
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import READER_VERSION, WRITER_VERSION, Add, Metadata, Protocol, Txn
from indextables.log.clock import now
from indextables.log.commit import Committed, Plan
from indextables.log.nesting import refuse_nested
from indextables.search import FieldRule
from indextables.write.conform import conformer
from indextables.write.pipeline import write_rows
from indextables.write.replaced_rows import Replacing
from indextables.write.sizing import sized
from indextables.write.write_plan import WritePlan, new_metadata, plan_write, with_columns_of

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
    if log.exists():
        raise _exists(log.table)
    refuse_nested(log.store)
    try:
        return log.commit(first).snapshot
    except ConflictError as error:
        raise _exists(log.table) from error


def _exists(table: str) -> TableExistsError:
    return TableExistsError(f"there is a table at {table} already; open it, or choose another path", table=table)


def append(log: TransactionLog, snapshot: Snapshot, data: Batches, config: Config) -> Snapshot:
    if already_written(snapshot, config):
        return snapshot
    schema, batches = peeked(data)
    metadata = _merged(snapshot, schema, config)

    def transaction(adds: list[Add]) -> Transaction:
        return Transaction(
            operation=Operation.APPEND,
            snapshot=snapshot,
            adds=adds,
            metadata=_changed(snapshot, metadata),
            txn=progress(config),
            metrics=figures(adds),
        )

    plan = plan_write(metadata, sized(config, snapshot), beside=snapshot)
    return _write_and_commit(log, plan, (schema, batches), transaction)


def overwrite(log: TransactionLog, snapshot: Snapshot, data: Batches, config: Config, replacing: Replacing) -> Snapshot:
    """Writes rows in the place of those that `replacing` says."""
    if already_written(snapshot, config):
        return snapshot
    schema, batches = peeked(data)
    metadata = _merged(snapshot, schema, config)
    plan = plan_write(metadata, sized(config, snapshot))

    def transaction(adds: list[Add]) -> Transaction:
        going = replacing.outgoing(log, snapshot, plan, adds)
        return Transaction(
            operation=replacing.operation,
            snapshot=snapshot,
            adds=[*adds, *going.copies],
            removes=going.removes,
            rewritten=going.rewritten,
            reads=going.reads,
            replaced=going.replaced,
            metadata=_changed(snapshot, metadata),
            txn=progress(config),
            parameters=going.parameters,
            metrics={**figures(adds), **going.metrics},
        )

    return _write_and_commit(log, plan, (schema, replacing.admitted(batches, plan.schema)), transaction)


def _merged(snapshot: Snapshot, schema: pa.Schema | None, config: Config) -> Metadata:
    """The table's description, with the columns that only the data has where mergeSchema asks for them."""
    if not config.write.merge_schema or schema is None:
        return snapshot.metadata
    return with_columns_of(snapshot.metadata, schema, config.write.typemap)


def _changed(snapshot: Snapshot, metadata: Metadata) -> Metadata | None:
    """What a commit says of the description: nothing, if it is the same."""
    return None if metadata is snapshot.metadata else metadata


def _write_and_commit(
    log: TransactionLog, plan: WritePlan, data: Batches, transaction: Callable[[list[Add]], Transaction]
) -> Snapshot:
    """Writes the splits and commits them; a write that is known to have failed leaves no file behind."""
    schema, batches = data
    if schema is not None:
        conformer(schema, plan.schema, layout=plan.layout)
    adds = write_rows(plan, batches, log.store)
    try:
        decided = transaction(adds)
    except BaseException:
        log.store.discard(add.path for add in adds)
        raise
    return commit_or_discard(log, decided).snapshot


def commit_or_discard(log: TransactionLog, transaction: Transaction, *, replan: Plan | None = None) -> Committed:
    """The commit; the files of one that is known to have failed, was decided again or was not needed, are deleted.

    Where it is not known whether the commit has happened (the store stopped answering, the process is being ended), the
    files stay: the table may hold them.
    """
    latest = transaction

    def again(snapshot: Snapshot, plan: Plan) -> Transaction:
        nonlocal latest
        log.store.discard(add.path for add in latest.adds)
        latest = plan(snapshot)
        return latest

    try:
        done = log.commit(transaction, replan=replan and (lambda snapshot: again(snapshot, replan)))
    except (ConflictError, AccessDeniedError, LogError, TableNotFoundError, UnsafeStoreError):
        log.store.discard(add.path for add in latest.adds)
        raise
    if not done.written:
        log.store.discard(add.path for add in latest.adds)
    return done


def peeked(data: Batches) -> Batches:
    """The same data, its schema taken from the first batch where it was not known."""
    schema, batches = data
    if schema is not None:
        return data
    rest: Iterator[pa.RecordBatch] = iter(batches)
    first = next(rest, None)
    return (None, ()) if first is None else (first.schema, chain([first], rest))


def already_written(snapshot: Snapshot, config: Config) -> bool:
    """Whether this batch of the application is in the table."""
    done = snapshot.txns.get(config.write.txn_app_id) if config.write.txn_app_id is not None else None
    return done is not None and config.write.txn_version is not None and done.version >= config.write.txn_version


def progress(config: Config) -> Txn | None:
    """The application's progress that is committed with its batch."""
    if config.write.txn_app_id is None or config.write.txn_version is None:
        return None
    return Txn(app_id=config.write.txn_app_id, version=config.write.txn_version, last_updated=now())


def figures(adds: Sequence[Add]) -> dict[str, int]:
    """What a commit says of the splits that it adds."""
    return {
        "numAddedSplits": len(adds),
        "numAddedRows": sum(add.num_records or 0 for add in adds),
        "numAddedBytes": sum(add.size for add in adds),
    }
