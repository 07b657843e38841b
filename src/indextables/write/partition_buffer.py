"""Rows buffered by partition until their split is built: in memory, and beyond a limit on local disk.

The rows of a partition may come in many batches, mixed with those of others. Only one split is built at a time, so plain
Arrow batches are buffered. When they exceed the limit, they are spilled to a file, which is memory-mapped, not read.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from indextables.kernels import concat_batches
from indextables.layout import Group

MAX_SPLIT_BYTES = (
    1024**3
)  # of the rows of a split: Arrow has at most 2 GiB of text in an array, and an index is as large


@dataclass(slots=True)
class BufferedPartition:
    """The rows of one partition that are not in a split yet: first those on disk, then those in memory.

    `total_rows` includes those that are in splits already. `nbytes` is estimated, until a split may be full.
    """

    texts: dict[str, str | None]
    spilled: deque[pa.RecordBatch] = field(default_factory=deque)
    in_memory: deque[pa.RecordBatch] = field(default_factory=deque)
    rows: int = 0
    total_rows: int = 0
    nbytes: float = 0.0

    def is_full(self, target: int) -> bool:
        """Whether there are enough rows for a split: `target` rows, or as many bytes as it may have."""
        if self.rows < target and self.nbytes >= MAX_SPLIT_BYTES:
            self.nbytes = sum(batch.nbytes for batch in (*self.spilled, *self.in_memory))
        return self.rows >= target or self.nbytes >= MAX_SPLIT_BYTES


class PartitionBuffer:
    """Rows by partition. Beyond `limit` bytes they are spilled to files in `directory`, which belongs to the caller."""

    def __init__(self, directory: Path, *, limit: int) -> None:
        self._directory = directory
        self._limit = limit
        self._partitions: dict[tuple[str | None, ...], BufferedPartition] = {}
        self._rows_in_memory = 0
        self._bytes_per_row = 0.0
        self._largest_row = 0.0
        self._spills = 0

    def expect(self, rows: pa.Table) -> None:
        """Estimates the size of rows that are about to be added group by group; to measure each group would take longer."""
        self._bytes_per_row = rows.nbytes / max(1, rows.num_rows)
        self._largest_row = max(self._largest_row, self._bytes_per_row)

    def add(self, group: Group) -> BufferedPartition:
        """Buffers the rows of a group; gives all buffered rows of its partition."""
        partition = self._partitions.setdefault(group.key, BufferedPartition(group.texts))
        partition.in_memory.extend(group.rows.to_batches() if isinstance(group.rows, pa.Table) else [group.rows])
        partition.rows += group.rows.num_rows
        partition.total_rows += group.rows.num_rows
        partition.nbytes += group.rows.num_rows * self._bytes_per_row
        self._rows_in_memory += group.rows.num_rows
        return partition

    def take(self, partition: BufferedPartition, rows: int) -> list[pa.RecordBatch]:
        """Removes the oldest rows of a partition from the buffer: at most `rows` of them, and MAX_SPLIT_BYTES."""
        if partition.nbytes >= MAX_SPLIT_BYTES:
            rows = min(rows, _rows_within((*partition.spilled, *partition.in_memory), MAX_SPLIT_BYTES))
        share = min(1.0, rows / max(1, partition.rows))
        spilled = list(_dequeue(partition.spilled, rows))
        in_memory = list(_dequeue(partition.in_memory, rows - sum(batch.num_rows for batch in spilled)))
        self._rows_in_memory -= sum(batch.num_rows for batch in in_memory)
        partition.rows -= sum(batch.num_rows for batch in spilled + in_memory)
        partition.nbytes *= 1 - share
        return spilled + in_memory

    def spill_if_full(self) -> None:
        """Writes what is in memory to a file, one batch for each partition."""
        unspilled = [partition for partition in self._partitions.values() if partition.in_memory]
        if self._rows_in_memory * self._largest_row <= self._limit or not unspilled:
            return
        path = self._directory / f"spill-{self._spills}.arrow"
        self._spills += 1
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, unspilled[0].in_memory[0].schema) as writer:
            for partition in unspilled:
                writer.write_batch(concat_batches(partition.in_memory))
        mapped = pa.ipc.open_file(pa.memory_map(str(path)))
        for position, partition in enumerate(unspilled):
            partition.spilled.append(mapped.get_batch(position))
            partition.in_memory.clear()
            partition.nbytes = sum(batch.nbytes for batch in partition.spilled)
        self._rows_in_memory = 0

    def drain(self) -> Iterator[BufferedPartition]:
        """Every partition in turn, with the rows that are left."""
        left = list(reversed(self._partitions.values()))
        self._partitions.clear()
        while left:
            yield left.pop()


def _rows_within(batches: Sequence[pa.RecordBatch], nbytes: int) -> int:
    """How many of the first rows have at most so many bytes; at least one."""
    rows = 0
    for batch in batches:
        if batch.nbytes > nbytes:
            return max(1, rows + _rows_of(batch, nbytes))
        rows += batch.num_rows
        nbytes -= batch.nbytes
    return rows


def _rows_of(batch: pa.RecordBatch, nbytes: int) -> int:
    """How many of the first rows of a batch have at most so many bytes, by bisection."""
    return bisect_right(range(1, batch.num_rows), nbytes, key=lambda rows: batch.slice(0, rows).nbytes)


def _dequeue(batches: deque[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Removes the first rows from a queue of batches."""
    while batches and rows > 0:
        batch = batches.popleft()
        if batch.num_rows > rows:
            batches.appendleft(batch.slice(rows))
            batch = batch.slice(0, rows)
        rows -= batch.num_rows
        yield batch
