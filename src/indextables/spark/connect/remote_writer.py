"""`df.write` over Spark Connect: planned by the data source on the server, repartitioned by the client."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql.connect.readwriter import DataFrameWriter

from indextables.config import AUTO_TEXT, Config, is_secret
from indextables.errors import ConfigError, TableExistsError
from indextables.search.text_choice import SAMPLE_ROWS, text_columns_of
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_queries import RemoteQueries
from indextables.spark.connect.server_answers import existing_table, planned_job
from indextables.spark.environment.session_settings import condition_settings, settings_of
from indextables.spark.frames.recorded_write import RecordedWrite, mode_named
from indextables.spark.options import FORMAT, JOB
from indextables.spark.source.job_option import decode_job, encode_job
from indextables.spark.source.planning_requests import PlanWrite
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import arrow_schema
from indextables.spark.write.repartition import repartitioned
from indextables.spark.write.task_attempts import with_attempts_of
from indextables.storage.location import Location
from indextables.write.write_job import Mode
from indextables.write.write_plan import after_repartition


class RemoteWriter(RecordedWrite, DataFrameWriter):
    """Spark's writer, which knows all modes, layouts and settings of our format."""

    def __init__(self, frame: Any, queries: RemoteQueries) -> None:
        DataFrameWriter.__init__(self, frame._plan, frame.sparkSession)
        self._start(frame, frame.sparkSession)
        self._queries = queries

    def save(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - Spark's name
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803
        **options: Any,
    ) -> None:
        self._apply(format, mode, partitionBy, options)
        if not self._ours:
            self._forward_layout()
            DataFrameWriter.save(self, path)
            return
        if path is not None:
            self.option("path", path)
        self._save(mode_named(self._mode))

    def saveAsTable(  # noqa: N802 - Spark's name and signature
        self,
        name: str,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803
        **options: Any,
    ) -> None:
        """Writes to a table of the catalog, or to the `path` option, and makes the catalog know it."""
        self._apply(format, mode, partitionBy, options)
        parts = identifier_parts(name)
        location = self._queries.catalog.current_location_of(parts)
        if not self._ours and location is None:
            self._forward_layout()
            DataFrameWriter.saveAsTable(self, name)
            return
        wanted = mode_named(self._mode)
        if location is not None:
            if self._source is not None and not self._ours:
                raise ConfigError(
                    f"table {name} is of the format {FORMAT}, and the write says {self._source}; leave the format out",
                    key="format",
                    value=self._source,
                )
            self._save_again(name, location, wanted)
            return
        if self._session.catalog.tableExists(name):
            raise ConfigError(
                f"the catalog has a table or view {name} that is not of the format {FORMAT}; choose another name",
                key="name",
                value=name,
            )
        if "path" not in self._write_options:
            raise ConfigError(
                f"over Spark Connect, the place of a new table has to be named: "
                f'df.write.option("path", ...).saveAsTable({name!r})',
                key="path",
                value=None,
            )
        self._save(wanted)
        found = existing_table(self._session, {**self._server_settings(), "path": self._write_options["path"]})
        place = self._write_options["path"] if found is None else found.location
        self._session.sql(f"CREATE TABLE {quote_name(parts)} USING {FORMAT} LOCATION {quote_string(place)}")

    def _save_again(self, name: str, location: str, mode: Mode) -> None:
        if mode is Mode.ERROR:
            raise TableExistsError(
                f"there is a table {name} already, at {location}; append to it or overwrite it", table=location
            )
        if Location.parse(self._write_options.setdefault("path", location)) != Location.parse(location):
            raise ConfigError(
                f"table {name} is at {location}, not at {self._write_options['path']}; leave the path out",
                key="path",
                value=self._write_options["path"],
            )
        if mode is not Mode.IGNORE:
            self._save(mode)

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: N802, N803, FBT001 - Spark's
        """Writes to a table of the catalog, by the positions of columns."""
        location = self._queries.catalog.current_location_of(identifier_parts(tableName))
        if location is None:
            self._forward_layout()
            DataFrameWriter.insertInto(self, tableName, overwrite)
            return
        columns = self._session.read.format(FORMAT).load(location).columns
        if len(columns) != len(self._frame.columns):
            raise ConfigError(
                f"table {tableName} has {len(columns)} columns, and the frame {len(self._frame.columns)}: "
                f"insertInto writes by position to {', '.join(columns)}",
                key="insertInto",
                value=tableName,
            )
        replaces = self._mode.lower() == "overwrite" if overwrite is None else overwrite
        writer = RemoteWriter(self._frame.toDF(*columns), self._queries).format(FORMAT)
        writer.mode("overwrite" if replaces else "append").options(**self._write_options).save(location)

    def _save(self, mode: Mode) -> None:
        settings = self._settings(mode, self._server_settings())
        path = self._write_options.get("path")
        if path is None:
            raise ConfigError("there is no path; use save(path)", key="path", value=None)
        options = {**settings, "path": path}
        if mode is Mode.IGNORE and existing_table(self._session, options) is not None:
            return
        schema = arrow_schema(self._frame.schema).serialize().to_pybytes()
        request = PlanWrite(
            schema=schema,
            mode=mode,
            properties=dict(self._properties_of_new_table()),
            texts=self._texts(options, settings),
            **condition_settings(self._session),
        )
        secrets = {key: value for key, value in settings.items() if is_secret(key)}
        job = decode_job({**secrets, JOB: planned_job(self._session, options, request)})
        if job is None or job.already_committed:
            return
        started = time.monotonic_ns()
        with repartitioned(self._frame, job) as frame:
            metrics = {"repartitionTimeMs": (time.monotonic_ns() - started) // 1_000_000}
            job = with_attempts_of(self._session, replace(job, plan=after_repartition(job.plan), metrics=metrics))
            rows: Any = frame
            writer = DataFrameWriter(rows._plan, self._session).format(FORMAT)
            writer.mode("overwrite" if mode is Mode.OVERWRITE else "append")
            writer.options(**secrets, **{JOB: encode_job(job)}).save(job.table)

    def _texts(self, options: Mapping[str, str], settings: Mapping[str, str]) -> tuple[str, ...] | None:
        """The columns of the frame that are text, by some of its rows, if the write chooses text columns."""
        write = Config.resolve(settings).write
        if write.text != AUTO_TEXT or not (write.overwrite_schema or existing_table(self._session, options) is None):
            return None
        return tuple(text_columns_of(self._frame.limit(SAMPLE_ROWS).toArrow()))

    def _server_settings(self) -> dict[str, str]:
        return settings_of(self._session, self._write_options.get("path"), self._write_options)


def _by_method(source: str) -> Callable[..., None]:
    """`df.write.parquet(path)` and the like: methods of Spark's writer that name the format and write."""

    def write(writer: RemoteWriter, *args: Any, **options: Any) -> None:
        getattr(DataFrameWriter, source)(writer.format(source), *args, **options)

    return write


for _source in ("csv", "jdbc", "json", "orc", "parquet", "text", "xml"):
    setattr(RemoteWriter, _source, _by_method(_source))
