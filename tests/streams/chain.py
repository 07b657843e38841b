"""Two tables, the second one fed by a stream from the first, while others append to that one and merge it.

The driver of the stream is stopped and killed in turn. Rows carry the number of the append that brought them: in the
second table they arrive in this order.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from indextables import IndexTable
from tests.streams.checkpoint_files import offsets
from tests.streams.driver_process import driver
from tests.streams.stream_driver import Orders, StreamJob
from tests.streams.table_checks import TableFigures, check_table, versions_of
from tests.torture.race import processes

SCHEMA = pa.schema({"id": pa.int64(), "append": pa.int64(), "p": pa.string(), "message": pa.string()})
_ROWS = 30  # of an append, in as many splits as there are partitions
_PARTITIONS = 3
_BETWEEN_APPENDS, _BETWEEN_MERGES = 1.5, 4.0  # seconds
_AFTER_BATCH = 1.5  # seconds after the first batch of a driver, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFigures:
    appends: int
    merges: int
    restarts: Sequence[str]
    batches: int
    copied: TableFigures

    def __str__(self) -> str:
        return (
            f"{self.appends} appends and {self.merges} merges of the first table; the driver was "
            f"{', '.join(self.restarts)}; {self.batches} offsets ascend, appends arrive in order; "
            f"second table: {self.copied}"
        )


def chain_tables(directory: Path, *, restarts: int, from_snapshot: bool, seed: int = 0) -> ChainFigures:
    """Figures, once every row is in the second table, in order; the stream starts with a snapshot, or at version 0."""
    directory.mkdir(parents=True)
    source, dice = directory / "first", random.Random(seed)
    IndexTable.create(source, SCHEMA, partition_by="p", fields={"message": "text"})
    if from_snapshot:
        for number in range(10):
            append_numbered(source, number)
        IndexTable.open(source).merge_splits(where="p = 'p0'")
    start = {} if from_snapshot else {"startingVersion": "0"}
    job = StreamJob(
        name="chain",
        source="indextables",
        source_options={"maxFilesPerTrigger": "2", **start},
        path=str(source),
        table=str(directory / "second"),
        options={"mergeOnWrite.minSplits": "3"},
        checkpoint=str(directory / "checkpoint"),
    )
    how: list[str] = []
    with _beside(_append_until, source), _beside(_merge_until, source):
        for number in range(restarts):
            with driver(Orders(jobs=(job,)), directory) as running:
                running.wait_for("progress")
                time.sleep(dice.uniform(0, _AFTER_BATCH))
                if number % 2:
                    assert running.kill(), "the driver ended by itself"
                else:
                    running.stop()
            how.append("killed" if number % 2 else "stopped")
    quicker = {**job.source_options, "maxFilesPerTrigger": "7"}
    last = msgspec.structs.replace(job, source_options=quicker, trigger={"availableNow": True})
    with driver(Orders(jobs=(last,)), directory) as running:
        running.finish()
    first = IndexTable.open(source)
    in_order(job)
    operations = first.history()["operation"].to_pylist()
    return ChainFigures(
        appends=operations.count("APPEND"),
        merges=operations.count("MERGE SPLITS"),
        restarts=how,
        batches=len(offsets(job.checkpoint)),
        copied=check_table(job.table, {}, first.scan(columns=["id"]).to_arrow()["id"].to_pylist()),
    )


def in_order(job: StreamJob) -> None:
    """Offsets ascend, and so do the numbers of appends from version to version; those of the initial snapshot are first."""
    ends = offsets(job.checkpoint)
    positions = [(end["version"], end["position"]) for end in ends]
    assert all(a < b for a, b in pairwise(positions)), f"offsets do not ascend: {positions}"
    initial = [end["version"] for end in ends if end["initialSnapshot"]]
    first_table = versions_of(str(job.path), {})
    known = _appends(add for version in first_table[: max(initial) + 1] for add in version.adds) if initial else set()
    last = max(known, default=-1)
    previous = -1
    for version in versions_of(job.table, {}):
        numbers = _appends(add for add in version.adds if add.data_change)
        ranked = {max(number, last) for number in numbers}
        assert not ranked or min(ranked) >= previous, f"version {version.number} has {numbers} after {previous}"
        previous = max(ranked, default=previous)


def append_numbered(table: Path, number: int) -> None:
    ids = range(number * _ROWS, (number + 1) * _ROWS)
    columns = [ids, [number] * _ROWS, [f"p{n % _PARTITIONS}" for n in ids], [f"line {n}" for n in ids]]
    IndexTable.open(table, options={"commit.maxRetries": "100"}).append(pa.table(columns, schema=SCHEMA))


def _appends(adds: Iterator[Any]) -> set[int]:
    """The first and last number of each split."""
    return {bound["append"] for add in adds for bound in (add.min_values, add.max_values)}


def _append_until(enough: Any, table: Path) -> None:
    number = IndexTable.open(table).count() // _ROWS
    while not enough.wait(_BETWEEN_APPENDS):
        append_numbered(table, number)
        number += 1


def _merge_until(enough: Any, table: Path) -> None:
    while not enough.wait(_BETWEEN_MERGES):
        assert IndexTable.open(table, options={"commit.maxRetries": "100"}).merge_splits().conflicts == ()


@contextmanager
def _beside(work: Any, table: Path) -> Iterator[None]:
    """Work in another process, which ends in good order when the block does."""
    enough = processes.Event()
    worker = processes.Process(target=work, args=(enough, table), daemon=True)
    worker.start()
    try:
        yield
    finally:
        enough.set()
        worker.join()
    assert worker.exitcode == 0, f"{work.__name__} failed"
