"""CSV: a header, and values that are separated by a delimiter."""

import csv
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, WriteOptions, open_csv, write_csv

from indextables.cli.bad_lines import BadLines
from indextables.cli.file_reader import (
    BLOCK,
    LONGEST,
    NOT_UTF8,
    BlockReader,
    LongRecordError,
    Reader,
    Types,
    as_read,
    content_of,
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
    read_without_refused,
    refuse_utf16,
    shortened,
    text_of,
    unescaped,
)
from indextables.cli.input_files import InputFile
from indextables.errors import IndexTablesError
from indextables.plural import pluralize

_END = "\x03end of the file"


class _InvalidRows:
    """What is done with rows that have too few or too many values: they are refused, or skipped with a callback.

    The last one is not of the file: it is put after its end, and is missing where a quote is not closed before.
    """

    def __init__(self, end: str, skip: Callable[[str], None] | None) -> None:
        self.ended = self.unclosed = False
        self._end, self._skip = end, skip
        self._count = 0
        self.skipped = 0

    def restart(self) -> None:
        self._count = 0

    def __call__(self, row: Any) -> str:
        self._count += 1
        if row.text == self._end:
            self.ended = True
            return "skip"
        self.unclosed = row.text.endswith(self._end)
        if self._skip is None or self.unclosed:
            return "error"
        if self._count > self.skipped:  # not before a record that was too long for a block
            self.skipped = self._count
            self._skip(row.text)
        return "skip"


