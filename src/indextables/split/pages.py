"""Single pages of a Parquet file: where they are, and the rows in some of them.

Parquet's offset index says where each page of a column begins and which row is its first. The pages that hold some rows
are put together to a Parquet file in memory, which Arrow decodes: a row costs its pages, not its row group. Only footers and
page locations are handled here; the decoding of values, and the verification of page checksums, are Arrow's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.split import thrift
from indextables.split.thrift import BINARY, I32, I64, LIST, STRUCT, Struct

Range = tuple[int, int]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
_MAGIC = b"PAR1"
_TOKENS_PER_PAGE = 7  # of a page location: three fields with a header and a value each, and the end
_FORMAT_VERSION = 2


@dataclass(frozen=True)
class PageIndex:
    """The pages of each column of a file, from its footer and the bytes before it (`tail`), which begin at `start`."""

    tail: bytes
    start: int
    footer: int

    @cached_property
    def _metadata(self) -> Struct:
        return thrift.parse_struct(self.tail, self.footer - self.start)

    @cached_property
    def columns(self) -> dict[str, int]:
        """The numbers of the columns by name."""
        return {leaf[4].decode(): number for number, leaf in enumerate(self._metadata[2][1:])}

    def pages(self, column: str) -> "ColumnPages":
        number = self.columns[column]
        leaf: Struct = self._metadata[2][1 + number]
        groups = [(group[1][number], group[3]) for group in self._metadata[4]]
        return _column_pages(self.tail[leaf.start : leaf.end], groups, self._section)

    def bounds(self, column: str) -> list[Struct | None]:
        """The column index of each row group: bounds and null counts of its pages; None where there is none."""
        number = self.columns[column]
        chunks = [group[1][number] for group in self._metadata[4]]
        return [thrift.parse_struct(self._section(chunk[6], chunk[7])) if 6 in chunk else None for chunk in chunks]  # noqa: PLR2004

    def _section(self, offset: int, length: int) -> bytes:
        if offset < self.start or offset + length > self.footer:
            raise ValueError("a page index is outside of its place")
        return self.tail[offset - self.start : offset - self.start + length]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column of one row group: how its pages are encoded (as `head`, in Thrift), and where its dictionary is."""

    head: bytes
    size: int
    dictionary: Range | None

    def metadata(self, *, start: int, length: int, values: int) -> bytes:
        """The description of a column chunk that consists of some of the pages, in Thrift."""
        dictionary = 0 if self.dictionary is None else self.dictionary[1] - self.dictionary[0]
        tail = [
            (5, I64, values),
            (6, I64, self.size),  # uncompressed, of the whole chunk: an upper bound
            (7, I64, length),
            (9, I64, start + dictionary),  # the first data page
            *([(11, I64, start)] if dictionary else []),
        ]
        metadata = self.head + thrift.encoded_fields(tail, after=4) + b"\0"
        return thrift.struct([(2, I64, start), (3, STRUCT, metadata)])


@dataclass(frozen=True, slots=True)
class ChunkPages:
    """Some pages of a column chunk: their bytes, with the dictionary first, and how many values they have."""

    chunk: Chunk
    ranges: list[Range]
    nbytes: int
    values: int


