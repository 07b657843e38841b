"""The matching rows of one split: what one task of a scan does.

Searches that every row must satisfy run first: they give row numbers, and only the row groups with these rows are read.
Searches elsewhere in the predicate (under OR or NOT), and search flags, become a boolean for each row. Without a search,
row groups are pruned by their statistics; if many are left, the index looks up the values that a row must have.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import (
    IndexQuery,
    Literal,
    Predicate,
    Verdict,
    columns,
    conjunction,
    evaluate,
    index_queries,
    judge,
    terms_of,
)
from indextables.read.index_lookup import lookup, lookup_of_few
from indextables.read.scan_spec import ScanSpec
from indextables.search import over_index, over_rows
from indextables.search.aggregations import Bound
from indextables.search.queries import Query
from indextables.search.queries import conjunction as all_of
from indextables.split import SplitReader

SCORE = "_score"
_TRUE = Literal(value=True)
_MORE = 8
_FEW_GROUPS = 2
Slices = TypeVar("Slices", list[int], pa.Array)


def matching_rows(
    reader: SplitReader, scan_spec: ScanSpec, *, all_rows_match: bool, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of the output columns, in the order of the rows; with `all_rows_match`, the predicate is not evaluated.

    With a limit, at most that many rows, and little more is read than they need.
    """
    split_scan = _SplitScan.of(reader, replace(scan_spec, predicate=_TRUE) if all_rows_match else scan_spec)
    left = limit
    for rows in split_scan.rows(limit):
        output = rows.select([*scan_spec.columns, *scan_spec.search_flags]).slice(0, left)
        yield from output.to_batches()
        if left is not None:
            left -= len(output)
            if left <= 0:
                return


def count_matching(reader: SplitReader, scan_spec: ScanSpec) -> int:
    split_scan = _SplitScan.of(reader, replace(scan_spec, columns=()))
    if split_scan.query is not None and split_scan.rest == _TRUE:
        return reader.count(split_scan.query)
    return sum(len(rows) for rows in split_scan.rows())


def aggregate_rows(reader: SplitReader, scan_spec: ScanSpec, bound: Bound, *, all_rows_match: bool) -> pa.Table:
    """The partial aggregate of one split: from its index where the only condition is a search, else from its rows."""
    predicate = _TRUE if all_rows_match else scan_spec.predicate
    split_scan = _SplitScan.of(reader, replace(scan_spec, columns=(bound.field,), predicate=predicate))
    if split_scan.query is not None and split_scan.rest == _TRUE:
        partial = over_index(bound, split_scan.query, reader.index)
        if partial is not None:
            return partial
    columns_of = [rows[bound.field] for rows in split_scan.rows()]
    return over_rows(bound, pa.chunked_array([chunk for c in columns_of for chunk in c.chunks], type=bound.type))


def is_search_only(scan_spec: ScanSpec) -> bool:
    """Whether the predicate consists of searches, so that the index alone finds the rows."""
    return all(isinstance(term, IndexQuery) for term in terms_of(scan_spec.predicate))


def count_by_index(reader: SplitReader, scan_spec: ScanSpec) -> int | None:
    """How many rows are left after the index was used; None where it cannot be used, or is not cached."""
    split_scan = _SplitScan.of(reader, scan_spec)
    query = lookup(reader, split_scan.rest) if split_scan.query is None else split_scan.query
    return None if query is None or not reader.has_cached_index else reader.count(query)


def ranked(reader: SplitReader, scan_spec: ScanSpec, limit: int) -> tuple[pa.Array, pa.Array]:
    """The row numbers of the best matches of a scan that only searches, and their scores."""
    split_scan = _SplitScan.of(reader, scan_spec)
    if split_scan.query is None:
        raise AssertionError("ranking needs a search")
    return reader.top(split_scan.query, limit)


def rows_numbered(reader: SplitReader, scan_spec: ScanSpec, numbers: pa.Array) -> pa.Table:
    """The output columns of some rows, whose numbers ascend."""
    return _SplitScan.of(reader, scan_spec).rows_at(numbers).select(list(scan_spec.columns))


def best_rows(reader: SplitReader, scan_spec: ScanSpec, limit: int) -> pa.Table:
    """The best matches among the rows that satisfy the whole predicate, best first, with `_score`.

    The index ranks by the searches alone, so more and more candidates are read until enough satisfy the residual.
    """
    split_scan = _SplitScan.of(reader, scan_spec)
    if split_scan.query is None:
        raise AssertionError("ranking needs a search")
    candidates = limit
    while True:
        numbers, scores = reader.top(split_scan.query, candidates)
        order = pc.array_sort_indices(numbers)
        ascending = numbers.take(order)
        rows = split_scan.kept(split_scan.rows_at(ascending).append_column(SCORE, scores.take(order)), ascending)
        if len(rows) >= limit or len(numbers) < candidates:
            best = rows.sort_by([(SCORE, "descending")]).slice(0, limit)
            return best.select([*scan_spec.columns, SCORE])
        candidates *= _MORE


