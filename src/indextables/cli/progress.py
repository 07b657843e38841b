"""Progress of long commands, on standard error if it is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from indextables.inspect.table_check import CheckProgress
from indextables.maintain.compact import MergeProgress
from indextables.plural import pluralize
from indextables.write.write_progress import WriteProgress


@contextmanager
def rows_imported() -> Iterator[Callable[[WriteProgress], None]]:
    """A callback for the progress of a write: the rows that were read, and the splits that are finished."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows{task.description}"), TimeElapsedColumn())
    with Progress(*columns, **_place()) as progress:
        task = progress.add_task("", total=None)

        def show(so_far: WriteProgress) -> None:
            splits = f", {pluralize(so_far.splits, 'split')} written" if so_far.splits else ""
            progress.update(task, completed=so_far.rows_read, description=splits)

        yield show


@contextmanager
def rows_exported(total: int | None, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A callback for the rows that were written so far, of a total if it is known."""
    bar = (SpinnerColumn(),) if total is None else (BarColumn(),)
    columns = (*bar, TextColumn("{task.completed:,} rows written"), TimeElapsedColumn())
    place = _place() if shown else {"disable": True}
    with Progress(*columns, **place) as progress:
        task = progress.add_task("", total=total)
        yield lambda rows: progress.update(task, completed=rows)


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
