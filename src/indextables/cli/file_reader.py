"""One file of rows as batches in given columns, whatever its format.

Arrow reads fast, but its errors have few details. So a file that it refuses is read again, more slowly, until
the one record is found that is to blame.
"""

import atexit
import re
from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, ClassVar, TypeAlias, TypeVar
from weakref import WeakSet

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import ConvertOptions

from indextables.cli.input_files import InputFile
from indextables.errors import IndexTablesError, SchemaError
from indextables.schema import type_name
from indextables.values import decode, table_type

BLOCK = 8 << 20  # of text: the sample for type inference
LONGEST = 128 << 20  # record
_PIECE = 1 << 20
_PATIENCE = 1.0  # seconds
ZONED = r"\d ?(?:Z|[+-]\d\d:?\d\d)$"
_SHOWN = 60
_NULLS = pa.array(ConvertOptions().null_values)
Types: TypeAlias = Mapping[str, pa.DataType]
T = TypeVar("T")


class Reader(ABC):
    may_have_more_columns = False
    """Whether a file may have columns that are not in its first block."""

    @abstractmethod
    def columns(self, file: InputFile) -> pa.Schema:
        """The columns of a file, with types inferred from its first block."""

    def later_columns(self, file: InputFile, kinds: Types) -> set[str]:  # noqa: ARG002
        """The columns that are in a file but not in its first block."""
        return set()

    @abstractmethod
    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:
        """The rows in the wanted columns; `strict` if others are refused."""


@dataclass(frozen=True, slots=True)
class WrappingReader(Reader):
    """A reader that changes the rows of another one."""

    inner: Reader

    @property
    def may_have_more_columns(self) -> bool:  # type: ignore[override]
        return self.inner.may_have_more_columns

    def later_columns(self, file: InputFile, kinds: Types) -> set[str]:
        return self.inner.later_columns(file, kinds)


class BlockReader:
    """The batches of a file, one for each block; where a record is longer than a block, the blocks become longer.

    `open_file` opens it with a size of blocks, from its beginning; rows that were read before are skipped.
    """

    def __init__(self, open_file: Callable[[int], pa.RecordBatchReader]) -> None:
        self._open_file = open_file
        self._size = BLOCK
        self._given = self._read = 0  # rows: of the file, and by the present reader
        self._reader = self._opened()

    @property
    def schema(self) -> pa.Schema:
        return self._reader.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return
            except pa.ArrowInvalid as error:
                self._grow(error)
                self._reader, self._read = self._opened(), 0
                continue
            new = batch.slice(min(self._given - self._read, len(batch)))
            self._read += len(batch)
            self._given += len(new)
            if len(new):
                yield new

    def _opened(self) -> pa.RecordBatchReader:
        while True:
            try:
                return self._open_file(self._size)
            except pa.ArrowInvalid as error:
                self._grow(error)

    def _grow(self, error: pa.ArrowInvalid) -> None:
        if "straddl" not in str(error):
            raise error
        if self._size >= LONGEST:
            raise LongRecordError(self._given) from None
        self._size *= 4


class LongRecordError(IndexTablesError):
    """A record is longer than what is read at once; `rows` come before it."""

    def __init__(self, rows: int) -> None:
        super().__init__(f"the record after row {rows:,} is longer than {LONGEST >> 20} MB, which is not read")
        self.rows = rows


class PieceStream(RawIOBase):
    """Pieces as one stream of bytes. It ends when Python does.

    Threads of Arrow read ahead. One that would read while the interpreter shuts down never ends, nor does the process.
    """

    _all: ClassVar[WeakSet["PieceStream"]] = WeakSet()

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")
        self.stopped = False
        self.ended = Event()
        self._all.add(self)

    @classmethod
    def stop_all(cls) -> None:
        """Ends all streams, and waits until whoever reads them knows it."""
        streams = list(cls._all)
        for stream in streams:
            stream.stopped = True
        latest = monotonic() + _PATIENCE  # where nobody reads any more, the wait is in vain
        for stream in streams:
            stream.ended.wait(max(0.0, latest - monotonic()))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest and not self.stopped:
            self._rest = memoryview(b"".join(self._next_pieces()))
        size = 0 if self.stopped else min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        if not size:
            self.ended.set()
        return size

    def _next_pieces(self) -> Iterator[bytes]:
        length = 0
        for piece in self._pieces:
            yield piece
            length += len(piece)
            if length >= _PIECE:
                return


atexit.register(PieceStream.stop_all)


