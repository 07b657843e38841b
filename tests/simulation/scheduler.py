"""Actors in threads of their own, of which exactly one runs at a time. Each request to the store is a point to switch."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import pyarrow as pa

from indextables.storage import Entry, Location, Store
from tests.simulation.files import Answer, Request
from tests.simulation.state import Choice, Put, State, Step, choices, step

PLACE = Location("memory", "simulation", "t")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_here = threading.local()


class Crashed(BaseException):
    """The process of an actor has died. Its code unwinds, and can do nothing to the store any more."""


class SimulatedStore(Store):
    """The store as one actor sees it: every request waits until the scheduler serves it, and none is made in parallel."""

    def __init__(self, call: Callable[[Request], Any]) -> None:
        super().__init__(PLACE, None)
        self.call = call

    def in_parallel(self, request: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        return [request(item) for item in items]

    def read(self, key: str) -> pa.Buffer:
        return pa.py_buffer(self.call(Request("read", self._checked(key))))

    def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
        return pa.py_buffer(self.call(Request("read_range", self._checked(key), span=(start, end))))

    def head(self, key: str) -> Entry:
        found: Entry = self.call(Request("head", self._checked(key)))
        return found

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        if self.location != PLACE:  # another table, above or below: there is none
            return
        found = self.call(Request("list", prefix))
        if found and isinstance(found[0], int):
            half, found = found
            found = (*found, *self.call(Request("list_rest", prefix, span=(1 - half, 0))))
        yield from (entry for entry in found if entry.key > after)

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        self.call(Request("put", self._checked(key), bytes(data)))

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        self.call(Request("put_if_absent", self._checked(key), bytes(data)))

    def delete(self, keys: Any) -> None:
        for key in keys:
            self.call(Request("delete", self._checked(key)))

    def wipe(self) -> None:
        """Deletes all files of the table at once."""
        self.call(Request("wipe", ""))

    def _checked(self, key: str) -> str:
        return self._path(key).removeprefix(self._prefix)


def value_of(answer: Answer, request: Request) -> Any:
    if answer.error is None:
        return answer.value
    name = f"{PLACE}/{request.key}"
    raise answer.error(f"{request.verb} of {name} failed in the simulation", path=name)


def direct_store(state: Callable[[], State], advance: Callable[[State], None] = lambda _: None) -> SimulatedStore:
    """A store without a scheduler, for the setup of a table and for its inspection."""

    def call(request: Request) -> Any:
        done = step(state(), Choice("direct"), {"direct": request})
        advance(done.state)
        if done.answer is None:
            raise AssertionError(request)
        return value_of(done.answer, request)

    return SimulatedStore(call)


@dataclass(slots=True, eq=False)
class Actor:
    """A thread that runs `program`. It waits with its `request` until it gets an answer."""

    name: str
    number: int
    program: Callable[["Actor"], None]
    skew: int = 0
    request: Request | None = None
    answer: Answer | None = None
    crashed: bool = False
    abandoned: bool = False
    now: int = 0
    operation: int = 0
    began_on: Put | None = None
    began: bool = False
    ids: int = 0
    failure: BaseException | None = None
    go: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Lock = field(default_factory=threading.Lock)

    def start(self, now: int) -> None:
        self.now = now
        self.go.acquire()
        self.stopped.acquire()
        _Worker.idle().run(self)
        self.stopped.acquire()

    def run(self) -> None:
        """Runs in the actor's thread: the whole program."""
        _here.actor = self
        try:
            self.program(self)
        except Crashed:
            pass
        except BaseException as error:  # noqa: BLE001 - what the program cannot explain is a finding
            self.failure = error
        self.request = None

    def call(self, request: Request) -> Any:
        """Runs in the actor's thread: waits for the answer to a request."""
        if self.crashed or self.abandoned:
            raise Crashed
        self.request = request
        self.stopped.release()
        self.go.acquire()
        if self.crashed or self.abandoned or self.answer is None:
            raise Crashed
        return value_of(self.answer, request)

    def resume(self, done: Step) -> None:
        """Runs in the scheduler's thread: the actor gets its answer, and runs until its next request."""
        self.answer, self.crashed, self.now = done.answer, done.crash, done.state.now
        if not self.began:
            self.began, self.began_on = True, done.state.versions.get(0)
        self.go.release()
        self.stopped.acquire()

    def abandon(self) -> None:
        """Ends the thread."""
        self.abandoned = True
        while self.request is not None:
            self.go.release()
            self.stopped.acquire()

    def begin(self, operation: int) -> None:
        """Runs in the actor's thread, before an operation."""
        self.operation, self.began, self.began_on = operation, False, None

    def restart(self) -> None:
        """Runs in the actor's thread: another process takes over, unless the simulation ends."""
        if self.abandoned:
            raise Crashed
        self.crashed = False

    @property
    def clock(self) -> int:
        return self.now + self.skew

    def new_id(self) -> str:
        """A name of 32 hexadecimal digits: the actor, its operation, and a count."""
        self.ids += 1
        return f"{self.number:02x}{self.operation:02x}{self.ids:08x}".ljust(32, "0")


class _Worker:
    """A thread that runs one actor after the other: a new thread takes longer than most actors."""

    _idle: ClassVar[list["_Worker"]] = []

    def __init__(self) -> None:
        self.actor: Actor | None = None
        self.wake = threading.Lock()
        self.wake.acquire()
        threading.Thread(target=self._loop, daemon=True, name="simulated actor").start()

    @classmethod
    def idle(cls) -> "_Worker":
        return cls._idle.pop() if cls._idle else cls()

    def run(self, actor: Actor) -> None:
        self.actor = actor
        self.wake.release()

    def _loop(self) -> None:
        while True:
            self.wake.acquire()
            actor, self.actor = self.actor, None
            if actor is not None:
                actor.run()
                self._idle.append(self)
                actor.stopped.release()


def current_actor() -> Actor | None:
    return getattr(_here, "actor", None)


class Scheduler:
    """Runs actors from a state on, one step after the other; `taken` are the choices so far."""

    def __init__(self, state: State, actors: Sequence[Actor], faults: frozenset[str]) -> None:
        self.state = state
        self.actors = {actor.name: actor for actor in actors}
        self.faults = faults
        self.taken: list[Choice] = []
        self.trace: list[str] = []
        self._last: str | None = None

    def __enter__(self) -> Self:
        for actor in self.actors.values():
            actor.start(self.state.now)
        return self

    def __exit__(self, *_: object) -> None:
        for actor in self.actors.values():
            actor.abandon()

    @property
    def waiting(self) -> dict[str, Request]:
        return {name: actor.request for name, actor in self.actors.items() if actor.request is not None}

    def choices(self) -> list[Choice]:
        return choices(self.state, self.waiting, self.faults, self._last)

    def peek(self, choice: Choice) -> Step:
        """What a choice would lead to, before the actor runs on."""
        return step(self.state, choice, self.waiting)

    def take(self, choice: Choice) -> None:
        done = self.peek(choice)
        self.taken.append(choice)
        self.trace.append(f"{choice!s:12} {self.waiting.get(choice.who, '')}")
        self.state = done.state
        actor = self.actors.get(choice.who)
        if actor is not None:
            self._last = choice.who
            actor.resume(done)
