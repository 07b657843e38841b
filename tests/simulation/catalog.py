"""The scenarios: small ones for every schedule, and larger ones by chance."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

from tests.simulation.operations import (
    AddColumn,
    Append,
    Batch,
    Checkpoint,
    CleanUp,
    Create,
    Delete,
    Drop,
    Merge,
    OpenAt,
    Operation,
    Overwrite,
    Read,
    Recreate,
    ReplaceRegion,
    SetProperty,
    SparkAppend,
    Vacuum,
)
from tests.simulation.scenario import Scenario
from tests.simulation.state import DAY, FAULTS, MINUTE

ALL_FAULTS = frozenset(FAULTS)
OPERATIONS: tuple[Operation, ...] = (
    Append(),
    SparkAppend(),
    Overwrite(),
    ReplaceRegion(),
    Batch("stream", 1),
    Drop(),
    Delete(),
    Merge(),
    SetProperty(),
    AddColumn(),
    Read(),
    Checkpoint(),
    CleanUp(),
    Vacuum(),
    Recreate(),
)
TWO_SPLITS = (Create(), Append(), Append())
MERGED = (*TWO_SPLITS, Append(), Merge())
OLD = {"setup": (*TWO_SPLITS, Overwrite(), Append()), "age": 40 * DAY}


def together(*operations: Operation | tuple[Operation, ...], name: str = "", **more: object) -> Scenario:
    """A scenario of actors a, b, c with one operation each, or some."""
    programs = [one if isinstance(one, tuple) else (one,) for one in operations]
    names = name or " | ".join(", ".join(type(one).__name__ for one in program) for program in programs)
    given = {"setup": TWO_SPLITS, **more}
    return Scenario(name=names, actors=dict(zip("abcd", programs, strict=False)), **given)  # type: ignore[arg-type]


def pairs() -> Iterator[Scenario]:
    """Every two operations, on a table that is 40 days old."""
    for one, other in combinations_with_replacement(OPERATIONS, 2):
        yield together(one, other, **OLD)


def small() -> dict[str, Scenario]:
    """The scenarios that find each mutation; every schedule of each is run in a second."""
    batch, again = Batch("stream", 1), Batch("stream", 2)
    lost = frozenset({"lost", "late"})
    scenarios = [
        together(Append(), Append()),
        together(Append(), Overwrite()),
        together(Append(), ReplaceRegion()),
        together(Append(), Drop()),
        together(Merge(), Merge()),
        together(Merge(), ReplaceRegion()),
        together(Delete(), Delete(), setup=MERGED),
        together(Delete(), Merge(), setup=(*MERGED, Append())),
        together(Delete(), Append(), setup=MERGED),
        together(SetProperty(), SetProperty("team")),
        together(batch, batch),
        together(SparkAppend(), SparkAppend(), name="created twice", setup=(), settings={"partitionBy": "region"}),
        together((Read(), Append()), Recreate(), setup=(Create(),)),
        together(Append(), Vacuum(), **OLD),
        together(Overwrite(), Vacuum(), **OLD),
        together(Read(), CleanUp(), **OLD),
        together(Read(), Checkpoint()),
        together(Read(), (Checkpoint(), CleanUp()), setup=TWO_SPLITS, age=40 * DAY),
        together((OpenAt(), Append()), CleanUp(), setup=(*TWO_SPLITS, Checkpoint()), age=40 * DAY),
        together(Append(), name="append, lost answers", faults=lost),
        together(Append(), name="append, two faults", faults=lost | {"failed", "denied"}, fault_count=2),
        together(Merge(), name="merge, two faults", faults=lost | {"failed"}, fault_count=2),
        together((batch, again), name="stream, crashes", faults=frozenset({"crash", "died", "lost"})),
    ]
    return {scenario.name: scenario for scenario in scenarios}


def large() -> Iterator[Scenario]:
    """More actors, more operations, or faults: thousands of schedules each."""
    batch, again = Batch("stream", 1), Batch("stream", 2)
    often = {"checkpoint.interval": "2"}
    yield together(Append(), Append(), Append())
    yield together(Append(), Overwrite(), Read())
    yield together(Merge(), Drop(), Append())
    yield together(Merge(), ReplaceRegion(), SetProperty())
    yield together((Delete(), Delete()), Merge(), Delete(), setup=(*MERGED, Append()))
    yield together(batch, batch, Overwrite())
    yield together((Append(), Append()), (Overwrite(), Append()))
    yield together((batch, again), (batch, again))
    yield together((Merge(), Read()), (ReplaceRegion(), Append()))
    yield together((Checkpoint(), CleanUp()), (Read(), Append()), **OLD)
    yield together(Vacuum(), (Append(), Read()), pauses=(8 * DAY,), skews={"a": 30 * MINUTE, "store": -30 * MINUTE})
    yield together((Overwrite(), Append()), Append(), name="with checkpoints", settings=often, **OLD)
    yield together(Recreate(), (Append(), Append()))
    for program in ((Append(),), (Overwrite(),), (Merge(),), (Drop(),), (Vacuum(),), (Checkpoint(), CleanUp())):
        names = ", ".join(type(one).__name__ for one in program)
        yield together(program, Append(), name=f"{names} | Append, a fault", faults=ALL_FAULTS, **OLD)
    yield together((batch, again), (batch,), name="streams, a fault", faults=ALL_FAULTS)
    yield together(Append(), Recreate(), name="Append | Recreate, a fault", faults=ALL_FAULTS)
    yield together(Append(), name="Append, two faults", faults=ALL_FAULTS, fault_count=2)
    yield together(Merge(), name="Merge, two faults", faults=ALL_FAULTS, fault_count=2)
    yield together(
        (Read(), Append()), (Append(), Append(), Checkpoint(), CleanUp()), setup=(Create(),), pauses=(31 * DAY,)
    )


def by_chance(seed: int) -> Scenario:
    """Two to four actors with up to three operations each, with and without faults, pauses and wrong clocks."""
    dice = random.Random(seed)
    actors = {}
    for name in "abcd"[: dice.randint(2, 4)]:
        actors[name] = tuple(_operation(dice) for _ in range(dice.randint(1, 3)))
    skews = {"store": dice.choice([-30, 0, 30]), **{name: dice.randint(-30, 30) for name in actors}}
    return Scenario(
        name=f"seed {seed}",
        actors=actors,
        setup=dice.choice([(Create(),), TWO_SPLITS, (*TWO_SPLITS, Append("us"), Overwrite("us"), Append())]),
        age=dice.choice([0, 10 * DAY, 40 * DAY]),
        faults=dice.choice([frozenset(), ALL_FAULTS, ALL_FAULTS - {"rot"}]),
        fault_count=dice.randint(1, 3),
        pauses=tuple(dice.choice([MINUTE, DAY, 8 * DAY, 31 * DAY]) for _ in range(dice.randint(0, 2))),
        settings={"checkpoint.interval": dice.choice(["1", "2", "3", "10"])},
        skews={name: minutes * MINUTE for name, minutes in skews.items()},
    )


def _operation(dice: random.Random) -> Operation:
    """One of them; appends and batches more often, another table in the same place rarely."""
    kinds = [*OPERATIONS, Append("us"), ReplaceRegion("us"), Drop("us"), Delete("us"), Read(1), SetProperty("team")]
    weights = [0.3 if isinstance(kind, Recreate) else 2 if isinstance(kind, Append) else 1 for kind in kinds]
    kind = dice.choices(kinds, weights)[0]
    return replace(kind, version=dice.randint(1, 3)) if isinstance(kind, Batch) else kind
