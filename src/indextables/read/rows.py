"""The rows of one split that answer a question: what one task of a scan does.

Searches that every row must satisfy come first: they give row numbers, and only the row groups that hold these are read.
Searches elsewhere in the predicate (under OR or NOT), and those asked for as columns, become true or false for each row.
Without a search, row groups are judged by their own bounds before they are read; if many are left, the index is asked where
the values are that a row must have.
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
from indextables.read.lookup import lookup, lookup_of_few
from indextables.read.scan_spec import Question
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
    reader: SplitReader, question: Question, *, wholly: bool, limit: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of the columns asked for, in the order of the rows; `wholly` if all rows are known to match.

    With a limit, so many rows at most, and not much more is read than they need.
    """
    asked = _Asked.of(reader, replace(question, predicate=_TRUE) if wholly else question)
    left = limit
    for rows in asked.rows(limit):
        wanted = rows.select([*question.columns, *question.searched]).slice(0, left)
        yield from wanted.to_batches()
        if left is not None:
            left -= len(wanted)
            if left <= 0:
                return


def count_matching(reader: SplitReader, question: Question) -> int:
    asked = _Asked.of(reader, replace(question, columns=()))
    if asked.query is not None and asked.rest == _TRUE:
        return reader.count(asked.query)
    return sum(len(rows) for rows in asked.rows())


def aggregate_rows(reader: SplitReader, question: Question, bound: Bound, *, wholly: bool) -> pa.Table:
    """What one split has to say to an aggregation: by its index where a search is all there is, else by its rows."""
    predicate = _TRUE if wholly else question.predicate
    asked = _Asked.of(reader, replace(question, columns=(bound.field,), predicate=predicate))
    if asked.query is not None and asked.rest == _TRUE:
        partial = over_index(bound, asked.query, reader.index)
        if partial is not None:
            return partial
    columns_of = [rows[bound.field] for rows in asked.rows()]
    return over_rows(bound, pa.chunked_array([chunk for c in columns_of for chunk in c.chunks], type=bound.type))


def is_only_a_search(question: Question) -> bool:
    """Whether the index alone decides which rows match."""
    return all(isinstance(term, IndexQuery) for term in terms_of(question.predicate))


def left_by_index(reader: SplitReader, question: Question) -> int | None:
    """How many rows the index leaves to be looked at; None where it cannot tell, or is not at hand."""
    asked = _Asked.of(reader, question)
    query = lookup(reader, asked.rest) if asked.query is None else asked.query
    return None if query is None or not reader.has_index_at_hand else reader.count(query)


def ranked(reader: SplitReader, question: Question, limit: int) -> tuple[pa.Array, pa.Array]:
    """The numbers of the best matches of a question that is only a search, and their scores."""
    asked = _Asked.of(reader, question)
    if asked.query is None:
        raise AssertionError("a question about the best matches has a search")
    return reader.top(asked.query, limit)


def rows_numbered(reader: SplitReader, question: Question, numbers: pa.Array) -> pa.Table:
    """The columns asked for of some rows, whose numbers ascend."""
    return _Asked.of(reader, question).rows_at(numbers).select(list(question.columns))


def best_rows(reader: SplitReader, question: Question, limit: int) -> pa.Table:
    """The best matches of the question's searches among the rows that satisfy all of it, best first, with `_score`.

    The index does not know the rest of the predicate, so more and more candidates are looked at until enough satisfy it.
    """
    asked = _Asked.of(reader, question)
    if asked.query is None:
        raise AssertionError("a question about the best matches has a search")
    wanted = limit
    while True:
        numbers, scores = reader.top(asked.query, wanted)
        order = pc.array_sort_indices(numbers)
        ascending = numbers.take(order)
        rows = asked.kept(asked.rows_at(ascending).append_column(SCORE, scores.take(order)), ascending)
        if len(rows) >= limit or len(numbers) < wanted:
            best = rows.sort_by([(SCORE, "descending")]).slice(0, limit)
            return best.select([*question.columns, SCORE])
        wanted *= _MORE


