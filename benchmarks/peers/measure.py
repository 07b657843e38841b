"""Measuring: systems take turns within each repetition, every answer is compared, and what it ran on is recorded.

A ratio is that of the two systems in the same repetition, so that a machine that is busy for a while slows both.
"""

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeVar

import msgspec

from benchmarks.peers.systems import VERSION_OF
from benchmarks.replace import Replacements

OURS = "indextables"
T = TypeVar("T")


class Samples(msgspec.Struct):
    """One system: the seconds of each repetition, its CPU seconds, and facts such as `bytes` or `opened`."""

    seconds: list[float] = []
    cpu: list[float] = []
    facts: dict[str, float] = {}


class Measurement(msgspec.Struct):
    """One operation on some rows. `state` is warm, cold or s3; `x` is the size that a series of measurements varies."""

    operation: str
    state: str
    rows: int
    answer: str
    systems: dict[str, Samples]
    x: int = 0


class Run(msgspec.Struct):
    """All that one run has measured, with the machine and the versions."""

    size: str
    rows: int
    seed: int
    finished: str
    machine: dict[str, str]
    versions: dict[str, str]
    measurements: list[Measurement]
    replacements: Replacements | None = None


class Spread(msgspec.Struct, frozen=True):
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        return cls(statistics.median(values), min(values), max(values))


class Turn(msgspec.Struct, frozen=True):
    """What is timed: `run` gets the number of the repetition and gives an answer; `before` is not timed."""

    run: Callable[[int], Any]
    before: Callable[[], object] = gc.collect


def ratios(peer: Samples, ours: Samples) -> Spread:
    """The peer's seconds over ours, repetition by repetition: more than 1 means that we are faster."""
    return Spread.of([theirs / mine for theirs, mine in zip(peer.seconds, ours.seconds, strict=True)])


def interleaved(
    turns: Mapping[str, Turn], repetitions: int, *, warm_up: int, digest: Callable[[Any], str]
) -> tuple[str, dict[str, Samples]]:
    """The last answer, and the samples of each system. The system that begins changes from repetition to repetition."""
    samples = {name: Samples() for name in turns}
    answer = ""
    for repetition in range(warm_up + repetitions):
        answers: dict[str, str] = {}
        for name in _rotated(list(turns), repetition):
            turns[name].before()
            result, seconds, cpu = timed(lambda name=name, number=repetition: turns[name].run(number))
            answers[name] = digest(result)
            if repetition >= warm_up:
                samples[name].seconds.append(seconds)
                samples[name].cpu.append(cpu)
        answer = same_answer(answers)
    return answer, samples


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, the seconds and the CPU seconds of this process and of those below it."""
    below, own, start = _cpu_of_descendants(), process_time(), perf_counter()
    result = work()
    seconds, own = perf_counter() - start, process_time() - own
    return result, seconds, own + _cpu_of_descendants() - below


def same_answer(answers: Mapping[str, T]) -> T:
    if len(set(answers.values())) != 1:
        raise AssertionError(f"the systems disagree: {dict(answers)}")
    return next(iter(answers.values()))


def _rotated(names: list[str], by: int) -> list[str]:
    return names[by % len(names) :] + names[: by % len(names)]


def _cpu_of_descendants() -> float:
    """The JVM and its Python workers, for example; those that ended count for the process that waited for them."""
    return sum(map(_cpu_ticks, _descendants(os.getpid()))) / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(task).split()):
            yield child
            yield from _descendants(child)


def _cpu_ticks(pid: int) -> int:
    """Of the process, in user and in system mode, and of those below it that ended."""
    return sum(map(int, _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[11:15]))


def _read(file: Path) -> str:
    """The text of a file of /proc; none if the process or the thread has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


def in_fresh_process(module: str, *arguments: str) -> dict[str, Any]:
    """What `python -m module` prints on its last line, as JSON."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def bytes_below(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "CPU": _cpu_model(),
        "system": f"{platform.system()} {platform.release()}",
        "load before the run": f"{os.getloadavg()[0]:.1f}",
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    named = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in VERSION_OF:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, **_java(), **_revision()}


def _java() -> dict[str, str]:
    java = Path(os.environ.get("JAVA_HOME", "/usr"), "bin/java")
    if not java.exists():
        return {}
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return {"Java": said.split('"')[1]} if '"' in said else {}


def _revision() -> dict[str, str]:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    return {} if done.returncode else {"revision of indextables": done.stdout.strip()}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
