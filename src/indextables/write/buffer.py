"""Rows that wait for their split, in memory and beyond that on local disk.

One tuple of partition values may come in many batches, and many tuples at once. Only one split is built at a time, so what
is kept per tuple is plain Arrow: when all of it together is too much for memory, it goes to one file, which is then
mapped, not read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from indextables.layout import Group


@dataclass(slots=True)
class Waiting:
    """The rows of one partition that are not in a split yet."""

    texts: dict[str, str | None]
    directory: str
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0


class PartitionBuffer:
    """Rows by partition. Beyond `limit` bytes they are kept in files in `directory`, which belongs to the caller."""

    def __init__(self, directory: Path, *, limit: int) -> None:
        self._directory = directory
        self._limit = limit
        self._waiting: dict[tuple[str | None, ...], Waiting] = {}
        self._in_memory = 0
        self._spills = 0

    def add(self, group: Group) -> Waiting:
        """Keeps the rows of a group; gives all that waits with them."""
        waiting = self._waiting.setdefault(group.key, Waiting(group.texts, group.directory))
        batches = group.rows.to_batches() if isinstance(group.rows, pa.Table) else [group.rows]
        waiting.batches += batches
        waiting.rows += group.rows.num_rows
        self._in_memory += sum(batch.nbytes for batch in batches)
        return waiting

    def take(self, waiting: Waiting, rows: int) -> list[pa.RecordBatch]:
        """The oldest rows of a partition, which then wait no longer."""
        table = pa.Table.from_batches(waiting.batches)
        waiting.batches = table.slice(rows).to_batches()
        waiting.rows = max(0, waiting.rows - rows)
        return list(table.slice(0, rows).to_batches())

    def spill_if_full(self) -> None:
        if self._in_memory <= self._limit:
            return
        path = self._directory / f"spill-{self._spills}.arrow"
        self._spills += 1
        counts = [(waiting, len(waiting.batches)) for waiting in self._waiting.values() if waiting.batches]
        schema = counts[0][0].batches[0].schema
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for waiting, _ in counts:
                for batch in waiting.batches:
                    writer.write_batch(batch)
        mapped = pa.ipc.open_file(pa.memory_map(str(path)))
        position = 0
        for waiting, count in counts:
            waiting.batches = [mapped.get_batch(position + i) for i in range(count)]
            position += count
        self._in_memory = 0

    def drain(self) -> Iterator[Waiting]:
        """Every partition in turn, with what is left of it."""
        while self._waiting:
            yield self._waiting.pop(next(iter(self._waiting)))
