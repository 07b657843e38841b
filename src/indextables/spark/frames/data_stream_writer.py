"""`df.writeStream` with the format `indextables`: checked when it starts, with the settings and the catalog of the session.

The batches are planned by the data source, each on the table as it is by then. All other formats are left to Spark.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from indextables.errors import ConfigError
from indextables.spark.catalyst.python_workers import refuse_missing_python
from indextables.spark.catalyst.query_planning import with_stream_searches
from indextables.spark.catalyst.session_state import parse_name
from indextables.spark.environment.session_settings import settings_of
from indextables.spark.frames.catalog import (
    CatalogTable,
    drop_from_catalog,
    lookup_table,
    qualify,
    refuse_other_format,
    refuse_other_location,
    register_table,
)
from indextables.spark.frames.recorded_write import RecordedWrite
from indextables.spark.frames.registration import ensure_registered
from indextables.spark.frames.stream_progress import remember_table
from indextables.spark.options import FORMAT, RUN, SPECULATION, location_in, path_in, settings_in
from indextables.spark.source.stream_writer import plan_batch, without_sparks_own
from indextables.spark.write.task_attempts import is_speculative
from indextables.write.write_job import Mode

_FOREACH = "foreach"


class TableStreamWriter(RecordedWrite, DataStreamWriter):
    """Spark's writer of streams, which also records what it is told, for the case that the format is ours."""

    def __init__(self, df: DataFrame) -> None:
        DataStreamWriter.__init__(self, with_stream_searches(df))
        self._start(df, self._spark)
        self._output_mode = "append"

    def outputMode(self, outputMode: str) -> Self:  # noqa: N802, N803 - Spark's names, here and below
        self._output_mode = outputMode
        super().outputMode(outputMode)
        return self

    def foreach(self, f: Any) -> Self:
        self._source = _FOREACH
        super().foreach(f)
        return self

    def foreachBatch(self, func: Any) -> Self:  # noqa: N802
        self._source = _FOREACH
        super().foreachBatch(func)
        return self

    def start(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002
        outputMode: str | None = None,  # noqa: N803
        partitionBy: Any = None,  # noqa: N803
        queryName: str | None = None,  # noqa: N803
        **options: Any,
    ) -> StreamingQuery:
        self._apply_stream(format, outputMode, partitionBy, queryName, options)
        if not self._ours:
            self._forward_layout()
            return super().start(path)
        return self._begin({**self._write_options, **({} if path is None else {"path": path})})

    def toTable(  # noqa: N802
        self,
        tableName: str,  # noqa: N803
        format: str | None = None,  # noqa: A002
        outputMode: str | None = None,  # noqa: N803
        partitionBy: Any = None,  # noqa: N803
        queryName: str | None = None,  # noqa: N803
        **options: Any,
    ) -> StreamingQuery:
        """Writes to where the catalog has the table, to the `path` option, or to where the catalog wants a new table.

        Without a format, a table of ours stays one, whatever the session's default is.
        """
        self._apply_stream(format, outputMode, partitionBy, queryName, options)
        parts = qualify(self._spark, parse_name(self._spark, tableName))
        entry = lookup_table(self._spark, parts)
        if self._source is None and entry is not None:
            self.format(FORMAT)
        if not self._ours:
            _refuse_our_table(entry, self._source)
            self._forward_layout()
            return super().toTable(tableName)
        given = self._write_options.get("path")
        if entry is None:
            return self._begin_new(parts, given)
        if given is not None:
            refuse_other_location(entry, given)
        return self._begin({**self._write_options, "path": entry.location})

    def _begin_new(self, parts: Sequence[str], path: str | None) -> StreamingQuery:
        """To a table that the catalog does not know yet; it forgets it if the query does not start."""
        refuse_other_format(self._spark, parts)
        ensure_registered(self._spark)
        location = None if path is None else path_in({"path": path})
        entry = register_table(self._spark, parts, location, self._frame.schema)
        try:
            return self._begin({**self._write_options, "path": entry.location})
        except BaseException:
            drop_from_catalog(self._spark, entry)
            raise

    def _begin(self, options: Mapping[str, str]) -> StreamingQuery:
        if self._output_mode.lower() == "update":
            raise ConfigError(
                'there is no output mode "update" for tables: a batch would have to replace the rows that it updates; use '
                '"append", "complete", or foreachBatch with a replaceWhere',
                key="outputMode",
                value=self._output_mode,
            )
        if location_in(options) is None:
            raise ConfigError("there is no path; use start(path) or toTable(name)", key="path", value=None)
        ensure_registered(self._spark)
        refuse_missing_python(self._spark)
        path = path_in(options)
        overwrites = self._output_mode.lower() == "complete"
        mode = Mode.OVERWRITE if overwrites else Mode.APPEND
        settings = self._settings(mode, settings_of(self._spark, path, without_sparks_own(self._write_options)))
        given = {**settings, "path": path}
        planned = plan_batch(given, self._frame.schema, overwrite=overwrites)  # refuses what is wrong, before it starts
        for key, value in settings.items():
            if self._write_options.get(key.lower()) != value:
                DataStreamWriter.option(self, key, value)
        DataStreamWriter.option(self, RUN, uuid4().hex)
        if is_speculative(self._spark):
            DataStreamWriter.option(self, SPECULATION, "true")
        DataStreamWriter.format(self, FORMAT)
        DataStreamWriter.option(self, "path", path)
        query = DataStreamWriter.start(self)
        remember_table(query, path, settings, version=planned.job.read_version)
        return query

    def _given_settings(self) -> dict[str, str]:
        return settings_in(without_sparks_own(self._write_options))

    def _overwrite_mode(self) -> dict[str, str]:
        """Output mode complete replaces the table, whatever the session says of batch overwrites."""
        return {}

    def _apply_stream(
        self, source: str | None, mode: str | None, columns: Any, name: str | None, options: Mapping[str, Any]
    ) -> None:
        self.options(**options)
        if mode is not None:
            self.outputMode(mode)
        if columns is not None:
            self.partitionBy(columns)
        if source is not None:
            self.format(source)
        if name is not None:
            self.queryName(name)


def _refuse_our_table(entry: CatalogTable | None, source: str | None) -> None:
    if entry is not None:
        raise ConfigError(
            f"table {entry.name} is of the format {FORMAT}, not {source}; leave the format out, or choose another name",
            key="format",
            value=source,
        )
