"""A process that comes second: it does the work of a case up to its commit, and waits there until it may go on.

Where it waits is real: Python tells a hook of every `os.link`, which is how a version file gets its name on local disk.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from indextables import IndexTable
from indextables.errors import IndexTablesError
from tests.maintain.matrix import MATRIX
from tests.maintain.samples import numbers
from tests.torture.race import processes

_AT_ITS_COMMIT = "at its commit"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a case ended for the loser: the error, or else the rows that its own handle sees afterwards."""

    error: str | None
    message: str
    seen: list[int]


@dataclass(frozen=True, slots=True)
class Second:
    """The process, from outside."""

    pipe: Connection

    @contextmanager
    def at_its_commit(self, table: Path, case: str) -> Iterator[Future[Ended]]:
        """Inside, the process waits before its commit; how it ended is known afterwards."""
        self.pipe.send((table, case))
        came = self.pipe.recv()
        assert came == _AT_ITS_COMMIT, came
        ended: Future[Ended] = Future()
        try:
            yield ended
        finally:
            self.pipe.send("go on")
            ended.set_result(self.pipe.recv())


@contextmanager
def second_process() -> Iterator[Second]:
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    yield Second(ours)
    ours.send(None)
    process.join()


@dataclass(slots=True)
class _Gate:
    """Stops the process at the next version file that it is about to put, once."""

    pipe: Connection
    closed: bool = False

    def __call__(self, event: str, facts: tuple[Any, ...]) -> None:
        if event == "os.link" and self.closed and "_transaction_log" in str(facts[1]):
            self.closed = False
            self.pipe.send(_AT_ITS_COMMIT)
            self.pipe.recv()


def _serve(pipe: Connection) -> None:
    gate = _Gate(pipe)
    sys.addaudithook(gate)
    for table, case in iter(pipe.recv, None):
        handle = IndexTable.open(table)
        gate.closed = True
        pipe.send(_ended(handle, case))


def _ended(handle: IndexTable, case: str) -> Ended:
    try:
        MATRIX[case].loser(handle)
    except IndexTablesError as error:
        return Ended(type(error).__name__, str(error), [])
    return Ended(None, "", numbers(handle))
