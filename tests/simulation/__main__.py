"""`python -m tests.simulation`: random schedules; with options, every schedule of small scenarios, and the mutations.

A failure is printed with its shortest schedule, which `--scenario` and `--schedule` run again.
"""

import argparse
import sys
import time

from tests.simulation.catalog import by_chance, large, pairs, small
from tests.simulation.oracle import ViolationError
from tests.simulation.runs import explore_all, hunt_all, replay, run_seeds
from tests.simulation.scenario import Scenario


def main() -> int:
    options = _options()
    start = time.monotonic()
    try:
        _run(options)
    except ViolationError as violation:
        print(violation)
        return 1
    print(f"{time.monotonic() - start:.0f} s")
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.scenario is not None:
        failure = replay(_scenario(options.scenario), options.schedule)
        print(failure or "all as it should be")
        return
    if options.exhaustive:
        print(f"small {explore_all(small().values(), show=print)}")
        print(f"pairs {explore_all(pairs(), show=print)}")
        print(f"large {explore_all(large(), limit=options.limit, show=print)}")
    if options.mutations:
        found = hunt_all(show=print)
        missed = [one.mutation for one in found if one.failure is None]
        if missed:
            raise ViolationError(f"mutations that were not found: {', '.join(missed)}")
        print(f"{len(found)} mutations, all found")
    first = options.first_seed
    print(f"random {run_seeds(range(first, first + options.seeds))}")


def _scenario(name: str) -> Scenario:
    """A scenario of the catalog by its name, or that of a seed."""
    if name.startswith("seed "):
        return by_chance(int(name.removeprefix("seed ")))
    named = {**{one.name: one for one in (*pairs(), *large())}, **small()}
    return named[name]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many random schedules")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--exhaustive", action="store_true", help="every schedule of the scenarios of the catalog")
    parser.add_argument("--limit", type=int, default=10_000, help="schedules of one large scenario at most")
    parser.add_argument("--mutations", action="store_true", help="switch off parts of the production code in turn")
    parser.add_argument("--scenario", help="run one schedule of this scenario again: a name, or `seed 17`")
    parser.add_argument("--schedule", default="", help="its choices, such as 'a a b:lost a'")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
