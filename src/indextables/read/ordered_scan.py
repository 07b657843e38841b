"""The rows of a scan in an order of columns: ORDER BY. Without a limit, all of them are sorted in memory.

With a limit, splits are visited in the order of their bounds in the log. As soon as enough rows are found, only rows that
come before the last of them are wanted: a condition that excludes splits by their bounds, and pages by theirs, as any other
condition does. Only the columns of the order and of the predicate are read; the others are read for the rows of the result.

Equal rows are in the order of this visit, and within a split in the order of its rows: pages of a result fit together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import flat
from indextables.log.snapshot import Snapshot
from indextables.log.split_bounds import bounds_of_splits, only_nulls
from indextables.predicate import Bounds, ColumnBounds, Literal, Predicate, Verdict, conjunction, judge
from indextables.read.opener import SplitOpener
from indextables.read.prune import verdicts_of_splits
from indextables.read.scan import Scan, refuse_limit
from indextables.read.scan_plan import ScanPlan, SplitTask
from indextables.read.scan_spec import SCORE, ScanSpec, with_predicate
from indextables.read.sort_order import Order, SortTerm, before, columns_of, sorted_positions
from indextables.read.split_scan import SplitScan, conform, fetch_numbered, search_of
from indextables.search.row_matching import Numbers, Scores
from indextables.split import SplitReader
from indextables.split.fetched_rows import FetchedRows, decode_rows

_ENOUGH = 64  # rows that a search is run on, and
_MORE = 2  # times as many rows as should have enough hits
_STEP = 16  # times as many rows, where these did not
_SPARSE = 64  # the rows of a search that finds fewer than one in so many are read by page
_TRUE = Literal(value=True)
_UNKNOWN, _KNOWN, _LAST = 0, 1, 2  # what the bounds of a split say: it may come first, where it comes, it comes last
_WRITTEN = ("modification_time", "path")
_VISIT = ("rank", "bound", *_WRITTEN)


class OrderedScan(Scan):
    """The rows of a scan in an order, without the first `offset` of them.

    With a limit, only the splits are read that can have one of these rows; without one, all rows are sorted in memory.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        scan_spec: ScanSpec,
        opener: SplitOpener,
        *,
        order: Order,
        offset: int = 0,
        limit: int | None = None,
        parallelism: int = 8,
        options: Mapping[str, str] | None = None,
    ) -> None:
        refuse_limit(offset, key="offset")
        super().__init__(snapshot, scan_spec, opener, limit=limit, parallelism=parallelism, options=options)
        self.order = order
        self.offset = offset

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in their order."""
        if self._limit is None:
            rows = self._sorted().slice(self.offset)
        else:
            scored = SCORE in self.scan_spec.search_results
            rows = top_n(self, self.order, self._limit, offset=self.offset, scored=scored)
        if not len(rows) and not self.offset and self._limit != 0:
            self.warn_of_missed_words()
        return iter(rows.to_batches())

    def _preview(self, tasks: Sequence[SplitTask], most: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002 - all or none
        first = OrderedScan(
            self.snapshot, self.scan_spec, self.opener, order=self.order, offset=self.offset, limit=most
        )
        return first.to_batches()

    def _sorted(self) -> pa.Table:
        names = tuple(dict.fromkeys((*self.scan_spec.columns, *columns_of(self.order))))
        scan = self._in_no_order(replace(self.scan_spec, columns=names))
        parts = scan.rows_of(self.logged(visit_order(self.plan, self.order)))
        rows = pa.Table.from_batches((batch for batches in parts for batch in batches), scan.schema)
        return rows.take(sorted_positions(rows, self.order)).select(self.schema.names)

    def with_columns(self, columns: tuple[str, ...]) -> Scan:
        """A scan of all rows with other output columns, in no order."""
        return self._in_no_order(replace(self.scan_spec, columns=columns, search_results={}))

    def _in_no_order(self, spec: ScanSpec) -> Scan:
        scan = Scan(self.snapshot, spec, self.opener, parallelism=self._parallelism, options=self.options)
        scan.opened_splits = self.opened_splits
        return scan


def top_n(scan: Scan, order: Order, limit: int, *, offset: int = 0, scored: bool = False) -> pa.Table:
    """The rows of a scan in an order, from the row `offset` on, `limit` at most; with `_score` if they are `scored`."""
    visit = _Visit(scan, order, offset + limit)
    return _read(scan, visit.splits, visit.found().slice(offset), scored=scored)


def first_row_numbers(scan: Scan, order: Order, limit: int) -> tuple[list[SplitTask], Numbers, Numbers]:
    """Where the first rows of an order are: the splits in the order of their visit, the split and the number of each row."""
    visit = _Visit(scan, order, limit)
    found = visit.found()
    return visit.splits, found.splits, found.rows


def visit_order(plan: ScanPlan, order: Order) -> list[SplitTask]:
    """The splits that may hold a matching row; those that may hold the first rows of the order come first."""
    verdicts, tasks = plan.split_verdicts, plan.tasks
    return [tasks[position] for position in _visit_positions(verdicts.splits.filter(verdicts.possible), plan, order[0])]


def as_written(plan: ScanPlan) -> list[SplitTask]:
    """The splits that may hold a matching row, in the order in which they were written."""
    keys = plan.split_verdicts.splits.select(_WRITTEN).filter(plan.split_verdicts.possible)
    written = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in _WRITTEN])
    return [plan.tasks[position] for position in written.to_pylist()]


def _visit_positions(splits: pa.Table, plan: ScanPlan, term: SortTerm) -> list[int]:
    bound = _nearest_bounds(splits, plan, term)
    empty = _UNKNOWN if term.nulls_first else _LAST
    rank = pc.if_else(only_nulls(splits, term.column), empty, pc.if_else(bound.is_valid(), _KNOWN, _UNKNOWN))
    keys = pa.table([rank, bound, splits["modification_time"], splits["path"]], names=_VISIT)
    order = [SortTerm(name, descending=name == "bound" and term.descending, nulls_first=True) for name in _VISIT]
    positions: list[int] = sorted_positions(keys, tuple(order)).to_pylist()
    return positions


def _nearest_bounds(splits: pa.Table, plan: ScanPlan, term: SortTerm) -> pa.Array:
    """The value that the first row of each split can have at best; null where it is not known."""
    kind = plan.scan_spec.schema.field(term.column).type
    facts = bounds_of_splits([term.column], splits, plan.snapshot.metadata).facts(term.column)
    bounds = [fact.upper if term.descending else fact.lower for fact in facts if isinstance(fact, ColumnBounds)]
    plain = [flat(bound.cast(kind)) for bound in bounds]
    return pc.coalesce(*reversed(plain)) if plain else pa.nulls(len(splits), kind)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Rows that were found: their values in the columns of the order, the split (by its visit) and the number of each."""

    keys: pa.Table
    splits: Numbers
    rows: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, positions: Numbers) -> "_Found":
        return _Found(self.keys.take(pa.array(positions)), self.splits[positions], self.rows[positions])

    def slice(self, start: int, length: int | None = None) -> "_Found":
        end = None if length is None else start + length
        return _Found(self.keys.slice(start, length), self.splits[start:end], self.rows[start:end])

    def first(self, order: Order, limit: int) -> "_Found":
        return self.take(np.asarray(sorted_positions(self.keys, order, limit)))

    def and_then(self, other: "_Found") -> "_Found":
        keys = pa.concat_tables([self.keys, other.keys])
        return _Found(keys, np.concatenate([self.splits, other.splits]), np.concatenate([self.rows, other.rows]))


