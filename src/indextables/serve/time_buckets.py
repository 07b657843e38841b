"""The buckets of a time histogram: intervals that people think in, about as many as fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

_SECOND, _DAY = 1_000_000, 86_400_000_000  # microseconds
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400)
_FIXED = (*(10**digits for digits in range(6)), *(seconds * _SECOND for seconds in _SECONDS))
_MONTHS = (1, 3, 12, 60, 120, 600, 1200, 6000, 12_000, 60_000, 120_000, 1_200_000, 12_000_000)
_SECONDS_A_MONTH = 2_629_746  # a twelfth of the average year
_MONDAY = 4 * _DAY  # 1970-01-05
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Edges = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Each bucket lasts from an edge (inclusive) to the next one; `seconds` is the nominal length."""

    edges: Edges
    seconds: float

    def __len__(self) -> int:
        return len(self.edges) - 1

    def number_of(self, times: Edges) -> Edges:
        """The bucket of each time; times lie within the edges."""
        if len(times) and bool(np.all(times[1:] >= times[:-1])):  # a split is mostly in the order of time
            ends = np.searchsorted(times, self.edges)
            return np.repeat(np.arange(len(self)), np.diff(ends))
        return np.searchsorted(self.edges, times, side="right") - 1


def choose_buckets(start: int, end: int, *, wanted: int, counts_days: bool) -> Buckets:
    """Buckets that cover the times from `start` to `end`, both included; at most about as many as wanted.

    >>> day = choose_buckets(0, 86_400_000_000 - 1, wanted=80, counts_days=False)
    >>> len(day), day.seconds
    (48, 1800.0)
    """
    unit = _DAY if counts_days else 1
    span = (end - start + 1) * unit
    fixed = [step for step in _FIXED if step >= unit and step * wanted >= span]
    if fixed:
        return _fixed(start, end, fixed[0] // unit, unit)
    months = next((m for m in _MONTHS if m * _SECONDS_A_MONTH * _SECOND * wanted >= span), _MONTHS[-1])
    return _calendar(start, end, months, counts_days=counts_days)


def _fixed(start: int, end: int, step: int, unit: int) -> Buckets:
    origin = _MONDAY // unit if step * unit == 7 * _DAY else 0
    first, last = (start - origin) // step, (end - origin) // step + 1
    edges = np.array([min(max(origin + n * step, _LEAST), _GREATEST) for n in range(first, last + 1)], np.int64)
    return Buckets(edges, step * unit / _SECOND)


def _calendar(start: int, end: int, months: int, *, counts_days: bool) -> Buckets:
    unit = "D" if counts_days else "us"
    first, last = (
        int(np.array(time, f"datetime64[{unit}]").astype("datetime64[M]").astype(np.int64)) // months
        for time in (start, end)
    )
    numbers = np.arange(first, last + 2, dtype=np.int64) * months
    edges = numbers.astype("datetime64[M]").astype(f"datetime64[{unit}]").astype(np.int64)
    if not counts_days:  # the first and the last month of time reach beyond the numbers
        edges = np.where(numbers > 12 * 290_000, _GREATEST, np.where(numbers < -12 * 290_000, _LEAST, edges))
    return Buckets(edges, float(months * _SECONDS_A_MONTH))
