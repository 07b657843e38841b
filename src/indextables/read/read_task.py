"""What a worker does of a scan that was planned elsewhere; it imports no more than it needs, for workers come and go."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from indextables.config import Config
from indextables.read.missing_split import told_if_gone
from indextables.read.opener import SplitOpener
from indextables.read.rows import matching_rows
from indextables.read.scan_plan import SplitTask
from indextables.read.scan_spec import Question
from indextables.storage import open_store


@dataclass(frozen=True, slots=True)
class ScanWork:
    """What an executor needs to know.

    `schema` has the columns as the reader of the frame calls them; those of searches come last.
    """

    location: str
    config: Config
    question: Question
    schema: pa.Schema
    version: int

    def rows(self, tasks: Sequence[SplitTask]) -> Iterator[pa.RecordBatch]:
        opener = SplitOpener.of(open_store(self.location, self.config), self.config)
        for task in tasks:
            with told_if_gone(task.split, opener.store, self.version):
                for batch in matching_rows(opener.open(task.split), self.question, wholly=task.wholly):
                    if batch.num_rows:
                        yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """What executors run: they get the numbers of groups of splits, and give their rows, at most `limit` of them."""

    work: ScanWork
    groups: tuple[tuple[SplitTask, ...], ...]
    limit: int | None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = chain.from_iterable(batch.column(0).to_pylist() for batch in numbers)
        rows = chain.from_iterable(self.work.rows(self.groups[number]) for number in groups)
        yield from rows if self.limit is None else _at_most(rows, self.limit)
        deque(numbers, maxlen=0)  # Spark does not use a worker again that has left something unread


def _at_most(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    while rows > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, rows)
        rows -= batch.num_rows
