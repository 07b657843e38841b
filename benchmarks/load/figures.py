"""The figures of a run: rows of a table, printed and kept as JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

Row = dict[str, Any]
Advance = Callable[[int], None]
WIDTH = 170  # of the printed table, where the output is not a terminal


@dataclass
class Figures:
    """The figures of one scenario: `rows` over time or by step, and `facts` about the whole."""

    scenario: str
    size: str
    rows: list[Row] = field(default_factory=list)
    facts: Row = field(default_factory=dict)

    def add(self, **figures: Any) -> None:
        self.rows.append(figures)

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows if name in row]

    def print(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        table = Table(title=f"{self.scenario}, {self.size}", caption=_facts(self.facts))
        for name in names:
            table.add_column(name, justify="left" if isinstance(self.rows[0].get(name), str) else "right")
        for row in self.rows:
            table.add_row(*(_text(row.get(name)) for name in names))
        Console(width=None if sys.stdout.isatty() else WIDTH).print(table)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2))


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _facts(facts: Row) -> str:
    return ", ".join(f"{name}: {_text(value)}" for name, value in facts.items())


def percentiles(seconds: Sequence[float], name: str, *, at: Sequence[int] = (50, 95, 99)) -> dict[str, float]:
    """Milliseconds at some percentiles; nothing where nothing was measured.

    >>> percentiles([0.001] * 99 + [1.0], "append")["append p50 ms"]
    1.0
    """
    if not len(seconds):
        return {}
    found = 1000 * np.percentile(seconds, at)
    return {f"{name} p{p} ms": round(float(value), 2) for p, value in zip(at, found, strict=True)}


def resident_memory(pid: int | str = "self") -> float:
    """The resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1024**2, 1)


def log_files(table: Path) -> dict[str, float]:
    """The number of log files of a table, and their size."""
    entries = list(os.scandir(table / "_transaction_log"))
    return {"log files": len(entries), "log MB": round(sum(e.stat().st_size for e in entries) / 1024**2, 1)}


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """A bar on standard error; a line for each tenth where that is no terminal."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = sys.stderr.isatty()
    done = 0
    with Progress(*columns, console=Console(stderr=True), disable=not shown, transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(count: int) -> None:
            nonlocal done
            before, done = done, done + count
            bar.advance(task, count)
            if not shown and 10 * done // total > 10 * before // total:
                print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

        yield advance
