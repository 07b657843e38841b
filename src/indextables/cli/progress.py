"""Progress of long commands, on standard error if it is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from indextables.inspect.table_check import CheckProgress
from indextables.maintain.compact import MergeProgress


@contextmanager
def rows_read(rows: pa.RecordBatchReader) -> Iterator[Iterator[pa.RecordBatch]]:
    """The batches; the rows that have been read are counted."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, **_place()) as progress:
        task = progress.add_task("rows", total=None)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                progress.advance(task, batch.num_rows)
                yield batch

        yield batches()


@contextmanager
def groups_merged(label: str = "groups merged") -> Iterator[Callable[[MergeProgress], None]]:
    """A callback for the progress of a merge or of a reindexing; the total may grow."""
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, **_place()) as progress:
        task = progress.add_task("groups", total=None)
        yield lambda so_far: progress.update(task, completed=so_far.done, total=so_far.groups)


@contextmanager
def parts_checked() -> Iterator[Callable[[CheckProgress], None]]:
    """A callback for the progress of a check: of its versions, then of its splits."""
    columns = (TextColumn("{task.description} checked"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, **_place()) as progress:
        task = progress.add_task("versions", total=None)
        yield lambda so_far: progress.update(task, description=so_far.stage, completed=so_far.done, total=so_far.total)


def _place() -> dict[str, Any]:
    return {"console": Console(stderr=True), "disable": not sys.stderr.isatty(), "transient": True}
