"""Schedules: all of them, one by chance, one again; and the shortest one that shows the same failure."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tests.simulation.oracle import Oracle, ViolationError
from tests.simulation.scenario import Run, Scenario, running, start_of
from tests.simulation.state import Choice, State

Chooser = Callable[[Run, list[Choice]], Choice | None]
"""The next choice; None ends the run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A schedule that breaks an invariant, and how to see it again."""

    scenario: Scenario
    schedule: tuple[str, ...]
    message: str
    trace: tuple[str, ...]

    @property
    def switches(self) -> tuple[int, int]:
        """How complicated it is: how often actors change or a request fails, and how long it is."""
        pairs = zip(self.schedule, islice(self.schedule, 1, None), strict=False)
        return sum(one != other for one, other in pairs) + sum(":" in one for one in self.schedule), len(self.schedule)

    def __str__(self) -> str:
        steps = "\n".join(f"    {line}" for line in self.trace)
        return f"{self.scenario.name}: {self.message}\n  schedule {' '.join(self.schedule)!r}\n{steps}"


@dataclass(frozen=True, slots=True)
class Exploration:
    """`schedules` were run, `states` were seen; not `complete` if a limit ended it, or a failure."""

    schedules: int
    states: int
    steps: int
    complete: bool
    failure: Failure | None


@dataclass
class Simulation:
    """A scenario with its first state and its oracle, which all of its schedules share."""

    scenario: Scenario
    start: State
    oracle: Oracle
    steps: int = 0

    @classmethod
    def of(cls, scenario: Scenario) -> "Simulation":
        return cls(scenario, start_of(scenario), Oracle(scenario))

    def run(self, choose: Chooser, *, checked_from: int = 0, all_versions: bool = True) -> Failure | None:
        """A run, of which the steps from a number on are checked; at the end, all versions in any case."""
        with running(self.scenario, self.start) as run:
            try:
                self._run(run, choose, checked_from, all_versions=all_versions)
            except ViolationError as violation:
                taken = tuple(str(choice) for choice in run.scheduler.taken)
                return Failure(self.scenario, taken, str(violation), tuple(run.scheduler.trace))
        return None

    def _run(self, run: Run, choose: Chooser, checked_from: int, *, all_versions: bool) -> None:
        scheduler, reported = run.scheduler, 0
        while found := scheduler.choices():
            choice = choose(run, found)
            if choice is None:
                return
            before = scheduler.state
            scheduler.take(choice)
            self.steps += 1
            _refuse_broken(run)
            news, reported = len(run.reports) - reported, len(run.reports)
            changed = scheduler.state.files is not before.files
            if not all_versions and _only_adds(before, scheduler.state):
                changed = False
            if (news or changed) and len(scheduler.taken) >= checked_from:
                self.oracle.check(scheduler.state, run.reports, news=news, all_versions=all_versions)
        if not all_versions:
            self.oracle.check(scheduler.state, run.reports, news=0)

    def replay(self, schedule: Sequence[str]) -> Failure | None:
        """The run of a schedule. Choices that are not possible are left out; after the last one, actors finish in order."""
        left = [Choice.parse(text) for text in schedule]

        def choose(_: Run, found: list[Choice]) -> Choice | None:
            while left:
                choice = left.pop(0)
                if choice in found:
                    return choice
            return found[0]

        return self.run(choose)

    def explore(self, limit: int | None = None) -> Exploration:
        """All schedules, depth first. A state that was seen before is not followed again."""
        seen: set[int] = set()
        todo: list[tuple[int, tuple[Choice, ...]]] = [(0, ())]
        schedules, first = 0, self.steps
        while todo:
            target, prefix = todo.pop()
            if target in seen:
                continue
            if schedules == limit:
                return Exploration(schedules, len(seen), self.steps - first, False, None)
            schedules += 1
            failure = self.run(_Search(seen, todo, prefix).choose, checked_from=len(prefix))
            if failure is not None:
                return Exploration(schedules, len(seen), self.steps - first, False, failure)
        return Exploration(schedules, len(seen), self.steps - first, True, None)

    def at_random(self, seed: int) -> Failure | None:
        """One schedule by chance: some change actors at every step, others rarely."""
        dice = random.Random(seed)
        eager, troubled = dice.choice([0.1, 0.3, 0.6, 0.9]), dice.choice([0.0, 0.02, 0.1])

        def choose(_: Run, found: list[Choice]) -> Choice:
            plain = [choice for choice in found if not choice.how]
            other = [choice for choice in found if choice.how]
            if other and (not plain or dice.random() < troubled):
                return dice.choice(other)
            return plain[0] if dice.random() >= eager else dice.choice(plain)

        return self.run(choose, all_versions=False)

    def shrunk(self, failure: Failure, attempts: int = 300) -> Failure:
        """The failure with as few choices as possible, by delta debugging."""
        best, size = failure, max(1, len(failure.schedule) // 2)
        budget = iter(range(attempts))
        while size and next(budget, None) is not None:
            found = next((one for one in self._smaller(best, size, budget) if one is not None), None)
            if found is not None:
                best = found
                size = min(size, max(1, len(best.schedule) // 2))
            else:
                size //= 2
        return best

    def _smaller(self, failure: Failure, size: int, budget: Iterator[int]) -> Iterator[Failure | None]:
        schedule = failure.schedule
        for position, _ in zip(range(0, len(schedule), size), budget, strict=False):
            shorter = schedule[:position] + schedule[position + size :]
            found = self.replay(shorter)
            if found is not None and found.switches < failure.switches:
                yield found


class _Search:
    """Follows a prefix, then always the first choice; the others are kept for later if they lead to unseen states."""

    def __init__(self, seen: set[int], todo: list[tuple[int, tuple[Choice, ...]]], prefix: tuple[Choice, ...]) -> None:
        self.seen, self.todo, self.prefix = seen, todo, prefix

    def choose(self, run: Run, found: list[Choice]) -> Choice | None:
        taken = run.scheduler.taken
        if len(taken) < len(self.prefix):
            choice = self.prefix[len(taken)]
            if choice not in found:
                raise AssertionError(f"the run is not deterministic: {choice} is not among {found}")
            return choice
        state = run.scheduler.state.fingerprint
        if state in self.seen:
            return None
        self.seen.add(state)
        for other in reversed(found[1:]):
            target = run.scheduler.peek(other).state.fingerprint
            if target not in self.seen:
                self.todo.append((target, (*taken, other)))
        return found[0]


def _only_adds(before: State, after: State) -> bool:
    """Whether a step has at most added files that are not versions."""
    return after.versions is before.versions and before.files.keys() <= after.files.keys()


def _refuse_broken(run: Run) -> None:
    for actor in run.scheduler.actors.values():
        if actor.failure is not None:
            raise ViolationError(f"{actor.name} failed by {actor.failure!r}") from actor.failure
