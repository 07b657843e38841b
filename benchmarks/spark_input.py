"""How often a Spark write computes its input, and what it costs to keep the rows on disk between the count and the write.

`python -m benchmarks.spark_input [rows]`: for each input, layout and value of `optimizeWrite.persistInput`, how often the
input is computed, jobs, and the least of three runs in CPU seconds of Spark and its Python workers, and in seconds.
`python -m benchmarks.spark_input rebalance`: the splits that Spark's own REBALANCE would give, beside those of the optimized
write.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.spark_write import session
from indextables import IndexTable

LAYOUTS = ("", "day")
CHOICES = ("never", "auto", "always")
RUNS = 3


@dataclass(frozen=True)
class Meter:
    """What Spark has done since the start: rows computed by the counted function, rows read, jobs, CPU seconds, seconds."""

    spark: Any
    function_calls: Any

    def read(self) -> dict[str, float]:
        context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001 - Spark's REST API needs its UI
        context.listenerBus().waitUntilEmpty()
        store = context.statusStore()
        defaults = [getattr(store, f"stageList$default${number}")() for number in range(2, 6)]
        stages = store.stageList(None, *defaults)
        rows_read = sum(stages.apply(i).inputRecords() for i in range(stages.size()))
        calls, jobs = self.function_calls.value, store.jobsList(None).size()
        return {"calls": calls, "read": rows_read, "jobs": jobs, "cpu": _cpu_seconds(), "seconds": perf_counter()}

    def since(self, before: dict[str, float]) -> dict[str, float]:
        return {name: value - before[name] for name, value in self.read().items()}


def run(rows: int = 1_000_000) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        spark, place = session(Path(name)), Path(name)
        try:
            meter = Meter(spark, spark.sparkContext.accumulator(0))
            frames = _inputs(spark, place, rows, meter.function_calls)
            _measured(frames["range"], place, meter, "", "auto")  # warms the JVM
            return {
                f"{kind}, {f'partitioned by {layout}' if layout else 'not partitioned'}": _best(
                    frame, place, meter, layout
                )
                for kind, frame in frames.items()
                for layout in LAYOUTS
            }
        finally:
            spark.stop()


def _inputs(spark: Any, place: Path, rows: int, calls: Any) -> dict[str, Any]:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - after `session`

    counted = F.udf(lambda value: (calls.add(1), value)[1], "long")
    lines = spark.range(rows, numPartitions=8).selectExpr(
        "id", f"concat('d', id * 10 DIV {rows}) AS day", "concat('request ', id, ' served in ', id % 997) AS message"
    )
    lines.write.parquet(str(place / "lines.parquet"))
    lines.write.csv(str(place / "lines.csv"))
    hosts = spark.range(rows // 2).selectExpr("id", "concat('host-', id % 500) AS host")
    hosts.write.parquet(str(place / "hosts.parquet"))
    files, large = spark.read.parquet(str(place / "lines.parquet")), spark.read.parquet(str(place / "hosts.parquet"))
    text = spark.read.schema(lines.schema).csv(str(place / "lines.csv"))
    names = spark.range(10).selectExpr("concat('d', id) AS day", "concat('day ', id) AS name")
    joined = files.join(large.hint("merge"), "id").groupBy("day", "host", (F.col("id") % 1000).alias("id"))
    return {
        "Parquet": files,
        "CSV": text,
        "range": lines,
        "broadcast join": files.join(F.broadcast(names), "day"),
        "join and aggregation": joined.agg(F.count("*").alias("lines"), F.max("message").alias("message")),
        "Python UDF, a column": files.withColumn("id", counted("id")),
        "Python UDF, a filter": files.filter(counted("id") >= 0),
        "rand()": files.withColumn("chance", F.rand()),
        "rand() as a filter": files.filter(F.rand() * 2 < 2),
        "rand() after a shuffle": files.repartition(8, "id").withColumn("chance", F.rand()),
    }


def _best(frame: Any, place: Path, meter: Meter, layout: str) -> dict[str, dict[str, float]]:
    """The least of each figure, of runs that take turns."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(RUNS):
        for choice in CHOICES:
            run = _measured(frame, place, meter, layout, choice)
            found[choice] = {name: min(value, found.get(choice, run)[name]) for name, value in run.items()}
    return found


