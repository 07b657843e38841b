"""The word index of a split: built by tantivy along with the rows, packed into the file, unpacked and opened.

Its document numbers are row numbers. tantivy numbers documents in the order in which they come, as long as one thread
writes one segment; `WordIndexBuilder.close` makes sure of it. A task reuses its builders from split to split, one for each
split that is built at the same time.
"""

import os
import shutil
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from types import TracebackType
from typing import Self

import pyarrow as pa
import tantivy

from indextables.errors import OversizedSplitError
from indextables.search.analysis import too_long, words
from indextables.search.field_rules import TEXT, FieldRule
from indextables.search.index_documents import documents
from indextables.search.text_fields import TextColumns, field_name, tantivy_schema, text_columns
from indextables.split.format import PackedFile, damaged
from indextables.storage.local import TEMPORARY

# A limit, not a reservation: tantivy takes memory as it needs it, and starts a second segment where the limit is reached.
# Measured: 260 MB for 1,000,000 log lines. It accepts no more than this.
_MAX_MEMORY = 4_293_000_000
_SAMPLES = 32
_WORDS = 16  # of each sample
_WORTH_PACKING = 0.9
_NO_MATCH = ("does not match'", "does not exist'")  # ends of tantivy's messages
_CORRUPTION_ERRORS = ("An IO error occurred", "Data corrupted")
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - Linux's disk in memory; a directory of our own is made in it
_INDEX_PER_BYTE = 16  # more than any index takes for a byte of its rows
_SPARE_MEMORY = 16 * 1024 * 1024
_LARGE = 32 * 1024 * 1024  # bytes of rows


