"""CSV: a header, and values that are separated by a delimiter."""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

from indextables.cli.file_reader import (
    BLOCK,
    Reader,
    Types,
    as_read,
    first_refused,
    fits,
    in_columns,
    lossy,
    misfit,
    named,
    names_in,
    not_utf8,
    opened,
    place_of,
    read_errors,
    refuse_utf16,
    shortened,
    text_of,
)
from indextables.cli.input_files import InputFile
from indextables.errors import IndexTablesError
from indextables.plural import pluralize


@dataclass(frozen=True, slots=True)
class CsvReader(Reader):
    """`named` are the columns whose type was given; `guessed` if the delimiter was not given."""

    types: Types
    named: frozenset[str]
    delimiter: str
    guessed: bool

    def columns(self, file: InputFile) -> pa.Schema:
        with read_errors(file, "CSV", lambda: self._culprit(file, {})):
            refuse_utf16(file)
            guessed = named(self._open_file(file, ConvertOptions()).schema)
            found = self._without_lossy_numbers(file, guessed)
        if self.guessed:
            _refuse_other_delimiter(file, found.names)
        for column in found:
            if pa.types.is_binary(column.type) and column.name.lower() not in self.types:
                raise not_utf8(f"{file}: column {column.name!r}", column.name)
        return found

    def _without_lossy_numbers(self, file: InputFile, guessed: pa.Schema) -> pa.Schema:
        """Text where numbers would lose something: the zeros at the beginning of 007, the last of many digits."""
        numbers = {column.name: pattern for column in guessed if (pattern := lossy(column.type))}
        if not numbers or len(set(guessed.names)) < len(guessed.names):
            return guessed
        texts = ConvertOptions(column_types=dict.fromkeys(numbers, pa.string()), include_columns=list(numbers))
        first = next(iter(self._open_file(file, texts)), None)
        text = {
            name
            for name, odd in numbers.items()
            if first and pc.any(pc.match_substring_regex(first[name], odd)).as_py()
        }
        return pa.schema([column.with_type(pa.string()) if column.name in text else column for column in guessed])

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        own = names_in(self.columns(file).names, wanted)
        kinds = {name: wanted.field(column).type for column, name in own.items()}
        with read_errors(file, "CSV", lambda: self._culprit(file, kinds)):
            for batch in self._open_file(file, self._convert_options(kinds)):
                yield in_columns(batch, own, wanted)

    def _open_file(self, source: InputFile | BytesIO, converting: ConvertOptions) -> pa.RecordBatchReader:
        reading = ReadOptions(block_size=BLOCK)
        parsing = ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        return open_csv(opened(source), read_options=reading, parse_options=parsing, convert_options=converting)

    def _convert_options(self, kinds: Types) -> ConvertOptions:
        first = {name: self._as_read(name, kind) for name, kind in kinds.items()}
        return ConvertOptions(column_types=first, include_columns=list(kinds))

    def _as_read(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Numbers are read as texts first, so that none loses digits, unless their type was named."""
        checked = lossy(kind) and name.lower() not in self.named
        return pa.string() if checked else as_read(name, kind, self.types)

    def _culprit(self, file: InputFile, kinds: Types) -> IndexTablesError | None:
        """The error of the first invalid record."""
        csv.field_size_limit(sys.maxsize)
        with text_of(file) as lines:
            records = csv.reader(lines, delimiter=self.delimiter)
            header = next(records, None)
            if header is None:
                return IndexTablesError(f"{file} is empty; a CSV file begins with the names of its columns")
            numbered = ((records.line_num, cells) for cells in records if cells)
            found = first_refused(numbered, lambda some: self._reads(header, [cells for _, cells in some], kinds))
        if not found:
            return None
        line, cells = found[-1]
        return self._objection(place_of(file, line), header, cells, kinds)

    def _reads(self, header: Sequence[str], records: Sequence[Sequence[str]], kinds: Types) -> bool:
        if any(len(cells) != len(header) for cells in records):
            return False
        text = StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, quoting=csv.QUOTE_ALL).writerows([header, *records])
        data = BytesIO(text.getvalue().encode(errors="surrogateescape"))
        return fits(lambda: self._open_file(data, self._convert_options(kinds)), kinds)

    def _objection(
        self, place: str, header: Sequence[str], cells: Sequence[str], kinds: Types
    ) -> IndexTablesError | None:
        if len(cells) != len(header):
            shown = shortened(self.delimiter.join(cells))
            return IndexTablesError(
                f"{place}: the header has {pluralize(len(header), 'column')}, and this row has "
                f"{pluralize(len(cells), 'value')}: {shown}; complete the row, and quote values that contain "
                f"{self.delimiter!r}"
            )
        for name, value in zip(header, cells, strict=True):
            if name in kinds and not self._reads([name], [[value]], {name: kinds[name]}):
                if not value.isascii() and value != value.encode(errors="replace").decode():
                    return not_utf8(f"{place}: column {name!r}", name)
                return misfit(place, name, value, kinds[name])
        return None


def _refuse_other_delimiter(file: InputFile, names: Sequence[str]) -> None:
    """A file of one column whose name has a `;` in it is one of several columns."""
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        raise IndexTablesError(
            f"{file}: the first line, {names[0]!r}, has no commas; if its columns are separated by {other!r}, "
            f"use --delimiter {other!r}"
        )
