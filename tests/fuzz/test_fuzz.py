"""The corpus, and some thousand inputs; `python -m tests.fuzz` runs more of them."""

from pathlib import Path

import pytest

from tests.fuzz.runner import replayed, run_inputs
from tests.fuzz.targets import TARGETS
from tests.tiers import tries

CORPUS = sorted(path for path in (Path(__file__).parent / "corpus").rglob("*") if path.is_file())


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_corpus(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that once ended in a foreign exception, a crash or a hang."""
    monkeypatch.chdir(tmp_path)  # for relative paths among them
    assert not replayed(file.parent.name, file.read_bytes())


COUNTS = {  # some thousand, most of them of the fast targets
    "options": 700,
    "predicate": 700,
    "split": 400,
    "query": 200,
    "version": 50,
    "cli": 40,
    "import": 30,
    "checkpoint": 20,
}


def test_inputs() -> None:
    assert COUNTS.keys() == TARGETS.keys()
    counts = {target: max(5, count // tries(5, 1)) for target, count in COUNTS.items()}
    assert not [str(failure) for failure in run_inputs(counts, seed=1)]