@dataclass(frozen=True)
class _SplitScan:
    """A scan of one split: the searches that every row must satisfy as one query, and the residual predicate."""

    reader: SplitReader
    scan_spec: ScanSpec
    certain: frozenset[IndexQuery]
    query: Query | None
    rest: Predicate

    @classmethod
    def of(cls, reader: SplitReader, scan_spec: ScanSpec) -> "_SplitScan":
        terms = terms_of(scan_spec.predicate)
        certain = dict.fromkeys(term for term in terms if isinstance(term, IndexQuery))
        query = all_of([scan_spec.queries[term] for term in certain]) if certain else None
        rest = conjunction(*(term for term in terms if not isinstance(term, IndexQuery)))
        return cls(reader, scan_spec, frozenset(certain), query, rest)

    def rows(self, limit: int | None = None) -> Iterator[pa.Table]:
        """The matching rows in parts; with a limit, the first parts are small."""
        if self.query is not None:
            return self.fetch(self.reader.search(self.query), limit)
        groups = self._row_groups()
        numbers = self._look_up(groups)
        return self.scan_row_groups(groups, limit) if numbers is None else self.fetch(numbers, limit)

    def fetch(self, numbers: pa.Array, limit: int | None) -> Iterator[pa.Table]:
        """The rows with these numbers (ascending) that satisfy the residual."""
        for some in _growing(numbers, limit):
            yield self.kept(self.rows_at(some), some)

    def scan_row_groups(self, row_groups: list[int], limit: int | None) -> Iterator[pa.Table]:
        """The rows of some row groups that satisfy the residual."""
        for groups in _growing(row_groups, None if limit is None else 1):
            numbers, seen = self.reader.row_numbers(groups), 0
            for batch in self.reader.read(self._stored, row_groups=groups):
                rows = self._conform(pa.Table.from_batches([batch]))
                yield self.kept(rows, numbers.slice(seen, len(rows)))
                seen += batch.num_rows

    def _look_up(self, groups: list[int]) -> pa.Array | None:
        """The numbers of the few rows that may satisfy the residual, if the index can find them and row groups are many."""
        query = lookup_of_few(self.reader, self.rest, self._stored, groups) if len(groups) > _FEW_GROUPS else None
        return None if query is None else self.reader.search(query)

    def rows_at(self, numbers: pa.Array) -> pa.Table:
        return self._conform(self.reader.take(numbers, self._stored))

    def kept(self, rows: pa.Table, numbers: pa.Array) -> pa.Table:
        """The rows, which have these numbers, filtered by the residual."""
        hits = self._hits(numbers)
        for name, node in self.scan_spec.search_flags.items():
            rows = rows.append_column(pa.field(name, pa.bool_(), nullable=False), hits[node])
        if self.rest == _TRUE:
            return rows
        return rows.filter(pc.fill_null(evaluate(self.rest, rows, index_hits=hits), fill_value=False))

    def _hits(self, numbers: pa.Array) -> dict[IndexQuery, pa.Array]:
        """Whether each search finds the rows with these numbers, which satisfy all searches in `certain`."""
        others = {node: pc.is_in(numbers, hits) for node, hits in self._other_hits.items()}
        return others | dict.fromkeys(self.certain, pa.repeat(pa.scalar(value=True), len(numbers)))

    @cached_property
    def _other_hits(self) -> dict[IndexQuery, pa.Array]:
        """The row numbers that the other searches find; each search runs once."""
        nodes = index_queries(conjunction(self.rest, *self.scan_spec.search_flags.values()))
        return {node: self.reader.search(self.scan_spec.queries[node]) for node in nodes if node not in self.certain}

    def _row_groups(self) -> list[int]:
        """The row groups that may hold a row that satisfies the residual."""
        if self.rest == _TRUE:
            return list(range(self.reader.num_row_groups))
        have = [name for name in columns(self.rest) if name in self.reader.schema.names]
        verdicts = judge(self.rest, self.reader.row_group_bounds(have))
        return [number for number, verdict in enumerate(verdicts.to_pylist()) if verdict != Verdict.NEVER]

    @property
    def _stored(self) -> list[str]:
        """The required columns that this split has; at least one column, so that rows can be counted."""
        have = self.reader.schema.names
        return [name for name in self.scan_spec.required_columns if name in have] or [have[0]]

    def _conform(self, rows: pa.Table) -> pa.Table:
        """Rows in the current schema: columns that the split does not have are null, widened ones are cast."""
        have = set(rows.schema.names)
        fields = [self.scan_spec.schema.field(name) for name in self.scan_spec.required_columns]
        if not fields:
            return rows.select([])
        arrays = [rows[f.name].cast(f.type) if f.name in have else pa.nulls(len(rows), f.type) for f in fields]
        return pa.table(arrays, schema=pa.schema(fields))


def _growing(items: Slices, first: int | None) -> Iterator[Slices]:
    """The first `first` items, then twice as many and so on; all at once without a number.

    >>> [list(part) for part in _growing([1, 2, 3, 4, 5, 6], 1)]
    [[1], [2, 3], [4, 5, 6]]
    """
    start, size = 0, len(items) if first is None else max(1, first)
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, 2 * size