class _Visit:
    """A visit of the splits of a scan that finds the first rows of an order."""

    def __init__(self, scan: Scan, order: Order, limit: int) -> None:
        self.scan = scan
        self.order = order
        self.limit = limit
        self.plan = scan.plan
        self.splits = visit_order(scan.plan, order)
        schema = pa.schema([scan.scan_spec.schema.field(name) for name in columns_of(order)])
        self._best = _Found(schema.empty_table(), np.array([], np.int64), np.array([], np.int64))

    def found(self) -> _Found:
        """Twice as many splits are visited each time, and those left out that cannot have a row that is wanted."""
        visits, count = np.arange(len(self.splits) if self.limit else 0), 1
        self.scan.logged([self.splits[visit] for visit in visits])
        while len(visits):
            self._add(visits[:count])
            visits, count = self._left(visits[count:]), 2 * count
        return self._best

    def _add(self, visits: Numbers) -> None:
        parts = self.scan.over([self.splits[visit] for visit in visits], self._first_rows)
        for visit, part in zip(visits, parts, strict=True):
            found = replace(part, splits=np.full(len(part), visit))
            self._best = self._best.and_then(found).first(self.order, self.limit)

    def _left(self, visits: Numbers) -> Numbers:
        wanted = self._wanted
        if wanted == _TRUE or not len(visits):
            return visits
        verdicts, parts = self.plan.split_verdicts, self.plan.split_verdicts.parts
        possible = verdicts_of_splits(judge(wanted, self._bounds), parts, verdicts.splits)
        kept: Numbers = visits[np.asarray(pc.not_equal(possible, int(Verdict.NEVER)))[self._positions[visits]]]
        return kept

    @cached_property
    def _bounds(self) -> Bounds:
        """The bounds of all parts of splits in the columns of the order."""
        return bounds_of_splits(
            columns_of(self.order), self.plan.split_verdicts.parts.table, self.plan.snapshot.metadata
        )

    @cached_property
    def _positions(self) -> Numbers:
        """The position of each visited split among all splits of the table."""
        positions = {path: number for number, path in enumerate(self.plan.split_verdicts.splits["path"].to_pylist())}
        return np.array([positions[task.split.path] for task in self.splits], np.int64)

    @property
    def _wanted(self) -> Predicate:
        """The rows that come before the last of those that are found: splits that are visited later lose a tie."""
        if len(self._best) < self.limit:
            return _TRUE
        return before(self.order, [self._best.keys[name][-1] for name in columns_of(self.order)])

    def _first_rows(self, task: SplitTask) -> _Found:
        """The first rows of a split, of those that are wanted by now."""
        spec = self.scan.scan_spec
        given = _TRUE if task.all_rows_match else spec.predicate
        terms = [term for term in (given, self._wanted) if term != _TRUE]
        spec = with_predicate(replace(spec, columns=columns_of(self.order), search_results={}), conjunction(*terms))
        reader = self.scan.open(task)
        looked_up = None if spec.search is None else self._looked_up(reader, spec)
        return self._ranked(reader, spec, self.limit) if looked_up is None else looked_up

    def _ranked(self, reader: SplitReader, spec: ScanSpec, limit: int) -> _Found:
        parts = list(SplitScan(reader, spec).numbered_rows())
        keys = pa.concat_tables([self._best.keys.slice(0, 0), *(rows.select(spec.columns) for rows, _ in parts)])
        numbers = np.concatenate([self._best.rows[:0], *(numbers for _, numbers in parts)])
        return _Found(keys, numbers, numbers).first(self.order, limit)

    def _looked_up(self, reader: SplitReader, spec: ScanSpec) -> _Found | None:
        """The first rows of a search with many hits: it is run on the first rows; None if that would take longer."""
        listed = reader.listed_rows(search_of(spec), spec.rules)
        enough = _ENOUGH + _MORE * self.limit * reader.num_rows // max(1, listed)
        if enough >= listed or _SPARSE * listed < reader.num_rows:
            return None
        most = _STEP * enough
        candidates = self._ranked(reader, with_predicate(spec, spec.residual), most)
        hits = np.array([], np.int64)
        for start, end in ((0, enough), (enough, most)):
            if len(hits) < self.limit and start < len(candidates):
                hits = np.concatenate([hits, start + _found_among(candidates.rows[start:end], reader, spec)])
        if len(hits) < self.limit and len(candidates) == most:
            return None
        return candidates.take(hits[: self.limit])


