"""A page of the rows of a view: the newest, the oldest, the best, or those around a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indextables.read.scan_plan import SplitTask
from indextables.read.split_scan import SplitScan
from indextables.search.row_matching import Numbers
from indextables.serve.split_columns import NULL_TIME, times_of
from indextables.serve.view import View, all_numbers
from indextables.serve.view_state import Sort

_MORE = 8  # times as many candidates are ranked if too few of them satisfy the other conditions
_LATEST = np.iinfo(np.int64).max
Keys = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class RowId:
    """Where a row is: the number of its split among those of a view, and its number there."""

    task: int
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Rows in order. `more` says whether there are others after them; `opened` are the splits that were looked into."""

    ids: list[RowId]
    scores: list[float] | None
    more: bool
    opened: list[SplitTask]


def page_of(view: View, sort: Sort, *, offset: int, size: int) -> Page:
    """The rows from `offset` on, in the order of a sort."""
    wanted = offset + size + 1
    if sort is Sort.SCORE and view.scan.scan_spec.search is not None:
        found = _best(view, wanted)
    elif view.time is None:
        found = _first(view, wanted)
    else:
        found = by_time(view, wanted, _TimeOrder(ascending=sort is Sort.OLDEST))
    end = offset + size
    scores = None if found.scores is None else found.scores[offset:end]
    return Page(found.ids[offset:end], scores, len(found.ids) > end, found.opened)


def rows_at(view: View, ids: Sequence[RowId], columns: Sequence[str]) -> pa.Table:
    """The values of some rows, in their order."""
    spec = replace(view.scan.scan_spec.without_predicate, columns=tuple(columns), search_results={})
    if not ids:
        return spec.output_schema.empty_table()
    tasks, rows = np.array([row.task for row in ids]), np.array([row.row for row in ids], np.int64)
    order = np.lexsort((rows, tasks))
    parts = []
    for task in np.unique(tasks):
        view.check()
        numbers = rows[order][tasks[order] == task]
        parts.append(SplitScan(view.open(view.tasks[task]), spec).rows_at(numbers))
    return pa.concat_tables(parts).take(pa.array(np.argsort(order))).select(list(columns))


def neighbours(view: View, row: RowId, n: int) -> tuple[list[RowId], list[RowId]]:
    """The rows before and after a row by time; those of equal time, and all where there is no time, as in the table."""
    time = time_of(view, row)
    if time == NULL_TIME:
        live = view.open(view.tasks[row.task]).live.nonzero()[0]
        place = int(live.searchsorted(row.row))
        around = live[max(0, place - n) : place], live[place + 1 : place + 1 + n]
        before, after = ([RowId(row.task, number) for number in rows.tolist()] for rows in around)
        return before, after
    later = by_time(view, n, _TimeOrder(ascending=True), beyond=(time, row))
    earlier = by_time(view, n, _TimeOrder(ascending=False, ties_reversed=True), beyond=(time, row))
    return earlier.ids[::-1], later.ids


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


def by_time(view: View, wanted: int, order: _TimeOrder, beyond: tuple[int, RowId] | None = None) -> Page:
    """The first rows in the order of time; a null comes before all times.

    Splits are looked into in the order of their bounds, until no other one can have an earlier row. With `beyond`, a row and
    its time, only the rows after it count.
    """
    bounds = _first_keys(view, ascending=order.ascending)
    keys, tasks, rows = (np.array([], np.int64) for _ in range(3))
    opened: list[SplitTask] = []
    for position in np.argsort(bounds, kind="stable").tolist():
        if len(keys) >= wanted and keys[wanted - 1] < bounds[position]:
            break
        opened.append(view.tasks[position])
        found_keys, found_rows = _first_of_split(view, position, wanted, order, beyond)
        keys = np.concatenate([keys, found_keys])
        tasks = np.concatenate([tasks, np.full(len(found_rows), position)])
        rows = np.concatenate([rows, found_rows])
        kept = order.merged(keys, tasks, rows)[:wanted]
        keys, tasks, rows = keys[kept], tasks[kept], rows[kept]
    return Page(_ids(tasks, rows), None, more=False, opened=opened)


