"""Attempts of tasks that Spark runs again: their executor was lost, their stage was, or they were slow (speculation).

A lost executor cannot delete what its tasks have put into the store. The commit deletes it where the result of a task says
that it was not the first attempt. It does not say so where Spark ran the whole stage again, after the loss of shuffle files:
attempts are counted from the beginning then. The driver knows.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import SparkSession

from indextables.spark.catalyst.stage_attempts import watched_stages
from indextables.write.uncommitted_files import sweep_after_commit
from indextables.write.write_job import WriteJob, open_log


def is_speculative(spark: SparkSession) -> bool:
    """Whether Spark may run a task twice at the same time."""
    return (spark.conf.get("spark.speculation", "false") or "").lower() == "true"


def with_attempts_of(spark: SparkSession, job: WriteJob) -> WriteJob:
    """The job, with what the session does with the attempts of its tasks."""
    timeout = spark.conf.get("spark.python.task.killTimeout", None)
    if timeout is not None:
        job = replace(job, kill_timeout=_seconds(timeout))
    return replace(job, speculative=is_speculative(spark))


_SECONDS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}


def _seconds(text: str) -> float:
    """A time as Spark's settings spell it.

    >>> _seconds("200ms"), _seconds("3 s"), _seconds("5")
    (0.2, 3, 0.005)
    """
    number, unit = re.findall(r"(\d+) *([a-z]*)", text.lower())[0]
    return int(number) * _SECONDS[unit]


@contextmanager
def swept_after_stage_retries(spark: SparkSession, job: WriteJob) -> Iterator[None]:
    """Inside, a job is written. If Spark ran a stage of it more than once, what earlier attempts have left is deleted."""
    with watched_stages(spark, f"indextables-{job.plan.job}") as had_several_attempts:
        yield
        if had_several_attempts():
            sweep_after_commit(job.plan.job, open_log(job))
