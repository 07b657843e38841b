"""One file: `PAR1 | row groups | index section | page indexes | Parquet footer | PAR1`.

The index section is the files of a search index, one after the other. Its position and its contents are in a JSON
object in the footer's key-value metadata, so that to every Parquet reader a split is a Parquet file like any other:

>>> section = IndexSection(offset=4, length=3, files=(PackedFile("meta.json", 0, 3, 0x352441C2, size=3),), fields={})
>>> section.to_json()[:60]
'{"version":3,"offset":4,"length":3,"files":[{"name":"meta.js'

The *tail* of a split is all that follows the index section. It has a checksum of itself, in that JSON object, which is
computed with eight zeros in its place.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import DamagedSplitError, UnsupportedSplitError
from indextables.search.field_rules import TOKENIZERS, FieldRule
from indextables.search.text_fields import Shape, TextColumns, shape, text_columns
from indextables.split.pages import ColumnPages, PageIndex

Renamed: TypeAlias = tuple[tuple[str, str], ...]
"""The columns of a split that have another name now: the name in the file, and the other one."""
MAGIC = b"PAR1"
TRAILER = 8  # bytes after the footer: its length, and the magic
INDEX_KEY = "indextables.index"
VERSION = 3
_MAX_SIZE = 2**34  # bytes of a file of the index; tantivy builds none as large
_UNSEALED = "00000000"
_SEAL = b'"footerCrc32":"'
_PLACE = re.compile(rb'\{"version":[0-9]+,"offset":([0-9]{1,18}),"length":([0-9]{1,18}),"files":')
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


class ExactColumn(msgspec.Struct, frozen=True):
    """The exact index of a column: its kind, and its file in the index section."""

    kind: str
    file: str


class IndexSection(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The description of the search index in the footer.

    `fields` is how the columns were indexed, `exact` the exact indexes of columns; the other files are the word index.
    `name` is the unique name under which the split was written: a file in the place of another is known by it.
    """

    version: int = VERSION
    offset: int
    length: int
    files: tuple[PackedFile, ...]
    fields: Mapping[str, FieldRule]
    exact: Mapping[str, ExactColumn] = {}
    name: str | None = None
    footer_crc32: str = _UNSEALED  # last, so that nothing else in the footer looks like it

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def word_files(self) -> tuple[PackedFile, ...]:
        """The files of the word index; none where no column has words."""
        exact = {column.file for column in self.exact.values()}
        return tuple(file for file in self.files if file.name not in exact)

    def exact_file(self, column: str) -> PackedFile | None:
        """The file of the exact index of a column, if it has one."""
        found = self.exact.get(column)
        return None if found is None else next(file for file in self.files if file.name == found.file)


@dataclass(frozen=True, eq=False)
class Footer:
    """The parsed footer: `chunks` are the byte ranges of each column in each row group.

    Columns have the names of the file, but for those in `renamed`: pairs of a name in the file, and another one. `tag` is
    that of the file in an object store.
    """

    metadata: pq.FileMetaData
    index: IndexSection
    chunks: Sequence[Sequence[tuple[int, int]]]
    page_index: PageIndex
    renamed: Renamed = ()
    tag: str | None = None

    def under_names(self, renamed: Renamed) -> "Footer":
        """The same footer with other names of some columns; made once for a footer that is cached."""
        if renamed not in self._views:
            names = dict(renamed)
            index = msgspec.structs.replace(
                self.index,
                fields={names.get(name, name): rule for name, rule in self.index.fields.items()},
                exact={names.get(name, name): column for name, column in self.index.exact.items()},
            )
            view = replace(self, index=index, renamed=renamed)
            view.__dict__["index_json"] = self.index_json
            self._views[renamed] = view
        return self._views[renamed]

    @cached_property
    def _views(self) -> dict[Renamed, "Footer"]:
        return {}

    @cached_property
    def _stored(self) -> dict[str, str]:
        return {new: name for name, new in self.renamed}

    def stored(self, column: str) -> str:
        """The name of a column in the file."""
        return self._stored.get(column, column)

    @cached_property
    def schema(self) -> pa.Schema:
        schema, names = self.metadata.schema.to_arrow_schema().remove_metadata(), dict(self.renamed)
        return pa.schema([field.with_name(names.get(field.name, field.name)) for field in schema]) if names else schema

    @cached_property
    def column_numbers(self) -> dict[str, int]:
        """The places of the columns in a row group, by name."""
        return {name: number for number, name in enumerate(self.schema.names)}

    @cached_property
    def dotted_columns(self) -> tuple[str, ...]:
        """The columns with a dot in their names in the file: to pyarrow, `a.b` is nested in `a`."""
        return tuple(name for name in self.column_numbers if "." in self.stored(name))

    @cached_property
    def num_rows(self) -> int:
        return int(self.metadata.num_rows)

    @cached_property
    def group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        return [self.metadata.row_group(group).num_rows for group in range(self.metadata.num_row_groups)]

    @cached_property
    def index_json(self) -> str:
        """The description of the search index, as it is in the footer."""
        return self.index.to_json()

    @cached_property
    def text_columns(self) -> TextColumns:
        """The columns in the word index, with their tokenizers."""
        return text_columns(self.schema.names, self.index.fields)

    def has_dictionary(self, column: str) -> bool:
        """Whether a column consists of texts that are encoded by dictionaries."""
        return column in self._dictionaries

    @cached_property
    def _dictionaries(self) -> frozenset[str]:
        groups = [self.metadata.row_group(group) for group in range(self.metadata.num_row_groups)]
        texts = [(number, field.name) for number, field in enumerate(self.schema) if pa.types.is_string(field.type)]
        return frozenset(name for number, name in texts if all(g.column(number).has_dictionary_page for g in groups))

    @cached_property
    def _pages(self) -> dict[str, ColumnPages]:
        return {}

    @cached_property
    def page_bounds(self) -> dict[str, Any]:
        """The bounds of pages that were parsed, by column; for `block_bounds`."""
        return {}

    def pages(self, column: str) -> ColumnPages:
        """The pages of a column."""
        if column not in self._pages:
            self._pages[column] = self.page_index.pages(self.stored(column))
        return self._pages[column]


