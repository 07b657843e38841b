"""Where the time of a run of the tests goes: `make slowest` prints it, by folder and by file, for the last run.

    python -m tests.slowest [--files 30] [--markdown]

Wall time is that of setup, test and teardown. CPU time is that of the test process and of its descendants: Java, the Python
workers that Spark starts, and all others (servers, browsers, child processes of tests). Wall time without CPU time is
waiting, for one of these or for a core that another test process uses.
"""

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

RUNS = Path(__file__).parent.parent / ".pytest_cache" / "slowest"
KINDS = ("test process", "Java", "Python workers", "others")
_TICKS = os.sysconf("SC_CLK_TCK")
_ATTACHED = "cpu"  # the name of the figures among the user properties of a report


def cpu_by_kind(root: int) -> Counter[str]:
    """The CPU seconds that a process and its descendants have used so far, by kind of process."""
    parents, seconds = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            continue  # it has ended
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        own, reaped = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
        seconds[pid] = (own / _TICKS, reaped / _TICKS)
    used: Counter[str] = Counter()
    kinds = {root: "test process"}
    for pid in sorted(parents):
        if (kind := _kind(pid, parents, kinds)) is not None:
            own, reaped = seconds.get(pid, (0.0, 0.0))
            used[kind] += own
            used["others" if kind == "test process" else kind] += reaped
    return used


def _kind(pid: int, parents: dict[int, int], kinds: dict[int, str | None]) -> str | None:
    """The kind of a process; None if it is no descendant."""
    if pid not in kinds:
        parent = parents.get(pid)
        above = None if parent is None else _kind(parent, parents, kinds)
        kinds[pid] = above and _kind_of_command(pid)
    return kinds[pid]


def _kind_of_command(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "others"
    if b"pyspark.daemon" in command or b"pyspark.sql.worker" in command or b"pyspark.sql.streaming" in command:
        return "Python workers"
    return "Java" if command.split(b"\0")[0].endswith(b"java") else "others"


class CpuTimes:
    """In each test process: attaches to the last report of a test what CPU time has passed since the last one."""

    def __init__(self) -> None:
        self.before: Counter[str] = Counter()

    def pytest_collection_finish(self) -> None:
        self.before = cpu_by_kind(os.getpid())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Iterator[Any]:
        report = yield
        if call.when == "teardown" and self.before:
            now = cpu_by_kind(os.getpid())
            spent = {kind: max(0.0, now[kind] - self.before[kind]) for kind in KINDS}
            report.user_properties = [*report.user_properties, (_ATTACHED, spent)]
            self.before = now
        return report


@dataclass
class Spent:
    """What the tests of a file have used."""

    tests: int = 0
    wall: float = 0.0
    cpu: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: "Spent") -> Self:
        self.tests += other.tests
        self.wall += other.wall
        self.cpu.update(other.cpu)
        return self


class RunRecord:
    """In the process that reports: collects the figures of all test processes, and keeps them at the end."""

    def __init__(self, name: str) -> None:
        self.file = RUNS / f"{name}.json"
        self.by_test: dict[str, Spent] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        spent = self.by_test.setdefault(report.nodeid, Spent(tests=1))
        spent.wall += report.duration
        spent.cpu.update(dict(report.user_properties).get(_ATTACHED, {}))

    def pytest_sessionfinish(self) -> None:
        if self.by_test:
            rows = {test: [spent.wall, *(spent.cpu[kind] for kind in KINDS)] for test, spent in self.by_test.items()}
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(rows))


def register(config: pytest.Config, name: str) -> None:
    """Records the run that is about to start under a name."""
    config.pluginmanager.register(CpuTimes())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RunRecord(name))


def recorded() -> dict[str, Spent]:
    """What each test of the last runs has used, the pass over Spark Connect included."""
    return {
        f"{file.stem}: {test}": Spent(1, row[0], Counter(dict(zip(KINDS, row[1:], strict=True))))
        for file in sorted(RUNS.glob("*.json"))
        for test, row in json.loads(file.read_text()).items()
    }


def grouped(tests: dict[str, Spent], depth: int | None = None) -> list[tuple[str, Spent]]:
    """What files have used, or folders of so many levels; the most first."""
    groups: dict[str, Spent] = {}
    for test, spent in tests.items():
        run, file = test.split("::")[0].split(": ")
        place = "/".join(Path(file).parts[:depth]) if depth else file
        groups.setdefault(place if run == "classic" else f"{place} ({run})", Spent()).__iadd__(spent)
    return sorted(groups.items(), key=lambda group: -group[1].wall)


def table(groups: list[tuple[str, Spent]], title: str) -> str:
    lines = [
        f"| {title} | tests | wall s | " + " | ".join(f"{kind} CPU s" for kind in KINDS) + " |",
        "|---" * (3 + len(KINDS)) + "|",
    ]
    for name, spent in groups:
        figures = [spent.wall, *(spent.cpu[kind] for kind in KINDS)]
        lines.append(f"| {name} | {spent.tests} | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.slowest", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=30, help="how many files to list")
    parser.add_argument("--tests", type=int, default=30, help="how many tests to list")
    given = parser.parse_args()
    tests = recorded()
    if not tests:
        raise SystemExit("no run is recorded; run `make test` first")
    everything = Spent()
    for spent in tests.values():
        everything += spent
    print(table([("all", everything), *grouped(tests, 2)], "folder"))
    print()
    print(table(grouped(tests)[: given.files], "file"))
    print()
    each = sorted(((test.removeprefix("classic: "), spent) for test, spent in tests.items()), key=lambda t: -t[1].wall)
    print(table(each[: given.tests], "test"))


if __name__ == "__main__":
    main()
