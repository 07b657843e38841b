"""A progress bar for long calls, in notebooks and interactive shells; never in the output of a script.

It appears once a call has taken some seconds. `INDEXTABLES_PROGRESS=off` turns it off.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, Protocol

from indextables.display.notebooks import in_notebook, running_shell

VARIABLE = "INDEXTABLES_PROGRESS"
DELAY = 2.0  # seconds: shorter calls show nothing
_INTERVAL = 0.2  # seconds between two updates
_OFF = {"0", "off", "false", "no"}

Place = Literal["notebook", "terminal"]


@dataclass(frozen=True, slots=True)
class BarState:
    """What a bar shows: `done` of a `total`, if that is known, with a text beside it."""

    done: int
    total: int | None
    text: str


class HasState(Protocol):
    """The progress of a call, as callbacks get it."""

    def state(self) -> BarState:
        """What a bar shows of it."""


def place() -> Place | None:
    """Where a bar can be shown: a cell of a notebook, or standard error of an interactive shell; None elsewhere."""
    if os.environ.get(VARIABLE, "").strip().lower() in _OFF:
        return None
    if in_notebook():
        return "notebook"
    interactive = hasattr(sys, "ps1") or running_shell() is not None
    return "terminal" if interactive and sys.stderr.isatty() else None


@contextmanager
def shown_progress(given: Callable[[Any], object] | None) -> Iterator[Callable[[Any], object] | None]:
    """The callback of a call: the given one, else a bar where one can be shown, else None."""
    where = None if given is not None else place()
    if where is None:
        yield given
        return
    progress = _Progress(where)
    try:
        yield progress
    finally:
        progress.close()


class _Progress:
    """A callback that opens a bar once a call has taken long, and updates it now and then."""

    def __init__(self, where: Place) -> None:
        self._where = where
        self._started = monotonic()
        self._next = self._started + DELAY
        self._bar: _NotebookBar | _TerminalBar | None = None
        self._state: BarState | None = None

    def __call__(self, so_far: HasState) -> None:
        self._state = so_far.state()
        if monotonic() >= self._next:
            self._bar = self._bar or (_NotebookBar() if self._where == "notebook" else _TerminalBar())
            self._bar.show(self._state, monotonic() - self._started)
            self._next = monotonic() + _INTERVAL

    def close(self) -> None:
        if self._bar is not None and self._state is not None:
            self._bar.close(self._state, monotonic() - self._started)


class _NotebookBar:
    """HTML that replaces itself: IPython alone can do that, without widgets."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, state: BarState, seconds: float) -> None:
        from indextables.display.charts import share  # noqa: PLC0415 - only notebooks need it

        bar = share(state.done, state.total) if state.total else ""
        self._replace(bar, f"{state.text}, {seconds:.0f} s")

    def close(self, state: BarState, seconds: float) -> None:
        self._replace("", f"{state.text} in {seconds:.0f} s")

    def _replace(self, *parts: object) -> None:
        from indextables.display.markup import element  # noqa: PLC0415
        from indextables.display.panels import notebook  # noqa: PLC0415

        output = sys.modules["IPython"].display
        html = output.HTML(notebook(*(element("span", part, class_="dim") for part in parts)))
        if self._handle is None:
            self._handle = output.display(html, display_id=True)
        else:
            self._handle.update(html)


class _TerminalBar:
    """A bar of rich, which is gone once the call has ended."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - it takes long to import
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("", total=None)
        self._progress.start()

    def show(self, state: BarState, seconds: float) -> None:  # noqa: ARG002 - it has a clock
        self._progress.update(self._task, completed=state.done, total=state.total, description=state.text)

    def close(self, state: BarState, seconds: float) -> None:  # noqa: ARG002
        self._progress.stop()
