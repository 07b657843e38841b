"""`make matrix`: the smoke suite on each supported version of PySpark, and the refusal of older ones.

Each version has a virtual environment under .matrix/, made once; `rm -r .matrix` to get newer patches. Prints one table,
capability by version, and exits with 1 if anything failed. `python scripts/matrix.py 4.1 none` runs some of the versions.
"""

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
SUITES = {  # the modules to run, by version; the newest patch of each
    "4.1": ("smoke enabled", "smoke public"),
    "4.2": ("smoke enabled", "smoke public"),
    "4.3": ("smoke enabled", "smoke public"),
    "4.0": ("refusal old",),
    "3.5": ("refusal old",),
    "none": ("refusal absent",),
}
OK = "ok"


@dataclass(frozen=True, slots=True)
class Result:
    version: str
    capability: str
    outcome: str


def python_for(version: str) -> Path:
    """The Python of a version's environment, which is made if there is none or the project's dependencies have changed."""
    home = ROOT / ".matrix" / version
    python, ready, project = home / "bin" / "python", home / ".ready", ROOT / "pyproject.toml"
    if not ready.exists() or ready.stat().st_mtime < project.stat().st_mtime:
        print(f"installing PySpark {version} into {home.relative_to(ROOT)} ...", file=sys.stderr)
        venv.create(home, with_pip=True)
        packages = [] if version == "none" else [f"pyspark=={version}.*"]
        quietly = ["-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([python, *quietly, "-e", ROOT, *packages], check=True)
        ready.touch()
    return python


def run(version: str, suite: str) -> list[Result]:
    """One suite in a process of its own."""
    module, mode = suite.split()
    python = python_for(version)
    environment = {**os.environ, "PYSPARK_PYTHON": str(python)}
    command = [python, "-m", f"tests.matrix.{module}", mode]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return [Result(version, f"{mode}: runs", done.stderr.strip().splitlines()[-1])]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return [Result(version, f"{mode}: {capability}", outcome) for capability, outcome in found.items()]


def table(results: list[Result]) -> Table:
    shown = Table("capability")
    versions = list(dict.fromkeys(result.version for result in results))
    for version in versions:
        shown.add_column(version, justify="center")
    outcomes = {(result.capability, result.version): result.outcome for result in results}
    for capability in dict.fromkeys(result.capability for result in results):
        found = [outcomes.get((capability, version)) for version in versions]
        shown.add_row(capability, *("" if one is None else OK if one == OK else "[red]failed" for one in found))
    return shown


def main(versions: list[str]) -> int:
    results = [result for version in versions or SUITES for suite in SUITES[version] for result in run(version, suite)]
    console = Console()
    console.print(table(results))
    failures = [result for result in results if result.outcome != OK]
    for failure in failures:
        console.print(f"{failure.version}, {failure.capability}: {failure.outcome}", markup=False, style="red")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