@dataclass(frozen=True, slots=True, eq=False)
class PageSelection:
    """Some pages of a column. `positions` are those of the wanted rows among the rows of these pages."""

    leaf: bytes
    chunks: list[ChunkPages]
    positions: Numbers

    @property
    def ranges(self) -> list[Range]:
        """The bytes to fetch, in the order in which `decode` needs them."""
        return [part for chunk in self.chunks for part in chunk.ranges]

    @property
    def nbytes(self) -> int:
        """The size of these bytes."""
        return sum(chunk.nbytes for chunk in self.chunks)

    @property
    def values(self) -> int:
        return sum(chunk.values for chunk in self.chunks)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPages:
    """The pages of a column, in the order of the rows; `leaf` describes the column in Thrift."""

    leaf: bytes
    chunks: tuple[Chunk, ...]
    chunk_of: Numbers
    offsets: Numbers
    sizes: Numbers
    first_rows: Numbers
    num_rows: Numbers

    def holding(self, rows: Numbers) -> PageSelection:
        """The pages that hold some rows, whose numbers ascend."""
        numbers = np.searchsorted(self.first_rows, rows, side="right") - 1
        is_next = np.ones(len(numbers), np.bool_)
        np.not_equal(numbers[1:], numbers[:-1], out=is_next[1:])
        pages = numbers[is_next]
        counts = self.num_rows[pages]
        skipped = self.first_rows[pages] - (np.cumsum(counts) - counts)  # rows of other pages before each
        return PageSelection(self.leaf, self._by_chunk(pages), rows - skipped[np.cumsum(is_next) - 1])

    def _by_chunk(self, pages: Numbers) -> list[ChunkPages]:
        if len(self.chunks) == 1:
            return [self._chunk_pages(self.chunks[0], pages)]
        chunk_of = self.chunk_of[pages]
        return [self._chunk_pages(self.chunks[at], pages[chunk_of == at]) for at in np.unique(chunk_of)]

    def _chunk_pages(self, chunk: Chunk, pages: Numbers) -> ChunkPages:
        starts, sizes = self.offsets[pages], self.sizes[pages]
        runs = _runs(starts.tolist(), sizes.tolist())
        ranges = runs if chunk.dictionary is None else [chunk.dictionary, *runs]
        nbytes = sum(end - start for start, end in ranges)
        return ChunkPages(chunk, ranges, nbytes, int(self.num_rows[pages].sum()))


def _runs(starts: list[int], sizes: list[int]) -> list[Range]:
    """The ranges of pages; pages that follow each other are one.

    >>> _runs([4, 14, 40], [10, 6, 5])
    [(4, 20), (40, 45)]
    """
    runs: list[Range] = []
    for start, size in zip(starts, sizes, strict=True):
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], start + size)
        else:
            runs.append((start, start + size))
    return runs


def decode(
    selections: Sequence[Sequence[PageSelection]],
    buffers: Sequence[pa.Buffer],
    *,
    dictionaries: Sequence[str] = (),
) -> list[pa.ChunkedArray]:
    """The columns of all selected rows.

    `selections` has the columns of one file after the other, the same columns of each; `buffers` together are the bytes of
    all their ranges. Files must describe their columns in the same way. Columns named in `dictionaries` come as
    dictionary arrays.
    """
    groups, position = list[bytes](), len(_MAGIC)
    for columns in selections:
        described = []
        for selection in columns:
            chunks, position = _chunks(selection, position)
            described.append(chunks)
        groups += _row_groups(described)
    footer = _footer([selection.leaf for selection in selections[0]], groups)
    data = b"".join([_MAGIC, *buffers, footer, len(footer).to_bytes(4, "little"), _MAGIC])
    options: dict[str, Any] = {"page_checksum_verification": True, "read_dictionary": list(dictionaries)}
    reader = pq.ParquetFile(pa.BufferReader(data), **options).reader
    return [_taken(reader, number, [columns[number] for columns in selections]) for number in range(len(selections[0]))]


def _taken(reader: Any, number: int, selections: Sequence[PageSelection]) -> pa.ChunkedArray:
    column = reader.read_column(number)
    if len(column) != sum(one.values for one in selections):  # page checksums do not cover headers
        raise ValueError("a page has another number of rows than the page index says")
    positions = _positions(selections)
    return column.slice(positions[0], 1) if len(positions) == 1 else column.take(pa.array(positions))


def _positions(selections: Sequence[PageSelection]) -> Numbers:
    if len(selections) == 1:
        return selections[0].positions
    starts = np.cumsum([0, *(one.values for one in selections[:-1])])
    return np.concatenate([one.positions + at for one, at in zip(selections, starts, strict=True)])


def _chunks(selection: PageSelection, position: int) -> tuple[list[tuple[bytes, int]], int]:
    """The description of each chunk and how many values it has, and the position after the last."""
    described = []
    for one in selection.chunks:
        described.append((one.chunk.metadata(start=position, length=one.nbytes, values=one.values), one.values))
        position += one.nbytes
    return described, position


