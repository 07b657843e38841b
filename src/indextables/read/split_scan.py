"""The matching rows of one split: what one task of a scan does.

Searches that every row must satisfy run first: they give row numbers, and only the pages with these rows are read.
Searches elsewhere in the predicate (under OR or NOT), and search results, become a value for each row. Without a search,
exact indexes look up the values that a row must have, or blocks of rows are pruned by the bounds of their pages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import cast_to, flat
from indextables.predicate import (
    IndexQuery,
    Literal,
    Verdict,
    conjunction,
    evaluate,
    index_queries,
    judge,
)
from indextables.read.index_lookup import look_up, look_up_few
from indextables.read.scan_spec import ADDRESS, ADDRESS_SCHEMA, SCORE, ScanSpec, Score, result_field
from indextables.search import over_rows
from indextables.search.aggregations import Bound
from indextables.search.exact_values import Mask
from indextables.search.queries import Query
from indextables.search.row_matching import Numbers, Scores, mask_of
from indextables.split import SplitReader
from indextables.split.fetched_rows import FetchedRows

_NO_ROWS = np.array([], np.int64)
_ALL = np.array([True])
_TRUE = Literal(value=True)
_MORE = 8
_FEW_ROWS = 8192  # as few are read as fast as an index
_MOST = 2  # a part of a split is read by pages if it has at most one row in so many
_FEW_KEPT = 16  # a condition keeps few rows if it keeps at most one in so many
_FIRST_ROWS = 4096  # with a limit, the rows that are read first


def matching_rows(
    reader: SplitReader, scan_spec: ScanSpec, *, all_rows_match: bool, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of the output columns, in the order of the rows; with `all_rows_match`, the predicate is not evaluated.

    With a limit, at most that many rows, and little more is read than they need.
    """
    split_scan = SplitScan.of(reader, scan_spec, all_rows_match=all_rows_match)
    left = limit
    for rows in split_scan.rows(limit):
        output = split_scan.output(rows).slice(0, left)
        yield from output.to_batches()
        if left is not None:
            left -= len(output)
            if left <= 0:
                return


def count_matching(reader: SplitReader, scan_spec: ScanSpec) -> int:
    if scan_spec.search is not None and scan_spec.residual == _TRUE:
        return _count_hits(reader, scan_spec)
    split_scan = SplitScan(reader, replace(scan_spec, columns=(), search_results={}))
    return sum(len(rows) for rows in split_scan.rows())


def matching_numbers(reader: SplitReader, scan_spec: ScanSpec, *, all_rows_match: bool) -> Numbers:
    """The numbers of the rows that satisfy the predicate, ascending; deleted rows are not among them."""
    numbers_only = replace(scan_spec, columns=(), search_results={})
    split_scan = SplitScan.of(reader, numbers_only, all_rows_match=all_rows_match)
    return np.concatenate([_NO_ROWS, *split_scan.matching_numbers()])


def _count_hits(reader: SplitReader, scan_spec: ScanSpec) -> int:
    search, rules = search_of(scan_spec), scan_spec.rules
    return len(reader.live_among(reader.search(search, rules))) if reader.num_deleted else reader.count(search, rules)


def aggregate_rows(reader: SplitReader, scan_spec: ScanSpec, bound: Bound, *, all_rows_match: bool) -> pa.Table:
    """The partial aggregate of one split, from the values of the matching rows."""
    values_only = replace(scan_spec, columns=(bound.field,), search_results={})
    split_scan = SplitScan.of(reader, values_only, all_rows_match=all_rows_match)
    columns_of = [rows[bound.field] for rows in split_scan.rows()]
    return over_rows(bound, pa.chunked_array([chunk for c in columns_of for chunk in c.chunks], type=bound.type))


def is_search_only(scan_spec: ScanSpec) -> bool:
    """Whether the predicate consists of searches, so that the index alone finds the rows."""
    return scan_spec.residual == _TRUE


def count_by_index(reader: SplitReader, scan_spec: ScanSpec) -> int | None:
    """How many rows are left after the indexes on this machine were used; None where they cannot be used."""
    if scan_spec.search is not None:
        return _count_hits(reader, scan_spec) if reader.answers_locally(scan_spec.search, scan_spec.rules) else None
    found = look_up(reader, scan_spec.point_conditions, usable=reader.has_exact_index)
    return None if found is None else len(reader.live_among(found))


