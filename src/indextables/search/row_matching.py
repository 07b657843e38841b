"""Searches over the rows of one split: tantivy finds words, columns and their indexes find exact values.

A query is taken apart into the largest parts that have only words, which tantivy evaluates as a whole, and the leaves on
columns with exact values. Rows that a conjunction has ruled out already are not looked at again.

Scores are as if tantivy had all columns: an exact string counts by how rare it is, any other exact condition counts 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
import pyarrow as pa

from indextables.search.exact_values import Mask, matches
from indextables.search.queries import (
    And,
    Boost,
    Leaf,
    MatchAll,
    MatchNone,
    Not,
    Or,
    Prefer,
    Query,
    Term,
    leaves,
)

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Scores = np.ndarray[Any, np.dtype[np.float32]]
Rows = TypeVar("Rows", Numbers, Numbers | None)  # None are all rows
_MORE = 8  # times as many candidates are ranked if too few of them satisfy the other conditions
_K1, _B = np.float32(1.2), np.float32(0.75)  # of BM25, as in tantivy and Lucene


class WordIndex(Protocol):
    """The words of some columns of a split."""

    def covers(self, column: str) -> bool:
        """Whether a column is in the index."""

    def rows(self, query: Query) -> Numbers:
        """The rows that satisfy a query on words, ascending."""

    def count(self, query: Query) -> int: ...

    def mask(self, query: Query, rows: Numbers) -> Mask:
        """Whether each of some rows (ascending) satisfies a query on words."""

    def ranking(self, query: Query, limit: int) -> tuple[Numbers, Scores]:
        """The best rows of a query on words, and their scores; equal scores in the order of the rows."""

    def scores(self, query: Query, rows: Numbers) -> tuple[Mask, Scores]:
        """Whether each of some rows (ascending) satisfies a query on words, and its score if it does."""


class Columns(Protocol):
    """The values of a split."""

    @property
    def num_rows(self) -> int: ...

    def has_column(self, column: str) -> bool:
        """Whether the split has a column; otherwise it is null in all rows."""

    def values(self, column: str, rows: Numbers | None = None) -> pa.Array | pa.ChunkedArray:
        """The values of a column, in some rows (ascending) or in all."""

    def exact_rows(self, leaf: Leaf) -> Numbers | None:
        """The rows that satisfy a query on exact values (ascending), if an index finds them; else None."""

    def null_count(self, column: str) -> int: ...


@dataclass(frozen=True, slots=True)
class SearchedRows:
    """The rows of a split, for a search: by a word index, and by the values of the columns that it does not cover."""

    columns: Columns
    words: WordIndex

    @property
    def num_rows(self) -> int:
        return self.columns.num_rows


def find_rows(query: Query, split: SearchedRows) -> Numbers:
    """The numbers of the rows that satisfy a query, ascending."""
    if has_only_words(query, split):
        return split.words.rows(query)
    if is_leaf(query) and (found := _looked_up(query, split)) is not None:
        return found
    return np.flatnonzero(match_rows(query, split, None))


def count_rows(query: Query, split: SearchedRows) -> int:
    return split.words.count(query) if has_only_words(query, split) else len(find_rows(query, split))


def rank_rows(query: Query, split: SearchedRows, limit: int) -> tuple[Numbers, Scores]:
    """The rows that match best, with their scores, best first; equal scores in the order of the rows."""
    if has_only_words(query, split):
        return split.words.ranking(query, limit)
    if is_leaf(query):
        rows = find_rows(query, split)
        return rows[:limit], np.full(min(limit, len(rows)), _leaf_score(query, split, hits=len(rows)), np.float32)
    conjunction = _Conjunction.of(query, split)
    if conjunction is not None:
        return conjunction.best(split, limit)
    mask, scores = _scores(query, split, None)
    rows = np.flatnonzero(mask)
    best = np.argsort(-scores[rows], kind="stable")[:limit]
    return rows[best], scores[rows[best]]


def score_rows(query: Query, split: SearchedRows, rows: Numbers) -> Scores:
    """The scores of some rows (ascending), which satisfy the query."""
    return _scores(query, split, rows)[1]


def listed_rows(query: Query, split: SearchedRows) -> int:
    """How many rows tantivy lists for a query: each takes its time, and exact values take little."""
    if has_only_words(query, split):
        return split.words.count(query)
    match query:
        case And(terms) | Or(terms):
            return sum(listed_rows(term, split) for term in _grouped(terms, split, type(query)))
        case Not(term) | Prefer(term) | Boost(term):
            return listed_rows(term, split)
        case _:
            return 0


def score_all(query: Query, split: SearchedRows) -> tuple[Mask, Scores]:
    """Whether each row satisfies a query, and its score if it does: the one that `rank_rows` gives it."""
    most = split.words.count(query) if has_only_words(query, split) else split.num_rows
    rows, found = rank_rows(query, split, max(1, most))
    return _spread(rows, found, split)


def has_only_words(query: Query, split: SearchedRows) -> bool:
    """Whether tantivy evaluates the whole query."""
    return all(isinstance(leaf, MatchAll | MatchNone) or split.words.covers(leaf.field) for leaf in leaves(query))


def is_leaf(query: Query) -> TypeGuard[Leaf]:
    """Whether a query has no parts."""
    return not isinstance(query, And | Or | Not | Prefer | Boost)


def _looked_up(leaf: Any, split: SearchedRows) -> Numbers | None:
    if not split.columns.has_column(leaf.field):
        return np.array([], np.int64)
    return split.columns.exact_rows(leaf)


def match_rows(query: Query, split: SearchedRows, rows: Numbers | None) -> Mask:
    """Whether each of some rows (ascending), or of all, satisfies the query."""

    def evaluate(part: Query, rows: Numbers | None) -> Mask | None:
        if has_only_words(part, split):
            return mask_of(split.words.rows(part), split.num_rows) if rows is None else split.words.mask(part, rows)
        return _leaf_mask(part, split, rows) if is_leaf(part) else None

    return evaluate_parts(_group_words(query, split), rows, split.num_rows, evaluate)


def evaluate_parts(query: Query, rows: Rows, num_rows: int, evaluate: Callable[[Query, Rows], Mask | None]) -> Mask:
    """Whether each of some rows (ascending), or of all, satisfies a query.

    `evaluate` decides about a query as a whole, or gives None; then its parts are evaluated and combined. It must decide
    about leaves. A term of a conjunction is evaluated only on the rows that satisfy the terms before it.
    """
    if (whole := evaluate(query, rows)) is not None:
        return whole
    match query:
        case And(terms):
            result = np.ones(num_rows if rows is None else len(rows), np.bool_)
            for term in terms:
                left = None if result.all() else np.flatnonzero(result)
                considered = rows if left is None else (left if rows is None else rows[left])
                if considered is None or len(considered):
                    mask = evaluate_parts(term, considered, num_rows, evaluate)
                    result[slice(None) if left is None else left] = mask
            return result
        case Or(terms):
            masks = [evaluate_parts(term, rows, num_rows, evaluate) for term in terms]
            return np.asarray(np.logical_or.reduce(masks), np.bool_)
        case Not(term):
            return ~evaluate_parts(term, rows, num_rows, evaluate)
        case Prefer(term) | Boost(term):
            return evaluate_parts(term, rows, num_rows, evaluate)
        case _:
            raise AssertionError(f"{query} was not evaluated")


def _group_words(query: Query, split: SearchedRows) -> Query:
    """The same query, in which the terms that have only words come first, as one term, which tantivy evaluates."""
    match query:
        case And(terms) | Or(terms) if not has_only_words(query, split):
            return type(query)(tuple(_group_words(term, split) for term in _grouped(terms, split, type(query))))
        case Not(term):
            return Not(_group_words(term, split))
        case Prefer(term) | Boost(term):
            return _group_words(term, split)
        case _:
            return query


def _grouped(terms: Sequence[Query], split: SearchedRows, combine: type[And] | type[Or]) -> list[Query]:
    """The terms, each once, with those that have only words first, as one query."""
    ordered = sorted(dict.fromkeys(terms), key=lambda term: not has_only_words(term, split))
    grouped: list[Query] = []
    for words, some in groupby(ordered, key=lambda term: has_only_words(term, split)):
        members = tuple(some)
        grouped += [combine(members)] if words and len(members) > 1 else members
    return grouped


def _leaf_mask(leaf: Leaf, split: SearchedRows, rows: Numbers | None) -> Mask:
    found = _looked_up(leaf, split)
    if found is not None:
        mask = mask_of(found, split.num_rows)
        return mask if rows is None else mask[rows]
    return matches(leaf, split.columns.values(leaf.field, rows))  # type: ignore[union-attr]  # a leaf on a column


def mask_of(numbers: Numbers, count: int) -> Mask:
    """Whether each of so many rows has one of these numbers."""
    mask = np.zeros(count, np.bool_)
    mask[numbers] = True
    return mask


@dataclass(frozen=True, slots=True)
class _Conjunction:
    """Words that rank, and conditions that add the same to the score of every row."""

    words: Query
    others: tuple[Query, ...]

    @classmethod
    def of(cls, query: Query, split: SearchedRows) -> "_Conjunction | None":
        if not isinstance(query, And):
            return None
        words, *others = _ranked_terms(query.terms, split)
        ranks = has_only_words(words, split) and not isinstance(words, Not)
        same = all(isinstance(term, Not) or is_leaf(term) for term in others)
        return cls(words, tuple(others)) if ranks and same else None

    def best(self, split: SearchedRows, limit: int) -> tuple[Numbers, Scores]:
        candidates, constant = limit, np.float32(0)
        for term in self.others:
            constant += np.float32(0) if isinstance(term, Not) else _leaf_score(term, split)
        while True:
            rows, scores = split.words.ranking(self.words, candidates)
            order = np.argsort(rows)
            kept = np.zeros(len(rows), np.bool_)
            kept[order] = match_rows(And(self.others), split, rows[order])
            if kept.sum() >= limit or len(rows) < candidates:
                return rows[kept][:limit], scores[kept][:limit] + constant
            candidates *= _MORE


def _ranked_terms(terms: Sequence[Query], split: SearchedRows) -> Sequence[Query]:
    """The terms of a conjunction; those that have only words first, as one query, which tantivy ranks."""
    words = tuple(term for term in terms if has_only_words(term, split))
    if all(isinstance(term, Not) for term in words):
        return terms
    return [And(words) if len(words) > 1 else words[0], *(term for term in terms if not has_only_words(term, split))]


def _scores(  # noqa: PLR0911 - one for each kind
    query: Query, split: SearchedRows, rows: Numbers | None
) -> tuple[Mask, Scores]:
    """Whether each of some rows (ascending), or of all, satisfies the query, and its score if it does."""
    if has_only_words(query, split):
        if rows is not None:
            return split.words.scores(query, rows)
        return _spread(*split.words.ranking(query, max(1, split.num_rows)), split)
    match query:
        case And():
            terms = _ranked_terms(query.terms, split)
            wanted = [_scores(term, split, rows) for term in terms if not isinstance(term, Not)]
            banned = [match_rows(term.term, split, rows) for term in terms if isinstance(term, Not)]
            wanted = wanted or [_constant(split, rows, 1)]
            mask = np.logical_and.reduce([mask for mask, _ in wanted] + [~mask for mask in banned])
            return mask, _summed(wanted)
        case Or(terms):
            parts = [_scores(term, split, rows) for term in terms]
            return np.logical_or.reduce([mask for mask, _ in parts]), _summed(parts)
        case Not(term):
            return ~match_rows(term, split, rows), _constant(split, rows, 1)[1]
        case Prefer(term, should):
            mask, scores = _scores(term, split, rows)
            return mask, _summed([(mask, scores), *(_scores(wish, split, rows) for wish in should)])
        case Boost(term, factor):
            mask, scores = _scores(term, split, rows)
            with np.errstate(over="ignore"):  # of boosts of boosts; infinity is a score as well
                return mask, scores * np.float32(factor)
        case _:
            return _leaf_mask(query, split, rows), _constant(split, rows, _leaf_score(query, split))[1]


def _summed(parts: Sequence[tuple[Mask, Scores]]) -> Scores:
    total = np.zeros(len(parts[0][0]), np.float32)
    for mask, scores in parts:
        total += np.where(mask, scores, np.float32(0))
    return total


def _constant(split: SearchedRows, rows: Numbers | None, score: float | np.float32) -> tuple[Mask, Scores]:
    count = split.num_rows if rows is None else len(rows)
    return np.full(count, fill_value=True), np.full(count, score, np.float32)


def _spread(rows: Numbers, found: Scores, split: SearchedRows) -> tuple[Mask, Scores]:
    """Scores of some rows as those of all rows of a split."""
    mask, scores = np.zeros(split.num_rows, np.bool_), np.zeros(split.num_rows, np.float32)
    mask[rows], scores[rows] = True, found
    return mask, scores


def _leaf_score(leaf: Query, split: SearchedRows, *, hits: int | None = None) -> np.float32:
    """BM25 of a string that is one word of a field of one word; 1 for any other exact condition."""
    if not isinstance(leaf, Term) or not split.columns.has_column(leaf.field):
        return np.float32(1)
    rows = np.float32(split.num_rows)
    found = np.float32(count_rows(leaf, split) if hits is None else hits)
    valid = np.float32(split.num_rows - split.columns.null_count(leaf.field))
    rarity = np.log(np.float32(1) + (rows - found + np.float32(0.5)) / (found + np.float32(0.5)))
    length = rows / max(valid, np.float32(1))  # of one word, relative to the average
    return np.float32(rarity * (1 + _K1) / (1 + _K1 * (1 - _B + _B * length)))