def content_of(file: InputFile, end: bytes = b"", *, escape: bool = False) -> BufferedReader:
    """The bytes of a file, unpacked, and those after them; with `escape`, all of them are UTF-8."""

    def pieces() -> Iterator[bytes]:
        with pa.input_stream(str(file.path)) as stream:
            while piece := stream.read(_PIECE):
                yield piece
        yield end

    return BufferedReader(PieceStream(_escaped(pieces()) if escape else pieces()))


NOT_UTF8 = "[\U0010ff80-\U0010ffff]"
"""A pattern of the characters for private use that stand for bytes which are not UTF-8."""
_ESCAPES = {0xDC00 + byte: 0x10FF00 + byte for byte in range(0x80, 0x100)}
_BYTES = {char: surrogate for surrogate, char in _ESCAPES.items()}


def _escaped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    for piece in chain(pieces, [b""]):
        text = decoder.decode(piece, final=not piece)
        try:
            yield text.encode()
        except UnicodeEncodeError:
            yield text.translate(_ESCAPES).encode()


def unescaped(text: str) -> str:
    """A text with the surrogates of the bytes that were escaped."""
    return text.translate(_BYTES)


def line_blocks(file: InputFile, longest: int = LONGEST) -> Iterator[bytes]:
    """Whole lines, about as many as a block has room for, without the newline at their end."""
    with pa.input_stream(str(file.path)) as stream:
        rest = stream.read(3).removeprefix(b"\xef\xbb\xbf")
        chunk = stream.read(BLOCK)
        while chunk:
            following = stream.read(BLOCK)
            head, newline, tail = chunk.rpartition(b"\n")
            if newline and following:
                yield rest + head
                rest = tail
            else:
                rest += chunk
            if len(rest) > longest and (following or not newline):
                raise IndexTablesError(f"{file} has a line of more than {longest >> 20} MB, which is not read")
            chunk = following
        if rest:
            yield rest.removesuffix(b"\n")


