"""The input of a write on the executors' disks, from the count of its rows until they are written.

Without this, Spark computes the input twice: once to count its rows by partition, and once to write them. Nothing depends on
rows that are kept. Those of an executor that is lost are computed again, and go to the same tasks
(docs/decisions/0024-inputs-are-computed-once.md).
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from indextables.spark.catalyst.handles import SPARK_ERRORS
from indextables.spark.catalyst.input_cost import is_costly_to_count
from indextables.write.write_plan import WritePlan

logger = logging.getLogger(__name__)


class WriteInput:
    """The rows of a frame before they are written: read more than once, and kept on disk where that would take long."""

    def __init__(self, frame: DataFrame, choice: str) -> None:
        self._frame, self._choice = frame, choice
        self._is_persisted = False

    def can_read(self, columns: Sequence[str], *, unless_unknown: bool) -> bool:
        """Whether these columns can be read before the write, at little cost: costly ones are kept on disk if they may be.

        With `unless_unknown`, they are costly where Spark's plan cannot be seen.
        """
        cached = self._frame.storageLevel
        if cached.useMemory or cached.useDisk:  # what the user has cached stays cached
            return True
        costly = is_costly_to_count(self._frame, columns)
        if self._choice != "always" and not (unless_unknown if costly is None else costly):
            return True
        if self._choice == "never":
            return False
        self._frame.persist(StorageLevel.DISK_ONLY)  # on disk, so that nothing that the user has cached is evicted
        self._is_persisted = True
        return True

    def release(self) -> None:
        if not self._is_persisted:
            return
        try:
            self._frame.unpersist()
        except SPARK_ERRORS as error:  # the write has ended, well or not, and that is what the caller should hear of
            logger.warning("the rows that a write kept on disk were not deleted: %s", error)


@contextmanager
def input_persisted(frame: DataFrame, plan: WritePlan) -> Iterator[WriteInput]:
    """Inside, the frame is computed once, if it would take more than reading columns to count its rows."""
    found = WriteInput(frame, plan.config.write.persist_input)
    try:
        found.can_read([field.source for field in plan.layout.fields], unless_unknown=False)
        yield found
    finally:
        found.release()
