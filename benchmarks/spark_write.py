"""Writing from Spark, partitioned by day: beside Spark's own Parquet, and beside the limit (pyarrow and bare tantivy).

`python -m benchmarks.spark_write [rows]`; local[2], one text and three string fields; rates are of the best of three runs,
because the first one warms the JVM.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tantivy

import indextables
from benchmarks.split import log_lines
from indextables import IndexTable
from indextables.search import documents, resolve, tantivy_schema
from indextables.search.text_fields import text_columns

COLUMNS = ["ts", "level", "service", "host", "message"]
DAYS = 10
RUNS = 3


def run(rows: int = 1_000_000) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        place = Path(name)
        days = pc.divide(pc.multiply(pa.arange(0, rows), DAYS), rows).cast(pa.string())
        data = log_lines(rows).select(COLUMNS).append_column("day", days)
        pq.write_table(data, place / "input.parquet", row_group_size=-(-rows // 8))
        spark = session(place)
        try:
            return _measured(spark, place, data)
        finally:
            spark.stop()


def _measured(spark: Any, place: Path, data: pa.Table) -> dict[str, object]:
    frame = spark.read.parquet(str(place / "input.parquet"))
    seconds = _best(
        place,
        {
            "optimized": _ours(frame),
            "standard": _ours(frame, {"optimizeWrite.enabled": "false"}),
            "parquet": lambda target: frame.write.partitionBy("day").parquet(str(target)),
            "limit": lambda target: _limit(data, target),
        },
    )
    seconds["limit"] /= 2  # it has one core, and the others have two
    return {
        "rows/s": {name: round(data.num_rows / spent) for name, spent in seconds.items()},
        "MB": {name: _megabytes(place / name) for name in seconds},
        "splits": len(IndexTable.open(place / "optimized").splits()),
        "where the time goes, ms": _phases(place / "optimized"),
    }


def session(place: Path) -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - workers must know which Python before it is loaded

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.local.dir": str(place / "spark"),
    }
    return indextables.enable(builder.config(map=settings).getOrCreate())


def _ours(frame: Any, options: dict[str, str] | None = None) -> Callable[[Path], None]:
    def write(target: Path) -> None:
        writer = frame.write.format("indextables").partitionBy("day").options(**(options or {}))
        writer.option("indexing.typemap.message", "text").save(str(target))

    return write


def _limit(data: pa.Table, target: Path) -> None:
    """The same columns by the libraries alone, in one thread."""
    rules = resolve(data.schema, {"message": "text"})
    target.mkdir()
    pq.write_table(data, target / "rows.parquet", compression="zstd", row_group_size=8192)
    writer = tantivy.Index(tantivy_schema(text_columns(data.schema.names, rules)), path=str(target)).writer(
        2_000_000_000, num_threads=1
    )
    for batch in data.to_batches(max_chunksize=8192):
        for document in documents(batch, rules):
            writer.add_json(document)
    writer.commit()
    writer.wait_merging_threads()


def _best(place: Path, writes: dict[str, Callable[[Path], object]]) -> dict[str, float]:
    """The shortest time of each, taken in turns, so that none has the cold JVM or the busy machine for itself."""
    spent = dict.fromkeys(writes, float("inf"))
    for _ in range(RUNS):
        for name, write in writes.items():
            shutil.rmtree(place / name, ignore_errors=True)
            started = perf_counter()
            write(place / name)
            spent[name] = min(spent[name], perf_counter() - started)
    return spent


def _megabytes(place: Path) -> float:
    return round(sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6, 1)


def _phases(table: Path) -> dict[str, int]:
    """Counting rows by partition; planning to commit; and the tasks' own time, two of them at once."""
    metrics = dict(IndexTable.open(table).history().to_pylist()[0]["metrics"])
    return {name: int(value) for name, value in metrics.items() if name.endswith("Ms")}


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2))
