"""The rows before and after a row, by time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from indextables.search.row_matching import Numbers
from indextables.serve.split_columns import NULL_TIME, times_of
from indextables.serve.view import View, all_numbers
from indextables.serve.view_rows import RowId, row_ids

_LATEST = np.iinfo(np.int64).max
Keys = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _TimeOrder:
    """Rows of equal time are in the order of the table, or in the opposite order."""

    ascending: bool
    ties_reversed: bool = False

    def key(self, times: Any) -> Any:
        """Numbers that ascend in this order; ~t is -t - 1, which cannot overflow."""
        return times if self.ascending else ~times

    def first(self, keys: Keys, count: int) -> Numbers:
        """The places of the first rows."""
        if self.ties_reversed:
            return len(keys) - 1 - _least(keys[::-1], count)
        return _least(keys, count)

    def merged(self, keys: Keys, tasks: Keys, rows: Numbers) -> Numbers:
        return np.lexsort((-rows, -tasks, keys) if self.ties_reversed else (rows, tasks, keys))

    def is_beyond(self, keys: Keys, rows: Numbers, position: int, row: tuple[int, RowId]) -> Keys:
        """Whether rows of a split come after a row, whose time is given."""
        time, place = row
        sign = -1 if self.ties_reversed else 1
        further = sign * (rows - place.row if position == place.task else np.full(len(rows), position - place.task))
        key = self.key(time)
        return np.asarray((keys > key) | ((keys == key) & (further > 0)))


def neighbours(view: View, row: RowId, n: int) -> tuple[list[RowId], list[RowId]]:
    """The rows before and after a row by time; those of equal time, and all where there is no time, as in the table."""
    time = time_of(view, row)
    if time == NULL_TIME:
        live = view.open(view.tasks[row.task]).live.nonzero()[0]
        place = int(live.searchsorted(row.row))
        around = live[max(0, place - n) : place], live[place + 1 : place + 1 + n]
        before, after = ([RowId(row.task, number) for number in rows.tolist()] for rows in around)
        return before, after
    later = _beyond(view, n, _TimeOrder(ascending=True), (time, row))
    earlier = _beyond(view, n, _TimeOrder(ascending=False, ties_reversed=True), (time, row))
    return earlier[::-1], later


def _beyond(view: View, wanted: int, order: _TimeOrder, row: tuple[int, RowId]) -> list[RowId]:
    """The first rows after a row, whose time is given, in an order of time.

    Splits are looked into in the order of their bounds, until no other one can have an earlier row.
    """
    bounds, reachable = _first_keys(view, ascending=order.ascending), _may_be_beyond(view, row[0], order)
    keys, tasks, rows = (np.array([], np.int64) for _ in range(3))
    for position in np.argsort(bounds, kind="stable").tolist():
        if not reachable[position]:
            continue
        if len(keys) >= wanted and keys[wanted - 1] < bounds[position]:
            break
        found_keys, found_rows = _beyond_in_split(view, position, wanted, order, row)
        keys = np.concatenate([keys, found_keys])
        tasks = np.concatenate([tasks, np.full(len(found_rows), position)])
        rows = np.concatenate([rows, found_rows])
        kept = order.merged(keys, tasks, rows)[:wanted]
        keys, tasks, rows = keys[kept], tasks[kept], rows[kept]
    return row_ids(tasks, rows)


def time_of(view: View, row: RowId) -> int:
    """The time of a row as a number; NULL_TIME if it has none."""
    if view.time is None:
        return NULL_TIME
    return int(times_of(view.open(view.tasks[row.task]), view.time, np.array([row.row]))[0])


def _first_keys(view: View, *, ascending: bool) -> Keys:
    """The least key that a row of each split can have. Keys ascend: they are times, or how far times are from the end."""
    bounds = pc.fill_null(view.time_bound("min" if ascending else "max"), NULL_TIME if ascending else _LATEST)
    if not ascending:
        return ~np.asarray(bounds)
    return np.asarray(pc.if_else(view.may_have_null_times(), NULL_TIME, bounds))


def _may_be_beyond(view: View, time: int, order: _TimeOrder) -> Keys:
    """Whether each split may hold a row after a time in an order; a row without a time comes first, or last."""
    if order.ascending:
        later = pc.greater_equal(view.time_bound("max"), time)
        return np.asarray(pc.fill_null(later, fill_value=True))
    earlier = pc.or_(pc.less_equal(view.time_bound("min"), time), view.may_have_null_times())
    return np.asarray(pc.fill_null(earlier, fill_value=True))


def _beyond_in_split(
    view: View, position: int, wanted: int, order: _TimeOrder, row: tuple[int, RowId]
) -> tuple[Keys, Numbers]:
    """The keys and numbers of the first rows of a split after a row, in order."""
    if view.time is None:
        raise AssertionError("a view without time is not in the order of time")
    task = view.tasks[position]
    reader, rows = view.open(task), view.rows_in(task)
    keys, numbers = order.key(times_of(reader, view.time, rows)), all_numbers(rows, reader)
    kept = np.flatnonzero(order.is_beyond(keys, numbers, position, row))
    first = kept[order.first(keys[kept], wanted)]
    return keys[first], numbers[first]


def _least(keys: Keys, count: int) -> Numbers:
    """The places of the least keys, in order; equal keys in the order of the rows."""
    last = np.partition(keys, count - 1)[count - 1] if count < len(keys) else _LATEST
    places = np.flatnonzero(keys <= last)
    return places[np.argsort(keys[places], kind="stable")[:count]]
