"""Merging many tiny splits: what it takes, and what scans and searches take before and after.

`python -m benchmarks.merge [splits]`; times are medians of repetitions, before and after taking turns.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.split import log_lines
from indextables import IndexTable
from indextables.config import Config, WriteConfig
from indextables.log import Operation, Transaction, TransactionLog
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import plan_write

ROWS = 200
REPETITIONS = 5


def tiny_splits(path: Path, splits: int) -> IndexTable:
    """A table of log lines in splits of 200 rows over four partitions, committed at once."""
    lines = log_lines(splits * ROWS)
    number = pa.arange(0, len(lines))
    lines = lines.append_column("part", pc.bit_wise_and(number, 3)).append_column("number", number)
    table = IndexTable.create(path, lines.schema, partition_by="part", fields={"message": "text"})
    log = TransactionLog.open(path)
    plan = plan_write(log.snapshot().metadata, Config(write=WriteConfig(target_records=ROWS)))
    adds = write_rows(plan, lines.to_batches(), log.store)
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=adds))
    return table.refresh()


def run(splits: int = 1_000) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        table = tiny_splits(Path(name, "t"), splits)
        before = table.at(version=table.version)
        start, cpu = perf_counter(), process_time()
        result = table.merge_splits()
        took = {"seconds": perf_counter() - start, "cpu seconds": process_time() - cpu}
        _same(before, table)
        asked: dict[str, Callable[[IndexTable], object]] = {
            "scan": lambda t: t.scan(columns=["message"]).to_arrow(),
            "search": lambda t: t.search("message:error", limit=10),
            "search, all hits": lambda t: t.count(query="message:error"),
            "count of a range": lambda t: t.count("number BETWEEN 1000 AND 2000"),
        }
        times = {what: _times(work, before, table) for what, work in asked.items()}
        return {
            "splits": [result.splits_before, result.splits_after],
            "bytes": [result.bytes_before, result.bytes_after],
            "rows per second": round(result.rows / took["seconds"]),
            **took,
            "before and after": times,
        }


def _same(before: IndexTable, after: IndexTable) -> None:
    """The same rows, hits and counts, or the figures mean nothing."""
    rows = [table.scan().to_arrow().sort_by("number") for table in (before, after)]
    hits = [
        sorted(t.scan(query="message:error", columns=["number"]).to_arrow()["number"].to_pylist())
        for t in (before, after)
    ]
    groups = [table.scan().group_by("part").count() for table in (before, after)]
    if rows[0] != rows[1] or hits[0] != hits[1] or groups[0] != groups[1]:
        raise AssertionError("the merged table is another one")


def _times(work: Callable[[IndexTable], object], before: IndexTable, after: IndexTable) -> dict[str, float]:
    taken: dict[str, list[float]] = {"before": [], "after": []}
    for _ in range(REPETITIONS):
        for name, table in (("before", before), ("after", after)):
            start = perf_counter()
            work(table)
            taken[name].append(perf_counter() - start)
    return {name: round(statistics.median(times), 4) for name, times in taken.items()}


if __name__ == "__main__":
    for what, figure in run(*map(int, sys.argv[1:])).items():
        print(f"{what}: {figure}")
