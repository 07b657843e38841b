"""Limits of what a streaming batch reads. Spark asks a Python source to keep to them from PySpark 4.2 on."""

from typing import Any

from indextables.read.appended_splits import UNLIMITED
from indextables.read.stream_offset import ReadLimits

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # PySpark 4.1 reads all that there is in one batch
    HAS_ADMISSION_CONTROL = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef] # only where Spark has none
        """Spark decides by itself what there is when such a query starts."""

    def default_limit(limits: ReadLimits) -> Any:
        raise AssertionError(f"PySpark 4.1 does not ask for limits such as {limits}")

    def effective(limits: ReadLimits, limit: Any) -> ReadLimits:  # noqa: ARG001 - there are none
        return UNLIMITED

else:
    HAS_ADMISSION_CONTROL = True

    def default_limit(limits: ReadLimits) -> Any:
        """The limits as Spark knows them. Where there are two, it is told one, and the reader keeps to both."""
        if limits.max_files is not None:
            return ReadMaxFiles(limits.max_files)
        return ReadAllAvailable() if limits.max_bytes is None else ReadMaxBytes(limits.max_bytes)

    def effective(limits: ReadLimits, limit: Any) -> ReadLimits:
        """The limits of a batch: none where Spark asks for all that there is, as with `trigger(once=True)`."""
        return UNLIMITED if isinstance(limit, ReadAllAvailable) else limits


__all__ = ["HAS_ADMISSION_CONTROL", "SupportsTriggerAvailableNow", "default_limit", "effective"]
