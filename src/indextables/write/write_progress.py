"""Progress of a write: what its task has read and written so far, for a callback."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from indextables.display.progress_bar import BarState
from indextables.log.actions import Add
from indextables.plural import pluralize


@dataclass(frozen=True, slots=True)
class WriteProgress:
    """Rows that were read from the data, and rows in finished splits; `total_rows` is None where it is not known."""

    rows_read: int
    rows_written: int
    splits: int
    total_rows: int | None = None

    def state(self) -> BarState:
        known = self.total_rows is not None
        rows = f"{self.rows_read:,} of {self.total_rows:,} rows" if known else pluralize(self.rows_read, "row")
        return BarState(self.rows_read, self.total_rows, f"{rows} read, {pluralize(self.splits, 'split')} written")


OnProgress: TypeAlias = Callable[[WriteProgress], object]


class ProgressCounter:
    """Counts batches that are read and splits that are written, in the thread of the writer."""

    def __init__(self, report: OnProgress | None = None, total_rows: int | None = None) -> None:
        self._report = report or (lambda _: None)
        self._total_rows = total_rows
        self._read = self._written = self._splits = 0

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            self._read += batch.num_rows  # after the writer has taken it
            self._tell()

    def finished(self, add: Add) -> Add:
        """The same split, counted."""
        self._written += add.num_records or 0
        self._splits += 1
        self._tell()
        return add

    def _tell(self) -> None:
        self._report(WriteProgress(self._read, self._written, self._splits, self._total_rows))
