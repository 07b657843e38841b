"""The check of the word index of one column against its rows."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import tantivy

from indextables.search.analysis import too_long, words
from indextables.search.queries import And, Exists, Not, Phrase, Query, Term
from indextables.search.row_matching import Numbers
from indextables.search.text_fields import field_name
from indextables.split import SplitReader
from indextables.split.word_index import read_safely

_SAMPLED_WORDS = 16
_VERIFIED_HITS = 64
_PHRASE = 4  # words of a phrase
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class WordCheck:
    """`rows` are those whose words are looked up; with `all_rows`, the words of all rows are counted too."""

    reader: SplitReader
    column: str
    values: pa.ChunkedArray
    rows: Numbers
    all_rows: bool

    def problems(self) -> Iterator[str]:
        with read_safely(self.reader.name):
            searcher = self.reader.word_index.searcher()
            if (searcher.num_docs, searcher.num_segments) != (len(self.values), 1):
                yield f"the index has {searcher.num_docs} documents for {len(self.values)} rows"
                return
            yield from self._nulls()
            yield from self._rows_by_words()
            yield from self._words_by_rows(searcher)
            if self.all_rows:
                yield from self._counts(searcher)

    def indexed_words(self) -> pa.Array:
        """The distinct words of the column in the index."""
        with read_safely(self.reader.name):
            return pa.array(list(self._frequencies(self.reader.word_index.searcher())), pa.string())

    @property
    def _tokenizer(self) -> str:
        return self.reader.rules[self.column].tokenizer or "default"

    def _words(self, text: str | None) -> list[str]:
        """The words of a text that are in the index."""
        if text is None:
            return []
        if not too_long(text, self._tokenizer):
            return words(text, self._tokenizer)
        found = (words(part, self._tokenizer) for part in _parts(text, too_long(text, self._tokenizer)))
        return [word for some in found for word in some]

    def _frequencies(self, searcher: tantivy.Searcher) -> dict[str, int]:
        """In how many rows each word is, as the index says."""
        return dict(
            searcher.terms_with_prefix(
                field_name(self.reader.footer.stored(self.column)), "", tantivy.Query.all_query()
            )
        )

    def _nulls(self) -> Iterator[str]:
        found = self.reader.words.rows(Not(Exists(self.column)))
        if not np.array_equal(found, np.flatnonzero(self.values.is_null().to_numpy())):
            yield "the index has other rows as null"

    def _rows_by_words(self) -> Iterator[str]:
        """Sampled rows must be found by all of their words, and by a phrase of them."""
        texts = self.values.take(pa.array(self.rows)).to_pylist()
        wrong = [
            row
            for row, text in zip(self.rows.tolist(), texts, strict=True)
            if not all(self.reader.words.mask(query, np.array([row]))[0] for query in self._queries(text))
        ]
        if wrong:
            yield f"{len(wrong)} of {len(texts)} rows that were looked up are not found by their words: {_some(wrong)}"

    def _queries(self, text: str | None) -> Iterator[Query]:
        found = self._words(text)
        if found:
            yield And(tuple(Term(self.column, word) for word in dict.fromkeys(found)))
        if text is not None and len(found) > 1 and not too_long(text, self._tokenizer):
            yield Phrase(self.column, tuple(found[:_PHRASE]))

    def _words_by_rows(self, searcher: tantivy.Searcher) -> Iterator[str]:
        """Rows that sampled words find must have these words."""
        known = list(self._frequencies(searcher))
        for word in random.sample(known, min(_SAMPLED_WORDS, len(known))):
            hits = self.reader.words.rows(Term(self.column, word))[:_VERIFIED_HITS]
            texts = self.values.take(pa.array(hits)).to_pylist()
            wrong = [row for row, text in zip(hits.tolist(), texts, strict=True) if word not in self._words(text)]
            if wrong:
                yield f"{word!r} finds rows that do not have it: {_some(wrong)}"

    def _counts(self, searcher: tantivy.Searcher) -> Iterator[str]:
        """Every word must be in as many rows as the index says."""
        expected = Counter[str]()
        for chunk in self.values.chunks:
            for text in chunk.to_pylist():
                expected.update(set(self._words(text)))
        found = self._frequencies(searcher)
        wrong = [word for word in expected.keys() | found.keys() if expected[word] != found.get(word, 0)]
        if wrong:
            yield f"{len(wrong)} words are in other numbers of rows than the index says: {_some(sorted(wrong))}"


def _parts(text: str, without: Sequence[str]) -> list[str]:
    """The pieces of a text between words that are not in the index, the longest of which go first."""
    parts = [text]
    for word in sorted(set(without), key=len, reverse=True):
        parts = [piece for part in parts for piece in part.split(word)]
    return parts


def _some(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:_SHOWN])) + (", ..." if len(values) > _SHOWN else "")
