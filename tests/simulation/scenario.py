"""A scenario: a table, the actors that use it at the same time, and what may go wrong. `running` starts it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial

from indextables.errors import ConflictError, IndexTablesError, TableNotFoundError
from tests.simulation.operations import Append, Batch, Create, Operation
from tests.simulation.process import Process, Report
from tests.simulation.scheduler import Actor, Crashed, Scheduler
from tests.simulation.state import DAY, START, State

SETUP = "setup"
RETENTION = 7 * DAY
LOG_RETENTION = 30 * DAY


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`actors` have their operations, `skews` the error of their clocks and of the `store`'s, in milliseconds.

    `faults` are the kinds of faults that may happen, at most `fault_count` times in all; `pauses` are the times that pass
    at some moments.
    """

    name: str
    actors: Mapping[str, tuple[Operation, ...]]
    setup: tuple[Operation, ...] = (Create(), Append(), Append("us"))
    age: int = 0
    faults: frozenset[str] = frozenset()
    fault_count: int = 1
    pauses: tuple[int, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    skews: Mapping[str, int] = field(default_factory=dict)

    def operation(self, number: int, index: int) -> tuple[str, Operation]:
        """Who an actor is by its number, and its operation; what it does is labelled by both."""
        name, operations = list({SETUP: self.setup, **self.actors}.items())[number]
        return f"{name}.{index}", operations[index]


@dataclass(slots=True)
class Run:
    scheduler: Scheduler
    reports: list[Report]


@contextmanager
def running(scenario: Scenario, start: State) -> Iterator[Run]:
    """The actors, each at its first request."""
    reports: list[Report] = []
    actors = []
    for number, (name, operations) in enumerate(scenario.actors.items(), 1):
        program = partial(_program, settings=scenario.settings, operations=operations, reports=reports)
        actors.append(Actor(name, number, program, scenario.skews.get(name, 0)))
    with Scheduler(start, actors, scenario.faults) as scheduler:
        yield Run(scheduler, reports)


def start_of(scenario: Scenario) -> State:
    """The state after the setup, made by the production code too."""
    settings, faults = tuple(sorted(scenario.settings.items())), scenario.fault_count if scenario.faults else 0
    table = _set_up(scenario.setup, START - scenario.age, scenario.skews.get("store", 0), settings)
    return replace(table, now=START, faults=faults, pauses=scenario.pauses, histories={})


@cache
def _set_up(operations: tuple[Operation, ...], now: int, skew: int, settings: tuple[tuple[str, str], ...]) -> State:
    reports: list[Report] = []
    program = partial(_program, settings=dict(settings), operations=operations, reports=reports)
    before = State(now=now, skew=skew)
    with Scheduler(before, [Actor(SETUP, 0, program)], frozenset()) as scheduler:
        while found := scheduler.choices():
            scheduler.take(found[0])
    for report in reports:
        if report.error is not None:
            raise report.error
    return scheduler.state


def _program(
    actor: Actor, *, settings: Mapping[str, str], operations: tuple[Operation, ...], reports: list[Report]
) -> None:
    process = Process(actor, settings)
    for number, operation in enumerate(operations):
        actor.begin(number)
        process.read = None
        outcome, error = _attempt(process, operation)
        while outcome == "crashed" and isinstance(operation, Batch):  # a stream starts again where it was
            outcome, error = _attempt(process, operation)
        table_id = process.known.metadata.id if process.known else None
        reports.append(Report(actor.name, number, operation, outcome, table_id, process.read, error, actor.began_on))
        if outcome != "done":
            process.close()


def _attempt(process: Process, operation: Operation) -> tuple[str, BaseException | None]:
    try:
        operation.run(process)
    except Crashed:
        process.actor.restart()
        process.close()
        return "crashed", None
    except (ConflictError, TableNotFoundError) as error:
        return "conflict", error
    except IndexTablesError as error:
        return "failed", error
    return "done", None
