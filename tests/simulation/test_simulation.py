"""The transaction log under a scheduler: a short version of `python -m tests.simulation`, and whether it finds anything."""

import pytest

from tests.simulation.catalog import by_chance, pairs, small, together
from tests.simulation.determinism import deterministic
from tests.simulation.explore import Simulation
from tests.simulation.mutations import MUTATIONS, Mutation, hunt
from tests.simulation.operations import Append, Overwrite
from tests.simulation.runs import explore_all, run_seeds
from tests.tiers import slow_after, tries


def test_every_schedule_of_small_scenarios() -> None:
    totals = explore_all(small().values(), limit=50)
    assert totals.incomplete <= 6, "the others have few schedules"
    assert totals.schedules > 300


def test_random_schedules() -> None:
    assert run_seeds(range(tries(20, 60))).schedules == tries(20, 60)


@pytest.mark.parametrize(
    "mutation", slow_after(3, MUTATIONS, "every mutation of the log"), ids=lambda mutation: mutation.name
)
def test_each_mutation_is_found(mutation: Mutation) -> None:
    with deterministic():
        found = hunt(mutation, seeds=0)
    assert found.failure is not None, f"{found.schedules} schedules did not find it"


def test_a_schedule_is_the_same_each_time() -> None:
    with deterministic():
        one, other = (Simulation.of(by_chance(7)) for _ in range(2))
        assert one.start.fingerprint == other.start.fingerprint
        assert [one.at_random(3), one.steps] == [other.at_random(3), other.steps]
        explored = [Simulation.of(together(Append(), Append())).explore() for _ in range(2)]
        assert explored[0] == explored[1]


def test_a_failure_is_shrunk_and_can_be_run_again() -> None:
    rebases = next(mutation for mutation in MUTATIONS if mutation.name == "every conflict is a rebase")
    with deterministic():
        simulation = Simulation.of(together((Append(), Append()), (Overwrite(), Append()), Append()))
        with rebases.switched_off():
            failure = next(found for seed in range(100) if (found := simulation.at_random(seed)) is not None)
            shrunk = simulation.shrunk(failure)
            again = simulation.replay(shrunk.schedule)
    assert shrunk.switches <= failure.switches
    assert again == shrunk
    assert f"schedule '{' '.join(shrunk.schedule)}'" in str(shrunk)


def test_the_catalog_has_every_pair_of_operations() -> None:
    assert len(list(pairs())) == 120
