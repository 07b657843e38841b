"""The caches of a cluster: bytes and requests of the same kind of search, again and again, on two hosts with a cache each.

`python -m benchmarks.index_cache` starts a standalone Spark cluster on loopback; its two workers are two hosts to Spark. The
table is in moto's S3. What counts is what is downloaded, not how long it took. `spread` lets Spark choose the hosts.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

import indextables
from benchmarks.split import log_lines
from indextables import IndexTable
from indextables.spark.catalyst import arrow_scan
from tests.packed.standalone_cluster import Cluster, standalone
from tests.stores.proxy import Proxy, proxied
from tests.stores.servers import s3_server

SPLITS, ROWS = 16, 10_000
WORDS = ("4711", "1234", "31337", "8080", "5432")  # ports: a few rows each


def run() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        for how in ("placed", "spread"):
            place = Path(name, how)
            with s3_server() as server, proxied(server) as proxy, _cluster(place) as cluster:
                table = _filled(proxy)
                with _session(cluster, place) as spark, patch.object(arrow_scan, "executor_hosts", _choice(how)):
                    for number, word in enumerate(WORDS, 1):
                        yield f"{how}, search {number}: {_searched(spark, table, word, proxy)}"


def _choice(how: str) -> object:
    return arrow_scan.executor_hosts if how == "placed" else lambda _: []


@contextmanager
def _cluster(place: Path) -> Iterator[Cluster]:
    with standalone(place, cores=2, environment={"PYTHONPATH": ":".join(filter(None, sys.path))}) as cluster:
        yield cluster


@contextmanager
def _session(cluster: Cluster, place: Path) -> Iterator[SparkSession]:
    """A driver whose own cache is not that of a worker."""
    settings = {"spark.pyspark.python": sys.executable, "spark.ui.enabled": "false", "spark.executor.memory": "512m"}
    settings |= {
        "spark.driver.host": "127.0.0.1",
        "spark.indextables.read.driverRows": "0",
        "spark.log.level": "ERROR",
        "spark.locality.wait": "60s",
    }
    builder = SparkSession.builder.master(cluster.master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with patch.object(tempfile, "tempdir", str(place)):
        spark = indextables.enable(builder.getOrCreate())
        try:
            spark.range(100, numPartitions=4).count()  # all executors are there
            yield spark
        finally:
            spark.stop()


def _filled(proxy: Proxy) -> tuple[str, dict[str, str]]:
    path, options = proxy.server.new_table(), dict(proxy.server.options)
    lines = log_lines(SPLITS * ROWS)
    table = IndexTable.create(path, lines.schema, options=options, fields={"message": "text"})
    for number in range(SPLITS):
        table.append(lines.slice(number * ROWS, ROWS))
    return path, options


def _searched(spark: SparkSession, table: tuple[str, dict[str, str]], word: str, proxy: Proxy) -> str:
    path, options = table
    requests, sent = len(proxy.requests), proxy.bytes_sent
    frame = spark.read.format("indextables").options(**options).load(path)
    rows = len(frame.filter(f"indexquery(message, '{word}')").select("level").collect())
    splits = sum(".split" in path for _, path in proxy.requests[requests:])
    return f"{rows:,} rows, {splits} requests to splits, {(proxy.bytes_sent - sent) / 1e6:.1f} MB"


if __name__ == "__main__":
    for line in run():
        print(line, flush=True)
