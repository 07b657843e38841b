"""Frames over tables: `spark.read` that knows the session, and scans as frames."""

from collections.abc import Mapping
from typing import Any, Self, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.types import StructType

from indextables.config import without_prefix
from indextables.errors import ConfigError, SchemaError
from indextables.log import Snapshot
from indextables.read.scan_spec import ADDRESS, ADDRESS_SCHEMA
from indextables.spark.catalyst.relation import relation_frame
from indextables.spark.environment.session_settings import settings_of
from indextables.spark.frames.recorded_read import RecordedRead
from indextables.spark.frames.registration import ensure_registered
from indextables.spark.options import ROW_ADDRESS, TABLE, TIME_TRAVEL, location_in, settings_in
from indextables.spark.planner.read_options import ReadOptions, warn_of_write_settings
from indextables.spark.planner.snapshots import latest_snapshot
from indextables.spark.source.batch_reader import refuse_other_columns
from indextables.spark.source.spark_types import arrow_schema, spark_schema
from indextables.spark.source.stream_options import refuse_stream_options


class TableFrameReader(RecordedRead, DataFrameReader):
    """`spark.read`, which tells our format what the session says: settings, time zone, letter case.

    The version is decided when a frame is made, so that the frame shows one version of the table however often it is run.
    """

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._wanted: StructType | str | None = None

    def schema(self, schema: StructType | str) -> Self:
        self._wanted = schema
        super().schema(schema)
        return self

    @property
    def is_time_travel(self) -> bool:
        return not self._given.keys().isdisjoint({"versionasof", "timestampasof"})

    def load(
        self,
        path: str | list[str] | None = None,
        format: str | None = None,  # noqa: A002 - Spark's name
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        self._apply(format, schema, options)
        if not self._ours:
            return super().load(path)
        if isinstance(path, list):
            raise ConfigError("a frame is read from one table; union frames of several", key="path", value=str(path))
        return load(self._spark, {**self._given, **({} if path is None else {"path": path})}, self._wanted)


def load(spark: SparkSession, options: Mapping[str, str], schema: StructType | str | None = None) -> DataFrame:
    """A frame over the table that the options name, with the settings of the session."""
    ensure_registered(spark)
    refuse_stream_options(options)
    warn_of_write_settings(options)
    return frame_at(spark, *resolve_version(spark, options), schema)


def frame_at(
    spark: SparkSession, given: Mapping[str, str], snapshot: Snapshot, schema: StructType | str | None = None
) -> DataFrame:
    """A frame over a table at the version that the options name."""
    own = snapshot.metadata.arrow_schema()
    wanted = spark_schema(own) if schema is None else schema
    columns = wanted if isinstance(wanted, StructType) else cast("StructType", StructType.fromDDL(wanted))
    refuse_other_columns(arrow_schema(columns), own, ReadOptions.of(given))
    return relation_frame(spark, columns, given)


def frame_with_address(spark: SparkSession, given: Mapping[str, str], snapshot: Snapshot) -> DataFrame:
    """A frame over a table at the version that the options name, with two more columns that say where a row is."""
    own = snapshot.metadata.arrow_schema()
    taken = [name for name in own.names if name.lower() in ADDRESS]
    if taken:
        raise SchemaError(
            f"rows cannot be changed by SQL in a table with a column {taken[0]}: the query that finds them has one, too; "
            "use IndexTable.delete and IndexTable.update",
            column=taken[0],
        )
    return relation_frame(spark, spark_schema(pa.schema([*own, *ADDRESS_SCHEMA])), {**given, ROW_ADDRESS: "true"})


def resolve_version(spark: SparkSession, options: Mapping[str, str]) -> tuple[dict[str, str], Snapshot]:
    """The options with the session's settings and the version that they mean now, and the snapshot of that version."""
    given = with_session_settings(spark, options)
    read = ReadOptions.of(given)
    snapshot = latest_snapshot(read)
    given = {key: value for key, value in given.items() if key.lower() not in {"path", "versionasof", "timestampasof"}}
    decision = {"path": read.path, "versionAsOf": str(snapshot.version), TABLE: snapshot.metadata.id}
    if read.version is not None or read.timestamp is not None:
        decision[TIME_TRAVEL] = "true"
    return {**given, **decision}, snapshot


def with_session_settings(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """The options, and the session's settings where there is no option."""
    return {**_session_settings(spark, options), **options}


def _session_settings(spark: SparkSession, options: Mapping[str, str]) -> dict[str, str]:
    """The settings of the session that no option overrides."""
    given = {without_prefix(key).lower() for key in settings_in(options)}
    session = {
        "timeZone": str(spark.conf.get("spark.sql.session.timeZone")),
        "caseSensitive": str(spark.conf.get("spark.sql.caseSensitive")),
        "read.minPartitions": str(spark.sparkContext.defaultParallelism),
        **settings_of(spark, location_in(options), options),
    }
    return {key: value for key, value in session.items() if without_prefix(key).lower() not in given}
