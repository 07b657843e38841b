"""What planning costs on the driver: calls into the JVM and milliseconds per query, and the price that other formats pay.

`python -m benchmarks.spark_planning [--rounds 3] [--repetitions 20] [--only queries] [name=path/to/src ...]`; the sources
take turns, each round in fresh processes, so that two versions of the package are measured in one run:

    git worktree add /tmp/before <commit>
    python -m benchmarks.spark_planning before=/tmp/before/src after=src

Queries run on a small table. `calls` is the number of commands that py4j sends, `planned` the milliseconds until Spark is
told to run the query, or until the answer is there when it is not told, `total` the milliseconds until the rows are there.
`other formats` are microseconds and calls of one method on frames that are not over our tables, without and with `enable`.
Medians, with the lowest and the highest.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

ACTIONS = {"collectToPython", "count", "collectAsArrowToPython", "toPythonIterator"}
WARM = 15  # the JVM compiles what it has run before
BATCH = 20  # calls of a method that is too fast to time alone
DAYS = 10
ROWS = 2_000

Query = Callable[[], object]


def run(
    sources: dict[str, str] | None = None, rounds: int = 3, repetitions: int = 20, only: str | None = None
) -> dict[str, object]:
    """The sources side by side; without sources, the package that is installed."""
    named = sources or {"indextables": ""}
    planning: dict[str, list[Any]] = {name: [] for name in named}
    methods: dict[tuple[str, str], list[Any]] = {(name, mode): [] for name in named for mode in ("plain", "enabled")}
    for _ in range(rounds):
        for name, source in named.items() if only != "methods" else ():
            planning[name].append(_child(source, "queries", repetitions))
        for (name, mode), found in methods.items() if only != "queries" else ():
            found.append(_child(named[name], mode, repetitions))
    return {
        "queries": _side_by_side(planning),
        "other formats": _side_by_side({f"{name}, {mode}": found for (name, mode), found in methods.items()}),
    }


def _child(source: str, mode: str, repetitions: int) -> Any:
    path = os.pathsep.join(filter(None, [source and str(Path(source).resolve()), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-P", __file__, "--measure", mode, "--repetitions", str(repetitions)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _side_by_side(found: dict[str, list[Any]]) -> dict[str, dict[str, dict[str, str]]]:
    """Of each query, the numbers of each source over all rounds."""
    rounds = next(iter(found.values()))
    if not rounds:
        return {}
    return {
        query: {
            name: {measure: _summary([v for one in each for v in one[query][measure]]) for measure in each[0][query]}
            for name, each in found.items()
        }
        for query in rounds[0]
    }


def _summary(values: list[float]) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.0f}" if low == high else f"{middle:.1f} ({low:.1f} to {high:.1f})"


@dataclass
class Traffic:
    """What py4j sends, as long as it is watched; objects that Python lets go of are no calls."""

    calls: int = 0
    told: float | None = None
    _begin: float = field(default_factory=perf_counter)

    def sent(self, command: str) -> None:
        if command.startswith("m\n"):
            return
        self.calls += 1
        parts = command.split("\n", 3)
        if len(parts) > 2 and parts[2] in ACTIONS:
            self.told = perf_counter()

    def times(self) -> tuple[float, float]:
        """Seconds until Spark was told to run, and until now."""
        now = perf_counter()
        return (now if self.told is None else self.told) - self._begin, now - self._begin


@contextmanager
def watched() -> Iterator[Traffic]:
    from py4j.java_gateway import GatewayClient  # noqa: PLC0415

    original, traffic = GatewayClient.send_command, Traffic()

    def send_command(self: Any, command: str, *args: Any, **options: Any) -> Any:
        traffic.sent(command)
        return original(self, command, *args, **options)

    GatewayClient.send_command = send_command
    try:
        yield traffic
    finally:
        GatewayClient.send_command = original


def measure(mode: str, repetitions: int) -> dict[str, dict[str, list[float]]]:
    """What a child process measures: the queries, or the methods of other frames without or with `enable`."""
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        spark = _session(Path(name))
        try:
            if mode != "plain":
                from indextables import enable  # noqa: PLC0415

                enable(spark)
            return (_queries if mode == "queries" else _methods)(spark, Path(name), repetitions)
        finally:
            spark.stop()


def _session(place: Path) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF", "spark.local.dir": str(place / "spark")}
    return builder.config(map=settings).getOrCreate()


def _queries(spark: Any, place: Path, repetitions: int) -> dict[str, dict[str, list[float]]]:
    logs, names = str(place / "logs"), str(place / "names")
    words = "concat('line ', id, if(id % 100 = 0, ' timeout', ' fine')) AS message"
    rows = spark.range(0, ROWS, 1, 2).selectExpr("id", f"cast(id % {DAYS} AS string) AS day", "id % 7 AS kind", words)
    writer = rows.write.format("indextables").partitionBy("day").option("indexing.typemap.message", "text")
    writer.mode("overwrite").save(logs)
    spark.range(7).selectExpr("id AS kind", "concat('kind ', id) AS name").write.format("indextables").save(names)

    def read(path: str) -> Any:
        return spark.read.format("indextables").load(path)

    queries: dict[str, Query] = {
        "count from the log": lambda: read(logs).count(),
        "filter on the partition column, collect": lambda: (
            read(logs).filter("day = '3' AND id < 100").select("id", "message").collect()
        ),
        "indexquery, limit 20": lambda: read(logs).filter("indexquery(message, 'timeout')").limit(20).collect(),
        "groupBy partition column, count": lambda: read(logs).groupBy("day").count().collect(),
        "join of two tables with a filter": lambda: (
            read(logs).filter("day = '3'").join(read(names), "kind").select("id", "name").collect()
        ),
    }
    for query in queries.values():
        for _ in range(WARM):
            query()
    found: dict[str, dict[str, list[float]]] = {name: {} for name in queries}
    for _ in range(repetitions):
        for name, query in queries.items():
            with watched() as traffic:
                query()
                planned, total = traffic.times()
            figures = {"calls": traffic.calls, "planned ms": planned * 1e3, "total ms": total * 1e3}
            for figure, value in figures.items():
                found[name].setdefault(figure, []).append(value)
    return found


def _methods(spark: Any, place: Path, repetitions: int) -> dict[str, dict[str, list[float]]]:
    """Methods of frames over a range and over Parquet."""
    target = str(place / "plain")
    spark.range(1_000).write.parquet(target)
    frames = {"range": spark.range(1_000), "parquet": spark.read.parquet(target)}
    methods: dict[str, Callable[[Any], object]] = {
        "filter": lambda frame: frame.filter("id > 10"),
        "select": lambda frame: frame.select("id"),
        "count": lambda frame: frame.count(),
        "collect": lambda frame: frame.limit(5).collect(),
    }
    cases = {f"{of}.{name}": (method, frame) for of, frame in frames.items() for name, method in methods.items()}
    batches = {name: BATCH if name.endswith(("filter", "select")) else 1 for name in cases}
    for name, (method, frame) in cases.items():
        for _ in range(2 * WARM * batches[name]):
            method(frame)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in cases}
    for _ in range(repetitions):
        for name, (method, frame) in cases.items():
            with watched() as traffic:
                method(frame)
            begin = perf_counter()
            for _ in range(batches[name]):
                method(frame)
            spent = (perf_counter() - begin) / batches[name]
            found[name].setdefault("calls", []).append(traffic.calls)
            found[name].setdefault("microseconds", []).append(spent * 1e6)
    return found


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_planning")
    parser.add_argument("sources", nargs="*", metavar="name=path/to/src")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--measure", choices=["queries", "plain", "enabled"], help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=["queries", "methods"])
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.repetitions)))
        return
    sources = dict(source.split("=", 1) for source in given.sources)
    print(json.dumps(run(sources, given.rounds, given.repetitions, given.only), indent=2))


if __name__ == "__main__":
    _main()
