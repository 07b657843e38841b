"""Rows that stay when others of their splits are replaced, copied by executors before the write.

Spark commits a write in a process without a session, which could copy them only by itself. So they are copied by a job of
their own, and the commit uses the copies if the table is still as it was. Otherwise it makes others.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from indextables.log import TransactionLog
from indextables.log.actions import Add
from indextables.maintain.copy_rows import refs_to, rows_of
from indextables.maintain.replace_where import Copies, ReplacingWhere, take_out_where
from indextables.maintain.row_selection import Satisfying, Selection
from indextables.maintain.split_rewrite import TakeOut
from indextables.predicate import Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.write.job import WriteJob, abort_job, log_of
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import WritePlan

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
def copied_by_executors(spark: SparkSession, job: WriteJob) -> Iterator[Copies | None]:
    """The copies of a job's replaceWhere, if there are many rows to copy. Those that are not committed are deleted."""
    taken = _many_rows_to_copy(job)
    if taken is None:
        yield None
        return
    try:
        yield _copies(spark, job, taken)
    finally:
        abort_job(job)


def _many_rows_to_copy(job: WriteJob) -> TakeOut | None:
    """What a replaceWhere takes out of splits of which many rows stay; the log alone tells if there may be as many."""
    replacing = job.replacing
    if job.read_version is None or job.metadata is not None or not isinstance(replacing, ReplacingWhere):
        return None
    log = log_of(job)
    snapshot = log.snapshot(job.read_version)
    verdicts = Satisfying(replacing.predicate).verdicts(snapshot.splits, snapshot.metadata)
    unsure = snapshot.splits.filter(pc.equal(verdicts, int(Verdict.SOMETIMES)))
    if (pc.sum(unsure["num_records"]).as_py() or 0) <= job.plan.config.write.driver_copy_rows:
        return None
    taken = take_out_where(log, snapshot, replacing.predicate, job.plan.config)
    return taken if len(taken.shared) else None


def _copies(spark: SparkSession, job: WriteJob, taken: TakeOut) -> Copies:
    splits, context = refs_to(taken.shared), spark.sparkContext
    work = _CopyTask(job.table, taken.copying(job.plan), taken.selection)
    tasks = min(len(splits), _TASKS_PER_CORE * context.defaultParallelism)
    adds = context.parallelize(splits, tasks).mapPartitionsWithIndex(work).collect()
    return Copies(version=taken.snapshot.version, sources=[split.path for split in splits], adds=adds)
