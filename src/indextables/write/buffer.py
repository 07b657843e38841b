"""Rows that wait for their split, in memory and beyond that on local disk.

One tuple of partition values may come in many batches, and many tuples at once. Only one split is built at a time, so what
is kept per tuple is plain Arrow: when all of it together is too much for memory, it goes to one file, which is then
mapped, not read.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from indextables.layout import Group


@dataclass(slots=True)
class Waiting:
    """The rows of one partition that are not in a split yet: first those on disk, then those in memory.

    `seen` are all rows of it that there have been.
    """

    texts: dict[str, str | None]
    spilled: deque[pa.RecordBatch] = field(default_factory=deque)
    fresh: deque[pa.RecordBatch] = field(default_factory=deque)
    rows: int = 0
    seen: int = 0


class PartitionBuffer:
    """Rows by partition. Beyond `limit` bytes they are kept in files in `directory`, which belongs to the caller."""

    def __init__(self, directory: Path, *, limit: int) -> None:
        self._directory = directory
        self._limit = limit
        self._waiting: dict[tuple[str | None, ...], Waiting] = {}
        self._rows_in_memory = 0
        self._bytes_of_a_row = 0.0
        self._spills = 0

    def expect(self, rows: pa.Table) -> None:
        """Rows are about to be added, group by group; asking each group for its size would take longer than keeping it."""
        self._bytes_of_a_row = max(self._bytes_of_a_row, rows.nbytes / max(1, rows.num_rows))

    def add(self, group: Group) -> Waiting:
        """Keeps the rows of a group; gives all that waits with them."""
        waiting = self._waiting.setdefault(group.key, Waiting(group.texts))
        waiting.fresh.extend(group.rows.to_batches() if isinstance(group.rows, pa.Table) else [group.rows])
        waiting.rows += group.rows.num_rows
        waiting.seen += group.rows.num_rows
        self._rows_in_memory += group.rows.num_rows
        return waiting

    def take(self, waiting: Waiting, rows: int) -> list[pa.RecordBatch]:
        """The oldest rows of a partition, at most so many, which then wait no longer."""
        taken = list(_taken(waiting.spilled, rows))
        fresh = list(_taken(waiting.fresh, rows - sum(batch.num_rows for batch in taken)))
        self._rows_in_memory -= sum(batch.num_rows for batch in fresh)
        waiting.rows -= sum(batch.num_rows for batch in taken + fresh)
        return taken + fresh

    def spill_if_full(self) -> None:
        """Writes what is in memory to a file, each row once, one batch for each partition."""
        holding = [waiting for waiting in self._waiting.values() if waiting.fresh]
        if self._rows_in_memory * self._bytes_of_a_row <= self._limit or not holding:
            return
        path = self._directory / f"spill-{self._spills}.arrow"
        self._spills += 1
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, holding[0].fresh[0].schema) as writer:
            for waiting in holding:
                writer.write_batch(pa.concat_batches(list(waiting.fresh)))
        mapped = pa.ipc.open_file(pa.memory_map(str(path)))
        for position, waiting in enumerate(holding):
            waiting.spilled.append(mapped.get_batch(position))
            waiting.fresh.clear()
        self._rows_in_memory = 0

    def drain(self) -> Iterator[Waiting]:
        """Every partition in turn, with what is left of it."""
        left = list(reversed(self._waiting.values()))
        self._waiting.clear()
        while left:
            yield left.pop()


def _taken(batches: deque[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Takes the first rows out of a queue of batches."""
    while batches and rows > 0:
        batch = batches.popleft()
        if batch.num_rows > rows:
            batches.appendleft(batch.slice(rows))
            batch = batch.slice(0, rows)
        rows -= batch.num_rows
        yield batch
