"""A stream with a batch every second, for minutes: splits stay few, batches stay quick."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

from indextables import IndexTable
from indextables.config import Config
from indextables.log import TransactionLog
from indextables.log.log_files import list_log
from tests.streams.driver_process import driver
from tests.streams.stream_driver import Event, Orders, StreamJob
from tests.streams.table_checks import TableFigures, check_table

_PER_SECOND = 1000
_SAMPLED_EVERY = 2.0  # seconds
_MIN_SPLITS = Config().maintenance.merge_on_write_min_splits
_TIERS = 4  # of sizes; splits of one tier are merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """The table at the end of a minute, its largest number of live splits during it, and the batches of the minute."""

    splits: int
    most_splits: int
    version: int
    log_files: int
    merges: int
    batches: Sequence[int]

    @property
    def cells(self) -> tuple[int, ...]:
        middle, high = round(median(self.batches)), p95(self.batches)
        return len(self.batches), middle, high, self.splits, self.most_splits, self.version, self.log_files, self.merges


@dataclass(frozen=True, slots=True, kw_only=True)
class MinutesFigures:
    minutes: Sequence[Minute]
    table: TableFigures

    @property
    def quarters(self) -> tuple[float, float]:
        """The median duration of a batch in the first and the last quarter, in milliseconds."""
        batches = [millis for minute in self.minutes for millis in minute.batches]
        quarter = ceil(len(batches) / 4)
        return median(batches[:quarter]), median(batches[-quarter:])

    def __str__(self) -> str:
        first, last = self.quarters
        batches = [millis for minute in self.minutes for millis in minute.batches]
        most = max(minute.most_splits for minute in self.minutes)
        return (
            f"{len(batches)} batches in {len(self.minutes)} minutes, median {first:.0f} ms in the first quarter and "
            f"{last:.0f} ms in the last, p95 {p95(batches)} ms; at most {most} live splits; {self.table}"
        )

    def show(self, console: Console) -> None:
        names = ("batches", "median ms", "p95 ms", "splits", "most", "version", "log files", "merges")
        table = Table("minute", *names)
        for number, minute in enumerate(self.minutes, 1):
            table.add_row(str(number), *map(str, minute.cells))
        console.print(table)


def stream_for(directory: Path, minutes: int, *, options: dict[str, str] | None = None) -> MinutesFigures:
    """Figures by minute, once the number of splits and the duration of batches have been found to stay as they are."""
    directory.mkdir(parents=True)
    job = StreamJob(
        name="minutes",
        source="rate",
        source_options={"rowsPerSecond": str(_PER_SECOND), "numPartitions": "2"},
        columns=("value AS id", "timestamp", "concat('p', value % 3) AS p", "concat('line ', value) AS message"),
        table=str(directory / "table"),
        options={"indexing.typemap.message": "text", **(options or {})},
        checkpoint=str(directory / "checkpoint"),
        trigger={"processingTime": "1 second"},
    )
    found: list[Minute] = []
    with driver(Orders(jobs=(job,)), directory) as running:
        running.wait_for("progress")
        for _ in range(minutes):
            seen, until, most = len(running.progress()), time.monotonic() + 60, 0
            while time.monotonic() < until:
                time.sleep(_SAMPLED_EVERY)
                most = max(most, len(IndexTable.open(job.table).splits()))
            found.append(_minute(job.table, most, running.progress()[seen:]))
        running.stop()
        rows = sum(event.rows for event in running.progress())
    table = check_table(job.table, {}, range(rows))
    partitions = 3 if "partitionBy" in job.options else 1
    figures = MinutesFigures(minutes=found, table=table)
    _check_bounds(figures, partitions)
    return figures


def p95(values: Sequence[int]) -> int:
    return round(quantiles(values, n=20)[-1])


def _check_bounds(figures: MinutesFigures, partitions: int) -> None:
    """In each partition and tier of sizes, splits are merged when there are some, and as many may come during a merge."""
    most = 2 * _MIN_SPLITS * _TIERS * partitions
    for number, minute in enumerate(figures.minutes, 1):
        assert minute.most_splits <= most, f"{minute.most_splits} live splits in minute {number}, more than {most}"
    first, last = figures.quarters
    assert last < 2 * first, f"batches take {last} ms in the last quarter, and took {first} ms in the first"


def _minute(path: str, most_splits: int, batches: Sequence[Event]) -> Minute:
    table = IndexTable.open(path)
    files = list_log(TransactionLog.open(path).store)
    return Minute(
        splits=len(table.splits()),
        most_splits=most_splits,
        version=table.version,
        log_files=len(files.entries),
        merges=table.history()["operation"].to_pylist().count("MERGE SPLITS"),
        batches=[event.millis["triggerExecution"] for event in batches],
    )
