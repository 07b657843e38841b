"""`make matrix`: suites on versions of Python and PySpark, side by side; older versions of PySpark must be refused.

Each Python has a virtual environment under .matrix/, with the project and its dependencies, and each PySpark a directory,
which the environments share; both are made once, `rm -r .matrix` to get newer patches. Prints one table, capability by pair
of versions, keeps it in .matrix/results.json, and exits with 1 if anything failed. `python scripts/matrix.py 4.1 none` runs
the pairs with these versions, `python scripts/matrix.py --page` writes docs/versions.md from the last run of each pair.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
HOME, RESULTS, PAGE = ROOT / ".matrix", ROOT / ".matrix" / "results.json", ROOT / "docs" / "versions.md"
SUPPORTED, OLD, ABSENT = ("4.1", "4.2", "4.3"), ("4.0", "3.5"), ("none",)  # PySpark; the newest patch of each


@dataclass(frozen=True, slots=True)
class Pair:
    python: str
    pyspark: str

    def __str__(self) -> str:
        return f"{self.pyspark} on {self.python}"


@dataclass(frozen=True, slots=True)
class Suite:
    """`python -m tests.matrix.<module> <mode>` prints a JSON object, capability to "ok" or to what went wrong."""

    module: str
    mode: str
    versions: tuple[str, ...]
    is_client: bool = False  # of Spark Connect, which needs more packages


SUITES = (
    Suite("smoke", "enabled", SUPPORTED),
    Suite("smoke", "public", SUPPORTED),
    Suite("smoke", "connect", SUPPORTED, is_client=True),
    Suite("refusal", "old", OLD),
    Suite("refusal", "absent", ABSENT),
)
PAIRS = (
    *(Pair("3.11", version) for version in (*SUPPORTED, *OLD, *ABSENT)),
    *(Pair(python, "4.3") for python in ("3.12", "3.13")),
    Pair("3.13", "4.1"),
)
CLIENT = ("pandas>=2.2,<3", "grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
OK, NO_PYTHON = "ok", "no interpreter"
_VERSIONS = """
import json, platform
from importlib.metadata import PackageNotFoundError, version
try:
    spark = version("pyspark")
except PackageNotFoundError:
    spark = "none"
print(json.dumps({"python": platform.python_version(), "pyspark": spark}))
"""
_TEXT = """\
# Versions

<!-- written by `make matrix` and `python scripts/matrix.py --page` -->

indextables needs Python 3.11 or newer, and PySpark 4.1 or newer on Java 17 or newer; tables without Spark need no PySpark.
An older PySpark is refused with an `UnsupportedSparkError`, in one sentence, by whatever needs Spark: imports, `enable()`
and the data source.

## Dependencies

`make lowest` runs the tests with the oldest versions that are supported, and exchanges tables between them and the newest
ones, both ways: the format of tables does not depend on the versions.

{lowest}
With pyarrow before 23, pages of columns whose values repeat have more rows, so that reading single hits takes longer.
Before 20, `indextables import` reads files of JSON lines at once, and needs memory for them. Without `search_sorted`,
which is new, conditions with long `IN` lists prune fewer splits. Answers are the same. PySpark has bounds of its own: 4.3
needs pyarrow 18.

## Python and PySpark

`make matrix` runs these checks for pairs of versions, PySpark on Python. `enabled` is a session after
`indextables.enable(spark)`, `public` one that found the data source by itself, `connect` an enabled session of Spark
Connect, `old` one of an older PySpark, `absent` a Python without PySpark. An empty cell is a check that is not for this
pair, `no interpreter` a Python that was not found.