def _found_among(rows: Numbers, reader: SplitReader, spec: ScanSpec) -> Numbers:
    """The positions of the rows that the search finds among some, which are in any order."""
    ascending = np.argsort(rows)
    return np.sort(ascending[reader.matches(search_of(spec), rows[ascending], spec.rules)])


def _read(scan: Scan, splits: Sequence[SplitTask], found: _Found, *, scored: bool) -> pa.Table:
    """The output columns of rows that were found, in their order."""
    spec = replace(scan.scan_spec.without_predicate, search_results={})
    schema = spec.output_schema.append(pa.field(SCORE, pa.float32())) if scored else spec.output_schema
    if not len(found) or not schema.names:
        return found.keys.select([]) if not schema.names else schema.empty_table()
    by_split = np.lexsort((found.rows, found.splits))
    visits, starts = np.unique(found.splits[by_split], return_index=True)
    rows_of = dict(zip(visits.tolist(), np.split(found.rows[by_split], starts[1:]), strict=True))
    wanted = {splits[visit].split: rows for visit, rows in rows_of.items()}

    def fetch(task: SplitTask) -> tuple[FetchedRows, Scores | None]:
        reader, rows = scan.open(task), wanted[task.split]
        return fetch_numbered(reader, spec, rows), reader.scores(
            search_of(scan.scan_spec), rows, spec.rules
        ) if scored else None

    fetched = list(scan.over([splits[visit] for visit in rows_of], fetch))
    tables = [conform(rows, spec) for rows in decode_rows([rows for rows, _ in fetched], threads=scan.threads)]
    if scored:
        tables = [
            rows.append_column(SCORE, pa.array(scores)) for rows, (_, scores) in zip(tables, fetched, strict=True)
        ]
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)]).take(
        pa.array(np.argsort(by_split))
    )
