"""Reads one split by ranges: the footer, the required columns or pages, and the indexes for searches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import tantivy

from indextables.errors import SchemaError
from indextables.kernels import flat
from indextables.search import FieldRule, Query
from indextables.search.exact_values import Mask, matches
from indextables.search.queries import And, Leaf, MatchAll, MatchNone, fields, leaves
from indextables.search.row_matching import (
    Numbers,
    Scores,
    SearchedRows,
    count_rows,
    find_rows,
    has_only_words,
    listed_rows,
    match_rows,
    rank_rows,
    score_all,
    score_rows,
)
from indextables.search.text_fields import TextColumns, has_same_words, text_columns
from indextables.split.block_bounds import Blocks, block_bounds
from indextables.split.deletion_bitmap import RowNumbers
from indextables.split.exact_index import (
    DictionaryIndex,
    ExactIndex,
    HashIndex,
    checked_index,
    equal_values,
    parse_index,
)
from indextables.split.fetched_rows import FetchedRows, decode_rows
from indextables.split.format import TRAILER, Footer, PackedFile, Renamed, damaged, footer_start, parse_tail, tail_start
from indextables.split.index_cache import SplitCache
from indextables.split.split_file import SplitFile
from indextables.split.thrift import MALFORMED
from indextables.split.word_index import build_words, unpack, unpack_to
from indextables.split.word_search import WordSearch
from indextables.storage import Store

_TAIL = 64 * 1024  # bytes to read where the place of the tail is unknown
_WINDOW = 32 * 1024 * 1024  # bytes of row groups that are fetched at a time
_SMALL_COLUMN = 1024 * 1024  # bytes that are read from a local disk as fast as an index
_WORTH_A_REQUEST = 1024 * 1024  # bytes that take longer than another request
_MANY = 8  # a column is read as a whole for more than one row in so many


class SplitReader:
    """The rows and the index of one split.

    >>> import tempfile
    >>> from indextables.config import Config, ReadConfig
    >>> from indextables.search import parse, resolve
    >>> from indextables.split.writer import write_split
    >>> from indextables.storage import open_store
    >>> rows = pa.record_batch({"level": ["INFO", "ERROR", "INFO"], "n": [1, 2, 3]})
    >>> table, cache = tempfile.mkdtemp(), SplitCache.configured(Config(read=ReadConfig(cache_directory=tempfile.mkdtemp())))
    >>> facts = write_split([rows], Path(table, "a.split"), schema=rows.schema, rules=resolve(rows.schema))
    >>> split = SplitReader(open_store(table), "a.split", size=facts.size, footer=facts.footer, cache=cache)
    >>> hits = split.search(parse("level:INFO", schema=split.schema, rules=split.rules))
    >>> split.take(hits, ["n"]).to_pydict()
    {'n': [1, 3]}
    """

    def __init__(
        self,
        store: Store,
        key: str,
        *,
        size: int,
        num_records: int | None = None,
        footer: tuple[int, int] | None = None,
        num_deleted: int = 0,
        deleted: Callable[[], RowNumbers] | None = None,
        renamed: Renamed = (),
        cache: SplitCache,
    ) -> None:
        """What the log says of a split: its size, the number of its rows, and where its tail is; None for unknown.

        Rows are read and found whether they are `deleted` or not; `live` says which are not. Columns `renamed` since
        the split was written have their current names.
        """
        self.name = store.name_of(key)
        self._num_records = num_records
        self._store = store
        self._file = SplitFile(store, key, size=size)
        self._tail_range = footer
        self._renamed = renamed
        self._cache = cache
        self.key = key
        self.num_deleted = num_deleted
        self._deleted = deleted

    @property
    def identity(self) -> tuple[object, ...]:
        """The key of this file in caches: splits are immutable."""
        return self._file.identity

    @cached_property
    def footer(self) -> Footer:
        footer = self._cache.footer(self._file.identity, self._read_footer)
        self._verify_identity(footer)
        self._file.expect(footer.tag, lambda: self._cache.forget_footer(self._file.identity))
        return footer.under_names(self._renamed) if self._renamed else footer

    def _verify_identity(self, footer: Footer) -> None:
        """Refuses a file that is not the one of the log: another one of the same size may be in its place."""
        written_as = footer.index.name
        if written_as not in (None, self.key.rpartition("/")[2]):
            raise damaged(self.name, f"another split, {written_as}, is in its place")
        if self._num_records not in (None, footer.num_rows):
            raise damaged(self.name, f"it has {footer.num_rows} rows where the log says {self._num_records}")

    def _read_footer(self) -> Footer:
        """Read in one request where the place of the tail is known, else with the end of the file."""
        size = self._file.size
        start, end = self._tail_range or (0, 0)
        if end != size or not 0 <= start <= size - TRAILER:  # unknown, or wrong in the log
            start = max(0, size - _TAIL)
        data, tag = self._file.fetch_first(start, size)
        footer = footer_start(data[-TRAILER:].to_pybytes(), size=size, name=self.name)
        if footer < start:
            start, data = footer, self._file.fetch(footer, size)
        tail = tail_start(data.slice(footer - start).to_pybytes(), start=footer, name=self.name)
        data = data.slice(tail - start) if tail >= start else self._file.fetch(tail, size)
        return parse_tail(data.to_pybytes(), size=size, name=self.name, tag=tag)

    @cached_property
    def word_index(self) -> tantivy.Index:
        """The index of words, from the cache, or unpacked to it."""
        return self._cache.index(self._index_identity, self._unpack_words, name=self.name)

    def prewarm(self) -> bool:
        """Brings the index to the cache of this machine: words to disk, exact indexes to disk or memory.

        What an object store has is fetched in one request. Gives whether any of it was missing.
        """
        section = self.footer.index
        is_missing = not (self.has_word_index() and all(map(self.has_exact_index, section.exact)))
        if is_missing and self._file.is_remote:
            self._file.keep(section.offset, section.end)
        if section.word_files:
            _ = self.word_index
        for column in section.exact:
            self.exact_index(column)
        return is_missing

    def exact_index(self, column: str) -> ExactIndex | None:
        """The exact index of a column, if it has one."""
        file = self.footer.index.exact_file(column)
        if file is None:
            return None
        return self._cache.column(self._file_identity(file), lambda: self._read_exact_index(column, file))

    def has_word_index(self) -> bool:
        """Whether the word index is in the cache, or there is none."""
        return not self.footer.index.word_files or self._cache.has_index(self._index_identity)

    def has_exact_index(self, column: str) -> bool:
        """Whether a column has an exact index that is on this machine."""
        file = self.footer.index.exact_file(column)
        return file is not None and (not self._file.is_remote or self._cache.has_column(self._file_identity(file)))

    def answers_locally(self, query: Query, rules: Mapping[str, FieldRule] | None = None) -> bool:
        """Whether this machine can evaluate a query at once: by indexes that it has, or by scans of small local columns."""
        words = self._words_for(query, rules)
        rows = SearchedRows(self, words)
        if isinstance(query, And) and any(has_only_words(term, rows) for term in query.terms):
            return words.is_local()
        on_columns = [leaf for leaf in leaves(query) if not isinstance(leaf, MatchAll | MatchNone)]
        return all(self._is_at_hand(leaf, words) for leaf in on_columns)

    def _is_at_hand(self, leaf: Leaf, words: WordSearch) -> bool:
        column: str = leaf.field  # type: ignore[union-attr]  # a leaf on a column
        if words.covers(column):
            return words.is_local()
        if not self.has_column(column) or self.has_exact_index(column):
            return True
        return not self._file.is_remote and self._bytes([column]) <= _SMALL_COLUMN

    def _bytes(self, columns: Sequence[str]) -> int:
        stored = self._stored(columns)
        return sum(end - start for group in self._all_groups for start, end in self._chunks(group, stored))

    def index_costs_less(self, column: str, columns: Sequence[str], rows: int) -> bool:
        """Whether the exact index of a column is on this machine, or is smaller than so many rows of these columns."""
        file = self.footer.index.exact_file(column)
        if file is None:
            return False
        return self.has_exact_index(column) or file.length * self.num_rows <= rows * self._bytes(columns)

    def is_cheap(self, columns: Sequence[str], *, among: Sequence[str]) -> bool:
        """Whether some columns are a small part of others, so that they are better read first."""
        cost, total = self._bytes(columns), self._bytes(among)
        return 2 * cost <= total and (not self._file.is_remote or total - cost >= _WORTH_A_REQUEST)

    @property
    def _index_identity(self) -> tuple[object, ...]:
        return *self._file.place, self.footer.index_json

    def _file_identity(self, file: PackedFile) -> tuple[object, ...]:
        return *self._file.place, file.name, file.crc32

    @property
    def num_rows(self) -> int:
        return self.footer.num_rows

    @cached_property
    def live(self) -> npt.NDArray[np.bool_]:
        """Whether each row of the split is still in the table: not deleted by its deletion vector."""
        live = np.ones(self.num_rows, np.bool_)
        if self.num_deleted and self._deleted is not None:
            rows = self._deleted()
            if rows[-1] >= self.num_rows:
                raise damaged(
                    self.name, f"its deletion vector has row {rows[-1]}, and the split has {self.num_rows} rows"
                )
            live[rows] = False
        return live

    def live_at(self, rows: Numbers) -> npt.NDArray[np.bool_]:
        """Whether each of some rows, whose numbers ascend, is not deleted; neighbours are not looked up one by one."""
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            return self.live[rows[0] : rows[-1] + 1]
        return self.live[rows]

    def live_among(self, rows: Numbers) -> Numbers:
        """Those of some rows that are not deleted."""
        return rows[self.live_at(rows)] if self.num_deleted else rows

    @property
    def schema(self) -> pa.Schema:
        return self.footer.schema

    @property
    def rules(self) -> Mapping[str, FieldRule]:
        """The field rules of its columns."""
        return self.footer.index.fields

    @property
    def num_row_groups(self) -> int:
        return int(self.footer.metadata.num_row_groups)

    def read(
        self, columns: Sequence[str] | None = None, *, row_groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of some row groups, or of all of them, in the order of the rows."""
        for groups in self._windows(self._wanted(columns), self._all_groups if row_groups is None else row_groups):
            yield from self._load(groups, self._wanted(columns)).to_batches()

    def take(self, rows: pa.Array | Numbers, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of some numbers, which ascend; only the pages that hold them are read."""
        wanted, numbers = self._wanted(columns), np.asarray(rows, np.int64)
        group_of = np.searchsorted(self.first_rows, numbers, side="right") - 1
        windows = self._windows(wanted, np.unique(group_of).tolist())
        parts = [numbers] if len(self.first_rows) == 1 else [numbers[np.isin(group_of, groups)] for groups in windows]
        found = [rows for part in parts if len(part) for rows in decode_rows([self.fetch(part, wanted)])]
        return pa.concat_tables(found) if found else self._schema_of(wanted).empty_table()

    def fetch(self, rows: Numbers, columns: Sequence[str]) -> FetchedRows:
        """The pages that hold some rows, whose numbers ascend, not decoded yet; `decode_rows` makes tables of them."""
        try:
            selections = [self.footer.pages(name).holding(rows) for name in columns]
        except MALFORMED as error:
            raise damaged(self.name, f"its page index cannot be read: {error}") from error
        data = self._file.fetch_joined([part for selection in selections for part in selection.ranges])
        encoded = [self.footer.stored(name) for name in columns if self.footer.has_dictionary(name)]
        return FetchedRows(self.name, self._schema_of(columns), len(rows), selections, data, encoded)

    # A query is parsed with the field rules of the table, which may be others than those of the split by now.

    def search(self, query: Query, rules: Mapping[str, FieldRule] | None = None) -> Numbers:
        """The numbers of all rows that a query finds, ascending; `rules` are those that it was parsed with."""
        return find_rows(query, self._indexed_by(rules, query))

    def top(self, query: Query, limit: int, rules: Mapping[str, FieldRule] | None = None) -> tuple[Numbers, Scores]:
        """The numbers of the rows that match best, with their scores, best first; equal scores in the order of the rows."""
        return rank_rows(query, self._indexed_by(rules, query), limit)

    def all_scores(self, query: Query, rules: Mapping[str, FieldRule] | None = None) -> tuple[Mask, Scores]:
        """Whether a query finds each row of the split, and the score of the row if it does."""
        return score_all(query, self._indexed_by(rules, query))

    def count(self, query: Query, rules: Mapping[str, FieldRule] | None = None) -> int:
        return count_rows(query, self._indexed_by(rules, query))

    def listed_rows(self, query: Query, rules: Mapping[str, FieldRule] | None = None) -> int:
        """How many rows of the word index a search lists, one by one."""
        return listed_rows(query, self._indexed_by(rules, query))

    def matches(self, query: Query, rows: Numbers, rules: Mapping[str, FieldRule] | None = None) -> Mask:
        """Whether a query finds each of some rows, whose numbers ascend."""
        return match_rows(query, self._indexed_by(rules, query), rows)

    def scores(self, query: Query, rows: Numbers, rules: Mapping[str, FieldRule] | None = None) -> Scores:
        """The scores of some rows that a query finds, whose numbers ascend."""
        return score_rows(query, self._indexed_by(rules, query), rows)

    def frequent_words(self, column: str, prefix: str, limit: int) -> list[tuple[str, int]]:
        """The most frequent indexed words of a text column that begin with a prefix; none if the index is not local."""
        return self.words.frequent_words(column, prefix, limit) if self.has_word_index() else []

    def _indexed_by(self, rules: Mapping[str, FieldRule] | None, query: Query) -> SearchedRows:
        return SearchedRows(self, self._words_for(query, rules))

    def _words_for(self, query: Query, rules: Mapping[str, FieldRule] | None) -> WordSearch:
        """The word index for a query: that of the split, unless a column of the query has other words by the rules."""
        searched = fields(query)
        columns = [name for name in self.schema.names if name in searched and name in self.rules]
        if rules is None or all(has_same_words(rules[name], self.rules[name]) for name in columns):
            return self.words
        return self._other_words(text_columns(columns, rules))

    @cached_property
    def words(self) -> WordSearch:
        """Searches in the word index of the split."""
        return WordSearch(
            name=self.name,
            num_rows=self.num_rows,
            columns=self.footer.text_columns,
            stored_name=self.footer.stored,
            open=lambda: self.word_index,
            forget=self._forget_words,
            is_local=self.has_word_index,
        )

    def _forget_words(self) -> None:
        """Lets the word index be unpacked again, with checksums verified."""
        self._cache.forget_index(self._index_identity)
        self.__dict__.pop("word_index", None)

    def _other_words(self, columns: TextColumns) -> WordSearch:
        """An index of the words of some columns, from the cache, or built from their values.

        How a column is indexed may change after the split was written. Until it is indexed anew (`maintain/reindex.py`), a
        search finds here what it would find in a split with the current rules.
        """
        names = [name for name, _ in columns]
        stored = tuple((self.footer.stored(name), tokenizer) for name, tokenizer in columns)
        identity = (*self._file.identity, "words", *stored)

        def build(directory: Path) -> None:
            batches = (batch.rename_columns([name for name, _ in stored]) for batch in self.read(names))
            build_words(directory, batches, stored, nbytes=self._plain_bytes(names), name=self.name)

        return WordSearch(
            name=self.name,
            num_rows=self.num_rows,
            columns=columns,
            stored_name=self.footer.stored,
            open=lambda: self._cache.index(identity, build, name=self.name),
            forget=lambda: self._cache.forget_index(identity),
            is_local=lambda: not columns or self._cache.has_index(identity),
        )

    def _plain_bytes(self, columns: Sequence[str]) -> int:
        groups = [self.footer.metadata.row_group(group) for group in self._all_groups]
        stored = self._stored(columns)
        return sum(group.column(column).total_uncompressed_size for group in groups for column in stored)

    def blocks(self, columns: Sequence[str]) -> Blocks:
        """Blocks of rows with the bounds of some columns, for `predicate.judge`."""
        try:
            return block_bounds(self.footer, columns)
        except MALFORMED as error:
            raise damaged(self.name, f"its page index cannot be read: {error}") from error

    # The columns of the split, for `search.row_matching`.

    def has_column(self, column: str) -> bool:
        return column in self.rules

    def values(self, column: str, rows: Numbers | None = None) -> pa.Array | pa.ChunkedArray:
        """The values of a column, in some rows or in all; texts that repeat come as dictionary arrays."""
        if rows is None or _MANY * len(rows) > self.num_rows:
            identity = (*self._file.identity, "values", self.footer.stored(column))
            whole = self._cache.column(identity, lambda: self.whole_column(column))
            return whole if rows is None else whole.take(pa.array(rows))
        return self.take(rows, [column])[column]

    def exact_rows(self, leaf: Leaf) -> Numbers | None:
        column: str = leaf.field  # type: ignore[union-attr]  # a leaf on a column
        index = self.exact_index(column)
        match index:
            case DictionaryIndex():
                return index.rows_of(leaf)
            case HashIndex():
                wanted = equal_values(leaf, self.schema.field(column).type)
                return None if wanted is None else self._verified(index.candidates(wanted), leaf, column)
            case None:
                return None

    def candidates(self, column: str, values: pa.Array) -> Numbers | None:
        """The rows that may have one of these values, if the column has an exact index; ascending."""
        match index := self.exact_index(column):
            case DictionaryIndex():
                return index.rows_with(values)
            case HashIndex():
                return index.candidates(values)
            case None:
                return None

    def null_count(self, column: str) -> int:
        chunks = [self.footer.metadata.row_group(group) for group in self._all_groups]
        number = self.schema.get_field_index(column)
        facts = [chunk.column(number).statistics for chunk in chunks]
        if all(known is not None and known.has_null_count for known in facts):
            return sum(known.null_count for known in facts)
        return int(self.values(column).null_count)

    def _verified(self, candidates: Numbers, leaf: Leaf, column: str) -> Numbers:
        return candidates[matches(leaf, self.take(candidates, [column])[column])] if len(candidates) else candidates

    def whole_column(self, column: str) -> pa.ChunkedArray:
        """All values of a column, read again each time; texts that repeat come as dictionary arrays."""
        encoded = [column] if self.footer.has_dictionary(column) else []
        parts = [self._load(groups, [column], encoded)[column] for groups in self._windows([column], self._all_groups)]
        return pa.chunked_array([flat(part.unify_dictionaries()) for part in parts])

    def _unpack_words(self, directory: Path) -> None:
        section, files = self.footer.index, self.footer.index.word_files
        start, end = min(file.offset for file in files), max(file.offset + file.length for file in files)
        unpack_to(directory, files, self._file.fetch(section.offset + start, section.offset + end), name=self.name)

    def _read_exact_index(self, column: str, file: PackedFile) -> ExactIndex:
        def fetch() -> pa.Buffer:
            start = self.footer.index.offset + file.offset
            return unpack(file, self._file.fetch(start, start + file.length), name=self.name)

        data = self._cache.file(self._file_identity(file), fetch) if self._file.is_remote else fetch()
        try:
            return checked_index(parse_index(data), self.schema.field(column).type, num_rows=self.num_rows)
        except (pa.ArrowException, OSError, *MALFORMED) as error:
            raise damaged(self.name, f"the file {file.name} of its index cannot be read: {error}") from error

    def _wanted(self, columns: Sequence[str] | None) -> Sequence[str]:
        if columns is None:
            return list(self.schema.names)
        missing = [name for name in columns if name not in self.footer.column_numbers]
        if missing:
            raise SchemaError(f"{self.name} has no column {missing[0]!r}", column=missing[0])
        return columns

    def _windows(self, columns: Sequence[str], groups: Sequence[int]) -> Iterator[list[int]]:
        """Row groups put together so that what is fetched at a time fits into memory."""
        window: list[int] = []
        size, stored = 0, self._stored(columns)
        for group in groups:
            length = sum(end - start for start, end in self._chunks(group, stored))
            if window and size + length > _WINDOW:
                yield window
                window, size = [], 0
            window.append(group)
            size += length
        if window:
            yield window

    def _load(self, groups: Sequence[int], columns: Sequence[str], dictionaries: Sequence[str] = ()) -> pa.Table:
        stored = self._stored(columns)
        ranges = [chunk for group in groups for chunk in self._chunks(group, stored)]
        file = self._file.open(ranges)
        try:
            parquet = pq.ParquetFile(
                file,
                metadata=self.footer.metadata,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[self.footer.stored(name) for name in dictionaries],
            )
            # Splits are read side by side already, and a process that ends while a thread of Arrow's lets go of a Python
            # file is aborted.
            names = [self.footer.stored(name) for name in columns]
            rows = parquet.read_row_groups(groups, columns=names, use_threads=False).select(names)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(self.name, f"its row groups cannot be read: {error}") from error
        if len(rows) != sum(self.footer.group_rows[group] for group in groups):  # page checksums do not cover headers
            raise damaged(self.name, "a row group does not have all of its rows")
        return rows.rename_columns(list(columns)) if self._renamed else rows

    def _schema_of(self, columns: Sequence[str]) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in columns])

    @cached_property
    def first_rows(self) -> list[int]:
        """The first row of each row group."""
        return list(accumulate(self.footer.group_rows, initial=0))[:-1]

    @property
    def _all_groups(self) -> Sequence[int]:
        return range(self.footer.metadata.num_row_groups)

    def _chunks(self, group: int, columns: Sequence[int]) -> list[tuple[int, int]]:
        ranges = self.footer.chunks[group]
        return [ranges[column] for column in columns]

    def _stored(self, columns: Sequence[str]) -> list[int]:
        """The places of some columns in a row group; to pyarrow `a` means the columns `a.b` too, as if nested."""
        footer, numbers = self.footer, self.footer.column_numbers
        wanted = {footer.stored(name) for name in columns}
        nested = [name for name in footer.dotted_columns if not wanted.isdisjoint(_with_parents(footer.stored(name)))]
        return sorted({numbers[name] for name in (*columns, *nested)})


def _with_parents(name: str) -> Iterator[str]:
    """A column, and those that it would be nested in.

    >>> list(_with_parents("a.b.c"))
    ['a', 'a.b', 'a.b.c']
    """
    return accumulate(name.split("."), "{}.{}".format)
