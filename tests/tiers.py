"""Two tiers of tests: `make test` runs what protects a change, `make test-all` the breadth too.

A test of the second tier is marked as slow, with the reason. Each behaviour has a test in the first tier; the second one has
more seeds, more kills, more pairs of the same kind. `make test` says at its end what it has not run.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

ParameterSet = type(pytest.param())
_NOT_RUN = "not_run"


def slow(reason: str) -> pytest.MarkDecorator:
    """A mark for tests and parameters of the second tier."""
    return pytest.mark.slow(reason=reason)


def tries(first: int, second: int) -> int:
    """How often a test tries something at random in the first tier, and in the second one."""
    return first if settings().max_examples < settings.get_profile("default").max_examples else second


def slow_after(first: int, cases: Iterable[Any], reason: str) -> list[Any]:
    """The cases of a test, of which the first ones are in the first tier."""
    return [case if number < first else _slow(case, reason) for number, case in enumerate(cases)]


def slow_unless(chosen: Iterable[Any], cases: Iterable[Any], reason: str) -> list[Any]:
    """The cases of a test, of which some are in the first tier."""
    some = list(chosen)
    return [case if case in some else _slow(case, reason) for case in cases]


def _slow(case: Any, reason: str) -> Any:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, slow(reason)])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=slow(reason))


class Tiers:
    """Leaves out the slow tests, except with `--all`, with `-m slow` or by name. Says at the end what was left out."""

    def __init__(self, config: pytest.Config) -> None:
        named = any("::" in argument for argument in config.invocation_params.args)
        self.runs_all = named or config.getoption("--all") or "slow" in config.getoption("-m")
        self.config = config
        self.not_run: Counter[str] = Counter()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self.runs_all:
            return
        marks = [item.get_closest_marker("slow") for item in items]
        left_out = [item for item, mark in zip(items, marks, strict=True) if mark]
        self.not_run.update(mark.kwargs["reason"] for mark in marks if mark)
        items[:] = [item for item, mark in zip(items, marks, strict=True) if not mark]
        config.hook.pytest_deselected(items=left_out)

    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self.config, "workeroutput", None)
        if output is not None:
            output[_NOT_RUN] = dict(self.not_run)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Each process has collected all tests."""
        self.not_run = Counter(getattr(node, "workeroutput", {}).get(_NOT_RUN, self.not_run))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.not_run:
            return
        terminalreporter.section(f"{self.not_run.total():,} slow tests were not run; make test-all runs them too")
        for reason, count in self.not_run.most_common():
            terminalreporter.write_line(f"{count:>6,}  {reason}")
