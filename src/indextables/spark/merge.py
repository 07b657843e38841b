"""Merging by Spark's executors: planned and committed here, read and written there."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from indextables.rewrite.merge import MergeGroup, Runner, Work, Written


def on_executors(spark: SparkSession) -> Runner:
    """A task for each group; for `merge(..., run=on_executors(spark))`."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Sequence[Written]:
        return spark.sparkContext.parallelize(list(groups), len(groups)).map(work).collect()

    return run
