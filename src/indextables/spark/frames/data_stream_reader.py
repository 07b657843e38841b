"""`spark.readStream` that knows the session: its settings and credentials, its time zone, the tables of its catalog."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from indextables.spark.catalyst.session_state import parse_name
from indextables.spark.frames.catalog import lookup_table
from indextables.spark.frames.dataframe_reader import with_session_settings
from indextables.spark.frames.recorded_read import RecordedRead
from indextables.spark.frames.registration import ensure_registered
from indextables.spark.options import FORMAT, path_in
from indextables.spark.planner.snapshots import latest_snapshot
from indextables.spark.source.stream_options import StreamOptions


class TableStreamFrameReader(RecordedRead, DataStreamReader):
    """Spark's reader of streams, which also records options, for the case that the format is ours."""

    def load(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - Spark's name
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        self._apply(format, schema, options)
        if not self._ours:
            return super().load(path)
        return self._load({**self._given, **({} if path is None else {"path": path})})

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's name
        """A table of ours by the path that the catalog has for it: Spark does not pass it to a Python data source."""
        parts = parse_name(self._spark, tableName)
        entry = lookup_table(self._spark, parts)
        if entry is None:
            return super().table(tableName)
        self.format(FORMAT)
        return self._load({**self._given, "path": entry.location}).alias(parts[-1])

    def _load(self, options: Mapping[str, str]) -> DataFrame:
        ensure_registered(self._spark)
        given = with_session_settings(self._spark, options)
        read = StreamOptions.of(given).read
        read.scan_spec(latest_snapshot(read))  # refuses what is wrong here, and not in a process of Spark's
        for key, value in given.items():
            super().option(key, value)
        super().option("path", path_in(given))
        return super().load()
