"""`df.write` with the format `indextables`: what Spark's Python data sources cannot be told is decided here.

Modes, `partitionBy`, settings of the session and the arrangement of rows are turned into a plain append or overwrite with
options, which is what reaches the data source. All other formats take Spark's own way.
"""

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError
from indextables.layout import Layout, PartitionField
from indextables.log import TransactionLog
from indextables.spark.arrangement import arranged
from indextables.spark.options import ARRANGED, FORMAT, MODE, SPECULATION, path_in, settings_in, settings_of
from indextables.spark.types import arrow_schema
from indextables.write.arrange import roomy
from indextables.write.job import Mode, WriteJob, plan_job

_MODES = {"append": Mode.APPEND, "overwrite": Mode.OVERWRITE, "error": Mode.ERROR, "errorifexists": Mode.ERROR}
_MODES |= {"default": Mode.ERROR, "ignore": Mode.IGNORE, "replacewhere": Mode.OVERWRITE}
_TARGET = f"{PREFIX}optimizeWrite.targetRecordsPerSplit"


class TableWriter(DataFrameWriter):
    """Spark's writer, which remembers what it was told, for the case that the format is ours."""

    def __init__(self, df: DataFrame) -> None:
        super().__init__(df)
        self._ours = False
        self._mode = "errorifexists"
        self._given: dict[str, str] = {}
        self._columns: tuple[str, ...] = ()
        self._clustered: tuple[str, ...] = ()
        self._bucketed = False

    def format(self, source: str) -> "TableWriter":
        if self._ours and source.lower() != FORMAT:
            self._forward("partitionBy", self._columns)
            self._forward("clusterBy", self._clustered)
        self._ours = source.lower() == FORMAT
        super().format(source)
        return self

    def mode(self, saveMode: str | None) -> "TableWriter":  # noqa: N803 - Spark's signature
        if saveMode is not None:
            self._mode = saveMode
            if saveMode.lower() != "replacewhere":
                super().mode(saveMode)
        return self

    def option(self, key: str, value: Any) -> "TableWriter":
        if value is not None:
            self._given[key.strip().lower()] = str(value).lower() if isinstance(value, bool) else str(value)
        super().option(key, value)
        return self

    def options(self, **options: Any) -> "TableWriter":
        for key, value in options.items():
            self.option(key, value)
        return self

    def partitionBy(self, *cols: Any) -> "TableWriter":  # noqa: N802 - Spark's name
        self._columns = _names(cols)
        return self if self._ours else self._forward("partitionBy", self._columns)

    def clusterBy(self, *cols: Any) -> "TableWriter":  # noqa: N802
        self._clustered = _names(cols)
        return self if self._ours else self._forward("clusterBy", self._clustered)

    def bucketBy(self, *args: Any) -> "TableWriter":  # noqa: N802
        self._bucketed = True
        return self._forward("bucketBy", args)

    def _forward(self, method: str, names: tuple[Any, ...]) -> "TableWriter":
        """Tells Spark's own writer, which refuses combinations that are fine with us."""
        if names:
            getattr(super(), method)(*names)
        return self

    def save(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803
        **options: Any,
    ) -> None:
        self._told(format, mode, partitionBy, options)
        if not self._ours:
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
        """Writes to the `path` option, or to where the catalog has the table, and makes the catalog know it."""
        self._told(format, mode, partitionBy, options)
        if not self._ours:
            super().mode(self._mode)
            super().saveAsTable(name)
            return
        if "path" not in self._given and self._spark.catalog.tableExists(name):
            self.option("path", _location(self._spark, name))
        self._write(_mode_named(self._mode))
        location = path_in(self._given).replace("'", "\\'")
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING {FORMAT} OPTIONS (path '{location}')")

    def _told(self, source: str | None, mode: str | None, columns: Any, options: dict[str, Any]) -> None:
        self.mode(mode).options(**options)
        if columns is not None:
            self.partitionBy(columns)
        if source is not None:
            self.format(source)

    def _write(self, mode: Mode) -> None:
        path = path_in(self._given)
        settings = self._settings(mode)
        if mode is Mode.IGNORE and TransactionLog.open(path, Config.resolve(settings)).exists():
            return
        job = plan_job(path, arrow_schema(self._df.schema), mode=mode, sources=[settings])
        if job.done:
            return
        started = time.monotonic_ns()
        frame = arranged(self._df, job.plan)
        spent = (time.monotonic_ns() - started) // 1_000_000
        writer = DataFrameWriter(frame).format(FORMAT).mode("overwrite" if mode is Mode.OVERWRITE else "append")
        internal = {MODE: mode.value, ARRANGED: spent, SPECULATION: self._spark.conf.get("spark.speculation", "false")}
        writer.options(**{**settings, **_decided(job), **internal}).save(job.table)

    def _settings(self, mode: Mode) -> dict[str, str]:
        """What options and session say, under full keys; the options first."""
        given = canonical(settings_in(self._given))
        if self._bucketed:
            raise ConfigError(
                'use option("partitionBy", "bucket(16, id)") in place of bucketBy', key="bucketBy", value=None
            )
        if self._clustered:
            given[f"{PREFIX}optimizeWrite.clusterBy"] = ", ".join(self._clustered)
        if self._columns:
            given[f"{PREFIX}partitionBy"] = str(self._layout())
        if mode is not Mode.OVERWRITE and f"{PREFIX}replaceWhere" in given:
            raise ConfigError(
                f"replaceWhere goes with mode overwrite, not with {mode}",
                key="replaceWhere",
                value=given[f"{PREFIX}replaceWhere"],
            )
        return {**canonical(settings_of(self._spark)), **given}

    def _layout(self) -> Layout:
        """`partitionBy("day", "hour(ts)")`: columns, and what is not the name of one is read as a term."""
        known = {name.lower() for name in self._df.columns}
        return Layout.of(*(PartitionField(c) if c.lower() in known else c for c in self._columns))


def _names(cols: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols)


def _location(spark: SparkSession, name: str) -> str:
    """Where the catalog has a table; DESCRIBE does not tell for tables of Python data sources."""
    state = spark._jsparkSession.sessionState()  # noqa: SLF001
    found = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))
    return str(found.location().toString())


def _mode_named(name: str) -> Mode:
    try:
        return _MODES[name.lower()]
    except KeyError:
        raise ConfigError(f"there is no mode {name!r}; use {', '.join(_MODES)}", key="mode", value=name) from None


def _decided(job: WriteJob) -> dict[str, str]:
    """What the tasks need not decide again."""
    config = job.plan.config
    rows = roomy(config.target_records) if config.optimize_write else config.target_records
    return {_TARGET: str(rows), f"{PREFIX}autoSize.enabled": "false"}
