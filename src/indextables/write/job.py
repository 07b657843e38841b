"""A write whose splits are made by many tasks: planned in one place, committed in one place.

```
plan_job ─▶ WriteJob ─▶ write_task, many times, anywhere ─▶ TaskResult ─▶ commit_job
                                                                └──────▶ abort_job, if anything fails
```

Everything that can be wrong with a write is found by `plan_job`, before any file exists. The names of a job's files carry
its id, so that the files of tasks that nobody heard of again can be found, and no others.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import msgspec
import pyarrow as pa

from indextables.config import Config
from indextables.errors import (
    ConflictError,
    LayoutError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from indextables.layout import Layout
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata
from indextables.log.clock import now
from indextables.log.commit import Committed
from indextables.log.nesting import refuse_nested
from indextables.log.ownership import files_of_table, is_split_of_job
from indextables.schema import what_there_is
from indextables.write.conform import conformer
from indextables.write.modes import PROTOCOL, already_written, figures, progress
from indextables.write.pipeline import write_rows
from indextables.write.replaced_rows import Outgoing, Replacing, Scope, refuse_contradictions, whole_table
from indextables.write.sizing import sized
from indextables.write.write_plan import WritePlan, new_metadata, plan_write, with_columns_of

logger = logging.getLogger(__name__)


class Mode(StrEnum):
    """What a write does where there is a table already; where there is none, each creates it."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    ERROR = "errorifexists"
    IGNORE = "ignore"

    @property
    def operation(self) -> Operation:
        operations = {Mode.APPEND: Operation.APPEND, Mode.OVERWRITE: Operation.OVERWRITE}
        return operations.get(self, Operation.CREATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """A write, decided and checked; it travels to executors.

    `replacing` is what an overwrite replaces. `read_version` and `table_id` are None where there was no table. `metadata`
    is what the commit changes of the table, if anything. A `speculative` job may run a task twice at once. A job that is
    `done` was committed before, by the same application.
    """

    table: str
    mode: Mode
    plan: WritePlan
    replacing: Replacing | None
    read_version: int | None
    table_id: str | None
    metadata: Metadata | None
    started: int
    metrics: Mapping[str, int] = field(default_factory=dict)
    speculative: bool = False
    done: bool = False


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt of a task has written."""

    adds: Sequence[Add]
    attempt: int = 0
    milliseconds: int = 0

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def decode(content: bytes) -> "TaskResult":
        return msgspec.json.decode(content, type=TaskResult)


def plan_job(
    table: str | Path,
    schema: pa.Schema,
    *,
    mode: Mode,
    sources: Sequence[Mapping[str, str]] = (),
    scope: Scope = whole_table,
    properties: Mapping[str, str] | None = None,
) -> WriteJob:
    """The write of rows with this schema; `sources` are settings, the strongest first. Nothing is written yet.

    `scope` says what an overwrite replaces. A new table gets the `properties`.

    >>> job = plan_job("memory://docs/new", pa.schema({"day": pa.string(), "id": pa.int64()}), mode=Mode.APPEND,
    ...                sources=[{"partitionBy": "day"}])
    >>> job.read_version, str(job.plan.layout)
    (None, 'day')
    """
    refuse_contradictions(sources[0] if sources else {}, overwrites=mode is Mode.OVERWRITE)
    log = TransactionLog.open(table, Config.resolve(*sources))
    snapshot = _current(log)
    kept = snapshot.metadata.properties if snapshot else dict(properties or {})
    config = sized(Config.resolve(*sources, properties=kept), snapshot)
    if snapshot is not None and mode.operation is Operation.CREATE:
        raise _exists(log.table)
    metadata = _described(snapshot, schema, config, kept)
    if snapshot is None:
        refuse_nested(log.store)
    plan = plan_write(metadata, config, beside=snapshot if mode is Mode.APPEND else None)
    conformer(schema, plan.schema, layout=plan.layout)
    _refuse_unknown_columns(config.write.cluster_by, plan.schema)
    return WriteJob(
        table=log.table,
        mode=mode,
        plan=plan,
        replacing=scope(config, metadata, table=log.table) if mode is Mode.OVERWRITE else None,
        read_version=snapshot.version if snapshot else None,
        table_id=snapshot.metadata.id if snapshot else None,
        metadata=None if snapshot and metadata is snapshot.metadata else metadata,
        started=now(),
        done=snapshot is not None and already_written(snapshot, config),
    )


def write_task(job: WriteJob, batches: Iterable[pa.RecordBatch], *, task: int, attempt: int = 0) -> TaskResult:
    """Writes the rows of one task; a failure leaves nothing of it behind."""
    started = time.monotonic_ns()
    store = TransactionLog.open(job.table, job.plan.config).store
    rows = batches if job.replacing is None else job.replacing.admitted(batches, job.plan.schema)
    adds = write_rows(job.plan, rows, store, task=task)
    return TaskResult(adds=adds, attempt=attempt, milliseconds=(time.monotonic_ns() - started) // 1_000_000)


def commit_job(job: WriteJob, results: Sequence[TaskResult]) -> int:
    """Makes what the tasks wrote one version of the table, and gives its number.

    The results are those that count: of a task that ran twice, one. Files of the other attempts are deleted.
    """
    log = log_of(job)
    adds = [add for result in results for add in result.adds]
    metrics = _metrics(job, results)
    done = _commit(log, job, adds, metrics)
    others = job.speculative or any(result.attempt for result in results)
    if others or done is None or ((adds or job.replacing) and not done.written):
        sweep(job.plan.job, log)
    version = done.version if done else log.snapshot().version
    logger.info("%s is at version %d after %s: %s", job.table, version, job.mode, metrics)
    return version


def abort_job(job: WriteJob) -> list[str]:
    """Deletes every file of the job that no version of the table holds; gives their names."""
    return sweep(job.plan.job, log_of(job))


def log_of(job: WriteJob) -> TransactionLog:
    """The log of the table that the job was planned for."""
    return TransactionLog.open(job.table, job.plan.config).of_table(job.table_id)


def sweep(job: str, log: TransactionLog) -> list[str]:
    """Deletes every file whose name carries the id of a job and that no version of the table holds; gives their names."""
    kept = _committed(log)
    made = (entry.key for entry in files_of_table(log.store) if is_split_of_job(entry.key, job))
    left = [key for key in made if key not in kept]
    log.store.delete(left)
    return left


def _current(log: TransactionLog) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _described(snapshot: Snapshot | None, schema: pa.Schema, config: Config, properties: Mapping[str, str]) -> Metadata:
    """What the table is after the write."""
    layout = None if config.write.partition_by is None else Layout.parse(config.write.partition_by)
    if snapshot is None:
        return new_metadata(
            schema, layout=layout or Layout(), fields=config.write.typemap, properties=properties, created_time=now()
        )
    metadata = snapshot.metadata
    if layout is not None:
        _refuse_other_layout(layout.bind(metadata.arrow_schema()), metadata.layouts[metadata.current_spec_id])
    if config.write.merge_schema:
        return with_columns_of(metadata, schema, config.write.typemap)
    return metadata


def _refuse_other_layout(asked: Layout, own: Layout) -> None:
    if asked != own:
        raise LayoutError(
            f"the table is partitioned by {str(own) or 'nothing'}, and the write asks for {str(asked) or 'nothing'}; "
            "leave partitionBy out to use the table's, or change the layout of the table first",
            field=str(asked),
        )


def _refuse_unknown_columns(columns: Iterable[str], schema: pa.Schema) -> None:
    known = {name.lower() for name in schema.names}
    for column in columns:
        if column.lower() not in known:
            raise SchemaError(
                f"clusterBy names a column {column!r} that is not there; {what_there_is(column, schema.names)}",
                column=column,
            )


def _commit(log: TransactionLog, job: WriteJob, adds: list[Add], metrics: Mapping[str, int]) -> Committed | None:
    """The commit; None where another writer created the table, which this one then leaves alone."""
    snapshot = None if job.read_version is None else log.snapshot(job.read_version)
    transaction = _transaction(job, adds, snapshot, metrics)
    try:
        return log.commit(transaction, replan=lambda winner: _joined(job, adds, winner, metrics))
    except ConflictError as error:
        if job.mode is Mode.IGNORE:
            return None
        if job.mode is Mode.ERROR:
            raise _exists(job.table) from error
        raise


def _transaction(job: WriteJob, adds: list[Add], snapshot: Snapshot | None, metrics: Mapping[str, int]) -> Transaction:
    going = Outgoing()
    if job.replacing is not None and not job.done:
        log = log_of(job)
        going = job.replacing.outgoing(log, snapshot, job.plan, adds)
    return Transaction(
        operation=job.replacing.operation if job.replacing else job.mode.operation,
        snapshot=snapshot,
        adds=[*adds, *going.copies],
        removes=going.removes,
        rewritten=going.rewritten,
        reads=going.reads,
        replaced=going.replaced,
        protocol=PROTOCOL if snapshot is None else None,
        metadata=job.metadata,
        txn=progress(job.plan.config),
        parameters={"mode": job.mode, "partitionBy": str(job.plan.layout), **going.parameters},
        metrics={**metrics, **going.metrics},
        txn_id=job.plan.job,
    )


def _joined(job: WriteJob, adds: list[Add], winner: Snapshot, metrics: Mapping[str, int]) -> Transaction:
    """The append to a table that another writer created in the meantime, if its rows belong there as they are."""
    theirs = plan_write(winner.metadata, job.plan.config)
    different = _difference(job.plan, theirs)
    if different:
        raise ConflictError(
            f"{job.table} was created by another writer in the meantime, with {different}; read the table and retry",
            table=job.table,
            version=winner.version,
            operation=Operation.CREATE,
            reason=different,
            paths=(),
        )
    moved = [msgspec.structs.replace(add, spec_id=theirs.spec_id, doc_mapping_id=theirs.doc_mapping_id) for add in adds]
    return _transaction(replace(job, metadata=None), moved, winner, metrics)


def _difference(mine: WritePlan, theirs: WritePlan) -> str | None:
    if mine.layout != theirs.layout:
        return f"another layout ({str(theirs.layout) or 'not partitioned'})"
    if mine.schema != theirs.schema:
        return f"other columns ({', '.join(theirs.schema.names)})"
    return "other types of fields in the index" if mine.rules != theirs.rules else None


def _committed(log: TransactionLog) -> set[str]:
    """Every path that is in the table, or was and may still be needed by older versions."""
    snapshot = _current(log)
    if snapshot is None:
        return set()
    return {*snapshot.splits["path"].to_pylist(), *snapshot.tombstones["path"].to_pylist()}


def _metrics(job: WriteJob, results: Sequence[TaskResult]) -> dict[str, int]:
    adds = [add for result in results for add in result.adds]
    return {
        **job.metrics,
        **figures(adds),
        "numPartitions": len({partition for add in adds for partition in _partitions(add)}),
        "numTasks": len(results),
        "numEmptyTasks": sum(not result.adds for result in results),
        "taskTimeMs": sum(result.milliseconds for result in results),
        "writeTimeMs": now() - job.started,
    }


def _partitions(add: Add) -> list[tuple[str | None, ...]]:
    """The partitions that a split holds, as far as it lists them."""
    common, shared = tuple(add.partition_values.values()), add.logical_partitions
    return [common] if shared is None else [(*common, *values) for values in shared.tuples]


def _exists(table: str) -> TableExistsError:
    return TableExistsError(
        f"there is a table at {table} already; append to it, overwrite it, or choose another path", table=table
    )