def time_of(view: View, row: RowId) -> int:
    """The time of a row as a number; NULL_TIME if it has none."""
    if view.time is None:
        return NULL_TIME
    return int(times_of(view.open(view.tasks[row.task]), view.time, np.array([row.row]))[0])


def _first_keys(view: View, *, ascending: bool) -> Keys:
    """The least key that a row of each split can have. Keys ascend: they are times, or how far times are from the end."""
    if ascending:
        known = zip(view.time_bound("min"), view.may_have_null_times(), strict=True)
        return np.array([NULL_TIME if nulls or bound is None else bound for bound, nulls in known], np.int64)
    return np.array([NULL_TIME if bound is None else ~bound for bound in view.time_bound("max")], np.int64)


def _first_of_split(
    view: View, position: int, wanted: int, order: _TimeOrder, beyond: tuple[int, RowId] | None
) -> tuple[Keys, Numbers]:
    """The keys and numbers of the first rows of a split, in order."""
    task = view.tasks[position]
    rows = view.rows_in(task)
    if view.time is None:
        raise AssertionError("a view without time is not in the order of time")
    keys = order.key(times_of(view.open(task), view.time, rows))
    if beyond is not None:
        numbers = all_numbers(rows, view.open(task))
        kept = order.is_beyond(keys, numbers, position, beyond)
        keys, rows = keys[kept], numbers[kept]
    first = order.first(keys, wanted)
    return keys[first], first if rows is None else rows[first]


def _least(keys: Keys, count: int) -> Numbers:
    """The places of the least keys, in order; equal keys in the order of the rows."""
    last = np.partition(keys, count - 1)[count - 1] if count < len(keys) else _LATEST
    places = np.flatnonzero(keys <= last)
    return places[np.argsort(keys[places], kind="stable")[:count]]


def _first(view: View, wanted: int) -> Page:
    """The first rows in the order of the table."""
    ids: list[RowId] = []
    opened: list[SplitTask] = []
    for position, task in enumerate(view.tasks):
        if len(ids) >= wanted:
            break
        opened.append(task)
        rows = all_numbers(view.rows_in(task), view.open(task))[: wanted - len(ids)]
        ids += [RowId(position, row) for row in rows.tolist()]
    return Page(ids, None, more=False, opened=opened)


def _best(view: View, wanted: int) -> Page:
    """The rows with the highest scores; equal scores in the order of the table."""
    parts = list(view.scan.over(view.tasks, lambda task: _best_of_split(view, task, wanted)))
    scores = np.concatenate([np.array([], np.float32), *(scores for _, scores in parts)])
    rows = np.concatenate([np.array([], np.int64), *(rows for rows, _ in parts)])
    tasks = np.repeat(np.arange(len(parts)), [len(rows) for rows, _ in parts])
    first = np.argsort(-scores, kind="stable")[:wanted]
    return Page(_ids(tasks[first], rows[first]), scores[first].tolist(), more=False, opened=view.tasks)


def _best_of_split(view: View, task: SplitTask, wanted: int) -> tuple[Numbers, Keys]:
    """The index ranks by the searches alone, so more candidates are ranked until enough satisfy the other conditions."""
    spec, reader = view.scan.scan_spec, view.open(task)
    search, rows, candidates = spec.search, view.rows_in(task), wanted
    if search is None:
        raise AssertionError("a ranking needs a search")
    matches = np.zeros(reader.num_rows, np.bool_)
    matches[slice(None) if rows is None else rows] = True
    while True:
        ranked, scores = reader.top(search, candidates, spec.rules)
        kept = matches[ranked]
        if kept.sum() >= wanted or len(ranked) < candidates:
            return ranked[kept][:wanted], scores[kept][:wanted]
        candidates *= _MORE


def _ids(tasks: Keys, rows: Numbers) -> list[RowId]:
    return [RowId(task, row) for task, row in zip(tasks.tolist(), rows.tolist(), strict=True)]
