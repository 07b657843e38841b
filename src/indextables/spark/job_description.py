"""Descriptions of the Spark jobs that indextables starts on its own, for Spark's UI."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from indextables.redaction import redacted

_PROPERTY = "spark.job.description"


@contextmanager
def described_jobs(spark: SparkSession, description: str, *, keep_own: bool = False) -> Iterator[None]:
    """Inside, jobs of this thread have the description `indextables: ...`; after it, that of the caller again.

    With `keep_own`, a description that the caller has set stays. Spark Connect has no descriptions.
    """
    context = getattr(spark, "sparkContext", None)
    if context is None:
        yield
        return
    own = context.getLocalProperty(_PROPERTY)
    if own is not None and keep_own:
        yield
        return
    context.setJobDescription(f"indextables: {redacted(description)}")
    try:
        yield
    finally:
        context.setJobDescription(own)  # None removes it
