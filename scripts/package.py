"""`make package`: the wheel and the sdist, built into dist/, checked, installed and tried.

1. Both are built from the working tree, and their metadata is checked by twine.
2. The sdist has every file of the repository and no other; the wheel has every file of the two packages, and the licence.
3. The wheel is installed in a new environment that has nothing else, and the quick start of the documentation is run
   there: without Spark, or with it by `python scripts/package.py --spark`.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
REQUIRED = {
    "indextables/py.typed",
    "indextables/__init__.pyi",
    "indextables/report/page.html",
    "indextables/serve/page/index.html",
}


def main(arguments: list[str]) -> int:
    wheel, sdist = build()
    _run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    problems = [*wrong_in_sdist(sdist), *wrong_in_wheel(wheel)]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    try_quick_start(wheel, extras="[spark]" if "--spark" in arguments else "")
    print(f"ready: {wheel.relative_to(ROOT)} and {sdist.relative_to(ROOT)}")
    return 0


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, without those of earlier builds."""
    for old in DIST.glob("*"):
        old.unlink()
    _run(sys.executable, "-m", "build", "--outdir", DIST, ROOT, quiet=True)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def wrong_in_sdist(path: Path) -> Iterable[str]:
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    return _differences(path, found, {*_tracked(), "PKG-INFO"})


def wrong_in_wheel(path: Path) -> Iterable[str]:
    with zipfile.ZipFile(path) as archive:
        found = set(archive.namelist())
    about = f"{'-'.join(path.name.split('-')[:2])}.dist-info"
    sources = {name.removeprefix("src/") for name in _tracked() if name.startswith("src/")}
    return _differences(path, found, sources | REQUIRED | {f"{about}/{name}" for name in METADATA})


def _differences(path: Path, found: set[str], expected: set[str]) -> Iterable[str]:
    yield from (f"{path.name} has no {name}" for name in sorted(expected - found))
    yield from (f"{path.name} has {name}, which does not belong there" for name in sorted(found - expected))


def _tracked() -> set[str]:
    """The files that git knows, or would know after `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in listed if (ROOT / name).exists()}


def try_quick_start(wheel: Path, *, extras: str) -> None:
    """The quick start, run by a Python that has the wheel and its dependencies, in a directory of its own."""
    with tempfile.TemporaryDirectory() as home:
        venv.create(home, with_pip=True)
        python = Path(home, "bin", "python")
        _run(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", f"{wheel}{extras}")
        _run(python, "-m", "pip", "check", quiet=True)
        _run(python, "-m", "tests.packed.quick_start")


def _run(*command: object, quiet: bool = False) -> None:
    """Runs a program, which finds no other packages than those of its environment."""
    output = subprocess.DEVNULL if quiet else None
    known = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYSPARK_PYTHON"}}
    subprocess.run([str(word) for word in command], cwd=ROOT, env=known, stdout=output, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