def _row_groups(columns: Sequence[Sequence[tuple[bytes, int]]]) -> list[bytes]:
    """Row groups of columns that may differ in length: each column is read on its own."""
    return [
        thrift.struct(
            [
                (1, LIST, (STRUCT, [metadata for metadata, _ in chunks])),
                (2, I64, 0),
                (3, I64, max(values for _, values in chunks)),
            ]
        )
        for chunks in zip(*columns, strict=True)
    ]


def _footer(leaves: Sequence[bytes], groups: Sequence[bytes]) -> bytes:
    root = thrift.struct([(4, BINARY, b"schema"), (5, I32, len(leaves))])
    return thrift.struct(
        [(1, I32, _FORMAT_VERSION), (2, LIST, (STRUCT, [root, *leaves])), (3, I64, 0), (4, LIST, (STRUCT, groups))]
    )


def _column_pages(leaf: bytes, groups: Sequence[tuple[Struct, int]], section: Any) -> ColumnPages:
    chunks, tables, first = [], [], 0
    for number, (chunk, rows) in enumerate(groups):
        offsets, sizes, first_rows = _page_locations(section(chunk[4], chunk[5]))
        starts = np.append(first_rows, rows)
        counts = np.diff(starts)
        if first_rows[0] != 0 or (counts <= 0).any() or (sizes <= 0).any():
            raise ValueError("a page index does not list the rows in order")
        tables.append((np.full(len(offsets), number), offsets, sizes, first_rows + first, counts))
        chunks.append(_chunk(chunk[3], int(offsets[0])))
        first += rows
    return ColumnPages(leaf, tuple(chunks), *map(np.concatenate, zip(*tables, strict=True)))


def _chunk(metadata: Struct, first_page: int) -> Chunk:
    head = thrift.encoded_fields(
        [
            (1, I32, metadata[1]),  # type
            (2, LIST, (I32, [thrift.encoded(I32, encoding) for encoding in metadata[2]])),
            (3, LIST, (BINARY, [thrift.encoded(BINARY, name) for name in metadata[3]])),
            (4, I32, metadata[4]),  # codec
        ]
    )
    offset = metadata.get(11)
    dictionary = (offset, first_page) if offset is not None and 0 < offset < first_page else None
    return Chunk(head, metadata[6], dictionary)


def _page_locations(index: bytes) -> tuple[Numbers, Numbers, Numbers]:
    """Offset, size and first row of each page, from an offset index.

    Its first field is a list of structs of three integers. The header of a field is a single byte below 128, and only the
    last byte of an integer is below 128, so that every seventh such byte ends a page location.
    """
    length, kind, start = thrift.list_header(index, 1)
    if index[0] != 1 << 4 | LIST or kind != STRUCT or not length:
        raise ValueError("a page index has no page locations")
    tokens = np.frombuffer(index, np.uint8)[start:]
    ends = np.flatnonzero(tokens < 128)[: _TOKENS_PER_PAGE * length]  # noqa: PLR2004 - the highest bit
    if len(ends) != _TOKENS_PER_PAGE * length:
        raise ValueError("a page index ends too early")
    starts = np.append(0, ends[:-1] + 1)
    offsets, sizes, rows = (_integers(tokens, starts[at::7], ends[at::7]) for at in (1, 3, 5))
    return offsets, sizes, rows


def _integers(tokens: np.ndarray[Any, np.dtype[np.uint8]], starts: Numbers, ends: Numbers) -> Numbers:
    """Signed integers of seven bits a byte, the lowest first."""
    lengths = ends - starts + 1
    numbers = np.zeros(len(starts), np.int64)
    for place in range(int(lengths.max())):
        longer = lengths > place
        numbers[longer] |= (tokens[starts[longer] + place].astype(np.int64) & 0x7F) << 7 * place
    return numbers >> 1 ^ -(numbers & 1)
