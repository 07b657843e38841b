"""A table with a million splits, which are only described in the log: no files are written but one.

The log is made by one process and read by another, so that the memory of a reader is its own.
"""

from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa

from benchmarks.load.figures import Figures, log_files, progress
from benchmarks.load.invariants import require
from benchmarks.load.steps import Steps
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.table import IndexTable

SCHEMA = pa.schema({"app": pa.string(), "day": pa.date32(), "id": pa.int64(), "message": pa.string()})
APPS, DAYS = 100, 365
ROWS = 1000  # of each split
KB_PER_SPLIT = 1.5  # in memory, without a term filter
ONE_MORE = pa.table({"app": ["new"], "day": pa.array([0], pa.date32()), "id": [-1], "message": ["hello"]}, SCHEMA)


@dataclass(frozen=True)
class Size:
    splits: int
    per_version: int


SIZES = {"tiny": Size(500, 250), "small": Size(50_000, 10_000), "full": Size(1_000_000, 100_000)}


def run(size: Size, directory: Path, figures: Figures) -> None:
    path = directory / "splits"
    versions = size.splits // size.per_version
    with progress("splits", versions + 1 + STEPS) as advance:
        steps = Steps(figures, advance)
        table = IndexTable.create(path, SCHEMA, partition_by="app, day", fields={"message": "text"})
        log = TransactionLog.open(path)
        snapshot = log.snapshot()
        for number in range(versions):
            adds = [synthetic(i) for i in range(number * size.per_version, (number + 1) * size.per_version)]
            snapshot = steps.run(f"commit of {len(adds):,} splits", lambda: _commit(log, snapshot, adds))  # noqa: B023 - called at once
        steps.run("write a checkpoint", lambda: log.checkpoint(snapshot))
        with get_context("spawn").Pool(1) as pool:
            figures.rows += pool.apply(read, (table.path, size.splits))
        advance(STEPS)
    figures.facts = log_files(path)
    check(figures, size.splits)


def _commit(log: TransactionLog, snapshot: Snapshot, adds: list[Add]) -> Snapshot:
    return log.commit(Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=adds)).snapshot


def synthetic(number: int) -> Add:
    """A split as a writer would describe it."""
    app, day = f"app-{number % APPS}", f"2024-{1 + number // APPS % 12:02}-{1 + number // APPS // 12 % 28:02}"
    values = {"app": app, "day": day}
    return Add(
        path=f"app={app}/day={day}/part-{number % 200:05}-0b2f9f5e-{number:012x}.split",
        partition_values=values,
        size=100_000_000,
        modification_time=1_700_000_000_000,
        num_records=ROWS,
        min_values={**values, "id": number * ROWS, "message": "a"},
        max_values={**values, "id": number * ROWS + ROWS - 1, "message": "z"},
        null_counts={"app": 0, "day": 0, "id": 0, "message": 0},
        footer_start_offset=99_000_000,
        footer_end_offset=100_000_000,
        has_footer_offsets=True,
        doc_mapping_id=0,
        uncompressed_size_bytes=300_000_000,
    )


STEPS = 14  # of `read`


def read(path: str, splits: int) -> list[dict[str, object]]:
    """What a process does with the table, from opening it on."""
    figures = Figures("splits", "")
    steps = Steps(figures, lambda _: None)
    table = steps.run("open from the checkpoint", lambda: IndexTable.open(path))
    require(steps.run("count", table.count) == splits * ROWS, "the count is wrong")
    other = steps.run("open again", lambda: IndexTable.open(path))
    steps.run("append a row", lambda: other.append(ONE_MORE))
    steps.run("refresh", table.refresh)
    require(steps.run("count after it", table.count) == splits * ROWS + 1, "the count after an append is wrong")
    of_app = steps.run("count of a partition", lambda: table.count("app = 'app-7'"))
    require(of_app == splits // APPS * ROWS, f"a partition has {of_app} rows")
    low = splits // 2 * ROWS
    plan = steps.run("plan of a range", lambda: table.scan(where=f"id >= {low} AND id < {low + 3 * ROWS}").explain())
    require(plan.opened == 3, f"{plan.opened} splits are left of 3")
    found = steps.run("scan of the new split", lambda: table.scan(where="app = 'new'").to_arrow())
    require(found.equals(ONE_MORE), "the row that was appended is not found")
    groups = steps.run("group by a partition column", lambda: table.scan().group_by("app").count())
    require(len(groups) == APPS + 1, f"there are {len(groups)} groups")
    history = steps.run("history", table.history)
    require(len(history) == table.version + 1, "the history lacks a version")
    steps.run("health", table.health)
    written = steps.run("write a checkpoint", table.checkpoint)
    require(written.num_splits == splits + 1, "the checkpoint lacks splits")
    again = steps.run("open from it", lambda: IndexTable.open(path))
    require(again.count() == splits * ROWS + 1, "the checkpoint has other rows")
    return figures.rows


def check(figures: Figures, splits: int) -> None:
    """The memory of a reader is that of its snapshot."""
    allowed = 200 + 3 * KB_PER_SPLIT * splits / 1024  # a Parquet file, its columns, and those of the snapshot before
    for row in figures.rows[-STEPS:]:
        require(row["peak MB"] <= allowed, f"{row['step']} took {row['peak MB']} MB; {allowed:.0f} are explained")
