"""The streaming sink: what Spark runs on executors for a micro-batch, and at its end on the driver.

Spark creates the writer anew in each process: to plan a batch, and to commit or abort it. The two have the options in
common, nothing else. So what tasks have found out travels to the commit in their messages: the job that they were given,
and the query and the batch that Spark tells a task, but not a process on the driver.

A task with few rows does not write them. It sends them to the commit, which writes those of all such tasks into one split
per partition: a batch of every second then has one small split, not one of each task.
"""

import hashlib
import logging
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError, IndexTablesError
from indextables.events import log_event
from indextables.log import TransactionLog
from indextables.log.actions import Txn
from indextables.maintain.compact_on_write import merge_beside_stream
from indextables.spark.options import JOB, RUN, SPECULATION, path_in, settings_in
from indextables.spark.source.batch_writer import commit_was_tried, delete_files_of
from indextables.spark.source.job_option import decode_job, encode_job
from indextables.spark.source.kept_logs import open_kept_log
from indextables.spark.source.spark_types import arrow_schema
from indextables.worker_versions import OnWorkers
from indextables.write.job_planning import current_snapshot, plan_job
from indextables.write.uncommitted_files import discard, sweep_after_commit
from indextables.write.write_job import Mode, TaskResult, WriteJob, commit_job, write_task

logger = logging.getLogger(__name__)
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"  # what Spark calls them in a task's properties
_MARK = 6  # hexadecimal digits, of the twelve of a job
_SPARKS_OWN = frozenset({"checkpointlocation", "queryname"})
_NUMBERED = (f"{PREFIX}txnAppId", f"{PREFIX}txnVersion")


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A batch of a query, planned. `committed` are the batches that the table has, by query.

    `run` is different for every start of a query, and the same in all processes; None in sessions that are not enabled.
    """

    job: WriteJob
    run: str | None
    committed: Mapping[str, int]

    def numbered(self, query: str, batch: int) -> WriteJob:
        """The job of a batch, whose commit is recorded with the query and the number."""
        write = replace(self.job.plan.config.write, txn_app_id=query, txn_version=batch)
        config = replace(self.job.plan.config, write=write)
        job = f"{_mark(self.run or self.job.plan.job)}{_mark(f'{query} {batch}')}"
        plan = replace(self.job.plan, job=job, config=config)
        done = self.committed.get(query, -1) >= batch
        return replace(self.job, plan=plan, already_committed=done, txn_id=uuid4().hex)


@dataclass(frozen=True, slots=True)
class BatchTaskDone(WriterCommitMessage):
    """What a task did: `result` is what it has written, `rows` are those that it leaves to the commit."""

    query: str
    job: str
    result: bytes
    rows: bytes | None = None


class StreamSink(DataSourceStreamArrowWriter):
    """Writes the splits of micro-batches, and commits each batch once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        self._options, self._schema, self._overwrite = dict(options), schema, overwrite
        self._batch: MicroBatch | None = None

    def __getstate__(self) -> OnWorkers[MicroBatch]:
        """Spark pickles the writer where it plans a batch, and only there; twice, once with the function of its tasks."""
        self._batch = self._batch or plan_batch(self._options, self._schema, overwrite=self._overwrite)
        return OnWorkers(self._batch)

    def __setstate__(self, state: OnWorkers[MicroBatch]) -> None:
        self._batch = state.value

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchTaskDone:
        context = TaskContext.get()
        if context is None or self._batch is None:
            raise AssertionError("Spark writes in tasks, with a batch that it has planned")
        query, batch = _property(context, _QUERY), int(_property(context, _BATCH))
        job = self._batch.numbered(query, batch)
        if job.already_committed:
            deque(iterator, maxlen=0)  # Spark does not reuse a Python process that has left input unread
            return BatchTaskDone(query, encode_job(job), TaskResult(adds=()).encode())
        few, rows = _few_rows(iterator, at_most=job.plan.config.write.collect_size)
        if few:
            nothing = TaskResult(adds=(), attempt=context.attemptNumber())
            return BatchTaskDone(query, encode_job(job), nothing.encode(), _to_bytes(rows))
        result = write_task(job, rows, task=context.partitionId(), attempt=context.attemptNumber())
        return BatchTaskDone(query, encode_job(job), result.encode())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        tasks = [message for message in messages if isinstance(message, BatchTaskDone)]
        if tasks:
            commit_batch(tasks, batchId, without_sparks_own(self._options))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's name
        """Deletes the files of this run of the batch. Those of another run may be about to be committed.

        The job is told by tasks that are done. Where there are none, the run is known in enabled sessions; in others, a task
        that fails deletes its files itself, and a vacuum those of tasks that were killed.
        """
        if commit_was_tried(messages):
            return
        tasks = [message for message in messages if isinstance(message, BatchTaskDone)]
        if tasks:
            delete_files_of(_job_of(tasks[0], without_sparks_own(self._options)))
            return
        batch = plan_batch(self._options, self._schema, overwrite=self._overwrite)
        if batch.run is not None:
            delete_files_of(replace(batch.job, plan=replace(batch.job.plan, job=f"{_mark(batch.run)}*")))


