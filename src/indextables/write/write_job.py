"""A write: planned once, written by one task or many, committed once.

```
plan_job ─▶ WriteJob ─▶ write_task, many times, anywhere ─▶ TaskResult ─▶ commit_job
                                                                └──────▶ abort_job, if a task fails
```

`job_planning.plan_job` finds everything that can be wrong with a write before any file exists. A `WriteJob` is a value:
the same one is used by every task and by the commit, whatever process they run in. The names of a job's files contain its
id, so that the files of tasks whose result was lost are found, and no others.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

import msgspec
import pyarrow as pa

from indextables.config import Config
from indextables.errors import ConflictError, TableExistsError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import READER_VERSION, WRITER_VERSION, Add, Protocol, Txn
from indextables.log.clock import now
from indextables.log.commit import Committed
from indextables.log.transaction import ROW_LEVEL
from indextables.storage import Store
from indextables.write.commit_metrics import partition_count, split_metrics
from indextables.write.overwrite import Overwrite, RemovedSplits, RunCopies, copy_here
from indextables.write.pipeline import write_rows
from indextables.write.uncommitted_files import commit_or_discard, discard, sweep, sweep_after_commit
from indextables.write.write_plan import WritePlan, plan_write
from indextables.write.write_progress import ProgressCounter

PROTOCOL = Protocol(min_reader_version=READER_VERSION, min_writer_version=WRITER_VERSION)


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
    """A write, planned and checked; it travels to executors and to the commit.

    `input_schema` is the schema of the rows, None where there are none. `overwrite` is what an overwrite replaces.
    `read_version` is the version that the job was planned on, None where there was no table. The commit changes the
    table's metadata to that of the plan if `changes_metadata`. A `speculative` job may run a task twice at the same time;
    a task that is cancelled may write for `kill_timeout` seconds more.
    A job is `already_committed` if its application has committed the batch before. `metrics` are recorded with the commit,
    and so is the `txn_id`: the id of the job, unless another one is given.
    """

    table: str
    mode: Mode
    plan: WritePlan
    input_schema: pa.Schema | None
    overwrite: Overwrite | None
    read_version: int | None
    changes_metadata: bool
    started: int
    metrics: Mapping[str, int] = field(default_factory=dict)
    speculative: bool = False
    kill_timeout: float = 2.0
    already_committed: bool = False
    txn_id: str | None = None

    @property
    def table_id(self) -> str | None:
        """The id of the table that the job was planned on, None where there was none."""
        return None if self.read_version is None else self.plan.table_id


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt of a task has written."""

    adds: Sequence[Add]
    attempt: int = 0
    epoch_millis: int = 0

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def decode(content: bytes) -> "TaskResult":
        return msgspec.json.decode(content, type=TaskResult)


