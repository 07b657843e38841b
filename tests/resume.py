"""Long runs in parts: with `--resume`, tests that have passed before on the very same code are not run again.

`make laws` goes on where the last one was stopped. What has passed is kept in `.pytest_cache/passed`, under a digest of all
sources and tests, so that any change begins anew.
"""

import os
from hashlib import sha256
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent


class Resumed:
    """Notes each test that passes, and leaves out those that have."""

    def __init__(self, config: pytest.Config) -> None:
        profile = os.environ.get("HYPOTHESIS_PROFILE", "default")
        self.file = _ROOT / ".pytest_cache" / "passed" / f"{profile}-{_digest()}.txt"
        self.passed = frozenset(self.file.read_text().splitlines()) if self.file.exists() else frozenset[str]()
        self.notes = not hasattr(config, "workerinput")  # the reports of all processes come to the first one

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.passed])
        items[:] = [item for item in items if item.nodeid not in self.passed]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.notes and report.when == "call" and report.passed:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.passed:
            terminalreporter.section(f"{len(self.passed):,} tests had passed before on the same code: {self.file}")


def _digest() -> str:
    """A digest of the code that is tested, and of the tests."""
    digest = sha256()
    for file in sorted(file for folder in ("src", "tests") for file in (_ROOT / folder).rglob("*.py")):
        digest.update(f"{file.relative_to(_ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]
