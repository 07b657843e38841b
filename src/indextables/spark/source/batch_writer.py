"""The writing side of the data source: what Spark runs on executors, and at the end on the driver."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from indextables.error_notes import noted_errors
from indextables.events import log_event
from indextables.maintain.compact_on_write import merge_after_write
from indextables.worker_versions import OnWorkers
from indextables.write.write_job import TaskResult, WriteJob, abort_job, commit_job, open_log, write_task

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskDone(WriterCommitMessage):
    """A task's result, encoded."""

    content: bytes


class SplitSink(DataSourceArrowWriter):
    """Writes splits by tasks and commits them once. Spark pickles it: to executors, and to the process that commits."""

    def __init__(self, job: WriteJob) -> None:
        self._job = job

    def __getstate__(self) -> OnWorkers[WriteJob]:
        return OnWorkers(self._job)

    def __setstate__(self, state: OnWorkers[WriteJob]) -> None:
        self._job = state.value

    @noted_errors()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskDone:
        context = TaskContext.get()
        task, attempt = (context.partitionId(), context.attemptNumber()) if context else (0, 0)
        return TaskDone(write_task(self._job, iterator, task=task, attempt=attempt).encode())

    @noted_errors()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        done = [message.content for message in messages if isinstance(message, TaskDone)]
        log = open_log(self._job)
        after = commit_job(self._job, [TaskResult.decode(content) for content in done], log=log)
        merge_after_write(log, after, self._job.plan.config)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Spark aborts a job where a task failed, and also where the commit did.

        A commit that is known to have failed has deleted the files. Where its outcome is not known, the table may refer to
        them yet: what is left then is left to a vacuum.
        """
        if not commit_was_tried(messages):
            delete_files_of(self._job)


def commit_was_tried(messages: Sequence[WriterCommitMessage | None]) -> bool:
    """Whether every task of a job has finished, so that Spark went on to its commit."""
    return None not in messages


def log_standard_write(job: WriteJob, *, planned_tasks: int | None = None) -> None:
    """Logs that the rows of a write are not repartitioned."""
    log_event(
        logger,
        "Standard write",
        table=job.table,
        partitioning="as Spark has it, without optimization",
        planned_tasks=planned_tasks,
        target_rows_per_split=job.plan.config.write.target_records,
        txn_id=job.plan.job,
    )


def delete_files_of(job: WriteJob) -> None:
    """Deletes the files of a job; those of cancelled tasks, which write on until Spark kills them, after that."""
    deleted = abort_job(job)
    time.sleep(1.5 * job.kill_timeout)
    deleted += abort_job(job)
    log_event(
        logger,
        "Write aborted",
        level=logging.WARNING,
        table=job.table,
        deleted_files=len(deleted),
        txn_id=job.plan.job,
    )
