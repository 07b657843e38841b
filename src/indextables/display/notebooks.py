"""What notebooks show of pyarrow.Table, which has no HTML of its own: those that we return are shown as a grid.

IPython is not imported. `import indextables` registers a formatter where IPython is running; elsewhere nothing changes.
Our tables carry a mark in the metadata of their schema; other tables are shown as before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from indextables.search.match_spans import MatchSpans

_MARK = b"indextables.display"


def register_formatter(shell: Any = None) -> None:
    """Registers the formatter with a running IPython shell, the current one if none is given."""
    shell = shell or running_shell()
    formatter = getattr(getattr(shell, "display_formatter", None), "formatters", {}).get("text/html")
    if formatter is None or isinstance(_known(formatter), _TableFormatter):
        return
    formatter.for_type(pa.Table, _TableFormatter(_known(formatter)))


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext indextables`: for shells that are started after the import."""
    register_formatter(shell)


def running_shell() -> Any:
    """The IPython shell that runs this code, or None."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else getattr(ipython, "get_ipython", lambda: None)()


def in_notebook() -> bool:
    """Whether cells can show HTML: in a shell with a kernel, not in a terminal."""
    shell = running_shell()
    return shell is not None and getattr(shell, "kernel", None) is not None


def shown_as_grid(
    rows: pa.Table, spans: MatchSpans | None = None, *, searched: str = "", hidden: Sequence[str] = ()
) -> pa.Table:
    """The same rows; where IPython is running, with a mark by which a notebook shows them as a grid.

    `spans` finds the words that are highlighted then, `searched` tells in which columns, if there are no rows, and
    `hidden` are columns that are left out.
    """
    if running_shell() is None:
        return rows
    from indextables.display.grid import GridMark  # noqa: PLC0415 - only notebooks need it

    mark = GridMark(spans, searched, tuple(hidden)).to_json()
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), _MARK: mark})


class _TableFormatter:
    """Formats our tables; others are left to the formatter that was there before, if any."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, rows: pa.Table) -> str | None:
        mark = (rows.schema.metadata or {}).get(_MARK)
        if mark is None:
            return self._before(rows) if self._before else None
        from indextables.display.grid import marked_grid  # noqa: PLC0415 - only notebooks need it

        return marked_grid(rows, mark)


def _known(formatter: Any) -> Any:
    """The formatter of pyarrow.Table that is registered, if any."""
    return formatter.type_printers.get(pa.Table)
