"""The input of a write on the executors' disks, from the count of its rows until they are written.

Without this, Spark computes the input twice: once to count its rows by partition, and once to write them. Nothing depends on
rows that are kept. Those of an executor that is lost are computed again, and go to the same tasks
(docs/decisions/0024-inputs-are-computed-once.md).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from indextables.spark.catalyst.handles import SPARK_ERRORS
from indextables.spark.catalyst.input_cost import is_costly_to_count
from indextables.write.write_plan import WritePlan

logger = logging.getLogger(__name__)


@contextmanager
def input_persisted(frame: DataFrame, plan: WritePlan) -> Iterator[None]:
    """Inside, the frame is computed once, if it would take more than reading columns to count its rows."""
    if not _is_persisted(frame, plan):
        yield
        return
    frame.persist(StorageLevel.DISK_ONLY)  # on disk, so that nothing that the user has cached is evicted
    try:
        yield
    finally:
        _release(frame)


def _is_persisted(frame: DataFrame, plan: WritePlan) -> bool:
    choice, cached = plan.config.write.persist_input, frame.storageLevel
    if choice == "never" or cached.useMemory or cached.useDisk:  # what the user has cached stays cached
        return False
    return choice == "always" or is_costly_to_count(frame, [field.source for field in plan.layout.fields])


def _release(frame: DataFrame) -> None:
    try:
        frame.unpersist()
    except SPARK_ERRORS as error:  # the write has ended, well or not, and that is what the caller should hear of
        logger.warning("the rows that a write kept on disk were not deleted: %s", error)