@dataclass(frozen=True)
class _Asked:
    """A question to one split: the searches that every row must satisfy, as one, and the rest of the predicate."""

    reader: SplitReader
    question: Question
    certain: frozenset[IndexQuery]
    query: Query | None
    rest: Predicate

    @classmethod
    def of(cls, reader: SplitReader, question: Question) -> "_Asked":
        terms = terms_of(question.predicate)
        certain = dict.fromkeys(term for term in terms if isinstance(term, IndexQuery))
        query = all_of([question.queries[term] for term in certain]) if certain else None
        rest = conjunction(*(term for term in terms if not isinstance(term, IndexQuery)))
        return cls(reader, question, frozenset(certain), query, rest)

    def rows(self, limit: int | None = None) -> Iterator[pa.Table]:
        """The rows that match, some at a time; fewer of them at first where only a few are wanted."""
        if self.query is not None:
            return self.found(self.reader.search(self.query), limit)
        groups = self._row_groups()
        known = self._looked_up(groups)
        return self.scanned(groups, limit) if known is None else self.found(known, limit)

    def found(self, numbers: pa.Array, limit: int | None) -> Iterator[pa.Table]:
        """The rows of these numbers (ascending) that satisfy the rest."""
        for some in _growing(numbers, limit):
            yield self.kept(self.rows_at(some), some)

    def scanned(self, row_groups: list[int], limit: int | None) -> Iterator[pa.Table]:
        """The rows of some row groups that satisfy the rest."""
        for groups in _growing(row_groups, None if limit is None else 1):
            numbers, seen = self.reader.row_numbers(groups), 0
            for batch in self.reader.read(self._stored, row_groups=groups):
                rows = self._conformed(pa.Table.from_batches([batch]))
                yield self.kept(rows, numbers.slice(seen, len(rows)))
                seen += batch.num_rows

    def _looked_up(self, groups: list[int]) -> pa.Array | None:
        """The numbers of the few rows that may satisfy the rest, if the index knows them and the row groups are many."""
        query = lookup_of_few(self.reader, self.rest, self._stored, groups) if len(groups) > _FEW_GROUPS else None
        return None if query is None else self.reader.search(query)

    def rows_at(self, numbers: pa.Array) -> pa.Table:
        return self._conformed(self.reader.take(numbers, self._stored))

    def kept(self, rows: pa.Table, numbers: pa.Array) -> pa.Table:
        """Those of the rows, which have these numbers, that satisfy the rest."""
        hits = self._hits(numbers)
        for name, node in self.question.searched.items():
            rows = rows.append_column(pa.field(name, pa.bool_(), nullable=False), hits[node])
        if self.rest == _TRUE:
            return rows
        return rows.filter(pc.fill_null(evaluate(self.rest, rows, index_hits=hits), fill_value=False))

    def _hits(self, numbers: pa.Array) -> dict[IndexQuery, pa.Array]:
        """What each search says of the rows of these numbers, which satisfy those that every row must."""
        elsewhere = {node: pc.is_in(numbers, found) for node, found in self._found_elsewhere.items()}
        return elsewhere | dict.fromkeys(self.certain, pa.repeat(pa.scalar(value=True), len(numbers)))

    @cached_property
    def _found_elsewhere(self) -> dict[IndexQuery, pa.Array]:
        """The rows that the other searches find, each searched for once."""
        nodes = index_queries(conjunction(self.rest, *self.question.searched.values()))
        return {node: self.reader.search(self.question.queries[node]) for node in nodes if node not in self.certain}

    def _row_groups(self) -> list[int]:
        """Those that may hold a row that satisfies the rest."""
        if self.rest == _TRUE:
            return list(range(self.reader.num_row_groups))
        have = [name for name in columns(self.rest) if name in self.reader.schema.names]
        verdicts = judge(self.rest, self.reader.row_group_bounds(have))
        return [number for number, verdict in enumerate(verdicts.to_pylist()) if verdict != Verdict.NEVER]

    @property
    def _stored(self) -> list[str]:
        """The needed columns that this split has; one of them at least, so that rows can be counted."""
        have = self.reader.schema.names
        return [name for name in self.question.needed if name in have] or [have[0]]

    def _conformed(self, rows: pa.Table) -> pa.Table:
        """Rows in the table's columns of today: what the split does not have is null, what has been widened is cast."""
        have = set(rows.schema.names)
        fields = [self.question.schema.field(name) for name in self.question.needed]
        if not fields:
            return rows.select([])
        given = [rows[f.name].cast(f.type) if f.name in have else pa.nulls(len(rows), f.type) for f in fields]
        return pa.table(given, schema=pa.schema(fields))


def _growing(items: Slices, first: int | None) -> Iterator[Slices]:
    """So many items, then twice as many and so on; all at once where no number is given.

    >>> [list(part) for part in _growing([1, 2, 3, 4, 5, 6], 1)]
    [[1], [2, 3], [4, 5, 6]]
    """
    start, size = 0, len(items) if first is None else max(1, first)
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, 2 * size
