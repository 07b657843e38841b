"""Reading from Spark beside Spark over the same rows as plain Parquet, partitioned the same way.

`python -m benchmarks.spark_read [rows] [files]`; local[2], a warm session, medians of repetitions that take turns, with
their spread; `ratio` is Parquet's median over ours, so more than 1 is faster than Parquet. Counts and groups are asked of a
table of `files` splits of which only the log exists, and of a Parquet directory of as many small files.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.spark_write import session
from benchmarks.split import log_lines
from indextables import IndexTable
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Add

DAYS = 10
KINDS = 100_000  # lines that differ; more rows repeat them, with other ids and times
RARE = 100_000  # one line in so many has the word that is searched for
PARTITIONS = 100
REPETITIONS = 7
WARM = 5
SMALL = pa.schema({"id": pa.int64(), "day": pa.string()})


def run(rows: int = 5_000_000, files: int = 10_000) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        place = Path(name)
        _write_lines(place, rows)
        _write_many(place, files)
        spark = session(place)
        try:
            return {
                name: _in_turns(ours, plain) for name, (ours, plain) in _questions(spark, place, rows, files).items()
            }
        finally:
            spark.stop()


ScanSpec = Callable[[], object]


def _questions(spark: Any, place: Path, rows: int, files: int) -> dict[str, tuple[ScanSpec, ScanSpec]]:
    """What is asked of a table and of Parquet. Frames are made anew each time, as a user would."""

    def lines() -> Any:
        return spark.read.format("indextables").load(str(place / "lines"))

    def many() -> Any:
        return spark.read.format("indextables").load(str(place / "many"))

    plain = spark.read.schema(lines().schema).parquet(str(place / "lines-parquet"))
    plain_many = spark.read.schema(many().schema).parquet(str(place / "many-parquet"))
    search, like = "indexquery(message, 'needle')", "message LIKE '%needle%'"
    total = {"status": "sum", "ts": "max"}
    return {
        f"search for a rare word in {rows:,} rows, ms": (
            lambda: lines().filter(search).select("id", "message").collect(),
            lambda: plain.filter(like).select("id", "message").collect(),
        ),
        "count of the rare word, ms": (lambda: lines().filter(search).count(), lambda: plain.filter(like).count()),
        "point lookup by an id in no order, ms": (
            lambda: lines().filter(f"trace = {_traced(rows // 3)}").collect(),
            lambda: plain.filter(f"trace = {_traced(rows // 3)}").collect(),
        ),
        "point lookup by an id that ascends, ms": (
            lambda: lines().filter(f"id = {rows // 3}").collect(),
            lambda: plain.filter(f"id = {rows // 3}").collect(),
        ),
        "full scan, two columns aggregated by a third, ms": (
            lambda: lines().groupBy("level").agg(total).collect(),
            lambda: plain.groupBy("level").agg(total).collect(),
        ),
        "half of the rows by a condition, aggregated, ms": (
            lambda: lines().filter("level <> 'INFO'").groupBy("service").agg(total).collect(),
            lambda: plain.filter("level <> 'INFO'").groupBy("service").agg(total).collect(),
        ),
        "five rows of one day, ms": (
            lambda: lines().filter("day = '3'").select("id", "message").limit(5).collect(),
            lambda: plain.filter("day = '3'").select("id", "message").limit(5).collect(),
        ),
        f"count of {files:,} splits, ms": (lambda: many().count(), plain_many.count),
        f"groups of {files:,} splits, ms": (
            lambda: many().groupBy("day").count().collect(),
            lambda: plain_many.groupBy("day").count().collect(),
        ),
        f"greatest id of {files:,} splits, ms": (
            lambda: many().agg({"id": "max"}).collect(),
            lambda: plain_many.agg({"id": "max"}).collect(),
        ),
    }


def _in_turns(ours: ScanSpec, plain: ScanSpec) -> dict[str, object]:
    for _ in range(WARM):  # the JVM compiles what it has run before
        ours(), plain()
    if _size(ours()) != _size(plain()):
        raise AssertionError("two answers to one question")
    spent = [(_milliseconds(ours), _milliseconds(plain)) for _ in range(REPETITIONS)]
    mine, other = ([pair[i] for pair in spent] for i in (0, 1))
    ratio = statistics.median(other) / statistics.median(mine)
    return {"indextables": _summary(mine), "parquet": _summary(other), "ratio": round(ratio, 2)}


def _size(answer: Any) -> int:
    return answer if isinstance(answer, int) else len(answer)


def _summary(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def _milliseconds(work: ScanSpec) -> float:
    begin = perf_counter()
    work()
    return (perf_counter() - begin) * 1000


def _write_lines(place: Path, rows: int) -> None:
    kinds = log_lines(min(rows, KINDS))
    table = None
    for day in range(DAYS):
        first, last = rows * day // DAYS, rows * (day + 1) // DAYS
        data = _lines(kinds, first, last - first)
        directory = place / "lines-parquet" / f"day={day}"
        directory.mkdir(parents=True)
        pq.write_table(data, directory / "rows.parquet", compression="zstd")
        data = data.append_column("day", pa.repeat(str(day), len(data)))
        table = table or IndexTable.create(place / "lines", data.schema, partition_by="day", fields={"message": "text"})
        table.append(data)


def _lines(kinds: pa.Table, first: int, count: int) -> pa.Table:
    ids = pa.arange(first, first + count)
    rows = kinds.take(pc.subtract(ids, pc.multiply(pc.divide(ids, len(kinds)), len(kinds))))
    rare = pc.equal(pc.subtract(ids, pc.multiply(pc.divide(ids, RARE), RARE)), RARE // 2)
    message = pc.if_else(rare, pc.binary_join_element_wise(rows["message"], "needle", " "), rows["message"])
    others = {name: rows[name] for name in rows.column_names}
    return pa.table({"id": ids, "trace": _traced(ids), **others, "message": message})


def _traced(numbers: Any) -> Any:
    """Numbers that differ as these do, in no order."""
    return pc.bit_wise_and(pc.multiply(pa.scalar(2_654_435_761), numbers), 2**32 - 1)


def _write_many(place: Path, files: int) -> None:
    """As many small Parquet files, and a log that tells of as many splits; none of them exists."""
    IndexTable.create(place / "many", SMALL, partition_by="day")
    log = TransactionLog.open(place / "many")
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=list(map(_add, range(files)))))
    for number in range(files):
        directory = place / "many-parquet" / f"day={number % PARTITIONS}"
        directory.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [number * 2, number * 2 + 1]}), directory / f"{number}.parquet")


def _add(number: int) -> Add:
    return Add(
        path=f"day={number % PARTITIONS}/{number}.split",
        partition_values={"day": str(number % PARTITIONS)},
        size=100_000,
        modification_time=1,
        num_records=2,
        min_values={"id": number * 2},
        max_values={"id": number * 2 + 1},
        null_counts={"id": 0, "day": 0},
    )


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2))
