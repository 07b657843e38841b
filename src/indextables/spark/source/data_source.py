"""The data source `indextables`: what Spark calls when a frame is read or written with this format."""

import json
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from indextables.config import PREFIX, canonical
from indextables.errors import ConfigError
from indextables.spark.source.batch_reader import TableReader
from indextables.spark.source.batch_writer import SplitSink
from indextables.spark.source.options import (
    ARRANGED,
    FORMAT,
    MODE,
    PROPERTIES,
    PROVIDER,
    SPECULATION,
    path_in,
    scope_in,
    settings_in,
)
from indextables.spark.source.read_options import Asked
from indextables.spark.source.spark_types import arrow_schema, spark_schema
from indextables.write.job import Mode, WriteJob, plan_job
from indextables.write.replaced_rows import Everything


class IndexTablesDataSource(DataSource):
    """Register it with `spark.dataSource.register(IndexTablesDataSource)`, or let `indextables.enable(spark)` do it.

    Spark makes an instance of it in a process without a session, once to plan and again to commit.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        """The table's columns. From here on the instance reads the version that has them."""
        snapshot = Asked.of(self.options).snapshot()
        self.options["versionAsOf"] = str(snapshot.version)
        self.options.pop("timestampAsOf", None)
        return spark_schema(snapshot.metadata.arrow_schema())

    def reader(self, schema: StructType) -> TableReader:
        return TableReader(Asked.of(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> SplitSink:  # noqa: FBT001 - Spark's signature
        mode = Mode.OVERWRITE if overwrite else Mode(self.options.get(MODE, Mode.APPEND))
        job = plan_job(
            path_in(self.options),
            arrow_schema(schema),
            mode=mode,
            sources=[settings_in(self.options)],
            scope=scope_in(self.options),
            properties=json.loads(self.options.get(PROPERTIES, "{}")),
        )
        if MODE not in self.options:
            _refuse_unclear_overwrite(job, canonical(settings_in(self.options)))
        metrics = {"arrangeTimeMs": int(self.options.get(ARRANGED, 0))}
        return SplitSink(replace(job, metrics=metrics, speculative=self.options.get(SPECULATION) == "true"))


def _refuse_unclear_overwrite(job: WriteJob, settings: Mapping[str, str]) -> None:
    """Without `enable()`, nobody has looked at what the session says of overwrites: it may mean some partitions only."""
    key = f"{PREFIX}partitionOverwriteMode"
    if job.read_version is None or not job.plan.layout.fields or key in settings or job.replacing != Everything():
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
