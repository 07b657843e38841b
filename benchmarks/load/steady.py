"""A table in steady use: an append every 200 ms, with compaction, a reader and a vacuum beside it, each in its process.

What is explained: the log grows by a version per commit and a checkpoint per ten; tombstones of merged splits stay in
checkpoints. The splits that a reader sees stay few, and so do latencies and memory.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from benchmarks.load.appends import SCHEMA, rows
from benchmarks.load.children import Child, Sample, stopping
from benchmarks.load.figures import Figures, log_files, percentiles, progress, resident_memory
from benchmarks.load.invariants import bounded, each_once, require
from indextables.errors import ConflictError, SplitNotFoundError
from indextables.table import IndexTable

OPTIONS = {"spark.indextables.log.retention": "30 seconds"}
KEPT = timedelta(seconds=20)  # by a vacuum: far longer than a read takes
MB_PER_VERSION = 0.02  # tombstones, and what allocators keep
MOST_SPLITS = 400  # that a merge may leave to the next one


@dataclass(frozen=True)
class Size:
    minutes: float
    every: float = 0.2
    windows: int = 10
    merge_every: float = 3.0
    vacuum_every: float = 30.0


SIZES = {
    "tiny": Size(0.03, every=0.02, windows=3, merge_every=0.3, vacuum_every=0.5),
    "small": Size(1, windows=6, vacuum_every=15),
    "full": Size(10),
}


def run(size: Size, directory: Path, figures: Figures) -> None:
    table = IndexTable.create(directory / "steady", SCHEMA, fields={"message": "text"}, options=OPTIONS)
    table.append(rows(0, 1))
    children = {
        "compaction": Child(compact, table.path, pause=size.merge_every),
        "reader": Child(follow, table.path, pause=0.1),
        "vacuum": Child(vacuum, table.path, pause=size.vacuum_every),
    }
    with stopping(*children.values()), progress("steady, windows", size.windows) as advance:
        for _ in range(size.windows):
            figures.add(**_window(table, size, children))
            advance(1)
        samples = {name: child.stop() for name, child in children.items()}
    _add_children(figures, samples)
    table.refresh()
    each_once(table.scan(columns=["id"]).to_arrow()["id"], 1 + sum(figures.column("appends")))
    figures.facts = {
        "merges": sum(sample.result for sample in samples["compaction"]),
        "files that were vacuumed": sum(sample.result for sample in samples["vacuum"]),
        "reads": len(samples["reader"]),
    }
    check(figures)


def _window(table: IndexTable, size: Size, children: dict[str, Child]) -> dict[str, float]:
    seconds, begin = size.minutes * 60 / size.windows, time.time()
    wall, next_id = [], table.refresh().count()
    while (now := time.time()) < begin + seconds:
        table.append(rows(next_id, 1))
        wall.append(time.time() - now)
        next_id += 1
        time.sleep(max(0.0, size.every - (time.time() - now)))
    table.refresh()
    return {
        "end": time.time(),
        "appends": len(wall),
        **percentiles(wall, "append"),
        "writer MB": resident_memory(),
        **{f"{name} MB": child.memory for name, child in children.items()},
        "splits": table.detail().num_splits,
        **log_files(Path(table.path)),
    }


def follow(path: str) -> Callable[[], int]:
    """Refreshes, counts and searches; ids are given one after the other, so that the greatest one tells the count."""
    table = IndexTable.open(path, options=OPTIONS)

    def look() -> int:
        counted, last = table.refresh().count(), table.scan().max("id")
        require(counted == last + 1, f"version {table.version} has {counted} rows, and its last id is {last}")
        try:
            hits = table.search(f"message:{last}", columns=["id"])
        except SplitNotFoundError:  # a vacuum took what had been merged: read again
            hits = table.refresh().search(f"message:{last}", columns=["id"])
        require(last in hits["id"].to_pylist(), f"row {last} is not found")
        return int(counted)

    return look


def compact(path: str) -> Callable[[], int]:
    table = IndexTable.open(path, options=OPTIONS)

    def merge() -> int:
        try:
            return table.refresh().merge_splits().merged
        except ConflictError:
            return 0

    return merge


def vacuum(path: str) -> Callable[[], int]:
    table = IndexTable.open(path, options=OPTIONS)

    def purge() -> int:
        return table.refresh().purge(older_than=KEPT, force=True).files

    return purge


def _add_children(figures: Figures, samples: dict[str, list[Sample]]) -> None:
    """The latencies of the other processes, by window."""
    begin = 0.0
    for row in figures.rows:
        end = row.pop("end")
        for name, found in samples.items():
            row.update(percentiles([s.wall for s in found if begin <= s.at < end], name, at=[50, 99]))
        begin = end


def check(figures: Figures) -> None:
    """Nothing grows but the log, which is cleaned up."""
    versions = sum(figures.column("appends"))
    splits = figures.column("splits")
    require(max(splits) <= MOST_SPLITS, f"there are {max(splits)} splits in spite of compaction")
    bounded("the latency of an append", figures.column("append p50 ms"), factor=2, slack=50)
    for process in ("writer", "reader", "compaction", "vacuum"):
        bounded(f"the memory of the {process}", figures.column(f"{process} MB"), slack=100 + MB_PER_VERSION * versions)
