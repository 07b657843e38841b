"""Whole runs, for the command line, for `make torture` and for the tests: each raises a ViolationError with the failure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tests.simulation.catalog import by_chance
from tests.simulation.determinism import deterministic
from tests.simulation.explore import Failure, Simulation
from tests.simulation.mutations import MUTATIONS, Found, hunt
from tests.simulation.oracle import ViolationError
from tests.simulation.scenario import Scenario

Show = Callable[[str], None]
_SILENT: Show = lambda _: None


@dataclass(frozen=True, slots=True)
class Totals:
    """`incomplete` are the scenarios that have more schedules than the limit."""

    scenarios: int = 0
    schedules: int = 0
    states: int = 0
    steps: int = 0
    incomplete: int = 0

    def __str__(self) -> str:
        all_of = (
            f"{self.scenarios} scenarios: {self.schedules:,} schedules, {self.states:,} states, {self.steps:,} steps"
        )
        return f"{all_of}, {self.incomplete} of them up to the limit" if self.incomplete else all_of


def explore_all(scenarios: Iterable[Scenario], *, limit: int | None = None, show: Show = _SILENT) -> Totals:
    """Every schedule of every scenario, up to a limit of schedules each."""
    totals = Totals()
    with deterministic():
        for scenario in scenarios:
            simulation = Simulation.of(scenario)
            done = simulation.explore(limit)
            _refuse(simulation, done.failure)
            end = "" if done.complete else " (limit)"
            show(f"{scenario.name:60} {done.schedules:7,} schedules {done.states:8,} states{end}")
            totals = Totals(
                totals.scenarios + 1,
                totals.schedules + done.schedules,
                totals.states + done.states,
                totals.steps + done.steps,
                totals.incomplete + (not done.complete),
            )
    return totals


def run_seeds(seeds: Iterable[int]) -> Totals:
    """One random schedule of one random scenario for each seed."""
    totals = Totals()
    with deterministic():
        for seed in seeds:
            simulation = Simulation.of(by_chance(seed))
            _refuse(simulation, simulation.at_random(seed))
            totals = replace(totals, scenarios=totals.scenarios + 1, schedules=totals.schedules + 1)
            totals = replace(totals, steps=totals.steps + simulation.steps)
    return totals


def hunt_all(*, seeds: int = 50, show: Show = _SILENT) -> list[Found]:
    """The search for each mutation; one that is not found has no failure."""
    results = []
    with deterministic():
        for mutation in MUTATIONS:
            found = hunt(mutation, seeds=seeds)
            where = "NOT FOUND" if found.failure is None else found.failure.scenario.name
            show(f"{mutation.name:50} {found.schedules:5,} schedules   {where}")
            results.append(found)
    return results


def replay(scenario: Scenario, schedule: str) -> Failure | None:
    with deterministic():
        return Simulation.of(scenario).replay(schedule.split())


def _refuse(simulation: Simulation, failure: Failure | None) -> None:
    if failure is not None:
        raise ViolationError(f"{simulation.shrunk(failure)}\n  first seen as {' '.join(failure.schedule)!r}")
