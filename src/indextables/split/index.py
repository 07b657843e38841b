"""The search index of a split: built along with the rows, packed into the file, unpacked and opened.

Its document numbers are row numbers. tantivy numbers documents in the order in which they come, as long as one thread
writes one segment; `IndexBuilder.close` makes sure of it.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import tantivy

from indextables.errors import OversizedSplitError
from indextables.search.field_rules import FieldRule
from indextables.search.index_documents import documents
from indextables.search.index_terms import LONGEST_TEXT, Shape, field_name, ordinals, shape, tantivy_schema, term_texts
from indextables.split.format import IndexSection, PackedFile, damaged

# A limit, not a reservation: tantivy takes memory as it needs it, and starts a second segment where the limit is reached.
# Measured: 260 MB for 1,000,000 log lines. It accepts no more than this.
_MAX_MEMORY = 4_293_000_000
_SAMPLES = 32
_WORTH_PACKING = 0.9


class IndexBuilder:
    def __init__(self, directory: Path, *, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> None:
        with _disk_errors():
            self._index = tantivy.Index(tantivy_schema(schema, rules), path=str(directory))
            self._writer = self._index.writer(_MAX_MEMORY, num_threads=1)
        self._rules = rules
        self._rows = 0
        self._samples: dict[int, pa.RecordBatch] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        middle = batch.num_rows // 2
        self._samples[self._rows + middle] = batch.take(pa.array([middle]))
        self._rows += batch.num_rows
        with _disk_errors():
            for document in documents(batch, self._rules):
                self._writer.add_json(document)

    def close(self, *, name: str) -> None:
        """Writes the index out, and checks that it numbers the rows as they came."""
        with _disk_errors():
            self._writer.commit()
            self._writer.wait_merging_threads()
        self._index.reload()
        searcher = self._index.searcher()
        if searcher.num_segments != 1:
            raise OversizedSplitError(
                f"the {self._rows} rows of {name} need more memory than one search index may take; "
                "write fewer rows to each split",
                path=name,
                rows=self._rows,
            )
        if searcher.num_docs != self._rows or not all(self._is_in_place(searcher)):
            raise damaged(name, "its index does not number the rows in the order in which they were written")

    def _is_in_place(self, searcher: tantivy.Searcher) -> Iterator[bool]:
        """Whether rows from all over the split are found under their numbers."""
        every = max(1, len(self._samples) // _SAMPLES)
        rows = list(self._samples)[::every]
        addresses = [tantivy.DocAddress(0, row) for row in rows]
        table = pa.Table.from_batches([self._samples[row] for row in rows])
        for name, column in zip(table.column_names, table.columns, strict=True):
            match shape(column.type, self._rules[name]):
                case Shape.ORDINAL:
                    expected = ordinals(column.combine_chunks()).to_pylist()
                    yield searcher.fast_field_values(field_name(name), addresses) == expected
                case Shape.TERM:
                    terms = term_texts(column.combine_chunks()).to_pylist()
                    yield from self._have_terms(searcher, field_name(name), zip(addresses, terms, strict=True))
                case Shape.WORDS | Shape.NOTHING:
                    pass

    def _have_terms(
        self, searcher: tantivy.Searcher, field: str, expected: Iterable[tuple[tantivy.DocAddress, str | None]]
    ) -> Iterator[bool]:
        for address, term in expected:
            if term is not None and len(term.encode()) <= LONGEST_TEXT:
                query = tantivy.Query.term_query(self._index.schema, field, term, index_option="basic")
                yield _matches(query, searcher, address)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Within it, tantivy's write errors become OSErrors; tantivy raises ValueError for everything."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:  # Arrow's errors are ValueErrors too, and mean something else
            raise
        raise OSError(f"the search index could not be written: {error}") from error


def _matches(query: tantivy.Query, searcher: tantivy.Searcher, address: tantivy.DocAddress) -> bool:
    try:
        query.explain(searcher, address)
    except ValueError:  # tantivy raises it if the document does not match
        return False
    return True


def pack(directory: Path, sink: pa.NativeFile, *, rules: Mapping[str, FieldRule]) -> IndexSection:
    """Appends the files of an index to the sink; returns their positions."""
    start = sink.tell()
    files = [
        _pack(path, sink, start) for path in sorted(directory.iterdir()) if not path.name.startswith(".")
    ]  # tantivy's own files that begin with a dot are locks, and a list for its writer
    return IndexSection(offset=start, length=sink.tell() - start, files=tuple(files), fields=dict(rules))


def _pack(path: Path, sink: pa.NativeFile, start: int) -> PackedFile:
    plain = pa.py_buffer(path.read_bytes())
    packed = pa.compress(plain, codec="zstd")
    smaller = packed.size < plain.size * _WORTH_PACKING
    data, codec = (packed, "zstd") if smaller else (plain, "none")
    offset = sink.tell() - start
    sink.write(data)
    return PackedFile(path.name, offset, data.size, zlib.crc32(data), size=plain.size, codec=codec)


def unpack(section: IndexSection, data: pa.Buffer, directory: Path, *, name: str) -> None:
    """Writes the files of an index section to a directory, each checked."""
    if data.size != section.length:
        raise damaged(name, "it ends within its index section")
    for file in section.files:
        packed = data.slice(file.offset, file.length)
        if zlib.crc32(packed) != file.crc32:
            raise damaged(name, f"the file {file.name} of its index does not have the checksum that was written")
        (directory / file.name).write_bytes(_unpack(packed, file, name))


def _unpack(packed: pa.Buffer, file: PackedFile, name: str) -> pa.Buffer:
    match file.codec:
        case "none":
            return packed
        case "zstd":
            return _decompress(packed, file, name)
        case _:
            raise damaged(name, f"the file {file.name} of its index is packed by {file.codec!r}, which is not known")


def _decompress(packed: pa.Buffer, file: PackedFile, name: str) -> pa.Buffer:
    try:
        plain = pa.decompress(packed, decompressed_size=file.size, codec="zstd")
    except (OSError, ValueError) as error:
        raise damaged(name, f"the file {file.name} of its index cannot be unpacked: {error}") from error
    return plain


def open_index(directory: Path, *, name: str) -> tantivy.Index:
    """An index whose files are all open, so that they may be removed from the disk."""
    try:
        with read_safely(name):
            index = tantivy.Index.open(str(directory))
            index.config_reader(reload_policy="manual")
            index.searcher()
    except ValueError as error:
        raise damaged(name, f"its index cannot be opened: {error}") from error
    return index


_CORRUPTION_ERRORS = ("An IO error occurred", "Data corrupted")


@contextmanager
def read_safely(name: str) -> Iterator[None]:
    """Inside, files that make no sense to tantivy are damage. It panics, which is no Exception and has no name to catch."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException" or str(error).startswith(_CORRUPTION_ERRORS):
            raise damaged(name, f"its index cannot be read: {error}") from None
        raise
