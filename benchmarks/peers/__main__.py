"""Compares indextables with its peers: `python -m benchmarks.peers --size small --page`.

--rows 2000000 --only write,top20 --repetitions 5 --json out.json   some operations, at a size of your own
--render out.json                                                   the page again, from the figures of a run
--list                                                              the operations
"""

import argparse
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks import replace as replace_benchmark
from benchmarks.peers.measure import Run, machine, now, versions
from benchmarks.peers.operations import TITLES
from benchmarks.peers.page import render, summary
from benchmarks.peers.runner import SIZES, STATES, Runner, Size

ROOT = Path(__file__).parents[2]
OVERRIDES = ("rows", "spark_rows", "repetitions", "write_repetitions", "splits", "partitions")


def main(arguments: list[str]) -> None:
    given = parsed(arguments)
    warnings.filterwarnings(
        "ignore", "lance is not fork-safe"
    )  # Spark starts its JVM by a fork, and executes it at once
    if given.list:
        print("\n".join(f"{key:16} {title}" for key, title in TITLES.items()))
        return
    if given.render:
        render(msgspec.json.decode(given.render.read_bytes(), type=Run), given.docs)
        return
    run = measured(given)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_bytes(msgspec.json.format(msgspec.json.encode(run)))
    print(summary(run))
    print(f"figures: {given.json}")
    if given.page:
        print(f"page: {render(run, given.docs)}")


def parsed(arguments: list[str]) -> argparse.Namespace:
    first, _, epilog = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        "python -m benchmarks.peers",
        description=first,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=SIZES, default="small", help="small takes minutes, full about an hour")
    parser.add_argument("--only", type=_names(TITLES), metavar="OPERATION,...", help="some of the operations (--list)")
    parser.add_argument("--states", type=_names(STATES), default=list(STATES), metavar=",".join(STATES))
    for name in OVERRIDES:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help="instead of that of the size")
    parser.add_argument("--seed", type=int, default=7, help="of the rows (7)")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks/results/peers.json", help="where figures go")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md and its pictures")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page goes")
    parser.add_argument("--render", type=Path, metavar="JSON", help="only write the page, from the figures of a run")
    parser.add_argument("--scratch", type=Path, help="the directory in which tables are written (a temporary one)")
    parser.add_argument("--list", action="store_true", help="list the operations")
    return parser.parse_args(arguments)


def measured(given: argparse.Namespace) -> Run:
    size, before = _size(given), machine()
    only = given.only or [key for key in TITLES if key not in _without_a_scale(size)]
    with tempfile.TemporaryDirectory(prefix="indextables-bench-", dir=given.scratch) as scratch:
        runner = Runner(Path(scratch), size, given.seed, lambda text: print(text, file=sys.stderr, flush=True))
        measurements = list(runner.run(only, given.states))
    replacements = None if given.only else replace_benchmark.measured(min(size.rows, 1_000_000))
    return Run(given.size, size.rows, given.seed, now(), before, versions(), measurements, replacements)


def _size(given: argparse.Namespace) -> Size:
    changed = {name: value for name in OVERRIDES if (value := getattr(given, name)) is not None}
    return replace(SIZES[given.size], **changed)


def _without_a_scale(size: Size) -> set[str]:
    return set() if size.scaling_rows else {"scaling-rows", "scaling-splits", "scaling-hits"}


def _names(known: object) -> object:
    def names(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(known)}")
        return chosen

    return names


if __name__ == "__main__":
    main(sys.argv[1:])