def footer_start(trailer: bytes, *, size: int, name: str) -> int:
    """The offset of the footer of a file of this size, from its last eight bytes."""
    if len(trailer) < TRAILER or trailer[-4:] != MAGIC:
        raise damaged(name, "it does not end as a Parquet file does; it may have been cut")
    start = size - TRAILER - int.from_bytes(trailer[-TRAILER:-4], "little")
    if start < len(MAGIC):
        raise damaged(name, "its footer would begin before the file does")
    return start


def tail_start(footer: bytes, *, start: int, name: str) -> int:
    """The offset of the tail of a split, from its footer, which begins at `start`; not verified yet."""
    places = list(_PLACE.finditer(footer))
    place = places[-1] if places else None  # values that look like it may be among the bounds before it
    if _SEAL not in footer or place is None:
        raise damaged(name, f"it has no {INDEX_KEY} in its footer: it is no split, or its index is missing")
    end = int(place[1]) + int(place[2])
    if not len(MAGIC) <= end <= start:
        raise damaged(name, "its index section would be outside of the file")
    return end


def seal(tail: bytes) -> tuple[int, bytes]:
    """The position of the checksum in the tail, and its value: computed with eight zeros in its place."""
    place = tail.rindex(_SEAL) + len(_SEAL)
    unsealed = tail[:place] + _UNSEALED.encode() + tail[place + len(_UNSEALED) :]
    return place, f"{zlib.crc32(unsealed):08x}".encode()


def parse_tail(tail: bytes, *, size: int, name: str, tag: str | None = None) -> Footer:
    """The footer from the tail of a file; verified."""
    start = footer_start(tail[-TRAILER:], size=size, name=name)
    begin = size - len(tail)
    if start < begin or tail_start(tail[start - begin :], start=start, name=name) != begin:
        raise damaged(name, "its footer is not where it should be; it may have been cut or replaced")
    _check_seal(tail, name)
    try:
        metadata = pq.read_metadata(pa.BufferReader(tail[start - begin :]))
        section = _section((metadata.metadata or {})[INDEX_KEY.encode()], name)
    except UnsupportedSplitError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, RecursionError) as error:
        raise damaged(name, f"its footer cannot be read: {error}") from error
    _check_files(section, name)
    footer = Footer(metadata, section, _chunk_ranges(metadata), PageIndex(tail, begin, start), tag=tag)
    _check_extent(footer, start=start, name=name)
    _check_fields(footer, name)
    return footer


def damaged(name: str, reason: str) -> DamagedSplitError:
    return DamagedSplitError(
        f"{name} is damaged: {reason}; restore it from a copy or write its rows again", path=name, reason=reason
    )


def _check_seal(tail: bytes, name: str) -> None:
    place, expected = seal(tail)
    if tail[place : place + len(expected)] != expected:
        raise damaged(name, "its footer does not have the checksum that was written")


class _Versioned(msgspec.Struct):
    version: int


def _section(value: bytes, name: str) -> IndexSection:
    version = msgspec.json.decode(value, type=_Versioned).version
    if version != VERSION:
        age, advice = ("a newer", "upgrade") if version > VERSION else ("an older", "write its rows again")
        raise UnsupportedSplitError(
            f"{name} was written by {age} release: its format is {version}, this release reads {VERSION}; {advice}",
            path=name,
            required=version,
            supported=VERSION,
        )
    return msgspec.json.decode(value, type=IndexSection)


def _check_files(section: IndexSection, name: str) -> None:
    names = {file.name for file in section.files}
    odd = [file.name for file in section.files if not _FILE_NAME.fullmatch(file.name)]
    if odd:
        raise damaged(name, f"its index has a file named {odd[0]!r}, which would leave the directory of the index")
    if len(names) != len(section.files):
        raise damaged(name, "its index has two files of the same name")
    exact = [column.file for column in section.exact.values()]
    if not names >= set(exact) or len(set(exact)) != len(exact):
        raise damaged(name, "its index lacks the file of a column")
    if not section.word_files and any(shape(rule) is Shape.WORDS for rule in section.fields.values()):
        raise damaged(name, "its index lacks the files of the words")
    if any(not _inside(file.offset, file.length, 0, section.length) for file in section.files):
        raise damaged(name, "its index has a file outside of the index section")
    if any(not 0 <= file.size <= _MAX_SIZE for file in section.files):
        raise damaged(name, "its index has a file of an impossible size")


def _check_fields(footer: Footer, name: str) -> None:
    """The index has a rule for each column, and nothing else; words are those of texts."""
    fields, exact = footer.index.fields, footer.index.exact
    try:
        types = dict(zip(footer.schema.names, footer.schema.types, strict=True))
    except (pa.ArrowException, ValueError) as error:  # a name that is not text, a type that Arrow lacks
        raise damaged(name, f"its columns cannot be read: {error}") from error
    if fields.keys() != types.keys() or not exact.keys() <= types.keys():
        raise damaged(name, "its index has other columns than its row groups")
    words = {column: rule.tokenizer for column, rule in fields.items() if shape(rule) is Shape.WORDS}
    if any(
        not pa.types.is_string(types[column]) or tokenizer not in (None, *TOKENIZERS)
        for column, tokenizer in words.items()
    ):
        raise damaged(name, "its index has words of a column that has none")


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
