"""`df.write` with the format `indextables`: planned here, because Spark passes too little to a Python data source.

The mode, `partitionBy` and the settings of the session become a write job. Its rows are repartitioned, and the job reaches
the data source as an option of a plain append or overwrite. All other formats are left to Spark.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from indextables.config import PREFIX, Config, canonical, is_secret
from indextables.errors import ConfigError, TableExistsError
from indextables.layout import Layout, PartitionField
from indextables.log import TransactionLog
from indextables.maintain.replace_where import resolve_overwrite
from indextables.spark.api.registration import ensure_registered
from indextables.spark.catalog import (
    CatalogTable,
    drop_from_catalog,
    lookup_table,
    qualify,
    read_columns,
    refresh_columns,
    register_table,
    table_exists,
)
from indextables.spark.catalyst.session_state import parse_name
from indextables.spark.job_description import described_jobs
from indextables.spark.source.job_option import encode_job
from indextables.spark.source.options import (
    FORMAT,
    JOB,
    is_default,
    is_our_format,
    path_in,
    settings_in,
    settings_of,
)
from indextables.spark.source.spark_types import arrow_schema
from indextables.spark.statements.insert import insert_by_position
from indextables.spark.write.repartition import repartition
from indextables.spark.write.replace_where_copies import copied_by_executors
from indextables.storage.location import Location
from indextables.write.job_planning import plan_job
from indextables.write.overwrite import OverwriteResolver, refuse_contradictory_options
from indextables.write.write_job import Mode
from indextables.write.write_plan import after_repartition

_MODES = {"append": Mode.APPEND, "overwrite": Mode.OVERWRITE, "error": Mode.ERROR, "errorifexists": Mode.ERROR}
_MODES |= {"default": Mode.ERROR, "ignore": Mode.IGNORE, "replacewhere": Mode.OVERWRITE}
_UNITS = re.compile(r"(year|month|day|hour)s(?=\()")
_WHERE, _DYNAMIC = f"{PREFIX}replaceWhere", f"{PREFIX}partitionOverwriteMode"


class TableWriter(DataFrameWriter):
    """Spark's writer, which also records mode, options and layout, for the case that the format is ours."""

    def __init__(self, df: DataFrame) -> None:
        super().__init__(df)
        self._source: str | None = None
        self._mode = "errorifexists"
        self._write_options: dict[str, str] = {}
        self._partition_columns: tuple[str, ...] = ()
        self._cluster_columns: tuple[str, ...] = ()
        self._bucketed = False
        self._properties: Mapping[str, str] = {}

    @property
    def _ours(self) -> bool:
        """Whether the format is ours, or there is none and ours is the session's default."""
        return is_default(self._spark) if self._source is None else is_our_format(self._source)

    def format(self, source: str) -> "TableWriter":
        self._source = source
        super().format(source)
        return self if self._ours else self._forward_layout()

    def mode(self, saveMode: str | None) -> "TableWriter":  # noqa: N803 - Spark's signature
        if saveMode is not None:
            self._mode = saveMode
            if saveMode.lower() != "replacewhere":
                super().mode(saveMode)
        return self

    def option(self, key: str, value: Any) -> "TableWriter":
        if isinstance(value, list | tuple) and key.strip().lower().removeprefix(PREFIX) == "replacewhere":
            value = json.dumps([str(condition) for condition in value])
        if value is not None:
            self._write_options[key.strip().lower()] = str(value).lower() if isinstance(value, bool) else str(value)
        super().option(key, value)
        return self

    def options(self, **options: Any) -> "TableWriter":
        for key, value in options.items():
            self.option(key, value)
        return self

    def partitionBy(self, *cols: Any) -> "TableWriter":  # noqa: N802 - Spark's name
        self._partition_columns = _names(cols)
        return self if self._ours else self._forward_layout()

    def clusterBy(self, *cols: Any) -> "TableWriter":  # noqa: N802
        self._cluster_columns = _names(cols)
        return self if self._ours else self._forward_layout()

    def bucketBy(self, *args: Any) -> "TableWriter":  # noqa: N802
        self._bucketed = True
        super().bucketBy(*args)
        return self

    def with_properties(self, properties: Mapping[str, str]) -> "TableWriter":
        """The properties of the table, if the write creates it."""
        self._properties = properties
        return self

    def _forward_layout(self) -> "TableWriter":
        """Tells Spark's own writer, which refuses combinations that are fine with us."""
        if self._partition_columns:
            super().partitionBy(*self._partition_columns)
        if self._cluster_columns:
            super().clusterBy(*self._cluster_columns)
        return self

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
            self._forward_layout()
            super().mode(self._mode)
            super().save(path)
            return
        if path is not None:
            self.option("path", path)
        self._write(_mode_named(self._mode))

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
            self._forward_layout()
            super().mode(self._mode)
            super().saveAsTable(name)
            return
        self._save_named(parts, _mode_named(self._mode))

    def _save_named(self, parts: Sequence[str], mode: Mode) -> None:
        entry = lookup_table(self._spark, parts)
        if entry is None and table_exists(self._spark, parts):
            _refuse_other_format(parts)
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
        path = self._write_options.setdefault("path", entry.location)
        if Location.parse(path) != Location.parse(entry.location):
            raise ConfigError(
                f"table {entry.name} is at {entry.location}, not at {path}; leave the path out, or choose another name",
                key="path",
                value=path,
            )
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
            self._forward_layout()
            super().insertInto(tableName, overwrite)
            return
        replaces = self._mode.lower() == "overwrite" if overwrite is None else overwrite
        insert = insert_by_position(self._df, entry, overwrite=replaces)
        writer = TableWriter(insert.frame).format(FORMAT).mode(insert.mode)
        writer.options(**{**self._write_options, **insert.options})
        writer.partitionBy(*self._partition_columns).clusterBy(*self._cluster_columns).save()

    def _apply(self, source: str | None, mode: str | None, columns: Any, options: dict[str, Any]) -> None:
        self.mode(mode).options(**options)
        if columns is not None:
            self.partitionBy(columns)
        if source is not None:
            self.format(source)

    def _write(self, mode: Mode) -> None:
        ensure_registered(self._spark)
        path = path_in(self._write_options)
        settings = self._settings(mode)
        if mode is Mode.IGNORE and TransactionLog.open(path, Config.resolve(settings)).exists():
            return
        job = plan_job(
            path,
            arrow_schema(self._df.schema),
            mode=mode,
            sources=[settings],
            overwrite=_overwrite_resolver(self._spark),
            properties=self._properties,
        )
        if job.already_committed:
            return
        started = time.monotonic_ns()
        with described_jobs(self._spark, f"count rows before the write to {job.table}"):
            frame = repartition(self._df, job.plan)
        metrics = {"repartitionTimeMs": (time.monotonic_ns() - started) // 1_000_000}
        speculative = (self._spark.conf.get("spark.speculation", "false") or "").lower() == "true"
        job = replace(job, plan=after_repartition(job.plan), metrics=metrics, speculative=speculative)
        writer = DataFrameWriter(frame).format(FORMAT).mode("overwrite" if mode is Mode.OVERWRITE else "append")
        secrets = {key: value for key, value in settings.items() if is_secret(key)}
        with copied_by_executors(self._spark, job) as planned:
            writer.options(**secrets, **{JOB: encode_job(planned)}).save(planned.table)

    def _settings(self, mode: Mode) -> dict[str, str]:
        """The settings of the options and of the session, under full keys; an option wins."""
        options = canonical(settings_in(self._write_options))
        if self._bucketed:
            raise ConfigError(
                'use option("partitionBy", "bucket(16, id)") in place of bucketBy', key="bucketBy", value=None
            )
        if self._cluster_columns:
            options[f"{PREFIX}optimizeWrite.clusterBy"] = ", ".join(self._cluster_columns)
        if self._partition_columns:
            options[f"{PREFIX}partitionBy"] = str(self._layout())
        refuse_contradictory_options(options, overwrites=mode is Mode.OVERWRITE)
        session = {**_sparks_overwrite_mode(self._spark), **canonical(settings_of(self._spark, options))}
        if mode is not Mode.OVERWRITE:
            session.pop(_WHERE, None)
        if _WHERE in options or _WHERE in session:
            session.pop(_DYNAMIC, None)
        if self._mode.lower() == "replacewhere" and _WHERE not in options:
            raise ConfigError(
                'mode("replaceWhere") needs a condition: option("replaceWhere", "day = \'mon\'")',
                key="replaceWhere",
                value=None,
            )
        return {**session, **options}

    def _layout(self) -> Layout:
        """`partitionBy("day", "hour(ts)")`: columns, and what is not the name of one is read as a term."""
        known = {name.lower() for name in self._df.columns}
        return Layout.of(*(PartitionField(c) if c.lower() in known else c for c in self._partition_columns))


def partition_term(term: str) -> str:
    """A term of a layout, from one of Spark's.

    >>> partition_term("days(ts)"), partition_term("bucket(16, id)")
    ('day(ts)', 'bucket(16, id)')
    """
    return _UNITS.sub(r"\1", term, count=1) if _UNITS.match(term) else term


def _by_method(source: str) -> Callable[..., None]:
    """`df.write.parquet(path)` and the like: methods of Spark's writer that name the format and write."""

    def write(writer: TableWriter, *args: Any, **options: Any) -> None:
        getattr(super(TableWriter, writer.format(source)), source)(*args, **options)

    return write


for _source in ("csv", "jdbc", "json", "orc", "parquet", "text", "xml"):
    setattr(TableWriter, _source, _by_method(_source))


def _names(cols: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols)


def _sparks_overwrite_mode(spark: SparkSession) -> dict[str, str]:
    """Spark's own setting for overwrites of the session, so that no more is replaced than it allows."""
    mode = spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static") or ""
    return {_DYNAMIC: "dynamic"} if mode.lower() == "dynamic" else {}


def _overwrite_resolver(spark: SparkSession) -> OverwriteResolver:
    """Conditions are read with the time zone and the case sensitivity of the session."""
    zone, case = spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.caseSensitive")
    return partial(resolve_overwrite, time_zone=zone or "UTC", case_sensitive=(case or "").lower() == "true")


def _refuse_other_format(parts: Sequence[str]) -> None:
    name = ".".join(parts)
    raise ConfigError(
        f"the catalog has a table or view {name} that is not of the format {FORMAT}; choose another name",
        key="name",
        value=name,
    )


def _mode_named(name: str) -> Mode:
    try:
        return _MODES[name.lower()]
    except KeyError:
        raise ConfigError(f"there is no mode {name!r}; use {', '.join(_MODES)}", key="mode", value=name) from None
