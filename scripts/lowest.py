"""`make lowest`: the tests with the oldest versions of all dependencies that pyproject.toml allows.

They are installed in an environment of their own, .matrix/lowest, with the test tools. Run are

1. tables that these versions write and the newest read, and the other way round (`tests/matrix/exchange.py`);
2. the tests without Spark, or those that are named: `python scripts/lowest.py tests/split`;
3. the suites of `make matrix` with the oldest PySpark, if no tests are named.

Properties are tested with few examples. Exits with 1 if anything failed.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".matrix" / "lowest"
PYTHON, READY, PROJECT = HOME / "bin" / "python", HOME / ".ready", ROOT / "pyproject.toml"
SMOKE = ("enabled", "public")


def lowest() -> list[str]:
    """The lower bounds of the project's own dependencies, and of PySpark, as requirements."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    named = (*project["dependencies"], *project["optional-dependencies"]["spark"])
    return [f"{one.name}=={_lower_bound(one)}" for one in map(Requirement, named)]


def _lower_bound(requirement: Requirement) -> str:
    (bound,) = (one.version for one in requirement.specifier if one.operator == ">=")
    return bound


def prepare() -> None:
    """The environment, made anew if the project's dependencies have changed."""
    if READY.exists() and READY.stat().st_mtime > PROJECT.stat().st_mtime:
        return
    print(f"installing {', '.join(lowest())} into {HOME.relative_to(ROOT)} ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    pip = [PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "-e", f"{ROOT}[dev]", *lowest()], check=True)
    READY.touch()


def main(tests: Sequence[str]) -> int:
    prepare()
    newest = Path(sys.executable)
    found = [exchanged(PYTHON, newest), exchanged(newest, PYTHON), exchanged(newest, newest)]
    if found[1:] != found[:-1] or json.loads(found[0])["problems"]:
        print("tables that are exchanged between versions differ:", *found, sep="\n")
        return 1
    print("tables are exchanged between the oldest and the newest versions, both ways: ok")
    failed = run("-m", "pytest", "--all", "-m", "not spark", "-p", "no:cacheprovider", *tests)
    return failed if tests else failed or max(run("-m", "tests.matrix.smoke", mode) for mode in SMOKE)


def exchanged(writer: Path, reader: Path) -> str:
    """What one Python reads in a table that another one wrote."""
    with tempfile.TemporaryDirectory() as place:
        for python, command in ((writer, "write"), (reader, "read")):
            program = [python, "-m", "tests.matrix.exchange", command, f"{place}/table"]
            done = subprocess.run(program, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def run(*arguments: str) -> int:
    return subprocess.run([PYTHON, *arguments], cwd=ROOT, env=_environment(), check=False).returncode


def _environment() -> dict[str, str]:
    return {**os.environ, "HYPOTHESIS_PROFILE": "few", "PYSPARK_PYTHON": str(PYTHON)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