def plan_batch(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> MicroBatch:
    """The next batch of a stream, planned on the table as it is now; everything that can be refused is refused here."""
    settings = _full_keys_last(settings_in(without_sparks_own(options)))
    _refuse_numbered(settings)
    mode = Mode.OVERWRITE if overwrite else Mode.APPEND
    path = path_in(options)
    log = open_kept_log(path, Config.resolve(settings))
    job = plan_job(path, arrow_schema(schema), mode=mode, sources=[settings], log=log)
    job = replace(job, speculative=SPECULATION in (key.lower() for key in options))
    run = next((value for key, value in options.items() if key.lower() == RUN), None)
    return MicroBatch(job, run, _committed(log, job))


def commit_batch(tasks: Sequence[BatchTaskDone], batch: int, options: Mapping[str, str]) -> None:
    """Makes what the tasks of a batch have written, and what they left to it, one version; nothing where it is empty."""
    job = _job_of(tasks[0], options)
    results = [TaskResult.decode(task.result) for task in tasks]
    log = open_kept_log(job.table, job.plan.config, table_id=job.table_id)
    snapshot = current_snapshot(log)
    last = snapshot.txns.get(tasks[0].query, _NO_BATCH) if snapshot else _NO_BATCH
    if last.version >= batch:
        discard(log, chain.from_iterable(result.adds for result in results))
        log_event(logger, "Batch skipped", table=job.table, query=tasks[0].query, batch=batch, last=last.version)
        return
    collected = list(_from_bytes(task.rows for task in tasks if task.rows is not None))
    if collected:
        try:
            results.append(write_task(job, collected, task=len(tasks), store=log.store))
        except BaseException:
            discard(log, chain.from_iterable(result.adds for result in results))
            raise
    if not any(result.adds for result in results) and job.mode is Mode.APPEND:
        return
    after = commit_job(job, results, log=log)
    if job.read_version is None:  # a vacuum does not know files of a driver that was killed before there was a table
        sweep_after_commit(
            f"*{job.plan.job[_MARK:]}", log
        )  # of all runs of the batch: no other can be committed any more
    log_event(logger, "Batch written", table=job.table, query=tasks[0].query, batch=batch, version=after.version)
    merge_beside_stream(log, after, job.plan.config, process_ends=not os.environ.get("SPARK_REUSE_WORKER"))


def without_sparks_own(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a streaming write that are not for Spark itself."""
    return {key: value for key, value in options.items() if key.lower() not in _SPARKS_OWN}


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_MARK]


_NO_BATCH = Txn(app_id="", version=-1)


def _property(context: TaskContext, name: str) -> str:
    value = context.getLocalProperty(name)
    if not value:
        raise IndexTablesError(
            f"this Spark does not tell its tasks {name}, so that a batch could not be recognized when it is run again; "
            "write with foreachBatch, txnAppId and txnVersion instead"
        )
    return str(value)


def _job_of(task: BatchTaskDone, options: Mapping[str, str]) -> WriteJob:
    job = decode_job({**options, JOB: task.job})
    if job is None:
        raise AssertionError("every task sends its job")
    return job


def _committed(log: TransactionLog, job: WriteJob) -> dict[str, int]:
    if job.read_version is None:
        return {}
    snapshot = log.snapshot(job.read_version)
    return {query: txn.version for query, txn in snapshot.txns.items()}


def _full_keys_last(settings: Mapping[str, str]) -> dict[str, str]:
    """Where a setting has two names among the options, the full key counts: Spark gives options in no order."""
    full = {key.lower() for key in canonical(settings)}
    return dict(sorted(settings.items(), key=lambda item: item[0].strip().lower() in full))


def _refuse_numbered(settings: Mapping[str, str]) -> None:
    for key in canonical(settings):
        if key in _NUMBERED:
            raise ConfigError(
                f"{key.removeprefix(PREFIX)} is for batch writes, such as those in foreachBatch; a stream records its own "
                "query and batch, so leave it out",
                key=key,
                value=None,
            )


def _few_rows(batches: Iterator[pa.RecordBatch], *, at_most: int) -> tuple[bool, Iterable[pa.RecordBatch]]:
    """Whether the rows have at most so many bytes, and all of them."""
    rows: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        rows.append(batch)
        size += batch.get_total_buffer_size()
        if size > at_most:
            return False, chain(rows, batches)
    return True, rows


def _to_bytes(batches: Iterable[pa.RecordBatch]) -> bytes | None:
    rows = [batch for batch in batches if batch.num_rows]
    if not rows:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows[0].schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _from_bytes(contents: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    for content in contents:
        with pa.ipc.open_stream(content) as reader:
            yield from reader