def write_task(
    job: WriteJob,
    batches: Iterable[pa.RecordBatch],
    *,
    task: int,
    attempt: int = 0,
    store: Store | None = None,
    counter: ProgressCounter | None = None,
) -> TaskResult:
    """Writes the rows of one task; a failure leaves no file of it."""
    started = time.monotonic_ns()
    rows = batches if job.overwrite is None else job.overwrite.checked(batches, job.plan.schema)
    adds = write_rows(job.plan, rows, store or open_log(job).store, task=task, counter=counter)
    return TaskResult(adds=adds, attempt=attempt, epoch_millis=(time.monotonic_ns() - started) // 1_000_000)


def commit_job(
    job: WriteJob,
    results: Sequence[TaskResult],
    *,
    log: TransactionLog | None = None,
    snapshot: Snapshot | None = None,
    run: RunCopies = copy_here,
) -> Snapshot:
    """Makes what the tasks wrote one version of the table; gives the table after it.

    `results` has one attempt of each task. Files of other attempts, and of a commit that fails, are deleted. A caller that
    has the `log` and the `snapshot` of the job's read version open passes them. Rows that an overwrite keeps are copied by
    `run` if they are many.
    """
    log = log or open_log(job)
    adds = [add for result in results for add in result.adds]
    make = partial(_transaction, log, job=job, adds=adds, metrics=_metrics(job, results), run=run)
    done = _commit(log, job, adds, snapshot, make)
    if job.speculative or any(result.attempt for result in results):
        sweep_after_commit(job.plan.job, log)
    return done.snapshot if done else log.snapshot()


def write_and_commit(
    job: WriteJob,
    batches: Iterable[pa.RecordBatch],
    *,
    log: TransactionLog,
    snapshot: Snapshot | None,
    counter: ProgressCounter | None = None,
) -> Snapshot:
    """The whole job in this process, with one task; a failure leaves no files."""
    if job.already_committed and snapshot is not None:
        return snapshot
    result = write_task(job, batches, task=0, store=log.store, counter=counter)
    return commit_job(job, [result], log=log, snapshot=snapshot)


def abort_job(job: WriteJob) -> list[str]:
    """Deletes every file of the job that no version of the table refers to; gives their names."""
    return sweep(job.plan.job, open_log(job))


def open_log(job: WriteJob) -> TransactionLog:
    """The log of the table that the job was planned on."""
    return TransactionLog.open(job.table, job.plan.config).for_table(job.table_id)


def refuse_existing(table: str) -> TableExistsError:
    return TableExistsError(
        f"there is a table at {table} already; append to it, overwrite it, or choose another path", table=table
    )


def _commit(
    log: TransactionLog, job: WriteJob, adds: list[Add], snapshot: Snapshot | None, make: Callable[..., Transaction]
) -> Committed | None:
    """The commit; None where another writer created the table and the mode is `ignore`."""
    try:
        if snapshot is None and job.read_version is not None:
            snapshot = log.snapshot(job.read_version)
        transaction = make(snapshot=snapshot)
    except BaseException:
        discard(log, adds)
        raise
    replan = None
    if transaction.operation not in ROW_LEVEL:  # the rows that it deletes are where they were when it was planned
        replan = partial(_joined, job, adds, make)
    try:
        return commit_or_discard(log, transaction, replan=replan)
    except ConflictError as error:
        if job.mode is Mode.IGNORE:
            return None
        if job.mode is Mode.ERROR:
            raise refuse_existing(job.table) from error
        raise


def _transaction(
    log: TransactionLog,
    *,
    job: WriteJob,
    adds: list[Add],
    snapshot: Snapshot | None,
    metrics: Mapping[str, int],
    run: RunCopies,
) -> Transaction:
    removed = RemovedSplits()
    if job.overwrite is not None and not job.already_committed:
        removed = job.overwrite.removed_splits(log, snapshot, job.plan, adds, run=run)
    txn = txn_of(job.plan.config)
    numbered = {"txnAppId": txn.app_id, "txnVersion": txn.version} if txn else {}
    return Transaction(
        operation=job.overwrite.operation if job.overwrite else job.mode.operation,
        snapshot=snapshot,
        adds=[*adds, *removed.copies],
        removes=removed.removes,
        rewritten=removed.rewritten,
        vectors=removed.vectors,
        unite=removed.unite,
        reads=removed.reads,
        replaced=removed.replaced,
        protocol=PROTOCOL if snapshot is None else None,
        metadata=job.plan.metadata if job.changes_metadata else None,
        txn=txn,
        parameters={"mode": job.mode, "partitionBy": str(job.plan.layout), **numbered, **removed.parameters},
        metrics={**metrics, **removed.metrics},
        txn_id=job.txn_id or job.plan.job,
    )


def _joined(job: WriteJob, adds: list[Add], make: Callable[..., Transaction], winner: Snapshot) -> Transaction:
    """The append to a table that another writer created in the meantime, if its rows belong there as they are."""
    theirs = plan_write(winner.metadata, job.plan.config)
    difference = _difference(job.plan, theirs)
    if difference:
        raise ConflictError(
            f"{job.table} was created by another writer in the meantime, with {difference}; read the table and retry",
            table=job.table,
            version=winner.version,
            operation=Operation.CREATE,
            reason=difference,
            paths=(),
        )
    moved = [msgspec.structs.replace(add, spec_id=theirs.spec_id, doc_mapping_id=theirs.doc_mapping_id) for add in adds]
    return make(job=replace(job, changes_metadata=False), adds=moved, snapshot=winner)


def _difference(mine: WritePlan, theirs: WritePlan) -> str | None:
    if mine.layout != theirs.layout:
        return f"another layout ({str(theirs.layout) or 'not partitioned'})"
    if mine.schema != theirs.schema:
        return f"other columns ({', '.join(theirs.schema.names)})"
    return "other types of fields in the index" if mine.rules != theirs.rules else None


def _metrics(job: WriteJob, results: Sequence[TaskResult]) -> dict[str, int]:
    adds = [add for result in results for add in result.adds]
    return {
        **job.metrics,
        **split_metrics(adds),
        "numPartitions": partition_count(adds),
        "numTasks": len(results),
        "numEmptyTasks": sum(not result.adds for result in results),
        "taskTimeMs": sum(result.epoch_millis for result in results),
        "writeTimeMs": now() - job.started,
    }


def txn_of(config: Config) -> Txn | None:
    """The batch that an application has numbered, so that it is committed once; None where the write is not numbered."""
    if config.write.txn_app_id is None or config.write.txn_version is None:
        return None
    return Txn(app_id=config.write.txn_app_id, version=config.write.txn_version, last_updated=now())
