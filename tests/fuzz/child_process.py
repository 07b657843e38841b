"""Work in a child process, item by item, so that a crash or a hang is seen and belongs to one item."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST = 60  # seconds that one item may take on a busy machine


class Ended(str):
    """How the process ended that had the item."""

    __slots__ = ()


def supervised(
    work: Callable[..., None], items: Sequence[T], *arguments: Any, longest: float = LONGEST
) -> Iterator[tuple[T, Any]]:
    """Each item with what `work(connection, items, *arguments)` sends for it, or with an `Ended`.

    After a crash or a hang, a new process goes on with the next item.
    """
    left, spawning = list(items), multiprocessing.get_context("spawn")
    while left:
        parent, child = spawning.Pipe()
        process = spawning.Process(target=_quietly, args=(work, child, left, *arguments), daemon=True)
        process.start()
        child.close()
        try:
            yield from _received(parent, process, left, longest)
        finally:
            process.kill()
            process.join()
            parent.close()


def _quietly(work: Callable[..., None], *arguments: Any) -> None:
    """Panics of Rust need no backtraces, which take longer than the work."""
    os.environ["RUST_BACKTRACE"] = "0"
    work(*arguments)


def _received(parent: Connection, process: Any, left: list[T], longest: float) -> Iterator[tuple[T, Any]]:
    while left:
        try:
            answer = parent.recv() if parent.poll(longest) else Ended(f"it took more than {longest} seconds")
        except (EOFError, ConnectionResetError):
            process.join()
            answer = Ended(f"the process ended with {process.exitcode}")
        yield left.pop(0), answer
        if isinstance(answer, Ended):
            return
