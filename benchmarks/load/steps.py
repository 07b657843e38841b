"""Steps of a run, one after the other, each with its CPU time and its peak of memory."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from benchmarks.load.figures import Advance, Figures, resident_memory
from benchmarks.memory import peak_memory

T = TypeVar("T")
_RESET_PEAK = "5"


class Steps:
    """Runs steps and adds a row for each: CPU and wall seconds, and how far memory rose above what it was before."""

    def __init__(self, figures: Figures, advance: Advance) -> None:
        self.figures = figures
        self._advance = advance

    def run(self, name: str, work: Callable[[], T]) -> T:
        with suppress(OSError):  # where that is not allowed, peaks are those of the process so far
            Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
        before, cpu, wall = resident_memory(), time.process_time(), time.perf_counter()
        result = work()
        self.figures.add(
            step=name,
            **{
                "CPU s": round(time.process_time() - cpu, 4),
                "wall s": round(time.perf_counter() - wall, 4),
                "peak MB": round(max(0.0, peak_memory() - before), 1),
                "after MB": resident_memory(),
            },
        )
        self._advance(1)
        return result

    def peak(self, step: str) -> float:
        return float(next(row["peak MB"] for row in self.figures.rows if row["step"] == step))
