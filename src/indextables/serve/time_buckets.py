"""The buckets of a time histogram: intervals that people think in, about as many as fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

_SECOND, _DAY = 1_000_000, 86_400_000_000  # microseconds
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400)
_FIXED = (*(10**digits for digits in range(6)), *(seconds * _SECOND for seconds in _SECONDS))
_MONTHS = (1, 3, 12, 60, 120, 600, 1200, 6000, 12_000, 60_000, 120_000, 1_200_000, 12_000_000, 120_000_000, 240_000_000)
_SECONDS_A_MONTH = 2_629_746  # a twelfth of the average year
_MONDAY = 4 * _DAY  # 1970-01-05
Edges = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Each bucket lasts from an edge (inclusive) to the next one; `seconds` is the nominal length.

    The last edge belongs to the last bucket if it is the end of time.
    """

    edges: Edges
    seconds: float
    end_of_time: int

    def __len__(self) -> int:
        return len(self.edges) - 1

    def cover(self, times: Edges) -> Edges:
        """Whether each time is in a bucket."""
        last = self.edges[-1]
        return np.asarray((times >= self.edges[0]) & (times <= last if last == self.end_of_time else times < last))

    def number_of(self, times: Edges) -> Edges:
        """The bucket of each time; all of them are in one."""
        if bool(np.all(times[1:] >= times[:-1])):  # a split is mostly in the order of time
            starts = np.searchsorted(times, self.edges[:-1])
            return np.repeat(np.arange(len(self)), np.diff(starts, append=len(times)))
        return np.minimum(np.searchsorted(self.edges, times, side="right") - 1, len(self) - 1)


def choose_buckets(start: int, end: int, *, wanted: int, counts_days: bool) -> Buckets:
    """Buckets that cover the times from `start` to `end`, both included; at most about as many as wanted.

    >>> day = choose_buckets(0, 86_400_000_000 - 1, wanted=80, counts_days=False)
    >>> len(day), day.seconds
    (48, 1800.0)
    """
    unit = _DAY if counts_days else 1
    span = (end - start + 1) * unit
    step = next((step for step in _FIXED if step >= unit and step * wanted >= span), None)
    if step is not None:
        return _buckets(_fixed(start, end, step // unit, unit), step / _SECOND, counts_days=counts_days)
    months = next((m for m in _MONTHS if m * _SECONDS_A_MONTH * _SECOND * wanted >= span), _MONTHS[-1])
    edges = [day * _DAY // unit for day in _first_days(start * unit // _DAY, end * unit // _DAY, months)]
    return _buckets(edges, float(months * _SECONDS_A_MONTH), counts_days=counts_days)


def _buckets(edges: list[int], seconds: float, *, counts_days: bool) -> Buckets:
    """Edges beyond the least and the greatest time are moved there."""
    limits = np.iinfo(np.int32 if counts_days else np.int64)
    least, greatest = int(limits.min), int(limits.max)
    return Buckets(np.array([min(max(edge, least), greatest) for edge in edges], np.int64), seconds, greatest)


def _fixed(start: int, end: int, step: int, unit: int) -> list[int]:
    origin = _MONDAY // unit if step * unit == 7 * _DAY else 0
    return [origin + n * step for n in range((start - origin) // step, (end - origin) // step + 2)]


def _first_days(start: int, end: int, months: int) -> list[int]:
    """The first days of periods of so many months, from that of the day `start` to that after the day `end`."""
    days = np.array([start, end]).astype("datetime64[D]")
    first, last = (days.astype("datetime64[M]").astype(np.int64) // months).tolist()
    periods = np.arange(first, last + 2, dtype=np.int64) * months
    return list(periods.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64).tolist())
