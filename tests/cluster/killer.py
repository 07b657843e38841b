"""Kills executors when tasks arrive at points: SIGKILL, so that nobody can clean up; the worker starts a new executor.

The killer is a thread of the driver's process. Tasks ask it at every point whether they may go on (`kill_points.py`), so
nothing depends on time: whoever is to be killed waits for it.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection, Listener

from tests.cluster.kill_points import Arrival, Point
from tests.cluster.standalone import Cluster, kill_process


class Victim(StrEnum):
    """Which executor is killed."""

    OWN = "own"  # that of the task which has arrived
    OTHER = "other"  # another one, which has shuffle files that the task may need
    FINISHED = "finished"  # that of the task which has arrived, if it has finished another one before
    ORIGINAL = "original"  # that of the first attempt of a task which runs twice, as speculation has it


@dataclass(frozen=True, slots=True)
class Strike:
    """Kills a victim when a task arrives at a point for the `nth` time."""

    point: Point
    victim: Victim
    nth: int = 1


@dataclass(slots=True)
class Killer:
    """Answers tasks, and carries out the strikes that it was given.

    The `dead` get no answer: a task whose executor was killed must not go on, nor clean up.
    """

    cluster: Cluster
    port: int
    kills: int = 0
    _strikes: list[Strike] = field(default_factory=list)
    _arrivals: Counter[Point] = field(default_factory=Counter)
    _finished: set[int] = field(default_factory=set)
    _held: dict[int, tuple[int, Connection]] = field(default_factory=dict)
    _dead: list[Connection] = field(default_factory=list)

    @contextmanager
    def armed(self, strikes: Sequence[Strike]) -> Iterator[None]:
        self._arrivals.clear()
        self._finished.clear()
        self._held.clear()
        self._strikes = list(strikes)
        try:
            yield
        finally:
            self._strikes = []

    def meet(self, arrival: Arrival, task: Connection) -> None:
        self._arrivals[arrival.point] += 1
        for strike in [strike for strike in self._strikes if strike.point is arrival.point]:
            if strike.victim is Victim.ORIGINAL:
                self._meet_speculative(strike, arrival, task)
                return
            victim = self._victim(strike, arrival)
            if self._arrivals[strike.point] >= strike.nth and victim is not None:
                self._kill(strike, victim)
                if victim == arrival.executor:
                    self._dead.append(task)
                    return
                break
        if arrival.point is Point.WRITTEN and arrival.executor is not None:
            self._finished.add(arrival.executor)
        _release(task)

    def _victim(self, strike: Strike, arrival: Arrival) -> int | None:
        alive = self.cluster.executors()
        match strike.victim:
            case Victim.OWN:
                chosen = [pid for pid in alive if pid == arrival.executor]
            case Victim.FINISHED:
                chosen = [pid for pid in alive if pid == arrival.executor and pid in self._finished]
            case _:
                chosen = [pid for pid in alive if pid != arrival.executor]
        return chosen[0] if chosen else None

    def _meet_speculative(self, strike: Strike, arrival: Arrival, task: Connection) -> None:
        """The first task waits until Spark runs it a second time, elsewhere; then its executor is killed."""
        first = next(iter(self._held), None)
        if first is None and arrival.executor is not None:
            self._held[arrival.task] = (arrival.executor, task)
            return
        if first == arrival.task:
            executor, original = self._held.pop(first)
            self._kill(strike, executor)
            self._dead.append(original)
        _release(task)

    def _kill(self, strike: Strike, victim: int) -> None:
        if kill_process(victim):
            self._strikes.remove(strike)
            self.kills += 1


@contextmanager
def killer_of(cluster: Cluster) -> Iterator[Killer]:
    with Listener(("127.0.0.1", 0)) as listener:
        killer = Killer(cluster, listener.address[1])  # type: ignore[misc] # an address of TCP has a port
        threading.Thread(target=_serve, args=(listener, killer), daemon=True).start()
        yield killer


def _serve(listener: Listener, killer: Killer) -> None:
    """One task after the other, so that each finds what the one before has left; ends with the listener."""
    while True:
        try:
            task = listener.accept()
        except OSError:
            return
        with suppress(EOFError, ConnectionError):
            killer.meet(task.recv(), task)


def _release(task: Connection) -> None:
    with suppress(ConnectionError):
        task.send(None)
    task.close()
