"""Whether Spark has run a stage more than once: a Python task does not learn that, only its attempt within the stage."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def watched_stages(spark: SparkSession, tag: str) -> Iterator[Callable[[], bool]]:
    """Tags the jobs that are started inside; the function then says whether a stage of them had several attempts."""
    context = spark.sparkContext
    context.addJobTag(tag)
    try:
        yield lambda: _had_several_attempts(spark, tag)
    finally:
        context.removeJobTag(tag)


def _had_several_attempts(spark: SparkSession, tag: str) -> bool:
    context = spark.sparkContext
    tracker = context.statusTracker()
    jobs = filter(None, map(tracker.getJobInfo, context._jsc.sc().statusTracker().getJobIdsForTag(tag)))
    stages = (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds)
    return any(stage is not None and stage.currentAttemptId > 0 for stage in stages)
