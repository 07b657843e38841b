"""A Spark driver that runs streaming queries: `python -m tests.streams.stream_driver`, with its orders on stdin.

The first line has the queries, as JSON. A line `drain` stops them when they have read all that there is, a line `stop` or
the end of stdin at once. What happens is told on stdout, one JSON object per line.
"""

import os
import sys
from collections.abc import Mapping
from threading import Thread
from typing import Any, TextIO

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

import indextables
from tests.cluster.standalone import QUICK_JAVA

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "100000",  # all offsets stay in the checkpoint
}


class StreamJob(msgspec.Struct, frozen=True, kw_only=True):
    """A streaming query from a source to a table; where `trigger` is None, a batch follows the other."""

    name: str
    source: str
    source_options: Mapping[str, str] = {}
    path: str | None = None
    schema: str | None = None
    columns: tuple[str, ...] = ("*",)
    condition: str | None = None
    table: str
    options: Mapping[str, str] = {}
    checkpoint: str
    trigger: Mapping[str, Any] | None = None


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver does; with `enabled`, it calls `indextables.enable` first."""

    jobs: tuple[StreamJob, ...]
    enabled: bool = True
    settings: Mapping[str, str] = {}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The session is there, the queries run, a query has made progress, or all have ended."""

    kind: str
    query: str = ""
    batch: int = -1
    rows: int = 0
    millis: Mapping[str, int] = {}


class _Listener(StreamingQueryListener):
    def __init__(self, told: TextIO) -> None:
        self._told = told

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names, here and below
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = event.progress
        if "addBatch" in progress.durationMs:
            tell(
                self._told,
                Event(
                    kind="progress",
                    query=progress.name,
                    batch=progress.batchId,
                    rows=progress.numInputRows,
                    millis=dict(progress.durationMs),
                ),
            )

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def tell(told: TextIO, event: Event) -> None:
    told.write(msgspec.json.encode(event).decode() + "\n")
    told.flush()


def start(spark: SparkSession, job: StreamJob) -> Any:
    reader = spark.readStream.format(job.source).options(**job.source_options)
    frame = (reader.schema(job.schema) if job.schema else reader).load(job.path)
    frame = frame.selectExpr(*job.columns)
    frame = frame.where(job.condition) if job.condition else frame
    writer = frame.writeStream.format("indextables").queryName(job.name).options(**job.options)
    writer = writer.trigger(**job.trigger) if job.trigger else writer
    return writer.option("checkpointLocation", job.checkpoint).start(job.table)


def main() -> None:
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Java and others print is not for the parent
    orders = msgspec.json.decode(sys.stdin.readline(), type=Orders)
    java = f"{QUICK_JAVA} -Djava.io.tmpdir={os.environ['TMPDIR']}"
    builder = SparkSession.builder.master("local[2]").appName("indextables streams").config(map=_SETTINGS)
    builder = builder.config("spark.driver.extraJavaOptions", java).config(map=dict(orders.settings))
    spark = builder.getOrCreate()
    tell(told, Event(kind="session"))
    if orders.enabled:
        indextables.enable(spark)
    spark.streams.addListener(_Listener(told))
    queries = [start(spark, job) for job in orders.jobs]
    tell(told, Event(kind="running"))
    Thread(target=_stop_when_told, args=(queries,), daemon=True).start()
    for query in queries:
        query.awaitTermination()
    spark.stop()  # after its listeners have heard everything
    tell(told, Event(kind="ended"))


def _stop_when_told(queries: list[Any]) -> None:
    order = sys.stdin.readline().strip()
    for query in queries:
        if order == "drain":
            query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    main()
