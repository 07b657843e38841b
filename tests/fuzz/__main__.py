"""`python -m tests.fuzz --inputs 100000`: many inputs for every target; `--keep` puts those that fail into the corpus."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.runner import Failure, run_inputs, shares
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def fuzz(inputs: int, *, seed: int = 0, targets: Sequence[str] = (), keep: bool = False) -> dict[str, int]:
    """Runs so many inputs, and gives how many each target had; an AssertionError for failures."""
    counts = {name: count for name, count in shares(inputs).items() if not targets or name in targets}
    failures: list[Failure] = []
    for name, count in counts.items():
        start = time.monotonic()
        found = list(run_inputs({name: count}, seed=seed))
        failures += found
        print(f"{name}: {count} inputs, {len(found)} failures, {time.monotonic() - start:.0f} s", flush=True)
        for failure in found[:20]:
            print(failure, flush=True)
            if keep:
                _keep(failure)
    assert not failures, f"{len(failures)} inputs were treated badly"
    return counts


def _keep(failure: Failure) -> None:
    directory = CORPUS / failure.target
    directory.mkdir(parents=True, exist_ok=True)
    data = TARGETS[failure.target].input(failure.seed, failure.number)
    (directory / f"seed{failure.seed}-{failure.number}").write_bytes(data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", default=[], choices=list(TARGETS))
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    try:
        fuzz(given.inputs, seed=given.seed, targets=given.target, keep=given.keep)
    except AssertionError as error:
        sys.exit(str(error))
