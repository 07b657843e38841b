"""A write job on Spark: executors write its rows as splits, and the driver commits them.

The job runs as a function over Arrow batches (`mapInArrow`), not as a write of the data source: the Python workers of the
session run it, and Spark starts no further Python processes to plan and to commit
(docs/decisions/0036-writes-commit-on-the-driver.md).
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from indextables.errors import IndexTablesError
from indextables.events import log_event
from indextables.log import TransactionLog
from indextables.log.actions import Add
from indextables.maintain.compact_on_write import merge_after_write
from indextables.read.opener import SplitRef
from indextables.spark.catalyst.executor_jobs import map_batches
from indextables.spark.job_description import described_jobs
from indextables.spark.source.batch_writer import delete_files_of
from indextables.spark.write.task_attempts import swept_after_stage_retries, with_attempts_of
from indextables.worker_versions import OnWorkers
from indextables.write.overwrite import CopyTask
from indextables.write.uncommitted_files import sweep_after_commit
from indextables.write.write_job import TaskResult, WriteJob, commit_job, open_log, write_task

logger = logging.getLogger(__name__)
_RESULT = pa.schema({"result": pa.binary()})
_TASKS_PER_CORE = 4


def write_on_executors(rows: DataFrame, job: WriteJob, *, log: TransactionLog | None = None) -> None:
    """Writes the rows of a frame, one task for each of its partitions, and commits. A failure leaves no files."""
    spark = rows.sparkSession
    job = with_attempts_of(spark, job)
    with swept_after_stage_retries(spark, job):
        with described_jobs(spark, f"write to {job.table}", keep_own=True):
            results = _task_results(rows, job)
        log, copies = log or open_log(job), _CopiesOnExecutors(rows, job)
        after = commit_job(job, results, log=log, run=copies)
        if copies.made:
            sweep_after_commit(job.plan.job, log)
    merge_after_write(log, after, job.plan.config)


def _task_results(rows: DataFrame, job: WriteJob) -> list[TaskResult]:
    """Runs the tasks; Spark passes on the result of one attempt of each."""
    task = OnWorkers(partial(_write_batches, job))

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from task(batches)

    try:
        written = map_batches(rows, write, "result binary").collect()
    except BaseException:
        _clean_up(job)
        raise
    return [TaskResult.decode(bytes(row["result"])) for row in written]


def _write_batches(job: WriteJob, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    task, attempt = (context.partitionId(), context.attemptNumber()) if context else (0, 0)
    result = write_task(job, batches, task=task, attempt=attempt)
    yield pa.record_batch([pa.array([result.encode()], pa.binary())], schema=_RESULT)


class _CopiesOnExecutors:
    """Runs a CopyTask: the rows that an overwrite keeps are copied by executors, where they are many."""

    def __init__(self, rows: DataFrame, job: WriteJob) -> None:
        self._spark, self._job = rows.sparkSession, job
        self.made = False

    def __call__(self, task: CopyTask, splits: Sequence[SplitRef]) -> Sequence[Add]:
        job, context = self._job, self._spark.sparkContext
        tasks = min(len(splits), _TASKS_PER_CORE * context.defaultParallelism)
        self.made = True
        try:
            with described_jobs(self._spark, f"copy the rows that an overwrite of {job.table} keeps"):
                adds: list[Add] = context.parallelize(splits, tasks).mapPartitionsWithIndex(OnWorkers(task)).collect()
        except BaseException:
            _clean_up(job)
            raise
        rows = sum(add.num_records or 0 for add in adds)
        log_event(
            logger, "Rows copied", table=job.table, splits=len(splits), tasks=tasks, rows=rows, txn_id=job.plan.job
        )
        return adds


def _clean_up(job: WriteJob) -> None:
    """Deletes the files of a job that has failed, whose error is more important than one of the clean-up."""
    try:
        delete_files_of(job)
    except IndexTablesError:
        logger.warning("files of a failed write to %s may be left; a vacuum deletes them", job.table, exc_info=True)
