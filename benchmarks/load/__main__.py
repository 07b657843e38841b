"""Runs load scenarios: `python -m benchmarks.load appends --size full --json out.json`.

appends   many appends on one table, with readers beside them
splits    a table with a million splits: open, refresh, count, plan, group, history, health, checkpoint
columns   a table with 2,000 columns: write, read, search, group, merge
cells     cells of 50 MB
steady    an append every 200 ms, with compaction, a reader and vacuum beside it
all       all of them
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.load import appends, cells, columns, splits, steady
from benchmarks.load.figures import Figures

SCENARIOS = {"appends": appends, "splits": splits, "columns": columns, "cells": cells, "steady": steady}


def main(arguments: list[str]) -> None:
    given = parsed(arguments)
    for name in SCENARIOS if given.scenario == "all" else [given.scenario]:
        figures = run(name, given.size, minutes=given.minutes, place=given.directory)
        if given.json:
            figures.write(given.json.with_stem(f"{given.json.stem}-{name}") if given.scenario == "all" else given.json)


def parsed(arguments: list[str]) -> argparse.Namespace:
    first, _, epilog = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        "python -m benchmarks.load",
        description=first,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", choices=[*SCENARIOS, "all"])
    parser.add_argument("--size", choices=["tiny", "small", "full"], default="small")
    parser.add_argument("--minutes", type=float, help="how long `steady` runs, instead of the time of the size")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go; one file each for `all`")
    parser.add_argument("--directory", type=Path, help="where the tables are written (a temporary directory)")
    return parser.parse_args(arguments)


def run(name: str, size: str, *, minutes: float | None = None, place: Path | None = None) -> Figures:
    """Runs a scenario in a directory of its own; its figures are printed even if an invariant is broken."""
    scenario, figures = SCENARIOS[name], Figures(name, size)
    options = scenario.SIZES[size]
    if minutes is not None and name == "steady":
        options = replace(options, minutes=minutes)
    with tempfile.TemporaryDirectory(prefix=f"indextables-load-{name}-", dir=place) as directory:
        try:
            scenario.run(options, Path(directory), figures)
        finally:
            if figures.rows:
                figures.print()
    return figures


if __name__ == "__main__":
    main(sys.argv[1:])
