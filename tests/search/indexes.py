"""Tables in memory with the indexes of a split, and the rows that a query finds there."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import tantivy

from indextables.search import FieldRule, Query, documents, tantivy_schema
from indextables.search.exact_values import matches
from indextables.search.queries import Leaf
from indextables.search.row_matching import Numbers, SearchedRows, find_rows, rank_rows
from indextables.search.text_fields import Shape, shape, text_columns
from indextables.split.exact_index import (
    DictionaryIndex,
    ExactIndex,
    Kind,
    build,
    equal_values,
    is_hashable,
    parse_index,
)
from indextables.split.word_search import WordSearch


@dataclass(frozen=True)
class MemorySplit:
    """The rows of a split: words in tantivy, exact values in columns and exact indexes of one kind."""

    table: pa.Table
    rules: Mapping[str, FieldRule]
    words: tantivy.Index
    exact: Mapping[str, ExactIndex]

    @property
    def num_rows(self) -> int:
        return self.table.num_rows

    def has_column(self, column: str) -> bool:
        return column in self.table.schema.names

    @cached_property
    def rows(self) -> SearchedRows:
        words = WordSearch(
            name="in memory",
            num_rows=self.num_rows,
            columns=text_columns(self.table.schema.names, self.rules),
            stored_name=lambda column: column,
            open=lambda: self.words,
            forget=lambda: None,
            is_local=lambda: True,
        )
        return SearchedRows(self, words)

    def values(self, column: str, rows: Numbers | None = None) -> pa.ChunkedArray:
        return self.table[column] if rows is None else self.table[column].take(pa.array(rows))

    def exact_rows(self, leaf: Leaf) -> Numbers | None:
        index = self.exact.get(leaf.field)  # type: ignore[union-attr]
        if index is None:
            return None
        if isinstance(index, DictionaryIndex):
            return index.rows_of(leaf)
        wanted = equal_values(leaf, self.table.schema.field(leaf.field).type)  # type: ignore[union-attr]
        if wanted is None:
            return None
        candidates = index.candidates(wanted)
        return candidates[matches(leaf, self.values(leaf.field, candidates))]  # type: ignore[union-attr]

    def null_count(self, column: str) -> int:
        return self.table[column].null_count


def index_of(table: pa.Table, rules: Mapping[str, FieldRule], kind: Kind = Kind.NONE) -> MemorySplit:
    """An index of one segment, in which the document is the row; exact columns have indexes of a kind."""
    index = tantivy.Index(tantivy_schema(text_columns(table.schema.names, rules)))
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    for batch in table.to_batches():
        for line in documents(batch, rules):
            writer.add_json(line)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    assert index.searcher().num_segments <= 1
    exact = {name: _built(table[name], kind) for name in table.schema.names if shape(rules[name]) is Shape.EXACT}
    return MemorySplit(table, rules, index, {name: found for name, found in exact.items() if found is not None})


def _built(column: pa.ChunkedArray, kind: Kind) -> ExactIndex | None:
    fitting = Kind.DICTIONARY if kind is Kind.HASH and not is_hashable(column.type) else kind
    index = build(column, fitting)
    return None if index is None else parse_index(index.to_bytes())


def found(query: Query, index: MemorySplit) -> list[int]:
    rows: list[int] = find_rows(query, index.rows).tolist()
    return rows


def scored(query: Query, index: MemorySplit) -> list[tuple[int, float]]:
    rows, scores = rank_rows(query, index.rows, max(1, index.num_rows))
    return sorted(zip(rows.tolist(), scores.tolist(), strict=True))