def _measured(frame: Any, place: Path, meter: Meter, layout: str, choice: str) -> dict[str, float]:
    once = _metered(meter, lambda: frame.write.format("noop").mode("overwrite").save())
    table = place / "table"
    shutil.rmtree(table, ignore_errors=True)
    rows = frame.count()
    writer = frame.write.format("indextables").option("indexing.typemap.message", "text")
    writer.option("partitionBy", layout).option("optimizeWrite.persistInput", choice)
    spent = _metered(meter, lambda: writer.option("targetRecordsPerSplit", max(1, rows // 8)).save(str(table)))
    metrics = dict(IndexTable.open(table).history().to_pylist()[0]["metrics"])
    unit = "calls" if once["calls"] else "read"
    return {
        "times computed": round(spent[unit] / once[unit], 1),
        "jobs": int(spent["jobs"]),
        "CPU s": round(spent["cpu"], 1),
        "seconds": round(spent["seconds"], 1),
        "tasks": int(metrics["numTasks"]),
        "splits": len(IndexTable.open(table).splits()),
    }


def _metered(meter: Meter, work: Callable[[], object]) -> dict[str, float]:
    before = meter.read()
    work()
    return meter.since(before)


def _cpu_seconds() -> float:
    """Of the processes that this one has started, and those that they have started, now and before."""
    ticks, known = 0, {str(Path("/proc/self").resolve().name)}
    children: dict[str, list[tuple[str, int]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(fields[1], []).append((stat.parent.name, sum(map(int, fields[11:15]))))
    pending = list(known)
    while pending:
        for process, spent in children.get(pending.pop(), []):
            ticks += spent
            pending.append(process)
    return ticks / 100


def rebalance(target: int = 10_000) -> dict[str, object]:
    """Rows of the splits by Spark's REBALANCE, with adaptive execution and without, and by the optimized write."""
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        spark, place = session(Path(name)), Path(name)
        try:
            rows = spark.range(10 * target, numPartitions=8).selectExpr("id", "concat('request ', id) AS message")
            hot = f"IF(id < {8 * target}, 'hot', concat('tiny', id % 100)) AS p"
            frames = {
                "one hot partition, 100 small": (rows.selectExpr("*", hot), "p"),
                "1,000 partitions of 100 rows": (rows.filter("id < 100000").selectExpr("*", "id % 1000 AS p"), "p"),
                "not partitioned, 10 targets": (rows, ""),
            }
            return {kind: _rebalanced(spark, place, *frame, target) for kind, frame in frames.items()}
        finally:
            spark.stop()


def _rebalanced(spark: Any, place: Path, frame: Any, layout: str, target: int) -> dict[str, object]:
    found: dict[str, object] = {"optimized write": _splits(frame, place, layout, target)}
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        hinted = frame.hint("rebalance", *([layout] if layout else []))
        options = {"optimizeWrite.enabled": "false"}
        found[f"REBALANCE, adaptive {adaptive}"] = _splits(hinted, place, layout, target, **options)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    return found


def _splits(frame: Any, place: Path, layout: str, target: int, **options: str) -> dict[str, int]:
    table = place / "table"
    shutil.rmtree(table, ignore_errors=True)
    writer = frame.write.format("indextables").options(**options).option("partitionBy", layout)
    writer.option("targetRecordsPerSplit", target).save(str(table))
    rows = sorted(IndexTable.open(table).splits()["num_records"].to_pylist())
    tasks = int(dict(IndexTable.open(table).history().to_pylist()[0]["metrics"])["numTasks"])
    return {"tasks": tasks, "splits": len(rows), "smallest": rows[0], "largest": rows[-1]}


if __name__ == "__main__":
    result = rebalance() if sys.argv[1:] == ["rebalance"] else run(*map(int, sys.argv[1:]))
    print(json.dumps(result, indent=2))
