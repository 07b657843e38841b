"""The data source `indextables`: what Spark calls when a frame is read or written with this format.

Spark starts several Python processes for one query, each of which plans, reads, writes or commits. Every one imports this
module, so that the sides of the data source are imported by the methods that need them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from indextables.arrow_features import skip_pandas_import
from indextables.config import PREFIX, canonical
from indextables.error_notes import noted_errors
from indextables.errors import ConfigError, SchemaError
from indextables.spark.options import FORMAT, JOB, PROVIDER, REQUEST, TABLE, VERSION, path_in, settings_in
from indextables.spark.source.spark_types import arrow_schema, spark_schema

if TYPE_CHECKING:
    from indextables.spark.source.batch_reader import TableReader
    from indextables.spark.source.batch_writer import SplitSink
    from indextables.spark.source.stream_reader import TableStreamReader
    from indextables.spark.source.stream_writer import StreamSink
    from indextables.write.write_job import Mode, WriteJob

skip_pandas_import()


class IndexTablesDataSource(DataSource):
    """Register it with `spark.dataSource.register(IndexTablesDataSource)`, or let `indextables.enable(spark)` do it.

    Spark makes an instance of it in a process without a session, once to plan and again to commit.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    @noted_errors()
    def schema(self) -> StructType:
        """The table's columns. From here on the instance reads the version that has them."""
        if REQUEST in self.options:
            from indextables.spark.source.planning_requests import answer_request

            return answer_request(self.options)
        from indextables.spark.planner.read_options import ReadOptions
        from indextables.spark.source.stream_options import without_stream_options

        snapshot = ReadOptions.of(without_stream_options(self.options)).snapshot()
        self.options[VERSION] = str(snapshot.version)
        self.options[TABLE] = snapshot.metadata.id
        return spark_schema(snapshot.metadata.arrow_schema())

    @noted_errors()
    def reader(self, schema: StructType) -> "TableReader":
        from indextables.spark.planner.read_options import ReadOptions
        from indextables.spark.source.batch_reader import TableReader
        from indextables.spark.source.stream_options import refuse_stream_options

        refuse_stream_options(self.options)
        return TableReader(ReadOptions.of(self.options), schema)

    @noted_errors()
    def writer(self, schema: StructType, overwrite: bool) -> "SplitSink":  # noqa: FBT001 - Spark's signature
        """The write as `df.write` has planned it; without `enable()`, it is planned here, from the options."""
        from indextables.spark.source.batch_writer import SplitSink
        from indextables.spark.source.job_option import decode_job
        from indextables.write.write_job import Mode

        job = decode_job(self.options)
        if job is None:
            job = _planned(self.options, schema, Mode.OVERWRITE if overwrite else Mode.APPEND)
        _refuse_other_write(job, path_in(self.options), arrow_schema(schema), overwrites=overwrite)
        return SplitSink(job)

    @noted_errors()
    def streamReader(self, schema: StructType) -> "TableStreamReader":  # noqa: N802 - Spark's name
        from indextables.spark.source.stream_options import StreamOptions
        from indextables.spark.source.stream_reader import TableStreamReader

        return TableStreamReader(StreamOptions.of(self.options), schema)

    @noted_errors()
    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamSink":  # noqa: N802, FBT001 - Spark's signature
        from indextables.spark.source.stream_writer import StreamSink

        return StreamSink(self.options, schema, overwrite=overwrite)


def _planned(options: Mapping[str, str], schema: StructType, mode: "Mode") -> "WriteJob":
    from indextables.maintain.replace_where import resolve_overwrite
    from indextables.spark.source.batch_writer import log_standard_write
    from indextables.write.job_planning import plan_job

    settings = settings_in(options)
    rows = arrow_schema(schema)
    job = plan_job(path_in(options), rows, mode=mode, sources=[settings], overwrite=resolve_overwrite)
    _refuse_unclear_overwrite(job, canonical(settings))
    log_standard_write(job)
    return job


def _refuse_other_write(job: "WriteJob", table: str, rows: pa.Schema, *, overwrites: bool) -> None:
    """A job is for one table and for rows of one schema: those that Spark is about to write."""
    from indextables.write.write_job import Mode

    if (job.table, job.mode is Mode.OVERWRITE) != (table, overwrites):
        raise ConfigError(
            f"the option {JOB} has a write to {job.table} ({job.mode}), and Spark writes to {table}; leave it out",
            key=JOB,
            value=None,
        )
    if job.input_schema is None or _columns(job.input_schema) != _columns(rows):
        raise SchemaError(
            f"Spark is about to write columns that the write was not planned for: {rows.names}; "
            f"it was planned for {job.input_schema and job.input_schema.names}",
            column=None,
        )


def _columns(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]


def _refuse_unclear_overwrite(job: "WriteJob", settings: Mapping[str, str]) -> None:
    """Without `enable()`, the session's partitionOverwriteMode is not known: it may mean some partitions only."""
    from indextables.write.overwrite import FullOverwrite

    key = f"{PREFIX}partitionOverwriteMode"
    if job.read_version is None or not job.plan.layout.fields or key in settings or job.overwrite != FullOverwrite():
        return
    raise ConfigError(
        f"an overwrite would replace all of {job.table}, and without indextables.enable(spark) the session's "
        "partitionOverwriteMode is not known; call enable, or say what is replaced: "
        'option("partitionOverwriteMode", "static") for everything, "dynamic" for the partitions of the new rows, or '
        'option("replaceWhere", ...)',
        key="partitionOverwriteMode",
        value=None,
    )


class ProviderDataSource(IndexTablesDataSource):
    """The same under its other name."""

    @classmethod
    def name(cls) -> str:
        return PROVIDER