"""


@dataclass(frozen=True, slots=True)
class Run:
    """What was run for a pair, when and on what; `outcomes` are by capability, "ok" or what went wrong."""

    python: str
    pyspark: str
    java: str
    date: str
    outcomes: dict[str, str]


def interpreter(version: str) -> Path | None:
    """A Python of a version: this one, one on the PATH, or one of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [sys.executable, shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    return next((Path(each) for each in candidates if each is not None and _is_python(Path(each), version)), None)


def _is_python(path: Path, version: str) -> bool:
    """Whether it runs, and is what its name says: a shim of pyenv may be neither."""
    command = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def environment_of(version: str, interpreter: Path) -> Path:
    """The Python of an environment, made anew if the project's dependencies have changed."""
    home = HOME / f"python-{version}"
    python, ready, project = home / "bin" / "python", home / ".ready", ROOT / "pyproject.toml"
    if not ready.exists() or ready.stat().st_mtime < project.stat().st_mtime:
        print(f"installing the project for Python {version} into {home.relative_to(ROOT)} ...", file=sys.stderr)
        subprocess.run([interpreter, "-m", "venv", "--clear", home], check=True)
        _pip(python, "-e", str(ROOT))
        ready.touch()
    return python


def pyspark_of(version: str, python: Path) -> Path:
    """The directory with a PySpark, which is the same for all versions of Python."""
    home = HOME / f"pyspark-{version}"
    if version != "none" and not (home / ".ready").exists():
        print(f"installing PySpark {version} into {home.relative_to(ROOT)} ...", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        _pip(python, "--target", str(home), f"pyspark=={version}.*")
        (home / ".ready").touch()
    return home


def client_of(version: str, python: Path) -> Path:
    """The directory with what a client of Spark Connect needs, which other suites run without."""
    home = HOME / f"client-{version}"
    if not (home / ".ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        _pip(python, "--target", str(home), *CLIENT)
        (home / ".ready").touch()
    return home


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *arguments], check=True)


def run(pair: Pair) -> Run:
    """The outcomes of the suites of a pair."""
    suites = [suite for suite in SUITES if pair.pyspark in suite.versions]
    found, date = interpreter(pair.python), datetime.now(UTC).date().isoformat()
    if found is None:
        return Run(pair.python, pair.pyspark, "", date, {f"{suite.mode}: runs": NO_PYTHON for suite in suites})
    python = environment_of(pair.python, found)
    spark = pyspark_of(pair.pyspark, python)
    environment = {**os.environ, "PYTHONPATH": str(spark), "PYSPARK_PYTHON": str(python)}
    client = {**environment, "PYTHONPATH": os.pathsep.join([str(spark), str(client_of(pair.python, python))])}
    versions = subprocess.run([python, "-c", _VERSIONS], env=environment, capture_output=True, text=True, check=True)
    outcomes = [_outcomes(suite, python, client if suite.is_client else environment) for suite in suites]
    merged = {capability: outcome for some in outcomes for capability, outcome in some.items()}
    return Run(**json.loads(versions.stdout), java=java_version(), date=date, outcomes=merged)


def _outcomes(suite: Suite, python: Path, environment: dict[str, str]) -> dict[str, str]:
    """Of one suite, in a process of its own."""
    command = [python, "-m", f"tests.matrix.{suite.module}", suite.mode]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {f"{suite.mode}: runs": last}
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return {f"{suite.mode}: {capability}": outcome for capability, outcome in found.items()}


def rows(runs: Sequence[Run]) -> Iterator[list[str]]:
    """The rows of the table: a capability, and its outcome for each pair."""
    for capability in dict.fromkeys(capability for run in runs for capability in run.outcomes):
        found = [run.outcomes.get(capability, "") for run in runs]
        yield [capability, *(one if one in {OK, NO_PYTHON, ""} else "failed" for one in found)]


def page(runs: Sequence[Run]) -> str:
    heads = [f"{run.pyspark} on {run.python}" for run in runs]
    about = [["date", *(run.date for run in runs)], ["Java", *(run.java for run in runs)]]
    lines = [["", *heads], ["---"] * (len(runs) + 1), *about, *rows(runs)]
    return _TEXT.format(lowest=lowest_versions()) + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def lowest_versions() -> str:
    """The lower bounds of the dependencies, as a table."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [("package", "from version", "before version"), ("---", "---", "---")]
    for requirement in map(Requirement, project["dependencies"]):
        bounds = {one.operator: one.version for one in requirement.specifier}
        lines.append((requirement.name, bounds[">="], bounds.get("<", "")))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def kept_runs() -> dict[str, Run]:
    """The last run of each pair."""
    return {pair: Run(**run) for pair, run in json.loads(RESULTS.read_text()).items()} if RESULTS.exists() else {}


def java_version() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    found = re.search(r'version "([^"]+)"', done.stderr)
    return found[1] if found else "unknown"


def main(wanted: Sequence[str]) -> int:
    runs = kept_runs()
    if wanted == ["--page"]:
        PAGE.write_text(page([runs[str(pair)] for pair in PAIRS if str(pair) in runs]))
        return 0
    pairs = [pair for pair in PAIRS if not wanted or {pair.pyspark, pair.python, str(pair)} & set(wanted)]
    for pair in pairs:
        runs[str(pair)] = run(pair)
        RESULTS.write_text(json.dumps({name: asdict(one) for name, one in runs.items()}, indent=1))
    return report(pairs, [runs[str(pair)] for pair in pairs])


def report(pairs: Sequence[Pair], runs: Sequence[Run]) -> int:
    console, shown = Console(), Table("capability", *map(str, pairs))
    for row in rows(runs):
        shown.add_row(*row)
    console.print(shown)
    failures = [
        (f"{pair}, {capability}", outcome)
        for pair, run in zip(pairs, runs, strict=True)
        for capability, outcome in run.outcomes.items()
        if outcome != OK
    ]
    for name, outcome in failures:
        console.print(f"{name}: {outcome}", markup=False, style="red")
    return 1 if any(outcome != NO_PYTHON for _, outcome in failures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
