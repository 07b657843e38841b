"""A page of the rows of a view: the newest, the oldest, the best, or those around a row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from indextables.read.ordered_scan import as_written, first_row_numbers
from indextables.read.scan_plan import SplitTask
from indextables.read.sort_order import Order, SortTerm
from indextables.read.split_scan import SplitScan, is_search_only, ranked
from indextables.schema import column_named
from indextables.search.row_matching import Numbers
from indextables.serve.time_column import TimeColumn
from indextables.serve.view import View, all_numbers
from indextables.serve.view_state import ColumnSort, Sort

_MORE = 8  # times as many candidates are ranked if too few of them satisfy the other conditions
Keys = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class RowId:
    """Where a row is: the number of its split among those of a view, and its number there."""

    task: int
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Rows in order. `more` says whether there are others after them."""

    ids: list[RowId]
    scores: list[float] | None
    more: bool


def page_of(view: View, sort: Sort | ColumnSort, *, offset: int, size: int) -> Page:
    """The rows from `offset` on, in the order of a sort."""
    wanted = offset + size + 1
    if sort is Sort.SCORE and view.scan.scan_spec.search is not None:
        found = _best(view, wanted)
    elif order := order_of(sort, view.schema, view.time):
        found = _ordered(view, order, wanted)
    else:
        found = _first(view, wanted)
    end = offset + size
    scores = None if found.scores is None else found.scores[offset:end]
    return Page(found.ids[offset:end], scores, len(found.ids) > end)


def order_of(sort: Sort | ColumnSort, schema: pa.Schema, time: TimeColumn | None) -> Order:
    """The order that a sort means, empty without a time column. By time, as in Spark, a null comes before all times."""
    descending = sort is not Sort.OLDEST
    by_time = () if time is None else (SortTerm(time.name, descending=descending, nulls_first=not descending),)
    if isinstance(sort, Sort):
        return by_time
    first = SortTerm(column_named(schema, sort.column), descending=sort.descending, nulls_first=False)
    return (first, *(term for term in by_time if term.column != first.column))


def rows_at(view: View, ids: Sequence[RowId], columns: Sequence[str]) -> pa.Table:
    """The values of some rows, in their order."""
    spec = replace(view.scan.scan_spec.without_predicate, columns=tuple(columns), search_results={})
    if not ids:
        return spec.output_schema.empty_table()
    tasks, rows = np.array([row.task for row in ids]), np.array([row.row for row in ids], np.int64)
    order = np.lexsort((rows, tasks))
    parts = []
    for task in np.unique(tasks):
        numbers = rows[order][tasks[order] == task]
        parts.append(SplitScan(view.open(view.tasks[task]), spec).rows_at(numbers))
    return pa.concat_tables(parts).take(pa.array(np.argsort(order))).select(list(columns))


def _ordered(view: View, order: Order, wanted: int) -> Page:
    splits, visits, rows = first_row_numbers(view.scan, order, wanted)
    places = np.array([view.place_of[task.split.path] for task in splits], np.int64)
    return Page(row_ids(places[visits], rows), None, more=False)


def _first(view: View, wanted: int) -> Page:
    """The first rows as they were written."""
    ids: list[RowId] = []
    for task in as_written(view.scan.plan):
        if len(ids) >= wanted:
            break
        rows = all_numbers(view.rows_in(task), view.open(task))[: wanted - len(ids)]
        ids += [RowId(view.place_of[task.split.path], row) for row in rows.tolist()]
    return Page(ids, None, more=False)


def _best(view: View, wanted: int) -> Page:
    """The rows with the highest scores; equal scores as they were written."""
    tasks = as_written(view.scan.plan)
    parts = list(view.scan.over(tasks, lambda task: _best_of_split(view, task, wanted)))
    scores = np.concatenate([np.array([], np.float32), *(scores for _, scores in parts)])
    rows = np.concatenate([np.array([], np.int64), *(rows for rows, _ in parts)])
    places = [view.place_of[task.split.path] for task in tasks]
    places_of_rows = np.repeat(np.array(places, np.int64), [len(rows) for rows, _ in parts])
    first = np.argsort(-scores, kind="stable")[:wanted]
    return Page(row_ids(places_of_rows[first], rows[first]), scores[first].tolist(), more=False)


def _best_of_split(view: View, task: SplitTask, wanted: int) -> tuple[Numbers, Keys]:
    """The index ranks by the searches alone, so more candidates are ranked until enough satisfy the other conditions."""
    spec, reader = view.scan.scan_spec, view.open(task)
    if is_search_only(spec):
        return ranked(reader, spec, wanted)
    matches = np.zeros(reader.num_rows, np.bool_)
    rows, candidates = view.rows_in(task), wanted
    matches[slice(None) if rows is None else rows] = True
    while True:
        best, scores = ranked(reader, spec, candidates)
        kept = matches[best]
        if kept.sum() >= wanted or len(best) < candidates:
            return best[kept][:wanted], scores[kept][:wanted]
        candidates *= _MORE


def row_ids(tasks: Keys, rows: Numbers) -> list[RowId]:
    return [RowId(task, row) for task, row in zip(tasks.tolist(), rows.tolist(), strict=True)]
