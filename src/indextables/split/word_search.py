"""Searches in one word index: the rows of a query, their number, and the best of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import tantivy

from indextables.errors import DamagedSplitError
from indextables.search import Query, compile_query
from indextables.search.exact_values import Mask
from indextables.search.index_documents import index_in_memory
from indextables.search.phrases import is_supported
from indextables.search.queries import And, Exists, Leaf, MatchAll, MatchNone, Not, Or, Phrase, Prefer, Term, leaves
from indextables.search.row_matching import Numbers, Scores, evaluate_parts, is_leaf, mask_of
from indextables.search.text_fields import TextColumns, field_name, null_field_name, tantivy_schema
from indextables.split.word_index import explain_row, read_safely

_FEW_HITS = 128  # are returned along with their number
_FEW_ROWS = 256  # are looked up without a count of all hits
_SKIP = 16  # hits are skipped in the time in which one is listed
_LOOKUP = 64  # a row is looked up in the time in which so many hits are listed
_LITTLE_MEMORY = 15_000_000  # bytes; tantivy takes no less


@dataclass(frozen=True, slots=True)
class WordSearch:
    """A word index of the rows of a split, by `columns`; `name` is that of the split, for messages.

    `open` gives the index, and `forget` lets it be made anew where it is damaged on disk. `is_local` tells whether this
    machine has it. `stored_name` gives the name of a column in the index, which has the names of its file.
    """

    name: str
    num_rows: int
    columns: TextColumns
    stored_name: Callable[[str], str]
    open: Callable[[], tantivy.Index]
    forget: Callable[[], None]
    is_local: Callable[[], bool]

    def covers(self, column: str) -> bool:
        return any(name == column for name, _ in self.columns)

    def rows(self, query: Query) -> Numbers:
        """The rows that a query finds, ascending.

        tantivy hands hits over one Python object at a time (measured: 0.35 us each), so it returns the hits or the
        other rows, whichever are fewer.
        """
        if not self.columns:
            return np.arange(self.num_rows if _score_of_all(query) is not None else 0)
        found = self._searched(query, limit=_FEW_HITS, count=True, scored=False)
        hits = int(found.count)  # type: ignore[attr-defined]  # tantivy's stubs have forgotten it
        if hits <= _FEW_HITS:
            return _row_numbers(found)
        if 2 * hits <= self.num_rows:
            return self._rows(query, hits)
        others = np.ones(self.num_rows, np.bool_)
        others[self._rows(Not(query), self.num_rows - hits)] = False
        return np.flatnonzero(others)

    def count(self, query: Query) -> int:
        if not self.columns:
            return self.num_rows if _score_of_all(query) is not None else 0
        found = self._searched(query, limit=1, count=True)
        return int(found.count)  # type: ignore[attr-defined]  # tantivy's stubs have forgotten it

    def ranking(self, query: Query, limit: int) -> tuple[Numbers, Scores]:
        """The best rows and their scores; equal scores in the order of the rows."""
        if not self.columns:
            score, rows = _score_of_all(query), self.rows(query)[:limit]
            return rows, np.full(len(rows), score or 0, np.float32)
        found = self._searched(query, limit=max(1, min(limit, self.num_rows))).hits[:limit]
        rows = np.fromiter((address.doc for _, address in found), np.int64, len(found))
        return rows, np.fromiter((score for score, _ in found), np.float32, len(found))

    def mask(self, query: Query, rows: Numbers) -> Mask:
        """Whether each of some rows (ascending) satisfies a query, in the way that takes the least time."""

        def evaluate(part: Query, rows: Numbers) -> Mask | None:
            if not self._is_looked_up(part, rows):
                return mask_of(self._rows_around(part, rows), self.num_rows)[rows]
            return self._look_up(part, rows) if is_leaf(part) else None

        return evaluate_parts(query, rows, self.num_rows, evaluate)

    def scores(self, query: Query, rows: Numbers) -> tuple[Mask, Scores]:
        """Whether each of some rows (ascending) satisfies a query, and its score if it does."""
        scores = np.zeros(self.num_rows, np.float32)
        if _has_explained_score(query) and self._is_looked_up(query, rows):
            mask = self.mask(query, rows)
            scores[rows[mask]] = self._score_matches(query, rows[mask])
            return mask, scores[rows]
        best, values = self.ranking(query, self.num_rows)
        found = np.zeros(self.num_rows, np.bool_)
        found[best], scores[best] = True, values
        return found[rows], scores[rows]

    def _is_looked_up(self, query: Query, rows: Numbers) -> bool:
        """Whether some rows are looked up one by one, instead of in the list of all hits."""
        if not self.columns or not all(map(_has_postings, leaves(query))):
            return False
        return len(rows) <= _FEW_ROWS or _LOOKUP * len(rows) <= self.count(query)

    def _look_up(self, leaf: Query, rows: Numbers) -> Mask:
        """Whether each of some rows satisfies a leaf."""
        match leaf:
            case MatchAll() | MatchNone():
                return np.full(len(rows), isinstance(leaf, MatchAll))
            case Exists(column) if self.covers(column):
                return ~self._is_null(column, rows)
            case Term(column) | Phrase(column) if self.covers(column):
                return np.array([found is not None for found in self._explain(leaf, rows)], np.bool_)
            case _:
                return np.zeros(len(rows), np.bool_)

    def _is_null(self, column: str, rows: Numbers) -> Mask:
        addresses = [tantivy.DocAddress(0, row) for row in rows.tolist()]
        with read_safely(self.name):
            values = self.open().searcher().fast_field_values(null_field_name(self.stored_name(column)), addresses)
        return np.array([value is not None for value in values], np.bool_)

    def _explain(self, query: Query, rows: Numbers) -> list[tantivy.Explanation | None]:
        """How tantivy scores each of some rows, as `explain_row` does."""
        compiled = compile_query(query, self.columns)
        with read_safely(self.name):
            searcher = self.open().searcher()
            return [explain_row(compiled, searcher, row) for row in rows.tolist()]

    def _score_matches(self, query: Query, rows: Numbers) -> Scores:
        """The scores of rows that are known to satisfy a query."""
        explained = (None if found is None else json.loads(found.to_json()) for found in self._explain(query, rows))
        return np.fromiter((found["value"] if found else 0 for found in explained), np.float32, len(rows))

    def _rows_around(self, query: Query, rows: Numbers) -> Numbers:
        """Rows that a query finds; all of them in the range of some rows (ascending)."""
        if not self.columns or not len(rows):
            return self.rows(query)
        hits, upto, down_to = self.count(query), int(rows[-1]) + 1, self.num_rows - int(rows[0])
        fewest = min(hits, self.num_rows - hits)
        if min(upto, down_to + hits // _SKIP) >= fewest:
            return self.rows(query)
        if upto <= down_to:
            return self._rows(query, upto)
        return self._rows(query, down_to, offset=max(0, hits - down_to))

    def frequent_words(self, column: str, prefix: str, limit: int) -> list[tuple[str, int]]:
        """The words of a column that begin with a prefix and are in most rows, with the number of these rows."""
        if not self.covers(column):
            return []
        with read_safely(self.name):
            field = field_name(self.stored_name(column))
            return list(self.open().searcher().terms_with_prefix(field, prefix, None, limit))

    def _rows(self, query: Query, hits: int, *, offset: int = 0) -> Numbers:
        """So many rows that a query finds, in their order, without the first `offset` of them."""
        if not hits:
            return np.array([], np.int64)
        return _row_numbers(self._searched(query, limit=hits, offset=offset, scored=False))

    def _searched(
        self, query: Query, *, limit: int, offset: int = 0, count: bool = False, scored: bool = True
    ) -> tantivy.SearchResult:
        """The hits of a query. A cached index that is damaged on disk is made again."""
        try:
            return self._found(query, limit=limit, offset=offset, count=count, scored=scored)
        except DamagedSplitError:
            self.forget()
            return self._found(query, limit=limit, offset=offset, count=count, scored=scored)

    def _found(self, query: Query, *, limit: int, offset: int, count: bool, scored: bool) -> tantivy.SearchResult:
        with read_safely(self.name):
            compiled = compile_query(query, self.columns)
            request = compiled if scored else tantivy.Query.const_score_query(compiled, 1.0)
            return self.open().searcher().search(request, limit=limit, offset=offset, count=count)


def _has_postings(leaf: Leaf) -> bool:
    """Whether a row is looked up quickly. A pattern would find its words again for each row."""
    match leaf:
        case Phrase(_, words, slop):
            return is_supported(words, slop)
        case _:
            return isinstance(leaf, MatchAll | MatchNone | Exists | Term)


def _has_explained_score(query: Query) -> bool:
    """Whether tantivy explains the score that it ranks by: not for boosts, and not for what every row matches."""
    match query:
        case And(terms):
            wanted = [term for term in terms if not isinstance(term, Not)]
            return bool(wanted) and all(map(_has_explained_score, wanted))
        case Or(terms):
            return all(map(_has_explained_score, terms))
        case Prefer(term, should):
            return all(map(_has_explained_score, (term, *should)))
        case _:
            return isinstance(query, Term | Phrase)


def _score_of_all(query: Query) -> float | None:
    """The score that every row has under a query without columns; None where it finds no row."""
    index = _single_document()
    hits = index.searcher().search(compile_query(query, ()), limit=1).hits
    return float(hits[0][0]) if hits else None


@cache
def _single_document() -> tantivy.Index:
    """An index without columns, with one row. tantivy evaluates on it what is the same for all rows."""
    return index_in_memory(tantivy_schema(()), ["{}"], memory=_LITTLE_MEMORY)


def _row_numbers(found: tantivy.SearchResult) -> Numbers:
    """The numbers of the rows that were found, ascending."""
    return np.sort(np.fromiter((address.doc for _, address in found.hits), np.int64, len(found.hits)))
