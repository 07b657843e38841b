"""Points in the Python processes of Spark at which an executor may be killed.

`install` runs there before anything else (`worker_site/sitecustomize.py`). At each point the process tells the killer of the
driver (`killer.py`) where it is, and goes on when that answers.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

ADDRESS = "INDEXTABLES_TEST_KILLER"  # the port of the killer
LONGEST_WAIT = 120  # seconds; a task that waits for an event which never comes goes on, and the case reports no kill


class Point(StrEnum):
    """Where a process is."""

    READING = "reading"  # a task has read its first rows: in an optimized write, from the shuffle
    WRITING = "writing"  # a task has put a split into the store, and goes on
    WRITTEN = "written"  # a task has written all its splits
    COMMIT = "commit"  # all tasks are done


@dataclass(frozen=True, slots=True)
class Arrival:
    """A process at a point; the executor is the id of its process, None for the commit, which runs beside the driver."""

    point: Point
    executor: int | None
    task: int
    attempt: int


def install() -> None:
    from indextables.write import pipeline  # noqa: PLC0415 - only where it is wanted

    pipeline.write_rows = partial(_write_rows, original=pipeline.write_rows)
    pipeline._SplitWriter.write = _split_writer(pipeline._SplitWriter.write)  # type: ignore[method-assign]
    from indextables.write import write_job  # noqa: PLC0415 - it takes `write_rows` from there

    write_job.commit_job = partial(_commit_job, original=write_job.commit_job)


def _write_rows(plan: Any, batches: Iterable[Any], *args: Any, original: Any, **options: Any) -> Any:
    written = original(plan, _reading(batches), *args, **options)
    _arrive(Point.WRITTEN)
    return written


def _reading(batches: Iterable[Any]) -> Iterator[Any]:
    for number, batch in enumerate(batches):
        if number == 0:
            _arrive(Point.READING)
        yield batch


def _split_writer(original: Any) -> Any:
    def write(*args: Any) -> Any:
        added = original(*args)
        _arrive(Point.WRITING)
        return added

    return write


def _commit_job(*args: Any, original: Any, **options: Any) -> Any:
    _arrive(Point.COMMIT)
    return original(*args, **options)


def _arrive(point: Point) -> None:
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    if context is None and point is not Point.COMMIT:
        return  # the driver writes too: rows that few splits of a replaceWhere keep
    task, attempt = (context.partitionId(), context.attemptNumber()) if context else (0, 0)
    executor = None if point is Point.COMMIT else _executor()
    with Client(("127.0.0.1", int(os.environ[ADDRESS]))) as killer:
        killer.send(Arrival(point, executor, task, attempt))
        if killer.poll(LONGEST_WAIT):
            killer.recv()


def _executor() -> int:
    """The JVM that started the daemon which started this process."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