def ranked(reader: SplitReader, scan_spec: ScanSpec, limit: int) -> tuple[Numbers, Scores]:
    """The row numbers of the best matches of a scan that only searches, and their scores."""
    numbers, scores = reader.top(search_of(scan_spec), limit + reader.num_deleted, scan_spec.rules)
    if not reader.num_deleted:
        return numbers, scores
    live = reader.live[numbers]
    return numbers[live][:limit], scores[live][:limit]


def fetch_numbered(reader: SplitReader, scan_spec: ScanSpec, numbers: pa.ChunkedArray | Numbers) -> FetchedRows:
    """The pages with the output columns of some rows, whose numbers ascend."""
    return reader.fetch(np.asarray(numbers), SplitScan(reader, scan_spec).stored)


def conform(rows: pa.Table, scan_spec: ScanSpec) -> pa.Table:
    """Rows in the current schema: columns that the split does not have are null, widened ones are cast."""
    have = set(rows.schema.names)
    fields = [scan_spec.schema.field(name) for name in scan_spec.required_columns]
    if not fields:
        return rows.select([])
    arrays = [cast_to(rows[f.name], f.type) if f.name in have else pa.nulls(len(rows), f.type) for f in fields]
    return pa.table(arrays, schema=pa.schema(fields))


def best_rows(reader: SplitReader, scan_spec: ScanSpec, limit: int) -> pa.Table:
    """The best matches among the rows that satisfy the whole predicate, best first, with `_score`.

    The index ranks by the searches alone, so more and more candidates are read until enough satisfy the residual.
    """
    split_scan, candidates = SplitScan(reader, scan_spec), limit
    while True:
        numbers, scores = reader.top(search_of(scan_spec), candidates, scan_spec.rules)
        order = np.argsort(numbers)
        ascending = numbers[order]
        ranked_rows = split_scan.rows_at(ascending).append_column(SCORE, pa.array(scores[order], pa.float32()))
        rows = split_scan.kept(ranked_rows, ascending)
        if len(rows) >= limit or len(numbers) < candidates:
            best = rows.sort_by([(SCORE, "descending")]).slice(0, limit)
            return best.select([*scan_spec.columns, SCORE])
        candidates *= _MORE


def search_of(scan_spec: ScanSpec) -> Query:
    """The searches of a scan that has some, as one query."""
    if scan_spec.search is None:
        raise AssertionError("ranking needs a search")
    return scan_spec.search