@dataclass(frozen=True, slots=True)
class CsvReader(Reader):
    """`named` are the columns whose type was given; `guessed` if the delimiter was not given."""

    types: Types
    named: frozenset[str]
    delimiter: str
    guessed: bool
    bad: BadLines | None = None

    def columns(self, file: InputFile) -> pa.Schema:
        with self._read_errors(file, lambda: self._culprit(file, {}) or self._open_quote(file)):
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
        names = self.columns(file).names
        own = names_in(names, wanted)
        kinds = {name: wanted.field(column).type for column, name in own.items()}
        end = _END + self.delimiter * len(names)
        skip = None if self.bad is None else lambda text: self._skip(file, names, kinds, text)
        invalid = _InvalidRows(end, skip)
        converting = self._convert_options(kinds)
        if self.bad is not None:
            converting = ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        with self._read_errors(file, lambda: self._objection_to(file, kinds, invalid), invalid):
            for batch in self._open_to_end(file, converting, end, invalid):
                if self.bad is None:
                    yield in_columns(batch, own, wanted)
                else:
                    yield from self._good_rows(file, batch, own, wanted)
            if not invalid.ended:
                invalid.unclosed = True
                raise pa.ArrowInvalid("a quote is not closed")

    @contextmanager
    def _read_errors(
        self, file: InputFile, culprit: Callable[[], IndexTablesError | None], invalid: _InvalidRows | None = None
    ) -> Iterator[None]:
        with read_errors(file, "CSV", culprit), _no_other_errors():
            try:
                yield
            except LongRecordError as error:
                raise self._too_long(file, error.rows + (invalid.skipped if invalid else 0)) from None

    def _open_file(self, source: InputFile | BytesIO, converting: ConvertOptions) -> BlockReader:
        skipped = source if self.bad is not None and isinstance(source, InputFile) else None
        parsing = self._parse_options((lambda _: "skip") if skipped else None)

        def open_file(size: int) -> pa.RecordBatchReader:
            content = content_of(skipped, escape=True) if skipped else opened(source)
            reading = ReadOptions(block_size=size)
            return open_csv(content, read_options=reading, parse_options=parsing, convert_options=converting)

        return BlockReader(open_file)

    def _open_to_end(self, file: InputFile, converting: ConvertOptions, end: str, invalid: _InvalidRows) -> BlockReader:
        """The file and a row after its end, which is invalid; Arrow takes an open quote at the end for closed."""
        last_line = f"\n{end}\n".encode()

        def open_file(size: int) -> pa.RecordBatchReader:
            invalid.restart()
            content, parsing = content_of(file, last_line, escape=self.bad is not None), self._parse_options(invalid)
            reading = ReadOptions(block_size=size)
            return open_csv(content, read_options=reading, parse_options=parsing, convert_options=converting)

        return BlockReader(open_file)

    def _parse_options(self, invalid: Callable[[Any], str] | None) -> ParseOptions:
        return ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=invalid)

    def _good_rows(
        self, file: InputFile, batch: pa.RecordBatch, own: dict[str, str], wanted: pa.Schema
    ) -> list[pa.RecordBatch]:
        """The rows whose values can be read, of a batch of texts; the others are kept as bad lines."""
        kinds = {name: wanted.field(column).type for column, name in own.items()}
        options = WriteOptions(delimiter=self.delimiter)

        def read(start: int, end: int) -> list[pa.RecordBatch]:
            texts, part = batch.slice(start, end - start), BytesIO()
            if any(pc.any(pc.match_substring_regex(column, NOT_UTF8)).as_py() for column in texts.columns):
                raise pa.ArrowInvalid("there are texts that are not UTF-8")
            write_csv(texts, part, options)
            found = [in_columns(rows, own, wanted) for rows in self._open_file(part, self._convert_options(kinds))]
            if sum(map(len, found)) != end - start:
                raise pa.ArrowInvalid("there are rows that cannot be written as CSV")
            return found

        def refuse(number: int) -> None:
            cells = [unescaped(column[number].as_py()) for column in batch.columns]
            self._refuse(file, batch.schema.names, kinds, self._joined(cells), cells)

        return read_without_refused(len(batch), read, refuse)

    def _skip(self, file: InputFile, names: Sequence[str], kinds: Types, text: str) -> None:
        text = unescaped(text)
        self._refuse(file, names, kinds, text, next(csv.reader([text], delimiter=self.delimiter)))

    def _refuse(self, file: InputFile, names: Sequence[str], kinds: Types, text: str, cells: Sequence[str]) -> None:
        if self.bad is not None:
            line, header = (part.encode(errors="surrogateescape") for part in (text, self._joined(names)))
            self.bad.add(line, lambda: self._objection(str(file), names, cells, kinds), file, header=header)

    def _joined(self, cells: Sequence[str]) -> str:
        text = StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator="").writerow(cells)
        return text.getvalue()

    def _convert_options(self, kinds: Types) -> ConvertOptions:
        first = {name: self._as_read(name, kind) for name, kind in kinds.items()}
        return ConvertOptions(column_types=first, include_columns=list(kinds))

    def _as_read(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Numbers are read as texts first, so that none loses digits, unless their type was named."""
        checked = lossy(kind) and name.lower() not in self.named
        return pa.string() if checked else as_read(name, kind, self.types)

    def _objection_to(self, file: InputFile, kinds: Types, invalid: _InvalidRows) -> IndexTablesError | None:
        return self._open_quote(file) if invalid.unclosed else self._culprit(file, kinds) or self._open_quote(file)

    def _culprit(self, file: InputFile, kinds: Types) -> IndexTablesError | None:
        """The error of the first invalid record."""
        csv.field_size_limit(sys.maxsize)
        with text_of(file) as lines:
            records = csv.reader(lines, delimiter=self.delimiter)
            header = next(records, None)
            if header is None:
                return IndexTablesError(f"{file} is empty; a CSV file begins with the names of its columns")
            if self.guessed:
                _refuse_other_delimiter(file, header)
            numbered = ((records.line_num, cells) for cells in records if cells)
            found = first_refused(numbered, lambda some: self._reads(header, [cells for _, cells in some], kinds))
            is_last = next(numbered, None) is None
        if not found:
            return None
        line, cells = found[-1]
        at_end = self._open_quote(file) if is_last else None
        return at_end or self._objection(place_of(file, line), header, cells, kinds)

    def _open_quote(self, file: InputFile) -> IndexTablesError | None:
        """The error of a quote that is not closed, so that its value goes on to the end of the file."""
        csv.field_size_limit(sys.maxsize)
        cells: list[str] = []
        line = last = 1
        with text_of(file) as lines:
            records = csv.reader(chain(lines, ["\n", _END]), delimiter=self.delimiter)
            for record in records:
                cells, line, last = record, last, records.line_num + 1
        if cells == [_END]:
            return None
        place = place_of(file, line + sum(len(re.findall("\r\n|\r|\n", cell)) for cell in cells[:-1]))
        value = shortened(cells[-1].removesuffix("\n" + _END))
        return IndexTablesError(
            f"{place}: the quote before {value} is not closed, so the value goes on "
            'to the end of the file; close it, or write "" for a quote in a value'
        )

    def _too_long(self, file: InputFile, rows: int) -> IndexTablesError:
        with text_of(file) as lines:
            records = csv.reader(lines, delimiter=self.delimiter)
            deque(islice(filter(None, records), rows + 1), maxlen=0)
            line = records.line_num + 1
            while not (lines.readline(BLOCK) or "end").strip():
                line += 1
        return IndexTablesError(
            f"{place_of(file, line)}: the row is longer than {LONGEST >> 20} MB, which is not read; perhaps a quote in it "
            "is not closed"
        )

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
            if any(map(_is_not_utf8, cells)):
                return not_utf8(place, None)
            shown = shortened(self.delimiter.join(cells))
            return IndexTablesError(
                f"{place}: the header has {pluralize(len(header), 'column')}, and this row has "
                f"{pluralize(len(cells), 'value')}: {shown}; complete the row, and quote values that contain "
                f"{self.delimiter!r}"
            )
        for name, value in zip(header, cells, strict=True):
            if name in kinds and not self._reads([name], [[value]], {name: kinds[name]}):
                if _is_not_utf8(value):
                    return not_utf8(f"{place}: column {name!r}", name)
                return misfit(place, name, value, kinds[name])
        return None


def _is_not_utf8(value: str) -> bool:
    return not value.isascii() and value != value.encode(errors="replace").decode()


@contextmanager
def _no_other_errors() -> Iterator[None]:
    """Inside, Python does not print that Arrow has an invalid row which is not UTF-8; the row is refused anyway."""
    before = sys.unraisablehook

    def hook(raised: Any) -> None:
        if not isinstance(raised.exc_value, UnicodeDecodeError):
            before(raised)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _refuse_other_delimiter(file: InputFile, names: Sequence[str]) -> None:
    """A file of one column whose name has a `;` in it is one of several columns."""
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        raise IndexTablesError(
            f"{file}: the first line, {shortened(names[0])}, has no commas; if its columns are separated by {other!r}, "
            f"use --delimiter {other!r}"
        )
