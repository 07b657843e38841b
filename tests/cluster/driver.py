"""The driver's side: a session of the cluster, and the places of tables."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark import BarrierTaskContext
from pyspark.sql import SparkSession

import indextables
from tests.cluster.standalone import QUICK_JAVA, Cluster

ROOT = Path(__file__).parents[2]
WORKER_SITE = Path(__file__).parent / "worker_site"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.executor.memory": "640m",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "300",
    "spark.shuffle.readHostLocalDisk": "false",  # as between machines: the files of a dead executor are gone
    "spark.shuffle.io.maxRetries": "1",  # what a dead executor had is asked for once more, not for 15 seconds
    "spark.shuffle.io.retryWait": "1s",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where tables are: local disk or an object store, with the options that reach it."""

    name: str
    root: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def new_table(self) -> str:
        return f"{self.root}/table-{uuid4().hex[:12]}"


@contextmanager
def session_of(
    cluster: Cluster, settings: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """A Spark session on the cluster, with indextables switched on; `environment` is for all Python processes of Spark."""
    python_path = os.pathsep.join(map(str, (WORKER_SITE, ROOT, ROOT / "src")))
    variables = {"PYTHONPATH": python_path, **(environment or {})}
    os.environ.update(variables, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master(cluster.master).appName("indextables cluster tests").config(map=_SETTINGS)
    builder = builder.config(map={f"spark.executorEnv.{name}": value for name, value in variables.items()})
    spark = builder.config(map=dict(settings or {})).getOrCreate()
    try:
        yield indextables.enable(spark)
    finally:
        spark.stop()


def wait_for_executors(spark: Any, number: int = 2) -> None:
    """Returns when that many executors are there: Spark runs the tasks of a barrier stage at the same time."""
    rows = spark.sparkContext.parallelize(range(number), number).barrier()
    rows.mapPartitions(lambda _: [BarrierTaskContext.get().barrier()]).collect()
