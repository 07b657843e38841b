"""Rows that a replaceWhere keeps, in splits that it rewrites, copied by executors before the write.

Spark commits a write in a process without a session, which could only copy them by itself. So a Spark job copies them
first, and the commit uses the copies if the table has not changed since. Otherwise it makes others.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from indextables.events import log_event
from indextables.log import TransactionLog
from indextables.log.actions import Add
from indextables.maintain.copy_rows import rows_of
from indextables.maintain.replace_where import Copies, ReplaceWhereOverwrite, plan_rewrite_where
from indextables.maintain.row_selection import MatchingRows, Selection
from indextables.maintain.split_rewrite import SplitRewrite
from indextables.predicate import Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.spark.job_description import described_jobs
from indextables.worker_versions import OnWorkers
from indextables.write.pipeline import write_rows
from indextables.write.write_job import WriteJob, abort_job, open_log
from indextables.write.write_plan import WritePlan

logger = logging.getLogger(__name__)
_TASKS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class _CopyTask:
    """Copies the rows of some splits that are not selected; it travels to executors."""

    table: str
    plan: WritePlan
    selection: Selection

    def __call__(self, task: int, splits: Iterable[SplitRef]) -> Iterator[Add]:
        store = TransactionLog.open(self.table, self.plan.config).store
        opener = SplitOpener.of(store, self.plan.config)
        rows = rows_of(opener, splits, self.plan.schema, unless=self.selection.holds)
        yield from write_rows(self.plan, rows, store, task=task)


@contextmanager
def copied_by_executors(spark: SparkSession, job: WriteJob) -> Iterator[WriteJob]:
    """The job, with the copies of its replaceWhere if there are many rows to copy. Copies not committed are deleted."""
    rewrite, overwrite = _large_rewrite(job), job.overwrite
    if rewrite is None or not isinstance(overwrite, ReplaceWhereOverwrite):
        yield job
        return
    try:
        copies = _copies(spark, job, rewrite)
        yield replace(job, overwrite=msgspec.structs.replace(overwrite, copies=copies))
    finally:
        abort_job(job)


def _large_rewrite(job: WriteJob) -> SplitRewrite | None:
    """The rewrite of a replaceWhere that keeps many rows; the log alone decides whether there can be as many."""
    overwrite = job.overwrite
    if job.read_version is None or job.changes_metadata or not isinstance(overwrite, ReplaceWhereOverwrite):
        return None
    log = open_log(job)
    snapshot = log.snapshot(job.read_version)
    verdicts = MatchingRows(overwrite.predicate).verdicts(snapshot.splits, snapshot.metadata)
    unsure = snapshot.splits.filter(pc.equal(verdicts, int(Verdict.SOMETIMES)))
    if (pc.sum(unsure["num_records"]).as_py() or 0) <= job.plan.config.write.driver_copy_rows:
        return None
    rewrite = plan_rewrite_where(log, snapshot, overwrite.predicate, job.plan.config)
    return rewrite if len(rewrite.rewritten) else None


def _copies(spark: SparkSession, job: WriteJob, rewrite: SplitRewrite) -> Copies:
    splits, context = rewrite.rewritten_refs, spark.sparkContext
    work = OnWorkers(_CopyTask(job.table, rewrite.copy_plan(job.plan), rewrite.selection))
    tasks = min(len(splits), _TASKS_PER_CORE * context.defaultParallelism)
    with described_jobs(spark, f"copy the rows that a replaceWhere of {job.table} keeps"):
        adds = context.parallelize(splits, tasks).mapPartitionsWithIndex(work).collect()
    log_event(
        logger,
        "Rows copied",
        table=job.table,
        splits=len(splits),
        tasks=tasks,
        rows=rewrite.copied,
        txn_id=job.plan.job,
    )
    return Copies(version=rewrite.snapshot.version, sources=[split.path for split in splits], adds=adds)
