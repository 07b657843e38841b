"""`df.write` with the format `indextables`: planned here, because Spark passes too little to a Python data source.

The mode, `partitionBy` and the settings of the session become a write job. Its rows are repartitioned and written by tasks
on executors, and the driver commits them. All other formats are left to Spark.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.readwriter import DataFrameWriter

from indextables.config import Config
from indextables.errors import TableExistsError
from indextables.log import TransactionLog
from indextables.maintain.replace_where import resolve_overwrite
from indextables.search.text_choice import SAMPLE_ROWS, text_columns_of
from indextables.spark.catalyst.query_planning import planned_frame
from indextables.spark.catalyst.session_state import parse_name
from indextables.spark.environment.session_settings import condition_settings, settings_of
from indextables.spark.environment.worker_failures import worker_errors
from indextables.spark.frames.catalog import (
    CatalogTable,
    drop_from_catalog,
    lookup_table,
    qualify,
    read_columns,
    refresh_columns,
    refuse_other_format,
    refuse_other_location,
    register_table,
)
from indextables.spark.frames.insert import insert_by_position
from indextables.spark.frames.recorded_write import RecordedWrite, mode_named
from indextables.spark.frames.registration import ensure_registered
from indextables.spark.options import FORMAT, path_in
from indextables.spark.source.spark_types import arrow_schema
from indextables.spark.write.executor_write import write_on_executors
from indextables.spark.write.repartition import repartitioned
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, WriteJob
from indextables.write.write_plan import after_repartition


class TableWriter(RecordedWrite, DataFrameWriter):
    """Spark's writer, which also records mode, options and layout, for the case that the format is ours.

    The rows are planned by the method that writes them. Spark's writer is bound to its frame: another one, over the planned
    frame, gets the same calls.
    """

    def __init__(self, df: DataFrame) -> None:
        DataFrameWriter.__init__(self, df)
        self._calls: list[tuple[str, tuple[Any, ...]]] = []
        self._replaces_table = False
        self._start(df, self._spark)

    def _tell_spark(self, method: str, *args: Any) -> None:
        """Calls a method at once, so that Spark's errors come from there, and keeps the call for `_planned_writer`."""
        super()._tell_spark(method, *args)
        self._calls.append((method, args))

    def _planned_writer(self) -> DataFrameWriter:
        """Spark's own writer over the planned rows, after the same calls."""
        self._forward_layout()
        writer = DataFrameWriter(planned_frame(self._df))
        for method, args in self._calls:
            getattr(writer, method)(*args)
        return writer

    def save(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803
        **options: Any,
    ) -> None:
        self._apply(format, mode, partitionBy, options)
        if not self._ours:
            self._planned_writer().mode(self._mode).save(path)
            return
        if path is not None:
            self.option("path", path)
        self._write(mode_named(self._mode))

    def saveAsTable(  # noqa: N802 - Spark's name and signature
        self,
        name: str,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803
        **options: Any,
    ) -> None:
        """Writes to the `path` option, or to where the catalog has or wants the table, and makes the catalog know it.

        As everywhere in Spark, a temporary view of the same name is not what is meant. Without a format, a table of ours
        stays one, whatever the session's default is.
        """
        self._apply(format, mode, partitionBy, options)
        parts = qualify(self._spark, parse_name(self._spark, name))
        if self._source is None and lookup_table(self._spark, parts) is not None:
            self.format(FORMAT)
        if not self._ours:
            self._planned_writer().mode(self._mode).saveAsTable(name)
            return
        self._save_named(parts, mode_named(self._mode))

    def _save_named(self, parts: Sequence[str], mode: Mode) -> None:
        entry = lookup_table(self._spark, parts)
        if entry is None:
            refuse_other_format(self._spark, parts)
        if entry is not None:
            self._save_again(entry, mode)
            refresh_columns(self._spark, parts, self._write_options)
        elif "path" in self._write_options:
            self._write(mode)
            path = path_in(self._write_options)
            register_table(self._spark, parts, path, read_columns(self._spark, path, self._write_options))
        else:
            self._save_managed(parts, mode)

    def _save_again(self, entry: CatalogTable, mode: Mode) -> None:
        """To a table that the catalog knows."""
        if mode is Mode.ERROR:
            raise TableExistsError(
                f"there is a table {entry.name} already, at {entry.location}; append to it or overwrite it",
                table=entry.location,
            )
        refuse_other_location(entry, self._write_options.setdefault("path", entry.location))
        if mode is not Mode.IGNORE:
            self._write(mode)

    def _save_managed(self, parts: Sequence[str], mode: Mode) -> None:
        """To a new table where the catalog wants it; the catalog wants to know first, and forgets it if the write fails."""
        entry = register_table(self._spark, parts, None, self._df.schema)
        try:
            self.option("path", entry.location)
            self._write(mode)
        except BaseException:
            drop_from_catalog(self._spark, entry)
            raise

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: N802, N803, FBT001 - Spark's
        """Writes to a table of the catalog, by the positions of columns."""
        entry = refresh_columns(self._spark, parse_name(self._spark, tableName), self._write_options)
        if entry is None:
            self._planned_writer().insertInto(tableName, overwrite)
            return
        replaces = self._mode.lower() == "overwrite" if overwrite is None else overwrite
        insert = insert_by_position(self._df, entry, overwrite=replaces)
        writer = TableWriter(insert.frame).format(FORMAT).mode(insert.mode)
        writer.options(**{**self._write_options, **insert.options})
        writer.partitionBy(*self._partition_columns).clusterBy(*self._cluster_columns).save()

    def replacing_table(self) -> "TableWriter":
        """Replaces a table that is there, with its columns, layout and properties: CREATE OR REPLACE TABLE."""
        self._replaces_table = True
        return self.mode("overwrite")

    def _write(self, mode: Mode) -> None:
        ensure_registered(self._spark)
        path = path_in(self._write_options)
        settings = self._settings(mode, settings_of(self._spark, path, self._write_options))
        if self._replaces_table:
            settings = self._without_overwrites_of_a_part(settings)
        if mode is Mode.IGNORE and TransactionLog.open(path, Config.resolve(settings)).exists():
            return
        job = plan_job(
            path,
            arrow_schema(self._df.schema),
            mode=mode,
            sources=[settings],
            overwrite=partial(resolve_overwrite, **condition_settings(self._spark)),
            properties=self._properties_of_new_table(),
            texts=lambda: text_columns_of(self._df.limit(SAMPLE_ROWS).toArrow()),
            replace_table=self._replaces_table,
        )
        if job.already_committed:
            return
        run_job(planned_frame(self._df), job)


def run_job(frame: DataFrame, job: WriteJob, *, log: TransactionLog | None = None) -> None:
    """Writes the rows of a frame by a job that was planned for them; a caller that has the `log` of its table passes it."""
    started = time.monotonic_ns()
    with worker_errors(), repartitioned(frame, job) as rows:
        metrics = {"repartitionTimeMs": (time.monotonic_ns() - started) // 1_000_000}
        write_on_executors(rows, replace(job, plan=after_repartition(job.plan), metrics=metrics), log=log)


def _by_method(source: str) -> Callable[..., None]:
    """`df.write.parquet(path)` and the like: methods of Spark's writer that name the format and write."""

    def write(self: TableWriter, *args: Any, **options: Any) -> None:
        self.format(source)
        getattr(self._planned_writer(), source)(*args, **options)

    return write


for _source in ("csv", "jdbc", "json", "orc", "parquet", "text", "xml"):
    setattr(TableWriter, _source, _by_method(_source))