@dataclass(frozen=True)
class SplitScan:
    """A scan of one split."""

    reader: SplitReader
    scan_spec: ScanSpec

    @classmethod
    def of(cls, reader: SplitReader, scan_spec: ScanSpec, *, all_rows_match: bool) -> "SplitScan":
        """With `all_rows_match`, the predicate is not evaluated."""
        return cls(reader, scan_spec.without_predicate if all_rows_match else scan_spec)

    def rows(self, limit: int | None = None) -> Iterator[pa.Table]:
        """The matching rows in parts; with a limit, the first parts are small."""
        numbers = self.numbers()
        return self.scan_all(limit) if numbers is None else self.fetch(numbers, limit)

    def numbers(self) -> Numbers | None:
        """The rows that the searches or the indexes find (ascending), of which the residual selects; None for all."""
        search = self.scan_spec.search
        found = self._candidates() if search is None else self._found_by(search)
        return None if found is None else self.reader.live_among(found)

    def matching_numbers(self) -> Iterator[Numbers]:
        """The numbers of the matching rows, in parts."""
        found, residual = self.numbers(), self.scan_spec.residual
        if residual == _TRUE:
            yield np.flatnonzero(self.reader.live) if found is None else found
        elif found is None:
            yield from (numbers[self.mask(rows, numbers)] for rows, numbers in self._parts(None))
        elif len(found):
            yield found[self.mask(self.rows_at(found), found)]

    def numbered_rows(self) -> Iterator[tuple[pa.Table, Numbers]]:
        """The required columns of the matching rows, and the numbers of these rows, in parts."""
        found = self.numbers()
        parts = [(self.rows_at(found), found)] if found is not None and len(found) else []
        for rows, numbers in self._parts(None) if found is None else parts:
            kept = self.mask(rows, numbers) if self._is_filtered else _ALL
            yield (rows, numbers) if kept.all() else (rows.filter(pa.array(kept)), numbers[kept])

    def output(self, rows: pa.Table) -> pa.Table:
        address = ADDRESS if self.scan_spec.row_address else ()
        return rows.select([*self.scan_spec.columns, *address, *self.scan_spec.search_results])

    def fetch(self, numbers: Numbers, limit: int | None) -> Iterator[pa.Table]:
        """The rows with these numbers (ascending) that satisfy the residual."""
        for some in _growing(numbers, limit):
            yield self.kept(self.rows_at(some), some)

    def scan_all(self, limit: int | None) -> Iterator[pa.Table]:
        """All rows that satisfy the residual; row groups are read as a whole, but for the first rows with a limit."""
        rows, filtered = self.reader.num_rows, [c for c in self.stored if c in self.scan_spec.residual_columns]
        if limit is not None and rows > _FIRST_ROWS:
            return self.fetch(np.flatnonzero(self.reader.live), max(limit, _FIRST_ROWS))
        if filtered and rows > _FEW_ROWS and self.reader.is_cheap(filtered, among=self.stored):
            return self._filter_first()
        return (self.kept(*part) for part in self._parts(None))

    def _parts(self, row_groups: Sequence[int] | None) -> Iterator[tuple[pa.Table, Numbers]]:
        """The required columns of some row groups, or of all, and the row numbers."""
        seen = self.reader.first_rows[row_groups[0]] if row_groups else 0
        for batch in self.reader.read(self.stored, row_groups=row_groups):
            yield conform(pa.Table.from_batches([batch]), self.scan_spec), np.arange(seen, seen + len(batch))
            seen += len(batch)

    def _filter_first(self) -> Iterator[pa.Table]:
        """All rows that satisfy the residual. Its columns are read first, the others by page where it keeps few rows."""
        filters = SplitScan(self.reader, replace(self.scan_spec, columns=(), search_results={}))
        for group, rows in enumerate(self.reader.footer.group_rows):
            found = [numbers[filters.mask(part, numbers)] for part, numbers in filters._parts([group])]
            if _FEW_KEPT * sum(map(len, found)) <= rows:
                yield from self.fetch(np.concatenate(found), None)
            else:
                yield from (self.kept(*part) for part in self._parts([group]))

    def _candidates(self) -> Numbers | None:
        """The rows that may satisfy the residual, by an exact index or by the bounds of pages; None where most may."""
        if self.scan_spec.residual == _TRUE:
            return None
        conditions, rows = self.scan_spec.point_conditions, self.reader.num_rows
        found = look_up_few(self.reader, conditions, usable=self.reader.has_exact_index)
        if found is not None:
            return found
        blocks = self._blocks_left()
        left = rows if blocks is None else len(blocks)
        if left > _FEW_ROWS and conditions:
            costs_less = partial(self.reader.index_costs_less, columns=self.stored, rows=left)
            found = look_up_few(self.reader, conditions, usable=costs_less)
        if found is not None:
            return found
        return blocks if _MOST * left <= rows else None

    def _blocks_left(self) -> Numbers | None:
        """The rows of the blocks that may hold a row that satisfies the residual; None for all rows."""
        have = [name for name in self.scan_spec.residual_columns if name in self.reader.footer.column_numbers]
        blocks = self.reader.blocks(have)
        verdicts = judge(self.scan_spec.residual, blocks.bounds).to_pylist()
        kept = [block for block, verdict in enumerate(verdicts) if verdict != Verdict.NEVER]
        return None if len(kept) == len(verdicts) else blocks.rows(kept)

    def rows_at(self, numbers: Numbers) -> pa.Table:
        return conform(self.reader.take(numbers, self.stored), self.scan_spec)

    def kept(self, rows: pa.Table, numbers: Numbers) -> pa.Table:
        """The rows, which have these numbers, filtered by the residual."""
        if self.scan_spec.search_results:
            rows = self._with_results(rows, numbers)
        if self.scan_spec.row_address:
            rows = self._with_address(rows, numbers)
        if not self._is_filtered:
            return rows
        kept = self.mask(rows, numbers)
        return rows if kept.all() else rows.filter(pa.array(kept))

    def _with_results(self, rows: pa.Table, numbers: Numbers) -> pa.Table:
        hits = self._hits(numbers)
        for name, result in self.scan_spec.search_results.items():
            values = self._score(result, numbers) if isinstance(result, Score) else hits[result]
            rows = rows.append_column(result_field(name, result), values)
        return rows

    def _score(self, score: Score, numbers: Numbers) -> pa.Array:
        """The scores of the rows with these numbers; null where the searches do not find the row."""
        found, scores = self._scores[score]
        return pa.array(scores[numbers], mask=~found[numbers])

    @cached_property
    def _scores(self) -> dict[Score, tuple[Mask, Scores]]:
        """Whether the searches of each score find each row of the split, and its score; they run once."""
        spec = self.scan_spec
        scores = {result for result in spec.search_results.values() if isinstance(result, Score)}
        return {score: self.reader.all_scores(spec.ranking(score), spec.rules) for score in scores}

    def _found_by(self, search: Query) -> Numbers:
        """The rows that the required searches find; a score of them has found them already."""
        spec = self.scan_spec
        ranked_ = [self._scores[score][0] for score in self._scores if {*score.searches} == spec.required_searches]
        return np.flatnonzero(ranked_[0]) if ranked_ else self.reader.search(search, spec.rules)

    @property
    def _is_filtered(self) -> bool:
        """Whether some rows may not satisfy the residual, or may be deleted."""
        return self.scan_spec.residual != _TRUE or self.reader.num_deleted > 0

    def _with_address(self, rows: pa.Table, numbers: Numbers) -> pa.Table:
        path, row = ADDRESS_SCHEMA
        rows = rows.append_column(path, pa.repeat(pa.scalar(self.reader.key), len(numbers)))
        return rows.append_column(row, pa.array(numbers))

    def mask(self, rows: pa.Table, numbers: Numbers) -> Mask:
        """Whether each row, which have these numbers, satisfies the residual and is not deleted."""
        live = self.reader.live_at(numbers) if self.reader.num_deleted else None
        if live is not None and self.scan_spec.residual == _TRUE:
            return live
        satisfied = evaluate(self.scan_spec.residual, rows, index_hits=self._hits(numbers))
        mask: Mask = np.asarray(flat(pc.fill_null(satisfied, fill_value=False)))
        return mask if live is None else mask & live

    def _hits(self, numbers: Numbers) -> dict[IndexQuery, pa.Array]:
        """Whether each search finds the rows with these numbers, which satisfy the required searches."""
        others = {node: pa.array(found[numbers]) for node, found in self._other_hits.items()}
        return others | dict.fromkeys(self.scan_spec.required_searches, pa.repeat(pa.scalar(value=True), len(numbers)))

    @cached_property
    def _other_hits(self) -> dict[IndexQuery, Mask]:
        """Whether the other searches find each row; each search runs once."""
        spec = self.scan_spec
        flags = [result for result in spec.search_results.values() if isinstance(result, IndexQuery)]
        nodes = index_queries(conjunction(spec.residual, *flags))
        others = {node: spec.queries[node] for node in nodes if node not in spec.required_searches}
        reader = self.reader
        return {node: mask_of(reader.search(query, spec.rules), reader.num_rows) for node, query in others.items()}

    @cached_property
    def stored(self) -> list[str]:
        """The required columns that this split has; at least one column, so that rows can be counted."""
        have = self.reader.footer.column_numbers
        return [name for name in self.scan_spec.required_columns if name in have] or [next(iter(have))]


def _growing(numbers: Numbers, first: int | None) -> Iterator[Numbers]:
    """The first `first` numbers, then twice as many and so on; all at once without a number.

    >>> [part.tolist() for part in _growing(np.arange(6), 1)]
    [[0], [1, 2], [3, 4, 5]]
    """
    start, size = 0, len(numbers) if first is None else max(1, first)
    while start < len(numbers):
        yield numbers[start : start + size]
        start, size = start + size, 2 * size