def read_without_refused(
    count: int, read: Callable[[int, int], list[pa.RecordBatch]], refuse: Callable[[int], None]
) -> list[pa.RecordBatch]:
    """The batches of those of `count` records that can be read; what cannot be read as a whole is halved.

    >>> def read(start, end):
    ...     return [pa.record_batch({"n": pa.array(["1", "x", "3"][start:end]).cast(pa.int64())})]
    >>> [batch["n"].to_pylist() for batch in read_without_refused(3, read, print)]
    1
    [[1], [3]]
    """
    found, parts = [], [(0, count)] if count else []
    while parts:
        start, end = parts.pop()
        try:
            found += read(start, end)
        except (pa.ArrowException, UnicodeDecodeError):
            if end - start == 1:
                refuse(start)
            else:
                parts += [((start + end) // 2, end), (start, (start + end) // 2)]
    return found


def opened(source: InputFile | BytesIO) -> Path | BytesIO:
    """What Arrow's readers take."""
    if isinstance(source, InputFile):
        return source.path
    source.seek(0)  # it may be read several times
    return source


def named(schema: pa.Schema) -> pa.Schema:
    """The schema, all names of which are text; Arrow decodes them late."""
    schema.names  # noqa: B018 - UnicodeDecodeError
    return schema


def first_refused(records: Iterator[T], reads: Callable[[Sequence[T]], bool], at_once: int = 4096) -> list[T]:
    """The first record that cannot be read after those before it, which come first.

    >>> first_refused(iter([1, 2, 3, -4, 5, -6]), lambda some: min(some) > 0, at_once=2)
    [3, -4]
    """
    while some := list(islice(records, at_once)):
        if not reads(some):
            fine, refused = 0, len(some)
            while refused - fine > 1:
                middle = (fine + refused) // 2
                fine, refused = (middle, refused) if reads(some[:middle]) else (fine, middle)
            return some[:refused]
    return []


def as_read(name: str, kind: pa.DataType, types: Types) -> pa.DataType:
    """The type that Arrow reads a column as: dates and times of a given type are read as strings first, see `in_columns`."""
    return pa.string() if name.lower() in types and pa.types.is_temporal(kind) else kind


def fits(batches: Callable[[], Iterable[pa.RecordBatch]], kinds: Types) -> bool:
    """Whether these batches can be read, in columns of these types."""
    own, wanted = {name: name for name in kinds}, pa.schema(dict(kinds))
    return succeeds(lambda: [in_columns(batch, own, wanted) for batch in batches()])


def succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except (pa.ArrowException, UnicodeDecodeError):
        return False
    return True


@contextmanager
def read_errors(
    file: InputFile, name: str, culprit: Callable[[], IndexTablesError | None] = lambda: None
) -> Iterator[None]:
    """Inside, what Arrow refuses becomes what is wrong with the file."""
    try:
        yield
    except LongRecordError as error:
        raise IndexTablesError(f"{file}: {error}") from error
    except UnicodeDecodeError as error:  # a name that Arrow takes as it is
        raise not_utf8(str(file), None) from error
    except (pa.ArrowException, OSError) as error:
        found = _found(file, culprit) if isinstance(error, pa.ArrowException) else None
        raise (found or IndexTablesError(f"{file} cannot be read as {name}: {error}")) from error


def _found(file: InputFile, culprit: Callable[[], IndexTablesError | None]) -> IndexTablesError | None:
    try:
        return culprit()
    except UnicodeDecodeError:
        return not_utf8(str(file), None)


@contextmanager
def text_of(file: InputFile) -> Iterator[TextIOWrapper]:
    """The text of a file, compressed or not; bytes that are not UTF-8 come back as they were when it is encoded."""
    with pa.input_stream(str(file.path)) as stream:
        yield TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")


def names_in(names: Sequence[str], wanted: pa.Schema) -> dict[str, str]:
    """The file's own names of the wanted columns that it has."""
    own = {name.lower(): name for name in names}
    return {column: own[column.lower()] for column in wanted.names if column.lower() in own}


def in_columns(batch: pa.RecordBatch, own: Mapping[str, str], wanted: pa.Schema) -> pa.RecordBatch:
    """The wanted columns; those that the file does not have are null."""
    columns = [
        _in_type(batch.column(own[field.name]), field.type) if field.name in own else pa.nulls(len(batch), field.type)
        for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def lossy(kind: pa.DataType) -> str | None:
    """A pattern of the texts that would not come back as they were from a number of such a type."""
    if pa.types.is_floating(kind):
        return r"^\s*[+-]?(0[0-9]+|[0-9]{16,})\s*$"
    return r"^\s*[+-]?0[0-9]+\s*$" if pa.types.is_integer(kind) else None


def _in_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_string(values.type) or not (pa.types.is_temporal(kind) or lossy(kind)):
        return values.cast(kind)
    texts = pc.if_else(pc.is_in(values, _NULLS), None, values)
    if pattern := lossy(kind):
        if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
            raise pa.ArrowInvalid(f"there are texts that would lose digits as {type_name(table_type(kind))}")
        return pc.utf8_trim_whitespace(texts).cast(kind)
    read = decode(texts, table_type(kind))
    if read.null_count > texts.null_count:
        raise pa.ArrowInvalid(f"there are texts that are no {type_name(table_type(kind))}")
    return read.cast(kind)


def refuse_utf16(file: InputFile) -> None:
    with pa.input_stream(str(file.path)) as stream:
        if stream.read(2) in {b"\xff\xfe", b"\xfe\xff"}:
            raise not_utf8(str(file), None)


def not_utf8(what: str, column: str | None) -> SchemaError:
    hint = "convert the file first, as in iconv -f latin1 -t utf-8 old.csv > new.csv"
    return SchemaError(f"{what} is not text in UTF-8; {hint}", column=column)


def misfit(place: str, column: str, value: object, kind: pa.DataType) -> SchemaError:
    shown = shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())
    name = kind_name(kind)
    advice = f"correct it, or give a new table another type, as in --type {column}=string"
    if isinstance(value, str) and (digits := lossy(kind)) and re.match(digits, value):
        advice = (
            f"as a number it would lose digits; use --type {column}={name} if they do not matter, "
            f"or --type {column}=string for a new table"
        )
    if pa.types.is_timestamp(kind):
        advice = _timestamp_advice(column, value if isinstance(value, str) else "", kind)
    return SchemaError(f"{place}: column {column!r} is {name}, and the value is {shown}; {advice}", column=column)


def _timestamp_advice(column: str, text: str, kind: pa.DataType) -> str:
    is_time, zoned = re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text), re.search(ZONED, text)
    if is_time and zoned and kind.tz is None:
        return (
            "it has a time zone, and the column has none; remove the time zone, or import into a new table with "
            f"--type {column}=timestamp"
        )
    if is_time and not zoned and kind.tz:
        return f"it has no time zone; correct it, or read such times as UTC with --type {column}=timestamp"
    return f"correct it, or say how it is written, as in --timestamp '{column}={column} as %d/%m/%Y %H:%M:%S'"


def kind_name(kind: pa.DataType) -> str:
    if pa.types.is_nested(kind):
        return "an object" if pa.types.is_struct(kind) else "an array"
    return type_name(table_type(kind))


def place_of(file: InputFile, line: int) -> str:
    return f"{file}, line {line:,}"


def shortened(text: str) -> str:
    """The beginning of a text in quotes; bytes that are not UTF-8 are shown as �."""
    shown = re.sub("[\ud800-\udfff]", "\ufffd", text[: _SHOWN + 1])
    return repr(shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}...")
