"""Rows that stay when others of their splits are replaced, copied by executors before the write.

Spark commits a write in a process without a session, which could copy them only by itself. So they are copied by a job of
their own, and the commit uses the copies if the table is still as it was. Otherwise it makes others.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from indextables.log import Snapshot, TransactionLog
from indextables.log.actions import Add
from indextables.predicate import Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.rewrite.copy import refs_to, rows_of
from indextables.rewrite.replace import Copies, ReplacingWhere, take_out_where
from indextables.rewrite.selection import Satisfying
from indextables.write.job import WriteJob, sweep
from indextables.write.pipeline import write_rows
from indextables.write.plan import WritePlan

_TASKS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class _CopyTask:
    """Copies the rows of some splits that are not selected; it travels to executors."""

    table: str
    plan: WritePlan
    selection: Satisfying

    def __call__(self, task: int, splits: Iterable[SplitRef]) -> Iterator[Add]:
        store = TransactionLog.open(self.table, self.plan.config).store
        opener = SplitOpener.of(store, self.plan.config)
        rows = rows_of(opener, splits, self.plan.schema, unless=self.selection.holds)
        yield from write_rows(self.plan, rows, store, task=task)


@contextmanager
def copied_by_executors(spark: SparkSession, job: WriteJob) -> Iterator[Copies | None]:
    """The copies of a job's replaceWhere, if there are many rows to copy. Those that are not committed are deleted."""
    log = TransactionLog.open(job.table, job.plan.config).of_table(job.table_id)
    replacing = job.replacing
    if job.read_version is None or job.metadata is not None or not isinstance(replacing, ReplacingWhere):
        yield None
        return
    snapshot = log.snapshot(job.read_version)
    if _rows_at_most(snapshot, replacing) <= job.plan.config.driver_copy_rows:
        yield None
        return
    try:
        yield _copies(spark, job, log, snapshot, replacing)
    finally:
        sweep(job.plan.job, log)


def _rows_at_most(snapshot: Snapshot, replacing: ReplacingWhere) -> int:
    """The rows of the splits of which some may stay, by the log alone."""
    verdicts = Satisfying(replacing.predicate).verdicts(snapshot.splits, snapshot.metadata)
    unsure = snapshot.splits.filter(pc.equal(verdicts, int(Verdict.SOMETIMES)))
    return int(pc.sum(unsure["num_records"]).as_py() or 0)


def _copies(
    spark: SparkSession, job: WriteJob, log: TransactionLog, snapshot: Snapshot, replacing: ReplacingWhere
) -> Copies | None:
    taken = take_out_where(log, snapshot, replacing.predicate, job.plan.config)
    splits = refs_to(taken.shared)
    if not splits:
        return None
    context = spark.sparkContext
    work = _CopyTask(job.table, taken.copying(job.plan), Satisfying(replacing.predicate))
    tasks = min(len(splits), _TASKS_PER_CORE * context.defaultParallelism)
    adds = context.parallelize(splits, tasks).mapPartitionsWithIndex(work).collect()
    return Copies(version=snapshot.version, sources=[split.path for split in splits], adds=adds)
