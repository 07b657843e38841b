"""Reading a table as a data source: the driver plans, executors read splits as Arrow batches."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from indextables.error_notes import noted, noted_errors
from indextables.errors import SchemaError
from indextables.log import Snapshot
from indextables.read.pruning_summary import log_pruning
from indextables.read.read_task import ScanContext
from indextables.read.scan_plan import SplitTask, plan_scan
from indextables.schema import column_named, type_name
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.search_warnings import warn_of_missed_words
from indextables.spark.planner.task_packing import packed
from indextables.spark.source.spark_types import arrow_schema, to_arrow_utc
from indextables.worker_versions import OnWorkers


class SplitsPartition(InputPartition):
    """The splits of one Spark task."""

    def __init__(self, tasks: Sequence[SplitTask]) -> None:
        super().__init__(tuple(tasks))


class TableReader(DataSourceReader):
    """Rows of a table at one version, in the columns that Spark asks for.

    Executors get the scan specification and the settings; the snapshot stays on the driver.

    There is no `pushFilters` on purpose. Spark 4.3 keeps what it returned with the relation, not with the query: where one
    frame is used twice, `frame.filter(a).union(frame.filter(b))` reads the rows of `b` twice, and a later query without a
    filter reads those of the last one with a filter (measured). Conditions come in the `where` option instead.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        snapshot = options.snapshot()
        columns = StructType([field for field in schema if field.name not in options.added_columns])
        refuse_other_columns(arrow_schema(schema), snapshot.metadata.arrow_schema(), options)
        self._work = ScanContext(
            location=options.path,
            config=options.config(snapshot.metadata.properties),
            scan_spec=options.scan_spec(snapshot, columns.names),
            schema=to_arrow_utc(schema),
            version=snapshot.version,
        )
        self._snapshot: Snapshot | None = snapshot
        self._options = options

    def __getstate__(self) -> OnWorkers[ScanContext]:
        return OnWorkers(self._work)

    def __setstate__(self, state: OnWorkers[ScanContext]) -> None:
        self._work, self._snapshot = state.value, None

    @noted_errors()
    def partitions(self) -> list[InputPartition]:
        if self._snapshot is None:
            raise AssertionError("the driver plans, and it has the snapshot")
        plan, config = plan_scan(self._snapshot, self._work.scan_spec), self._work.config
        log_pruning(plan, table=self._work.location, splits_to_scan=len(plan.tasks), read_by="the data source")
        warn_of_missed_words(plan, self._options)
        return [SplitsPartition(tasks) for tasks in packed(plan.tasks, config)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """PySpark 4.1 reads once, without a partition, where there are none."""
        return noted(self._work.rows(() if partition is None else partition.value or ()))


def refuse_other_columns(wanted: pa.Schema, schema: pa.Schema, options: ReadOptions) -> None:
    """Refuses columns that a table with this schema has not, or has in another type, and that the read does not add."""
    for field in wanted:
        if field.name in options.added_columns:
            continue
        found = schema.field(column_named(schema, field.name, case_sensitive=options.case_sensitive))
        if found.type != field.type:
            raise SchemaError(
                f"column {found.name!r} is of type {type_name(found.type)}, and the read asks for {type_name(field.type)}; "
                "read it as it is, and cast it in the query",
                column=field.name,
            )
