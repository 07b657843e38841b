"""The matching rows of one split: what one task of a scan does.

Searches that every row must satisfy run first: they give row numbers, and only the pages with these rows are read.
Searches elsewhere in the predicate (under OR or NOT), and search flags, become a boolean for each row. Without a search,
exact indexes look up the values that a row must have, or blocks of rows are pruned by the bounds of their pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
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
from indextables.read.index_lookup import is_local, look_up, look_up_few
from indextables.read.scan_spec import ScanSpec
from indextables.search import over_rows
from indextables.search.aggregations import Bound
from indextables.search.exact_values import Mask
from indextables.search.queries import Query
from indextables.search.queries import conjunction as all_of
from indextables.search.row_matching import Numbers, Scores
from indextables.split import SplitReader
from indextables.split.fetched_rows import FetchedRows

SCORE = "_score"
_TRUE = Literal(value=True)
_MORE = 8
_FEW_ROWS = 8192  # as few are read as fast as an index
_MOST = 2  # a part of a split is read by pages if it has at most one row in so many
_FIRST_ROWS = 4096  # with a limit, the rows that are read first


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
    """The partial aggregate of one split, from the values of the matching rows."""
    predicate = _TRUE if all_rows_match else scan_spec.predicate
    split_scan = _SplitScan.of(reader, replace(scan_spec, columns=(bound.field,), predicate=predicate))
    columns_of = [rows[bound.field] for rows in split_scan.rows()]
    return over_rows(bound, pa.chunked_array([chunk for c in columns_of for chunk in c.chunks], type=bound.type))


def is_search_only(scan_spec: ScanSpec) -> bool:
    """Whether the predicate consists of searches, so that the index alone finds the rows."""
    return all(isinstance(term, IndexQuery) for term in terms_of(scan_spec.predicate))


def count_by_index(reader: SplitReader, scan_spec: ScanSpec) -> int | None:
    """How many rows are left after the indexes on this machine were used; None where they cannot be used."""
    split_scan = _SplitScan.of(reader, scan_spec)
    if split_scan.query is not None:
        return reader.count(split_scan.query) if reader.answers_locally(split_scan.query) else None
    found = look_up(reader, split_scan.rest) if is_local(reader, split_scan.rest) else None
    return None if found is None else len(found)


def ranked(reader: SplitReader, scan_spec: ScanSpec, limit: int) -> tuple[Numbers, Scores]:
    """The row numbers of the best matches of a scan that only searches, and their scores."""
    split_scan = _SplitScan.of(reader, scan_spec)
    if split_scan.query is None:
        raise AssertionError("ranking needs a search")
    return reader.top(split_scan.query, limit)


def fetch_numbered(reader: SplitReader, scan_spec: ScanSpec, numbers: pa.ChunkedArray) -> FetchedRows:
    """The pages with the output columns of some rows, whose numbers ascend."""
    return reader.fetch(np.asarray(numbers), _SplitScan.of(reader, scan_spec).stored)


def conform(rows: pa.Table, scan_spec: ScanSpec) -> pa.Table:
    """Rows in the current schema: columns that the split does not have are null, widened ones are cast."""
    have = set(rows.schema.names)
    fields = [scan_spec.schema.field(name) for name in scan_spec.required_columns]
    if not fields:
        return rows.select([])
    arrays = [rows[f.name].cast(f.type) if f.name in have else pa.nulls(len(rows), f.type) for f in fields]
    return pa.table(arrays, schema=pa.schema(fields))


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
        order = np.argsort(numbers)
        ascending = numbers[order]
        ranked_rows = split_scan.rows_at(ascending).append_column(SCORE, pa.array(scores[order], pa.float32()))
        rows = split_scan.kept(ranked_rows, ascending)
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
        candidates = self._candidates()
        return self.scan_all(limit) if candidates is None else self.fetch(candidates, limit)

    def fetch(self, numbers: Numbers, limit: int | None) -> Iterator[pa.Table]:
        """The rows with these numbers (ascending) that satisfy the residual."""
        for some in _growing(numbers, limit):
            yield self.kept(self.rows_at(some), some)

    def scan_all(self, limit: int | None) -> Iterator[pa.Table]:
        """All rows that satisfy the residual; row groups are read as a whole, but for the first rows with a limit."""
        if limit is not None and self.reader.num_rows > _FIRST_ROWS:
            yield from self.fetch(np.arange(self.reader.num_rows), max(limit, _FIRST_ROWS))
            return
        seen = 0
        for batch in self.reader.read(self.stored):
            rows = conform(pa.Table.from_batches([batch]), self.scan_spec)
            yield self.kept(rows, np.arange(seen, seen + len(rows)))
            seen += len(rows)

    def _candidates(self) -> Numbers | None:
        """The rows that may satisfy the residual, by an exact index or by the bounds of pages; None where most may."""
        if self.rest == _TRUE:
            return None
        if is_local(self.reader, self.rest) and (found := self._look_up(self.reader.num_rows)) is not None:
            return found
        blocks = self._blocks_left()
        left = self.reader.num_rows if blocks is None else len(blocks)
        if left > _FEW_ROWS and (found := self._look_up(left)) is not None:
            return found
        return blocks if _MOST * left <= self.reader.num_rows else None

    def _look_up(self, rows: int) -> Numbers | None:
        return look_up_few(self.reader, self.rest, self.stored, rows)

    def _blocks_left(self) -> Numbers | None:
        """The rows of the blocks that may hold a row that satisfies the residual; None for all rows."""
        have = [name for name in columns(self.rest) if name in self.reader.schema.names]
        blocks = self.reader.blocks(have)
        verdicts = judge(self.rest, blocks.bounds).to_pylist()
        kept = [block for block, verdict in enumerate(verdicts) if verdict != Verdict.NEVER]
        return None if len(kept) == len(verdicts) else blocks.rows(kept)

    def rows_at(self, numbers: Numbers) -> pa.Table:
        return conform(self.reader.take(numbers, self.stored), self.scan_spec)

    def kept(self, rows: pa.Table, numbers: Numbers) -> pa.Table:
        """The rows, which have these numbers, filtered by the residual."""
        hits = self._hits(numbers)
        for name, node in self.scan_spec.search_flags.items():
            rows = rows.append_column(pa.field(name, pa.bool_(), nullable=False), hits[node])
        if self.rest == _TRUE:
            return rows
        return rows.filter(pc.fill_null(evaluate(self.rest, rows, index_hits=hits), fill_value=False))

    def _hits(self, numbers: Numbers) -> dict[IndexQuery, pa.Array]:
        """Whether each search finds the rows with these numbers, which satisfy all searches in `certain`."""
        others = {node: pa.array(found[numbers]) for node, found in self._other_hits.items()}
        return others | dict.fromkeys(self.certain, pa.repeat(pa.scalar(value=True), len(numbers)))

    @cached_property
    def _other_hits(self) -> dict[IndexQuery, Mask]:
        """Whether the other searches find each row; each search runs once."""
        nodes = index_queries(conjunction(self.rest, *self.scan_spec.search_flags.values()))
        return {node: self._found(self.scan_spec.queries[node]) for node in nodes if node not in self.certain}

    def _found(self, query: Query) -> Mask:
        found = np.zeros(self.reader.num_rows, np.bool_)
        found[self.reader.search(query)] = True
        return found

    @property
    def stored(self) -> list[str]:
        """The required columns that this split has; at least one column, so that rows can be counted."""
        have = self.reader.schema.names
        return [name for name in self.scan_spec.required_columns if name in have] or [have[0]]


def _growing(numbers: Numbers, first: int | None) -> Iterator[Numbers]:
    """The first `first` numbers, then twice as many and so on; all at once without a number.

    >>> [part.tolist() for part in _growing(np.arange(6), 1)]
    [[0], [1, 2], [3, 4, 5]]
    """
    start, size = 0, len(numbers) if first is None else max(1, first)
    while start < len(numbers):
        yield numbers[start : start + size]
        start, size = start + size, 2 * size
