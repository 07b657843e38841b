"""Reads one split by ranges: the footer, the required columns, and the index for searches."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import tantivy

from indextables.errors import DamagedSplitError, SchemaError, StorageError
from indextables.predicate import Bounds
from indextables.search import FieldRule, Query, compile_query
from indextables.search.queries import Not
from indextables.split.format import TRAILER, Footer, damaged, footer_start, parse_footer
from indextables.split.index import read_safely, unpack
from indextables.split.index_cache import SplitCache
from indextables.split.row_group_bounds import row_group_bounds
from indextables.split.sparse_file import SparseFile
from indextables.storage import Store

_TAIL = 64 * 1024  # bytes to read where the length of the footer is unknown
_WINDOW = 32 * 1024 * 1024  # bytes of row groups that are fetched at a time


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
        self, store: Store, key: str, *, size: int, footer: tuple[int, int] | None = None, cache: SplitCache
    ) -> None:
        self.name = store.name_of(key)
        self._store = store
        self._key = key
        self._size = size
        self._footer_range = footer
        self._cache = cache

    @cached_property
    def footer(self) -> Footer:
        return self._cache.footer(self._identity, self._read_footer)

    def _read_footer(self) -> Footer:
        """Read in one request where its place is known, else with the end of the file."""
        start, end = self._footer_range or (max(0, self._size - _TAIL), self._size)
        tail = self._fetch(start, end)
        begin = footer_start(tail[-TRAILER:].to_pybytes(), size=self._size, name=self.name)
        tail = tail.slice(begin - start) if begin >= start else self._fetch(begin, self._size)
        return parse_footer(tail, size=self._size, name=self.name)

    @cached_property
    def index(self) -> tantivy.Index:
        """The search index, from the cache, or unpacked to it."""
        return self._cache.index(self._index_identity, self._unpack_index, name=self.name)

    @property
    def has_cached_index(self) -> bool:
        """Whether the index is in the cache."""
        return self._cache.has_index(self._index_identity)

    def index_costs_less(self, columns: Sequence[str], row_groups: Sequence[int]) -> bool:
        """Whether the index is cached, or has no more bytes than these columns in these row groups."""
        if self.has_cached_index:
            return True
        stored = self._stored(columns)
        chunks = [chunk for group in row_groups for chunk in self._chunks(group, stored)]
        return self.footer.index.length <= sum(end - start for start, end in chunks)

    @property
    def _index_identity(self) -> tuple[object, ...]:
        return *self._identity, self.footer.index.to_json()

    @property
    def _identity(self) -> tuple[object, ...]:
        return str(self._store.location), self._key, self._size

    @property
    def num_rows(self) -> int:
        return int(self.footer.metadata.num_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        return self.footer.metadata.schema.to_arrow_schema().remove_metadata()

    @property
    def rules(self) -> Mapping[str, FieldRule]:
        """The field rules of its columns."""
        return self.footer.index.fields

    @property
    def num_row_groups(self) -> int:
        return int(self.footer.metadata.num_row_groups)

    def row_numbers(self, groups: Sequence[int]) -> pa.Array:
        """The numbers of the rows in some row groups, which ascend."""
        ranges = [pa.arange(self._first_rows[a], self._first_rows[b] + self._group_rows[b]) for a, b in _runs(groups)]
        return pa.concat_arrays(ranges) if ranges else pa.array([], pa.int64())

    def read(
        self, columns: Sequence[str] | None = None, *, row_groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of some row groups, or of all of them, in the order of the rows."""
        for groups in self._windows(self._wanted(columns), self._all_groups if row_groups is None else row_groups):
            yield from self._load(groups, self._wanted(columns)).to_batches()

    def take(self, rows: pa.Array, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of some numbers, which ascend; only the row groups that hold them are read."""
        wanted, firsts = self._wanted(columns), pa.array(self._first_rows, pa.int64())
        group_of = pc.subtract(pc.search_sorted(firsts, rows, side="right").cast(pa.int64()), 1)
        found = [
            self._take_from(groups, rows.filter(pc.is_in(group_of, pa.array(groups, pa.int64()))), wanted)
            for groups in self._windows(wanted, pc.unique(group_of).to_pylist())
        ]
        return pa.concat_tables(found) if found else self._empty(wanted)

    def search(self, query: Query) -> pa.Array:
        """The numbers of all rows that a query finds, ascending.

        tantivy hands hits over one Python object at a time (measured: 0.35 us each), so it returns the hits or the
        other rows, whichever are fewer.
        """
        hits = self.count(query)
        if 2 * hits <= self.num_rows:
            return self._numbers(query, hits)
        missed = self._numbers(Not(query), self.num_rows - hits)
        rows = pa.arange(0, self.num_rows)
        return rows.filter(pc.invert(pc.is_in(rows, missed)))

    def top(self, query: Query, limit: int) -> tuple[pa.Array, pa.Array]:
        """The numbers of the rows that match best, with their scores, best first; equal scores in the order of the rows."""
        at_most = max(1, min(limit, self.num_rows))
        found = self._searched(query, limit=at_most).hits[:limit]
        scores = pa.array([score for score, _ in found], pa.float32())
        return pa.array([address.doc for _, address in found], pa.int64()), scores

    def count(self, query: Query) -> int:
        found = self._searched(query, limit=1, count=True)
        return int(found.count)  # type: ignore[attr-defined]  # tantivy's stubs have forgotten it

    def row_group_bounds(self, columns: Sequence[str]) -> Bounds:
        """The bounds of some columns in each row group, for `predicate.judge`."""
        known = {name: row_group_bounds(self.footer.metadata, self.schema, name) for name in columns}
        return Bounds(self.footer.metadata.num_row_groups, {name: (fact,) for name, fact in known.items() if fact})

    def _searched(self, query: Query, *, limit: int, count: bool = False, scored: bool = True) -> tantivy.SearchResult:
        """The hits of a query. A cached index that is damaged on disk is unpacked again, with checksums verified."""
        try:
            return self._found(query, limit=limit, count=count, scored=scored)
        except DamagedSplitError:
            self._cache.forget_index(self._index_identity)
            self.__dict__.pop("index", None)
            return self._found(query, limit=limit, count=count, scored=scored)

    def _found(self, query: Query, *, limit: int, count: bool, scored: bool) -> tantivy.SearchResult:
        with read_safely(self.name):
            compiled = compile_query(query, self.index)
            request = compiled if scored else tantivy.Query.const_score_query(compiled, 1.0)
            return self.index.searcher().search(request, limit=limit, count=count)

    def _unpack_index(self, directory: Path) -> None:
        section = self.footer.index
        unpack(section, self._fetch(section.offset, section.end), directory, name=self.name)

    def _numbers(self, query: Query, hits: int) -> pa.Array:
        if not hits:
            return pa.array([], pa.int64())
        found = self._searched(query, limit=hits, scored=False).hits
        rows = pa.array([address.doc for _, address in found], pa.int64())
        return rows.take(pc.array_sort_indices(rows))

    def _take_from(self, groups: Sequence[int], rows: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Rows of these groups, which come back one after the other: each is shifted by what is not there before it."""
        loaded = list(accumulate((self._group_rows[group] for group in groups), initial=0))[:-1]
        shifts = pa.array([self._first_rows[group] - at for group, at in zip(groups, loaded, strict=True)], pa.int64())
        starts = pa.array([self._first_rows[group] for group in groups], pa.int64())
        position = pc.subtract(pc.search_sorted(starts, rows, side="right").cast(pa.int64()), 1)
        return self._load(groups, columns).take(pc.subtract(rows, shifts.take(position)))

    def _wanted(self, columns: Sequence[str] | None) -> Sequence[str]:
        if columns is None:
            return list(self.schema.names)
        missing = [name for name in columns if name not in self.schema.names]
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

    def _load(self, groups: Sequence[int], columns: Sequence[str]) -> pa.Table:
        stored = self._stored(columns)
        ranges = [chunk for group in groups for chunk in self._chunks(group, stored)]
        buffers = self._fetch_all(ranges)
        file = SparseFile([(start, data) for (start, _), data in zip(ranges, buffers, strict=True)], size=self._size)
        try:
            parquet = pq.ParquetFile(
                pa.PythonFile(file, mode="r"),
                metadata=self.footer.metadata,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            # Splits are read side by side already, and a process that ends while a thread of Arrow's lets go of a Python
            # file is aborted.
            return parquet.read_row_groups(groups, columns=list(columns), use_threads=False).select(list(columns))
        except (OSError, ValueError) as error:
            raise damaged(self.name, f"its row groups cannot be read: {error}") from error

    def _empty(self, columns: Sequence[str]) -> pa.Table:
        return pa.schema([self.schema.field(name) for name in columns]).empty_table()

    @cached_property
    def _group_rows(self) -> list[int]:
        metadata = self.footer.metadata
        return [metadata.row_group(group).num_rows for group in self._all_groups]

    @cached_property
    def _first_rows(self) -> list[int]:
        return list(accumulate(self._group_rows, initial=0))[:-1]

    @property
    def _all_groups(self) -> Sequence[int]:
        return range(self.footer.metadata.num_row_groups)

    def _chunks(self, group: int, columns: Sequence[int]) -> list[tuple[int, int]]:
        ranges = self.footer.chunks[group]
        return [ranges[column] for column in columns]

    def _stored(self, columns: Sequence[str]) -> list[int]:
        """The places of some columns in a row group; to pyarrow `a` means the columns `a.b` too, as if nested."""
        return [
            number
            for number, name in enumerate(self.schema.names)
            if any(name == column or name.startswith(f"{column}.") for column in columns)
        ]

    def _fetch(self, start: int, end: int) -> pa.Buffer:
        return self._fetch_all([(start, end)])[0]

    def _fetch_all(self, ranges: Sequence[tuple[int, int]]) -> list[pa.Buffer]:
        if not ranges:
            return []
        try:
            buffers = self._store.read_ranges(self._key, ranges)
        except StorageError:
            if self._store.head(self._key).size == self._size:
                raise
            buffers = []
        if [buffer.size for buffer in buffers] != [end - start for start, end in ranges]:
            raise damaged(self.name, f"it is not {self._size} bytes long; it has been cut or replaced")
        return buffers


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of numbers that follow each other.

    >>> _runs([0, 1, 2, 5, 7, 8])
    [(0, 2), (5, 5), (7, 8)]
    """
    ends = [at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1] + 1]
    starts = [0, *ends] if numbers else []
    return [
        (numbers[start], numbers[end - 1]) for start, end in zip(starts, [*ends, len(numbers)], strict=bool(numbers))
    ]
