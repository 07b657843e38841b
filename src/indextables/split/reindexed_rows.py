"""The rows of a split, searched by other field rules than it was written under.

How a column is indexed may change after a split was written. Until it is indexed anew (`maintain/reindex.py`), a search
finds there what it would find in a split with the current rules: words of the columns that are `text` now are found by an
index of the column's values, which is built once and cached; exact values are compared.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from indextables.search import FieldRule, Query
from indextables.search.exact_values import Mask
from indextables.search.field_rules import TEXT
from indextables.search.queries import Leaf
from indextables.search.row_matching import Numbers, Scores, SearchedRows
from indextables.search.text_fields import TextColumns
from indextables.split.word_index_builders import WordIndexBuilders
from indextables.split.word_search import WordSearch


@dataclass(frozen=True, slots=True)
class ReindexedRows:
    """The rows of a split with another word index; `SearchedRows` for `search.row_matching`."""

    split: SearchedRows
    words: WordSearch

    @property
    def num_rows(self) -> int:
        return self.split.num_rows

    def has_column(self, column: str) -> bool:
        return self.split.has_column(column)

    def has_words(self, column: str) -> bool:
        return self.words.covers(column)

    def word_rows(self, query: Query) -> Numbers:
        return self.words.rows(query)

    def word_count(self, query: Query) -> int:
        return self.words.count(query)

    def word_mask(self, query: Query, rows: Numbers) -> Mask:
        return self.words.mask(query, rows)

    def word_ranking(self, query: Query, limit: int) -> tuple[Numbers, Scores]:
        return self.words.ranking(query, limit)

    def word_scores(self, query: Query, rows: Numbers) -> tuple[Mask, Scores]:
        return self.words.scores(query, rows)

    def values(self, column: str, rows: Numbers | None = None) -> pa.Array | pa.ChunkedArray:
        return self.split.values(column, rows)

    def exact_rows(self, leaf: Leaf) -> Numbers | None:
        return self.split.exact_rows(leaf)

    def null_count(self, column: str) -> int:
        return self.split.null_count(column)


def build_words(
    directory: Path, batches: Iterable[pa.RecordBatch], columns: TextColumns, *, nbytes: int, name: str
) -> None:
    """Writes the word index of some columns to a directory, as the writer of a split would build it.

    `batches` have these columns, in about so many bytes.
    """
    schema = pa.schema({column: pa.string() for column, _ in columns})
    rules = {column: FieldRule(TEXT, tokenizer) for column, tokenizer in columns}
    with (
        WordIndexBuilders(directory, schema=schema, rules=rules) as builders,
        builders.lease(nbytes) as builder,
    ):
        for batch in batches:
            builder.add(batch)
        for file in builder.finish(name=name):
            shutil.copyfile(file, directory / file.name)
