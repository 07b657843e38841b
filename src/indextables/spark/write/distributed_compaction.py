"""Compaction on Spark's executors: planned and committed on the driver, read and written by tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark import TaskContext
from pyspark.sql import SparkSession

from indextables.maintain.compact import Runner, Work
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.spark.environment.worker_failures import worker_errors
from indextables.spark.job_description import described_jobs
from indextables.spark.write.task_attempts import is_speculative
from indextables.worker_versions import OnWorkers

_TASKS_PER_CORE = 4  # of one Spark job: enough to keep all cores busy, few enough to commit finished groups soon


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Rewrites a group, and says whether other attempts to do so may have left splits; it travels to executors."""

    work: Work
    speculative: bool

    def __call__(self, group: MergeGroup) -> WrittenGroup:
        context = TaskContext.get()
        again = context is not None and context.attemptNumber() > 0
        return replace(self.work(group), other_attempts=self.speculative or again)


def on_executors(spark: SparkSession, table: str) -> Runner:
    """A task for each group, in Spark jobs of some tasks per core; for `merge(..., run=on_executors(spark, table))`."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        context, task = spark.sparkContext, MergeTask(work, is_speculative(spark))
        batch = _TASKS_PER_CORE * context.defaultParallelism
        for first in range(0, len(groups), batch):
            some = groups[first : first + batch]
            with described_jobs(spark, f"merge splits of {table}"), worker_errors():
                written = context.parallelize(some, len(some)).map(OnWorkers(task)).collect()
            yield from written

    return run
