"""Merging by Spark's executors: planned and committed here, read and written there."""

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from indextables.maintain.compact import Runner, Work
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup

_TASKS_PER_CORE = 4  # of one job: enough to keep all busy, few enough that what is finished is committed before long


def on_executors(spark: SparkSession) -> Runner:
    """A task for each group, in jobs of some tasks per core; for `merge(..., run=on_executors(spark))`."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        context = spark.sparkContext
        at_once = _TASKS_PER_CORE * context.defaultParallelism
        for first in range(0, len(groups), at_once):
            some = groups[first : first + at_once]
            yield from context.parallelize(some, len(some)).map(work).collect()

    return run
