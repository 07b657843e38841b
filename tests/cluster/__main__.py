"""`make cluster`: a Spark cluster on loopback, every operation through it, and executors that are killed.

Every line has been checked; what is not as it should be is listed at the end, and the exit code is 1.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.cluster.driver import Place, session_of
from tests.cluster.kill_points import ADDRESS
from tests.cluster.killer import Killer, killer_of
from tests.cluster.kills import KillCase, KillResult, matrix, run_case, short_matrix
from tests.cluster.scenarios import run_steps
from tests.cluster.standalone import Cluster, standalone_cluster
from tests.cluster.unstable_inputs import UnstableResult, inputs, run_input
from tests.stores.servers import s3_server

_SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
}


@dataclass(slots=True)
class Report:
    """What was run, and what came out."""

    steps: list[tuple[str, str, str]] = field(default_factory=list)
    kills: list[KillResult] = field(default_factory=list)
    unstable: list[tuple[str, UnstableResult]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        killed = [f"{result.case}: {text}" for result in self.kills for text in result.violations]
        changed = [f"{result.name}, {place}: {text}" for place, result in self.unstable for text in result.violations]
        return killed + changed + self.failures

    @property
    def killed(self) -> int:
        return sum(result.kills for result in self.kills) + sum(result.kills for _, result in self.unstable)


@dataclass(frozen=True, slots=True)
class Run:
    """A cluster with its killer, its places, and what has come out so far."""

    cluster: Cluster
    killer: Killer
    places: Mapping[str, Place]
    report: Report
    console: Console

    def session(self, settings: Mapping[str, str] | None = None) -> Any:
        return session_of(self.cluster, settings, {ADDRESS: str(self.killer.port)})

    def steps(self, spark: Any, *, short: bool) -> None:
        for place in list(self.places.values())[: 1 if short else None]:
            with self._going_on(f"steps on {place.name}"):
                for name, shown in run_steps(spark, place, self.cluster.directory):
                    self.report.steps.append((place.name, name, shown))
                    self._say(f"{place.name}: {name}: {shown}")

    def kills(self, spark: Any, cases: Sequence[KillCase]) -> None:
        for case in cases:
            with self._going_on(str(case)):
                result = run_case(spark, self.killer, self.places[case.place], case)
                self.report.kills.append(result)
                self._say(f"{case}: {result}: {_verdict(result.violations)}")

    def unstable(self, spark: Any) -> None:
        """Inputs that change, in turn on each of the places."""
        for place, unstable in zip(cycle(self.places.values()), inputs(), strict=False):
            with self._going_on(f"{unstable.name}, {place.name}"):
                result = run_input(spark, self.killer, place, self.cluster.directory, unstable)
                self.report.unstable.append((place.name, result))
                outcome = f"{result.rows} rows, {result.outcome}"
                self._say(f"{place.name}: {result.name}: {outcome}: {_verdict(result.violations)}")

    @contextmanager
    def _going_on(self, what: str) -> Iterator[None]:
        """A failure is reported at the end, after everything else."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is
            self.report.failures.append(f"{what}: {type(error).__name__}: {error}")
            self._say(self.report.failures[-1])

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument(
        "--kills", type=int, help="stop after so many kills of the matrix; repeat it for more than it has"
    )
    parser.add_argument("--only", choices=["steps", "kills", "inputs"], help="one part of the run")
    parser.add_argument("--match", default="", help="only the kills whose description has this text, such as `s3`")
    parser.add_argument(
        "--short", action="store_true", help="what the test suite runs: some steps and kills, local disk"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    chosen = parser.parse_args(arguments)
    console, started = Console(stderr=chosen.json, soft_wrap=True), time.monotonic()
    with _running(console) as run:
        _run_parts(run, chosen)
        report = run.report
    if chosen.json:
        print(json.dumps(_as_json(report)))
    else:
        _show(report, Console(width=160), time.monotonic() - started)
    return 1 if report.violations else 0


def _run_parts(run: Run, chosen: argparse.Namespace) -> None:
    planned = short_matrix() if chosen.short else matrix(chosen.kills)
    cases = [case for case in planned if chosen.match in str(case)]
    wanted = {chosen.only} if chosen.only else {"steps", "kills"} if chosen.short else {"steps", "kills", "inputs"}
    with run.session() as spark:
        if "kills" in wanted:
            run.kills(spark, [case for case in cases if not case.speculation])
        if "inputs" in wanted:
            run.unstable(spark)
        if "steps" in wanted:
            run.steps(spark, short=chosen.short)
    speculative = [case for case in cases if case.speculation]
    if "kills" in wanted and speculative:
        with run.session(_SPECULATION) as spark:
            run.kills(spark, speculative)


@contextmanager
def _running(console: Console) -> Iterator[Run]:
    with standalone_cluster() as cluster, killer_of(cluster) as killer, s3_server() as s3:
        (temporary := cluster.directory / "driver").mkdir()
        (tables := cluster.directory / "tables").mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        places = [Place("local", str(tables)), Place("s3", s3.root, s3.options)]
        yield Run(cluster, killer, {place.name: place for place in places}, Report(), console)


def _verdict(violations: Sequence[str]) -> str:
    return "; ".join(violations) or "as it should be"


def _show(report: Report, console: Console, seconds: float) -> None:
    if report.kills:
        console.print(_kill_table(report.kills))
    if report.unstable:
        console.print(_input_table(report.unstable))
    for violation in report.violations:
        console.print(f"violation: {violation}", highlight=False, markup=False)
    state = f"{len(report.violations)} violations" if report.violations else "all as it should be"
    console.print(f"{len(report.steps)} steps, {report.killed} executors killed: {state}, {seconds:.0f} s")


def _kill_table(results: Sequence[KillResult]) -> Table:
    columns = ("kills", "stages run again", "rows expected", "found", "distinct", "orphans", "after vacuum")
    table = Table("scenario", *columns)
    for result in results:
        state = result.state
        counts = (result.kills, result.stage_retries, state.expected, state.found, state.distinct)
        table.add_row(str(result.case), *map(str, (*counts, state.orphans, state.orphans_after_vacuum)))
    return table


def _input_table(results: Sequence[tuple[str, UnstableResult]]) -> Table:
    table = Table("input that changes", "store", "kills", "rows", "outcome")
    for place, result in results:
        table.add_row(result.name, place, str(result.kills), str(result.rows), result.outcome)
    return table


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "steps": report.steps,
        "kills": [
            {
                "case": str(result.case),
                "kills": result.kills,
                "stage_retries": result.stage_retries,
                **asdict(result.state),
            }
            for result in report.kills
        ],
        "inputs": [{"place": place, **asdict(result)} for place, result in report.unstable],
        "killed": report.killed,
        "violations": report.violations,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
