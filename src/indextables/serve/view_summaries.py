"""Histograms over time, in intervals that people think in, and facets of a view: counts of its rows, split by split."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError
from indextables.kernels import sum_of
from indextables.read.scan_plan import SplitTask
from indextables.schema import type_name
from indextables.serve.computed_cache import ComputedCache
from indextables.serve.split_columns import NULL_TIME, codes_of, column_identity, times_of
from indextables.serve.time_column import TimeColumn
from indextables.serve.view import View

TOP_VALUES = 10
_WHOLE_SPLITS = 10_000
_whole_counts = ComputedCache(_WHOLE_SPLITS)
Counts = np.ndarray[Any, Any]
Edges = np.ndarray[Any, Any]
_SECOND, _DAY = 1_000_000, 86_400_000_000  # microseconds
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400)
_FIXED = (*(10**digits for digits in range(6)), *(seconds * _SECOND for seconds in _SECONDS))
_MONTHS = (1, 3, 12, 60, 120, 600, 1200, 6000, 12_000, 60_000, 120_000, 1_200_000, 12_000_000, 120_000_000, 240_000_000)
_SECONDS_A_MONTH = 2_629_746  # a twelfth of the average year
_MONDAY = 4 * _DAY  # 1970-01-05


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


@dataclass(frozen=True, slots=True, eq=False)
class TimeHistogram:
    """`counts` are the rows of each bucket; `parts` are the same for each value of a column, None for its nulls."""

    buckets: Buckets
    counts: Counts
    parts: dict[Any, Counts]


@dataclass(frozen=True, slots=True, eq=False)
class Facet:
    """The most frequent values of a column with their counts; `other` are the rows with other values."""

    column: str
    values: list[tuple[pa.Scalar, int]]
    other: int
    missing: int


def time_range(view: View) -> tuple[int, int] | None:
    """The least and the greatest time of the splits that may hold a row; None where there is none."""
    time = view.time
    if time is None:
        return None
    least, greatest = view.time_bound("min"), view.time_bound("max")
    known = pc.and_(least.is_valid(), greatest.is_valid())
    ends = [(pc.min(least.filter(known)).as_py(), pc.max(greatest.filter(known)).as_py())]
    unknown = [view.tasks[place] for place in pc.indices_nonzero(pc.invert(known)).to_pylist()]
    ends += view.scan.over(unknown, lambda task: _ends_of(view, task, time))
    given = [(low, high) for low, high in ends if low is not None]
    return (min(low for low, _ in given), max(high for _, high in given)) if given else None


def time_histogram(
    view: View, *, start: int | None, end: int | None, wanted: int, by: str | None
) -> TimeHistogram | None:
    """The rows of a view by time, from `start` to before `end` if given, and by a column; None without any time."""
    time, ends = view.time, time_range(view)
    if time is None or ends is None:
        return None
    first = ends[0] if start is None else start
    last = ends[1] if end is None else end - 1
    if first > last:
        return None
    buckets = choose_buckets(first, last, wanted=wanted, counts_days=time.counts_days)
    of_splits = list(view.scan.over(view.tasks, lambda task: _histogram_of(view, task, time, buckets, by)))
    parts: dict[Any, Counts] = {}
    for _, by_value in of_splits:
        for value, counts in by_value.items():
            parts[value] = parts[value] + counts if value in parts else counts
    total = np.sum([counts for counts, _ in of_splits], axis=0) if of_splits else np.zeros(len(buckets), np.int64)
    return TimeHistogram(buckets, total, parts)


def facet(view: View, column: str) -> Facet:
    """The most frequent values of a column among the rows of a view."""
    counts = value_counts(view, column)
    values, missing = counts.filter(counts["value"].is_valid()), counts.filter(counts["value"].is_null())
    top = values.slice(0, TOP_VALUES)
    pairs = [(value, int(count.as_py())) for value, count in zip(top["value"], top["count"], strict=True)]
    return Facet(column, pairs, sum_of(values["count"].slice(TOP_VALUES)), sum_of(missing["count"]))


def value_counts(view: View, column: str) -> pa.Table:
    """All values of a column among the rows of a view, with their counts, the most frequent first."""
    field = view.schema.field(column)
    if not is_countable(field.type):
        raise ConfigError(
            f"the values of {column!r} cannot be counted: it has type {type_name(field.type)}",
            key="column",
            value=column,
        )
    schema = pa.schema({"value": field.type, "count": pa.int64()})
    parts = list(view.scan.over(view.tasks, lambda task: _counts_of(view, task, field)))
    together = pa.concat_tables([schema.empty_table(), *parts]).group_by("value").aggregate([("count", "sum")])
    together = together.rename_columns(["value", "count"])
    return together.sort_by([("count", "descending"), ("value", "ascending")])


def is_countable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be a facet."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind)
    )


def _ends_of(view: View, task: SplitTask, time: TimeColumn) -> tuple[int | None, int | None]:
    times = times_of(view.open(task), time, view.rows_in(task))
    times = times[times != NULL_TIME]
    return (int(times.min()), int(times.max())) if len(times) else (None, None)


def _histogram_of(
    view: View, task: SplitTask, time: TimeColumn, buckets: Buckets, by: str | None
) -> tuple[Counts, dict[Any, Counts]]:
    rows, reader = view.rows_in(task), view.open(task)
    times = times_of(reader, time, rows)
    inside = buckets.cover(times) & (times != NULL_TIME)
    is_whole = bool(inside.all())
    numbers = buckets.number_of(times if is_whole else times[inside])
    if by is None:
        return np.bincount(numbers, minlength=len(buckets)), {}
    codes, values = codes_of(reader, view.schema.field(by), rows)
    codes = codes if is_whole else codes[inside]
    kinds = len(values) + 1
    table = np.bincount(numbers * kinds + codes, minlength=len(buckets) * kinds).reshape(len(buckets), kinds)
    by_value = dict(zip([*values.to_pylist(), None], table.T, strict=True))
    return table.sum(axis=1), {value: counts for value, counts in by_value.items() if counts.any()}


def _counts_of(view: View, task: SplitTask, field: pa.Field) -> pa.Table:
    """The values and counts of one split; those of a split of which all rows match are kept."""
    rows, reader = view.rows_in(task), view.open(task)
    if rows is not None:
        return _counted(*codes_of(reader, field, rows), field)
    key = *column_identity(reader, field.name), str(field.type)
    return _whole_counts.get(key, lambda: _counted(*codes_of(reader, field, None), field))


def _counted(codes: Counts, values: pa.Array, field: pa.Field) -> pa.Table:
    counts = np.bincount(codes, minlength=len(values) + 1)
    present = np.flatnonzero(counts)
    with_null = pa.concat_arrays([values.cast(field.type), pa.nulls(1, field.type)])
    return pa.table({"value": with_null.take(pa.array(present)), "count": pa.array(counts[present], pa.int64())})


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