class WordIndexBuilder:
    """Builds one index after the other in a directory. A new tantivy writer would take longer than a few hundred rows."""

    def __init__(self, directory: Path, *, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> None:
        self.directory = directory
        self._columns = text_columns(schema.names, rules)
        with _disk_errors():
            self._index = tantivy.Index(tantivy_schema(self._columns), path=str(directory))
            self._writer = self._index.writer(_MAX_MEMORY, num_threads=1)
        self._rules = rules
        self._rows = 0
        self._samples: dict[int, pa.RecordBatch] = {}

    def start(self) -> None:
        """Begins an index without any row."""
        with _disk_errors():
            self._writer.delete_all_documents()
        self._rows, self._samples = 0, {}

    def add(self, batch: pa.RecordBatch) -> None:
        middle = batch.num_rows // 2
        self._samples[self._rows + middle] = batch.slice(middle, 1)
        self._rows += batch.num_rows
        with _disk_errors():
            for document in documents(batch.select([name for name, _ in self._columns]), self._rules):
                self._writer.add_json(document)

    def finish(self, *, name: str) -> list[Path]:
        """Writes the index, checks that it numbers the rows as they came, and gives its files."""
        with _disk_errors():
            self._writer.commit()
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
        # tantivy's own files that begin with a dot are locks, and a list for its writer
        return sorted(path for path in self.directory.iterdir() if not path.name.startswith("."))

    def terms(self, column: str) -> pa.Array:
        """The distinct words of a column in the index that was finished last."""
        every = tantivy.Query.all_query()
        counts = self._index.searcher().terms_with_prefix(field_name(column), "", every)
        return pa.array([word for word, _ in counts], pa.string())

    def close(self) -> None:
        """Ends the threads of the writer."""
        with _disk_errors():
            self._writer.wait_merging_threads()

    def _is_in_place(self, searcher: tantivy.Searcher) -> Iterator[bool]:
        """Whether rows from all over the split are found under their numbers."""
        every = max(1, len(self._samples) // _SAMPLES)
        for row in list(self._samples)[::every]:
            for column, tokenizer in self._columns:
                for word in _words(self._samples[row][column][0].as_py(), tokenizer):
                    query = tantivy.Query.term_query(self._index.schema, field_name(column), word, index_option="basic")
                    yield explain_row(query, searcher, row) is not None


def _words(text: str | None, tokenizer: str) -> list[str]:
    """Words of a text that are in the index: some, as the first alone may be the same in all rows."""
    if text is None or too_long(text, tokenizer):
        return []
    return list(islice(dict.fromkeys(words(text, tokenizer)), _WORDS))


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Within it, tantivy's write errors become OSErrors; tantivy raises ValueError for everything."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:  # Arrow's errors are ValueErrors too, and mean something else
            raise
        raise OSError(f"the search index could not be written: {error}") from error


def explain_row(query: tantivy.Query, searcher: tantivy.Searcher, row: int) -> tantivy.Explanation | None:
    """How tantivy scores a row; None if the row does not match.

    Only for a query that is one word or one phrase does an explanation mean that the row matches. For others, tantivy
    explains some rows before the first match as well: it seeks backwards, which exclusions do not support.
    """
    try:
        return query.explain(searcher, tantivy.DocAddress(0, row))
    except ValueError as error:
        if not str(error).endswith(_NO_MATCH):
            raise
        return None


class WordIndexBuilders:
    """Builders for the splits of one table. At the end of the `with` block, their threads and files are gone."""

    def __init__(self, scratch: Path, *, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> None:
        self._scratch = scratch
        self._schema = schema
        self._rules = rules
        self._idle: dict[Path, list[WordIndexBuilder]] = defaultdict(list)
        self._all: list[WordIndexBuilder] = []
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for builder in self._all:
            try:
                builder.close()
            finally:
                _delete(builder.directory)

    @contextmanager
    def lease(self, nbytes: int) -> Iterator[WordIndexBuilder]:
        """A builder for a split with rows of so many bytes. After a failure it is not used again."""
        place = _place(nbytes, otherwise=self._scratch)
        with self._lock:
            builder = self._idle[place].pop() if self._idle[place] else self._create(place)
        builder.start()
        yield builder
        with self._lock:
            self._idle[place].append(builder)

    def _create(self, place: Path) -> WordIndexBuilder:
        directory = Path(mkdtemp(prefix=TEMPORARY, dir=place))
        try:
            builder = WordIndexBuilder(directory, schema=self._schema, rules=self._rules)
        except BaseException:
            _delete(directory)
            raise
        self._all.append(builder)
        return builder


def _place(nbytes: int, *, otherwise: Path) -> Path:
    """Where the index of a split is built: in memory, unless it is large.

    tantivy flushes its files to disk, which took 100 of the 115 ms that a split of 100 rows needs.
    """
    if nbytes > _LARGE or not os.access(_MEMORY_DISK, os.W_OK):
        return otherwise
    needed = _INDEX_PER_BYTE * nbytes + _SPARE_MEMORY
    return _MEMORY_DISK if shutil.disk_usage(_MEMORY_DISK).free > needed else otherwise


def _delete(directory: Path) -> None:
    """Deletes a directory. tantivy's last thread may still create a lock file while it is deleted: try again."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


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


def pack(name: str, plain: pa.Buffer, sink: pa.NativeFile, start: int) -> PackedFile:
    """Appends a file of an index section, which begins at `start`, to the sink."""
    packed = pa.compress(plain, codec="zstd")
    smaller = packed.size < plain.size * _WORTH_PACKING
    data, codec = (packed, "zstd") if smaller else (plain, "none")
    offset = sink.tell() - start
    sink.write(data)
    return PackedFile(name, offset, data.size, zlib.crc32(data), size=plain.size, codec=codec)


def unpack(file: PackedFile, packed: pa.Buffer, *, name: str) -> pa.Buffer:
    """The contents of a file, from its bytes in the section; verified."""
    if packed.size != file.length:
        raise damaged(name, "it ends within its index section")
    if zlib.crc32(packed) != file.crc32:
        raise damaged(name, f"the file {file.name} of its index does not have the checksum that was written")
    match file.codec:
        case "none":
            return packed
        case "zstd":
            try:
                return pa.decompress(packed, decompressed_size=file.size, codec="zstd")
            except (OSError, ValueError) as error:
                raise damaged(name, f"the file {file.name} of its index cannot be unpacked: {error}") from error
        case _:
            raise damaged(name, f"the file {file.name} of its index is packed by {file.codec!r}, which is not known")


def unpack_to(directory: Path, files: Sequence[PackedFile], data: pa.Buffer, *, name: str) -> None:
    """Writes files of an index section to a directory, from the bytes from the first to the last; verified."""
    start = min(file.offset for file in files)
    for file in files:
        packed = data.slice(file.offset - start, file.length)
        (directory / file.name).write_bytes(unpack(file, packed, name=name))


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


@contextmanager
def read_safely(name: str) -> Iterator[None]:
    """Inside, files that make no sense to tantivy are damage. It panics, which is no Exception and has no name to catch."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException" or str(error).startswith(_CORRUPTION_ERRORS):
            raise damaged(name, f"its index cannot be read: {error}") from None
        raise
