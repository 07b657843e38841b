"""The state of a simulated world, and the choices that a scheduler has in it. Both are values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

from indextables.errors import AccessDeniedError, StorageError
from indextables.log.log_files import DIRECTORY, commit_key
from tests.simulation.files import Answer, Request, StoredFile, apply, listed, rotten

MINUTE = 60_000
DAY = 24 * 60 * MINUTE
START = 1_700_000_000_000
_DIGITS = len(commit_key(0).rpartition("/")[2].removesuffix(".json"))

ON_WRITES = ("lost", "late", "again", "died")
ON_ALL = ("failed", "denied", "crash")
ON_LISTINGS = ("torn0", "torn1")
_NOT_DONE = ("late", "crash", "failed", "denied", *ON_LISTINGS)
FAULTS = (*ON_WRITES, *ON_ALL, *ON_LISTINGS, "rot")
"""What may go wrong with a request.

- `lost`: it is done, and the caller gets an error; `failed`: it is not done; `denied`: it is refused
- `late`: the caller gets an error, and it is done at any later moment; `again`: it is done now, and once more later
- `crash`: the caller dies before it is done; `died`: after it is done
- `torn0`, `torn1`: a listing shows one half of the keys as they are now, and the other half as they are later
- `rot`: not a request; a bit of a stored file of the log changes
"""


@dataclass(frozen=True, slots=True)
class Put:
    """What was once put under a key, and when in true time."""

    content: bytes
    time: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Who goes on, and how: `w1`, `w1:lost`, `time`, `late:0`, `rot:1/<key>`."""

    who: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.who}:{self.how}" if self.how else self.who

    @classmethod
    def parse(cls, text: str) -> "Choice":
        who, _, how = text.partition(":")
        return cls(who, how)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that the future depends on. What an actor knows is the history of its answers.

    `versions` are those of the table that is there, by number, also where their files have been cleaned up. `splits` are
    all that were ever put. `faults` and `pauses` are left; `delayed` requests are done at some later time.
    """

    files: Mapping[str, StoredFile] = field(default_factory=dict)
    versions: Mapping[int, Put] = field(default_factory=dict)
    splits: Mapping[str, Put] = field(default_factory=dict)
    rotten: frozenset[str] = frozenset()
    now: int = START
    skew: int = 0
    faults: int = 0
    pauses: tuple[int, ...] = ()
    delayed: tuple[Request, ...] = ()
    histories: Mapping[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> int:
        mappings = (self.files, self.versions, self.splits, self.histories)
        rest = (self.rotten, self.now, self.faults, self.pauses, self.delayed)
        return hash((*(frozenset(mapping.items()) for mapping in mappings), *rest))


@dataclass(frozen=True, slots=True)
class Step:
    """The state after a choice, and what the actor learns: an answer, or that it is dead."""

    state: State
    answer: Answer | None = None
    crash: bool = False


def choices(state: State, waiting: Mapping[str, Request], kinds: frozenset[str], last: str | None) -> list[Choice]:
    """All that can happen next; first of all, that the actor of the last step goes on."""
    names = sorted(waiting, key=lambda name: name != last)
    found = [Choice(name) for name in names]
    found += [Choice("late", str(number)) for number in range(len(state.delayed))]
    if waiting and state.pauses:
        found.append(Choice("time"))
    if state.faults and waiting:
        found += [Choice(name, how) for name in names for how in _faults_of(waiting[name]) if how in kinds]
        if "rot" in kinds:
            keys = [key for key in sorted(state.files) if _may_rot(key, state)]
            found += [Choice("rot", f"{place}/{key}") for key in keys for place in range(3)]
    return found


def _faults_of(request: Request) -> Iterator[str]:
    yield from ON_ALL
    if request.writes:
        yield from ON_WRITES
    if request.verb == "list":
        yield from ON_LISTINGS


def _may_rot(key: str, state: State) -> bool:
    return key.startswith(DIRECTORY) and key not in state.rotten and key.endswith((".json", ".parquet"))


def step(state: State, choice: Choice, waiting: Mapping[str, Request]) -> Step:
    """What a choice leads to."""
    match choice.who:
        case "time":
            return Step(replace(state, now=state.now + state.pauses[0], pauses=state.pauses[1:]))
        case "late":
            number = int(choice.how)
            left = state.delayed[:number] + state.delayed[number + 1 :]
            return Step(_served(replace(state, delayed=left), state.delayed[number])[0])
        case "rot":
            place, _, key = choice.how.partition("/")
            files = {**state.files, key: rotten(state.files[key], int(place))}
            return Step(replace(state, files=files, rotten=state.rotten | {key}, faults=state.faults - 1))
    request = waiting[choice.who]
    if choice.how:
        state = replace(state, faults=state.faults - 1)
    after, answer = _outcome(state, request, choice.how)
    known = hash((state.histories.get(choice.who, 0), request, answer, after.now))
    return Step(replace(after, histories={**after.histories, choice.who: known}), answer, answer is None)


def _outcome(state: State, request: Request, how: str) -> tuple[State, Answer | None]:
    """The state and the answer, None where the caller dies."""
    after, answer = (state, None) if how in _NOT_DONE else _served(state, request)
    if how in {"late", "again"}:
        after = replace(after, delayed=(*after.delayed, request))
    if how in {"crash", "died"}:
        return after, None
    if how in {"torn0", "torn1"}:
        return after, Answer((int(how[-1]), _half(state, request.key, int(how[-1]))))
    if how in {"lost", "late", "failed"}:
        return after, Answer(error=StorageError)
    return after, Answer(error=AccessDeniedError) if how == "denied" else answer


def _served(state: State, request: Request) -> tuple[State, Answer]:
    if request.verb == "list_rest" and request.span is not None:
        return state, Answer(_half(state, request.key, request.span[0]))
    files, answer = apply(state.files, request, state.now + state.skew)
    if files is state.files:
        return state, answer
    if request.verb == "wipe":
        return replace(state, files=files, versions={}, rotten=frozenset()), answer
    if request.verb == "delete":
        return replace(state, files=files), answer
    return _with_put(replace(state, files=files, rotten=state.rotten - {request.key}), state, request), answer


def _with_put(after: State, before: State, request: Request) -> State:
    """The state with the record of a put. A version that was cleaned up stays what it was, whoever takes its name."""
    put = Put(request.data, before.now)
    if (number := _version_number(request.key)) is not None:
        cleaned_up = number in before.versions and request.key not in before.files
        return after if cleaned_up else replace(after, versions={**before.versions, number: put})
    return replace(after, splits={**before.splits, request.key: put}) if request.key.endswith(".split") else after


def _half(state: State, prefix: str, half: int) -> tuple[object, ...]:
    return tuple(entry for entry in listed(state.files, prefix) if crc32(entry.key.encode()) % 2 == half)


def _version_number(key: str) -> int | None:
    directory, _, name = key.rpartition("/")
    stem = name.removesuffix(".json")
    return int(stem) if directory == DIRECTORY and stem != name and stem.isdigit() and len(stem) == _DIGITS else None
