"""One file: `PAR1 | row groups | index section | Parquet footer | PAR1`.

The index section is the files of a search index, one after the other. Its position and its contents are in a JSON
object in the footer's key-value metadata, so that to every Parquet reader a split is a Parquet file like any other:

>>> section = IndexSection(offset=4, length=3, files=(PackedFile("meta.json", 0, 3, 0x352441C2, size=3),), fields={})
>>> section.to_json()[:60]
'{"version":1,"offset":4,"length":3,"files":[{"name":"meta.js'

The footer has a checksum of itself, in that JSON object: it is computed with eight zeros in its place.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import DamagedSplitError, UnsupportedSplitError
from indextables.search.field_rules import FieldRule

MAGIC = b"PAR1"
TRAILER = 8  # bytes after the footer: its length, and the magic
INDEX_KEY = "indextables.index"
VERSION = 1
_UNSEALED = "00000000"
_SEAL = b'"footerCrc32":"'
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


class PackedFile(msgspec.Struct, frozen=True):
    """A file of the index: where its bytes are from the start of the section, and how many there are when unpacked.

    The checksum is that of the bytes as they are in the split. `codec` is `none` or `zstd`.
    """

    name: str
    offset: int
    length: int
    crc32: int
    size: int
    codec: str = "none"


class IndexSection(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The description of the search index in the footer; `fields` is how the columns were indexed."""

    version: int = VERSION
    offset: int
    length: int
    files: tuple[PackedFile, ...]
    fields: Mapping[str, FieldRule]
    footer_crc32: str = _UNSEALED  # last, so that nothing else in the footer looks like it

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Footer:
    """The parsed footer: `chunks` are the byte ranges of each column in each row group."""

    metadata: pq.FileMetaData
    index: IndexSection
    chunks: Sequence[Sequence[tuple[int, int]]]


def footer_start(trailer: bytes, *, size: int, name: str) -> int:
    """The offset of the footer of a file of this size, from its last eight bytes."""
    if len(trailer) < TRAILER or trailer[-4:] != MAGIC:
        raise damaged(name, "it does not end as a Parquet file does; it may have been cut")
    start = size - TRAILER - int.from_bytes(trailer[-TRAILER:-4], "little")
    if start < len(MAGIC):
        raise damaged(name, "its footer would begin before the file does")
    return start


def seal(footer: bytes) -> tuple[int, bytes]:
    """The position of the footer's checksum, and its value: computed with eight zeros in its place."""
    place = footer.rindex(_SEAL) + len(_SEAL)
    unsealed = footer[:place] + _UNSEALED.encode() + footer[place + len(_UNSEALED) :]
    return place, f"{zlib.crc32(unsealed):08x}".encode()


def parse_footer(tail: pa.Buffer, *, size: int, name: str) -> Footer:
    """The footer from the last bytes of a file, which begin where it begins; checked."""
    written = tail.to_pybytes()
    start = footer_start(written[-TRAILER:], size=size, name=name)
    if len(written) != size - start:
        raise damaged(name, "its footer is not where it should be; it may have been cut or replaced")
    _check_seal(written, name)
    try:
        metadata = pq.read_metadata(pa.BufferReader(tail))
        section = _section((metadata.metadata or {})[INDEX_KEY.encode()], name)
    except (OSError, ValueError, KeyError) as error:
        raise damaged(name, f"its footer cannot be read: {error}") from error
    _check_files(section, name)
    footer = Footer(metadata, section, _chunk_ranges(metadata))
    _check_extent(footer, start=start, name=name)
    return footer


def damaged(name: str, reason: str) -> DamagedSplitError:
    return DamagedSplitError(
        f"{name} is damaged: {reason}; restore it from a copy or write its rows again", path=name, reason=reason
    )


def _check_seal(footer: bytes, name: str) -> None:
    if _SEAL not in footer:
        raise damaged(name, f"it has no {INDEX_KEY} in its footer: it is no split, or its index is missing")
    place, expected = seal(footer)
    if footer[place : place + len(expected)] != expected:
        raise damaged(name, "its footer does not have the checksum that was written")


class _Versioned(msgspec.Struct):
    version: int


def _section(value: bytes, name: str) -> IndexSection:
    version = msgspec.json.decode(value, type=_Versioned).version
    if version > VERSION:
        raise UnsupportedSplitError(
            f"{name} was written by a newer release: its format is {version}, this release reads up to {VERSION}; upgrade",
            path=name,
            required=version,
            supported=VERSION,
        )
    return msgspec.json.decode(value, type=IndexSection)


def _check_files(section: IndexSection, name: str) -> None:
    names = [file.name for file in section.files]
    odd = [file for file in names if not _FILE_NAME.fullmatch(file)]
    if odd:
        raise damaged(name, f"its index has a file named {odd[0]!r}, which would leave the directory of the index")
    if len(set(names)) != len(names):
        raise damaged(name, "its index has two files of the same name")
    if any(not _inside(file.offset, file.length, 0, section.length) or file.size < 0 for file in section.files):
        raise damaged(name, "its index has a file outside of the index section")


def _check_extent(footer: Footer, *, start: int, name: str) -> None:
    section = footer.index
    if not _inside(section.offset, section.length, len(MAGIC), start):
        raise damaged(name, "its index section would be outside of the file")
    ranges = (chunk for group in footer.chunks for chunk in group)
    if any(not _inside(begin, end - begin, len(MAGIC), section.offset) for begin, end in ranges):
        raise damaged(name, "a column would be outside of the row groups")


def _inside(offset: int, length: int, start: int, end: int) -> bool:
    return length >= 0 and start <= offset and offset + length <= end


def _chunk_ranges(metadata: pq.FileMetaData) -> list[list[tuple[int, int]]]:
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [[_chunk_range(group.column(number)) for number in range(group.num_columns)] for group in groups]


def _chunk_range(column: pq.ColumnChunkMetaData) -> tuple[int, int]:
    start = column.data_page_offset
    if column.has_dictionary_page:
        start = min(start, column.dictionary_page_offset)
    return start, start + column.total_compressed_size
