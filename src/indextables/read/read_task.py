"""What a Spark task runs of a scan that the driver planned. Few imports: Spark starts Python processes often."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from indextables.config import Config
from indextables.read.found_rows import FoundRows, MatchingRows, decode_found, find_matching
from indextables.read.opener import SplitOpener, missing_split_errors
from indextables.read.scan_plan import SplitTask
from indextables.read.scan_spec import ScanSpec
from indextables.storage import open_store


@dataclass(frozen=True, slots=True)
class ScanContext:
    """What is the same for all tasks of a scan.

    `schema` has the column names of the DataFrame; search flags come last.
    """

    location: str
    config: Config
    scan_spec: ScanSpec
    schema: pa.Schema
    version: int

    def rows(self, tasks: Sequence[SplitTask]) -> Iterator[pa.RecordBatch]:
        opener = SplitOpener.of(open_store(self.location, self.config), self.config)
        for batches in decode_found(self._found(opener, task) for task in tasks):
            for batch in batches:
                if batch.num_rows:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
        opener.log_use(len(tasks))

    def _found(self, opener: SplitOpener, task: SplitTask) -> MatchingRows:
        with missing_split_errors(task.split, opener.store, self.version):
            found = find_matching(opener.open(task.split), self.scan_spec, all_rows_match=task.all_rows_match)
        return found if isinstance(found, FoundRows) else self._read(found, opener, task)

    def _read(
        self, batches: Iterable[pa.RecordBatch], opener: SplitOpener, task: SplitTask
    ) -> Iterator[pa.RecordBatch]:
        with missing_split_errors(task.split, opener.store, self.version):
            yield from batches


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """The function of a Spark task: from the numbers of groups of splits to their rows, at most `limit` of them."""

    work: ScanContext
    groups: tuple[tuple[SplitTask, ...], ...]
    limit: int | None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = chain.from_iterable(batch.column(0).to_pylist() for batch in numbers)
        rows = chain.from_iterable(self.work.rows(self.groups[number]) for number in groups)
        yield from rows if self.limit is None else _at_most(rows, self.limit)
        deque(numbers, maxlen=0)  # Spark does not reuse a Python process that has left input unread


def _at_most(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    while rows > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, rows)
        rows -= batch.num_rows
