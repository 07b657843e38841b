"""Many appends to one table, with readers beside them: latencies must not grow with the number of versions.

What is explained: every tenth commit writes a checkpoint, whose size is that of the live splits; a count adds up a column of
them; both hold them in memory; and a refresh on local disk reads the names of all log files, about a microsecond each (an
object store lists only the newer ones).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.load.children import Child, Sample, stopping
from benchmarks.load.figures import Figures, log_files, percentiles, progress, resident_memory
from benchmarks.load.invariants import bounded, each_once, require
from indextables.table import IndexTable

SCHEMA = pa.schema({"id": pa.int64(), "level": pa.string(), "message": pa.string()})
MS_PER_SPLIT = 2e-4  # of a count: a few columns of all splits are read
MS_PER_LOG_FILE = 1.5e-3  # of a refresh on local disk
MB_PER_SPLIT = 0.01  # statistics and a term filter, in the snapshot and in copies of it


@dataclass(frozen=True)
class Size:
    appends: int
    rows: int = 2
    readers: int = 2
    windows: int = 10


SIZES = {"tiny": Size(30, readers=1, windows=3), "small": Size(400), "full": Size(20_000)}


def run(size: Size, directory: Path, figures: Figures) -> None:
    table = IndexTable.create(directory / "appends", SCHEMA, fields={"message": "text"})
    readers = [Child(follow, table.path, size.rows, pause=0.05) for _ in range(size.readers)]
    with stopping(*readers):
        windows = [_append(table, size, number) for number in range(size.windows)]
        samples = [reader.stop() for reader in readers]
    for window in windows:
        figures.add(**window, **_reading(samples, window["versions"], size.appends // size.windows))
    each_once(table.scan(columns=["id"]).to_arrow()["id"], size.appends * size.rows)
    check(figures)


def _append(table: IndexTable, size: Size, window: int) -> dict[str, float]:
    count = size.appends // size.windows
    wall, cpu = [], []
    with progress(f"appends, window {window + 1} of {size.windows}", count) as advance:
        for number in range(window * count, (window + 1) * count):
            start, used = time.perf_counter(), time.process_time()
            table.append(rows(number, size.rows))
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - used)
            advance(1)
    return {
        "versions": table.version,
        **percentiles(wall, "append"),
        **percentiles(cpu, "append CPU", at=[50]),
        "append CPU mean ms": round(1000 * sum(cpu) / count, 2),
        "writer MB": resident_memory(),
        **log_files(Path(table.path)),
    }


def rows(number: int, count: int) -> pa.Table:
    ids = range(number * count, (number + 1) * count)
    return pa.table(
        {"id": ids, "level": ["INFO"] * count, "message": [f"request {i} took {i % 97} ms" for i in ids]}, SCHEMA
    )


def follow(path: str, rows_per_version: int) -> Callable[[], int]:
    """Refreshes and counts; the count is that of the version."""
    table = IndexTable.open(path)

    def look() -> int:
        counted = table.refresh().count()
        expected = rows_per_version * table.version
        require(counted == expected, f"version {table.version} has {counted} rows, and {expected} were written")
        return table.version

    return look


def _reading(readers: list[list[Sample]], version: float, window: int) -> dict[str, float]:
    """The samples of the readers that saw a version of this window."""
    seen = [s for samples in readers for s in samples if version - window < s.result <= version]
    if not seen:
        return {}
    return {
        **percentiles([s.wall for s in seen], "read"),
        **percentiles([s.cpu for s in seen], "read CPU", at=[50]),
        "reader MB": max(s.memory for s in seen),
    }


def check(figures: Figures) -> None:
    """Latencies and memory grow by what is explained only."""
    splits = figures.rows[-1]["versions"]
    bounded("the CPU time of an append", figures.column("append CPU p50 ms"), factor=1.5, slack=5)
    counting, listing = MS_PER_SPLIT * splits, MS_PER_LOG_FILE * figures.rows[-1].get("log files", 0)
    bounded("the CPU time of a read", figures.column("read CPU p50 ms"), factor=1.5, slack=5 + counting + listing)
    for process in ("writer", "reader"):
        bounded(f"the memory of a {process}", figures.column(f"{process} MB"), slack=80 + MB_PER_SPLIT * splits)
