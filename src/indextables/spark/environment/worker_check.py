"""`check_workers`: what the Python of each executor has, found out without what it may lack."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from indextables.config import Config
from indextables.errors import WorkerEnvironmentError
from indextables.plural import pluralize
from indextables.spark.catalyst.executor_jobs import executor_addresses, run_on_executors
from indextables.spark.environment.session_settings import settings_of
from indextables.worker_versions import REMEDY, compared

_ROUNDS = 3  # executors that have come meanwhile get a task in the next one
_TASKS_PER_EXECUTOR = 4  # a busy core of an executor does not hide it
_PACKAGES = ("indextables", "tantivy", "pyarrow", "pyspark")

# Runs with any Python 3. Spark's own PySpark comes before one that is installed, as in Spark's workers.
_PROBE = r"""
import glob, json, os, platform, sys, tempfile
home = os.environ.get("SPARK_HOME")
sys.path[:0] = glob.glob(os.path.join(home, "python", "lib", "*.zip")) if home else []
found = {"host": platform.node(), "directory": os.getcwd(), "python": sys.executable, "error": None,
         "version": platform.python_version(), "packages": {}}
for name in json.loads(sys.argv[2]):
    try:
        version = str(__import__(name).__version__)
        found["packages"][name] = version.split(",")[0].split(" v")[-1]
    except Exception as error:
        found["packages"][name] = None
        if name != "pyspark":
            found["error"] = found["error"] or "%s: %s" % (type(error).__name__, error)
own = os.path.join(tempfile.gettempdir(), "indextables-cache-%d" % os.getuid())
cache = os.path.join(sys.argv[1], "indextables") if sys.argv[1] else own
found["cache"] = cache
try:
    os.makedirs(cache, 0o700, exist_ok=True)
    tempfile.TemporaryFile(dir=cache).close()
    found["cache_error"] = None
except OSError as error:
    found["cache_error"] = str(error)
print(json.dumps(found))
"""
# Where the interpreter does not start, the shell reports that in its place.
_SHELL = r"""
"$1" -c "$2" "$3" "$4" 2>/dev/null || printf '{"host": "%s", "directory": "%s", "python": "%s", "failed": true}\n' \
  "$(hostname)" "$PWD" "$1"
"""


@dataclass(frozen=True, slots=True)
class Worker:
    """The Python of an executor; `version` is None where it does not start, a version where a package cannot be imported."""

    host: str
    directory: str
    python: str
    version: str | None
    packages: Mapping[str, str | None]
    error: str | None
    cache: str | None
    cache_error: str | None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Worker":
        """From what the probe prints."""
        packages: Mapping[str, str | None] = found.get("packages", {})
        names = ("version", "error", "cache", "cache_error")
        facts = {name: found.get(name) for name in names}
        return cls(found["host"], found["directory"], found["python"], packages=packages, **facts)

    def problems(self, driver: "Worker") -> Iterator[str]:
        """Sentences about what tasks would fail of."""
        if self.version is None:
            yield f"{self.python} does not start in {self.directory}"
            return
        if self.version.split(".")[:2] != driver.version_parts:
            yield f"Python {self.version}, and the driver has {driver.version}"
        if self.error:
            yield self.error
        for name, version in self.packages.items():
            needed = driver.packages.get(name)
            if version and needed and compared(name, version) != compared(name, needed):
                yield f"{name} {version}, and the driver has {needed}"
        if self.cache_error:
            yield f"the cache directory cannot be written to: {self.cache_error}"

    @property
    def version_parts(self) -> list[str]:
        return (self.version or "").split(".")[:2]


@dataclass(frozen=True, slots=True)
class WorkerCheck:
    """What `check_workers` has found; `executors` is how many the driver knows, one in local mode."""

    driver: Worker
    workers: tuple[Worker, ...]
    executors: int

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, one sentence each; none where every executor can read and write tables."""
        found = [
            f"{worker.python} on {worker.host}: {what}"
            for worker in self.workers
            for what in worker.problems(self.driver)
        ]
        silent = self.executors - len(self.workers)
        busy = [f"{pluralize(silent, 'executor')} did not take a task; check again when idle"] if silent > 0 else []
        return tuple(dict.fromkeys([*found, *busy]))

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "host", "python", "version", *_PACKAGES, "cache")]
        rows += [_row("driver", self.driver), *(_row(f"executor {n}", worker) for n, worker in enumerate(self.workers))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.problems, *([] if not self.problems else [REMEDY])])


def check_workers(spark: SparkSession, *, timeout: float = 300.0) -> WorkerCheck:
    """What the Python of each executor has: its interpreter, versions of packages, and whether its cache can be written to.

    Runs short jobs, each within `timeout` seconds; the first one waits until there are executors. They start PYSPARK_PYTHON,
    as Spark does.
    """
    config = Config.resolve(settings_of(spark, None))
    python = spark.sparkContext.pythonExec
    arguments = [_PROBE, config.read.cache_directory or "", json.dumps(_PACKAGES)]
    command = ["sh", "-c", _SHELL, "sh", python, *arguments]
    workers: dict[tuple[str, str], Worker] = {}
    executors = 0
    for _ in range(_ROUNDS):
        tasks = max(_TASKS_PER_EXECUTOR * executors, 1)
        lines = run_on_executors(spark, command, tasks, timeout)
        if lines is None:
            raise WorkerEnvironmentError(
                f"no executor has run {python} within {timeout:g} s; are there any, and are they idle?",
                python=python,
                host=None,
            )
        found = map(Worker.of, map(json.loads, lines))
        workers.update({(worker.host, worker.directory): worker for worker in found})
        executors = max(len(executor_addresses(spark)), 1)
        if len(workers) >= executors:
            break
    return WorkerCheck(_driver(arguments), tuple(workers[key] for key in sorted(workers)), executors)


def _driver(arguments: list[str]) -> Worker:
    done = subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=True)  # noqa: S603
    return Worker.of(json.loads(done.stdout))


def _row(name: str, worker: Worker) -> tuple[str, ...]:
    cells = (
        worker.host,
        worker.python,
        worker.version,
        *(worker.packages.get(name) for name in _PACKAGES),
        worker.cache,
    )
    return (name, *(cell or "-" for cell in cells))
