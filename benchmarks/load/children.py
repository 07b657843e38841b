"""Processes beside the one that measures: each runs a function until it is told to stop, and sends samples back."""

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any

from benchmarks.load.figures import resident_memory

_SPAWN = multiprocessing.get_context("spawn")
_LAST_WORDS = 120  # seconds that a child may need to stop


@dataclass(frozen=True)
class Sample:
    """One operation of a child: when, how long by the clock and by the CPU, the memory after it, and its result."""

    at: float
    wall: float
    cpu: float
    memory: float
    result: Any


class Child:
    """A running child; `stop` gives its samples, or raises what it raised."""

    def __init__(self, work: Callable[..., Any], *arguments: Any, pause: float) -> None:
        self._stopping = _SPAWN.Event()
        self._inbox, outbox = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(
            target=_repeat, args=(work, arguments, pause, self._stopping, outbox), daemon=True
        )
        self._process.start()
        outbox.close()

    @property
    def memory(self) -> float:
        return resident_memory(self._process.pid or "self") if self._process.is_alive() else 0.0

    def stop(self) -> list[Sample]:
        self._stopping.set()
        if not self._inbox.poll(_LAST_WORDS):
            raise TimeoutError(f"a child did not stop within {_LAST_WORDS} s")
        failure, samples = self._inbox.recv()
        self._process.join()
        if failure:
            raise ChildError(failure)
        return list(samples)


class ChildError(Exception):
    """What a child raised, with its traceback."""


def _repeat(
    work: Callable[..., Callable[[], Any]],
    arguments: tuple[Any, ...],
    pause: float,
    stopping: Event,
    outbox: Connection,
) -> None:
    """Calls what `work(*arguments)` returns again and again; once more after the end, to see the final state."""
    samples: list[Sample] = []
    try:
        step, last = work(*arguments), False
        while not last:
            last = stopping.wait(pause)
            wall, cpu = time.perf_counter(), time.process_time()
            result = step()
            samples.append(
                Sample(time.time(), time.perf_counter() - wall, time.process_time() - cpu, resident_memory(), result)
            )
    except BaseException:  # noqa: BLE001 - the parent raises it
        outbox.send((traceback.format_exc(), samples))
    else:
        outbox.send((None, samples))


@contextmanager
def stopping(*children: Child) -> Iterator[None]:
    """Stops children that are left after an error."""
    try:
        yield
    except BaseException:
        for child in children:
            child._process.terminate()  # noqa: SLF001
        raise
