"""The script of `make matrix`, and the page that it writes."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    spec = spec_from_file_location("matrix_script", ROOT / "scripts" / "matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["matrix_script"] = module  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def test_every_supported_version_is_run(matrix: ModuleType) -> None:
    pairs = {(pair.python, pair.pyspark) for pair in matrix.PAIRS}
    assert {("3.11", version) for version in (*matrix.SUPPORTED, *matrix.OLD, *matrix.ABSENT)} <= pairs
    assert {(python, matrix.SUPPORTED[-1]) for python in ("3.11", "3.12", "3.13")} <= pairs
    assert all(any(pair.pyspark in suite.versions for suite in matrix.SUITES) for pair in matrix.PAIRS)


def test_an_interpreter_that_is_not_there_is_in_the_table(
    matrix: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    run = matrix.run(matrix.Pair("3.99", "4.3"))
    assert run.outcomes == {f"{mode}: runs": "no interpreter" for mode in ("enabled", "public", "connect")}
    assert "| enabled: runs | no interpreter |" in matrix.page([run])
    assert matrix.report([matrix.Pair("3.99", "4.3")], [run]) == 0
    printed = capsys.readouterr()
    assert ("4.3 on 3.99, enabled: runs: no interpreter" in printed.out, printed.err) == (True, ""), (
        "nothing is installed"
    )


def test_this_interpreter_is_found(matrix: ModuleType) -> None:
    found = matrix.interpreter(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert found == Path(sys.executable)
