"""Reading a table as a stream: a process on the driver follows the log, executors read the splits that are new."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from indextables.errors import VersionNotFoundError
from indextables.log import Snapshot, TransactionLog
from indextables.read.appended_splits import AppendedSplits
from indextables.read.pruning_summary import log_pruning
from indextables.read.read_task import ScanContext
from indextables.read.scan_plan import SplitTask, may_match, plan_scan
from indextables.read.stream_offset import StreamOffset
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.task_packing import packed_in_order
from indextables.spark.source.admission_control import (
    HAS_ADMISSION_CONTROL,
    SupportsTriggerAvailableNow,
    default_limit,
    effective,
)
from indextables.spark.source.batch_reader import refuse_other_columns
from indextables.spark.source.spark_types import arrow_schema, to_arrow_utc
from indextables.spark.source.stream_options import StreamOptions
from indextables.worker_versions import OnWorkers

logger = logging.getLogger(__name__)
_PAUSE = 0.25  # seconds between two looks at the log where nothing is new; Spark would ask a hundred times a second


class IncrementPartition(InputPartition):
    """The new splits of one Spark task, each with the version that it belongs to."""

    def __init__(self, tasks: Sequence[tuple[int, SplitTask]]) -> None:
        super().__init__(tuple(tasks))


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows that a table gains. Spark keeps one on the driver for a query, and pickles it once for its executors.

    The columns, the condition and the search are those of the version that the stream was loaded with.
    """

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        log = options.read.log()
        snapshot = _as_loaded(options.read, log, schema)
        own = snapshot.metadata.arrow_schema()
        refuse_other_columns(arrow_schema(schema), own, options.read)
        self._work = ScanContext(
            location=options.read.path,
            config=options.read.config(snapshot.metadata.properties),
            scan_spec=options.read.scan_spec(snapshot, schema.names),
            schema=to_arrow_utc(schema),
            version=snapshot.version,
        )
        self._options = options
        searches = options.read.where is not None or options.read.query is not None
        self._splits = AppendedSplits(
            log, snapshot, options.policy, matching=partial(may_match, self._work.scan_spec) if searches else None
        )
        self._position: StreamOffset | None = None
        self._target: StreamOffset | None = None
        self._idle: tuple[StreamOffset, float] | None = None
        if not HAS_ADMISSION_CONTROL and (options.limits.max_files or options.limits.max_bytes):
            logger.warning(
                "maxFilesPerTrigger and maxBytesPerTrigger need PySpark 4.2; each batch reads all that is new in %s",
                options.read.path,
            )

    def __getstate__(self) -> OnWorkers[ScanContext]:
        return OnWorkers(self._work)

    def __setstate__(self, state: OnWorkers[ScanContext]) -> None:
        self._work = state.value

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's names, here and below
        self._position = self._options.first_offset(self._splits)
        return self._position.to_json()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        return default_limit(self._options.limits)

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """PySpark 4.1 says neither where the batch starts nor how large it may be; the start is where the last one ended.

        It may ask before there was one. Then the answer is all that there is, and `partitions` refuses what cannot be read.
        """
        position = self._position if start is None else StreamOffset.of(start)
        if position is None:
            return self._splits.latest().to_json()
        if self._idle is not None and self._idle[0] == position:  # it waits: what has come since must not be denied
            sleep(max(0.0, self._idle[1] + _PAUSE - monotonic()))
        limits = effective(self._options.limits, limit)
        end = self._splits.advance(position, limits, until=self._target)
        self._idle = (position, monotonic()) if end == position else None
        return end.to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._splits.latest().to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._splits.latest()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        self._position = StreamOffset.of(end)
        increment = self._splits.between(StreamOffset.of(start), self._position)
        plan = plan_scan(increment.snapshot, self._work.scan_spec)
        if increment.versions:
            log_pruning(plan, table=self._work.location, splits_to_scan=len(plan.tasks), read_by="a stream")
        versions = increment.versions
        ordered = sorted(plan.tasks, key=lambda task: (versions[task.split.path], task.split.path))
        return [
            IncrementPartition([(versions[task.split.path], task) for task in tasks])
            for tasks in packed_in_order(ordered, self._work.config)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Version by version, so that an error names the one whose split is gone."""
        by_version = groupby(partition.value or (), key=lambda item: item[0])
        return chain.from_iterable(
            replace(self._work, version=version).rows([task for _, task in items]) for version, items in by_version
        )


def _as_loaded(options: ReadOptions, log: TransactionLog, schema: StructType) -> Snapshot:
    """The version that the stream was loaded with. A later one with the same columns, where it has been cleaned up."""
    try:
        return options.snapshot_in(log)
    except VersionNotFoundError:
        latest = replace(options, version=None).snapshot_in(log)
        own, wanted = latest.metadata.arrow_schema(), arrow_schema(schema)
        if (own.names, own.types) != (wanted.names, wanted.types):
            raise
        return latest
