"""A growing table read by two streams: one with a search, one that reads everything and lets Spark filter."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from indextables import IndexTable
from tests.streams.driver_process import Driver, driver
from tests.streams.stream_driver import Orders, StreamJob
from tests.streams.table_checks import check_rows

SCHEMA = pa.schema({"id": pa.int64(), "level": pa.string(), "message": pa.string()})
_RARE, _RARE_IN, _HITS = "deadlock", (7, 16), 5
_SPLITS_READ = re.compile(r"Splits read: .*?\bsplits=(\d+), requests=\d+, bytes_read=(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFigures:
    name: str
    batches: int
    rows_read: int
    splits_opened: int
    bytes_read: int
    add_batch_millis: int  # without the first batch, which starts Python processes
    trigger_millis: int
    result: int

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.batches} batches, {self.rows_read} rows read, {self.splits_opened} splits opened, "
            f"{self.bytes_read / 1e6:.1f} MB, addBatch {self.add_batch_millis / 1000:.1f} s and triggers "
            f"{self.trigger_millis / 1000:.1f} s after the first batch, {self.result} rows found"
        )


def watch_table(directory: Path, *, appends: int, rows: int, max_files: int) -> list[StreamFigures]:
    """Figures of both streams, once they have found the same rows; two of the appends have the rare word."""
    directory.mkdir(parents=True)
    source = directory / "source"
    table = IndexTable.create(source, SCHEMA, fields={"message": "text"})
    asked = {"query": f"message:{_RARE}"}
    plain = f"message LIKE '%{_RARE}%'"
    jobs = [_job(directory, "search", max_files, asked, None), _job(directory, "filter", max_files, {}, plain)]
    with ExitStack() as stack:
        drivers = []
        for job in jobs:
            (place := directory / job.name).mkdir()
            drivers.append(stack.enter_context(driver(Orders(jobs=(job,)), place, log_level="DEBUG")))
        for running in drivers:
            running.wait_for("running")
        for number in range(appends):
            table.append(log_lines(number, rows))
        for running in drivers:
            running.drain()
        figures = [_figures(job, running) for job, running in zip(jobs, drivers, strict=True)]
    expected = [number * rows + hit for number in _RARE_IN for hit in range(_HITS)]
    for job in jobs:
        check_rows(job.table, {}, expected)
    assert {one.result for one in figures} == {len(expected)}
    return figures


def log_lines(number: int, rows: int) -> pa.Table:
    """Lines of a log; in some appends, the first lines have the rare word."""
    ids = range(number * rows, (number + 1) * rows)
    rare = [f"a {_RARE} between two transactions"] * (_HITS if number in _RARE_IN else 0)
    common = [f"request from host{id_ % 97} took {id_ % 1013} ms" for id_ in ids[len(rare) :]]
    levels = ["ERROR" if id_ % 50 == 0 else "INFO" for id_ in ids]
    return pa.table([ids, levels, rare + common], schema=SCHEMA)


def _job(directory: Path, name: str, max_files: int, options: dict[str, str], condition: str | None) -> StreamJob:
    return StreamJob(
        name=name,
        source="indextables",
        source_options={"maxFilesPerTrigger": str(max_files), "startingVersion": "0", **options},
        path=str(directory / "source"),
        condition=condition,
        table=str(directory / f"{name}-found"),
        checkpoint=str(directory / f"{name}-checkpoint"),
    )


def _figures(job: StreamJob, running: Driver) -> StreamFigures:
    batches, read = running.progress(), list(_splits_read(running, str(job.path)))
    return StreamFigures(
        name=job.name,
        batches=len(batches),
        rows_read=sum(batch.rows for batch in batches),
        splits_opened=sum(splits for splits, _ in read),
        bytes_read=sum(size for _, size in read),
        add_batch_millis=sum(batch.millis["addBatch"] for batch in batches[1:]),
        trigger_millis=sum(batch.millis["triggerExecution"] for batch in batches[1:]),
        result=IndexTable.open(job.table).count(),
    )


def _splits_read(running: Driver, table: str) -> Iterator[tuple[int, int]]:
    """The splits that a task opened, and the bytes that it read of them."""
    lines = (line for line in running.log().splitlines() if f"table={table}," in line)
    for line in lines:
        if found := _SPLITS_READ.search(line):
            yield int(found[1]), int(found[2])
