"""JSON lines: one object in each line. Columns may be kept as the text of their JSON."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader, BytesIO
from shlex import quote
from typing import TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from indextables.arrow_features import HAS_BLOCKS_OF_JSON
from indextables.cli.bad_lines import BadLines
from indextables.cli.file_reader import (
    BLOCK,
    BlockReader,
    PieceStream,
    Reader,
    Types,
    first_refused,
    fits,
    in_columns,
    line_blocks,
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
    succeeds,
    text_of,
)
from indextables.cli.input_files import InputFile
from indextables.errors import IndexTablesError, SchemaError

_EXACT = 2**53  # up to here, doubles have all whole numbers
_WHOLE = pa.decimal128(38, 0)
_MAY_BE_TIMES = {pa.string(), pa.timestamp("s")}
_TEXTS = {*_MAY_BE_TIMES, pa.null()}
_TIMES = (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))

_Lines: TypeAlias = Sequence[tuple[int, bytes]]
_Read: TypeAlias = Callable[[InputFile | BytesIO, str], Iterable[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class JsonReader(Reader):
    """`texts` are the columns of strings whose values may be something else, which is kept in its JSON notation."""

    types: Types
    texts: frozenset[str] = frozenset()
    bad: BadLines | None = None
    may_have_more_columns = True

    def has_other_values(self, file: InputFile) -> bool:
        """Whether a column whose type is string has values in the first block that are something else."""
        strings = {name for name, kind in self.types.items() if kind == pa.string()}
        found: list[pa.Schema] = []
        with suppress(OSError):  # reported by whoever reads the file
            if strings and not succeeds(lambda: found.append(self._open_file(file, None, "infer").schema)):
                return True
        return any(column.type not in _TEXTS for schema in found for column in schema if column.name.lower() in strings)

    def columns(self, file: InputFile) -> pa.Schema:
        with read_errors(file, "JSON lines"), text_of(file) as lines:
            refuse_utf16(file)
            if not any(line.strip() for line in lines):
                return pa.schema([])
        with read_errors(file, "JSON lines", lambda: self._culprit(file, None, "infer")):
            try:
                return self._inferred(file)
            except (pa.ArrowException, UnicodeDecodeError):
                if self.bad is None:
                    raise
            first = next(line_blocks(file))
            if first.startswith(b"["):
                raise _is_array(file, first.partition(b"\n")[0].decode(errors="replace"))
            return self._inferred(_encode(_consistent(first, self.texts)))

    def _inferred(self, source: InputFile | BytesIO) -> pa.Schema:
        """The columns of the first block; Arrow knows neither time zones nor dates nor fractions of a second."""
        guessed = self._with_times(source, named(self._open_file(source, None, "infer").schema))
        return self._with_whole_numbers(source, guessed)

    def _with_times(self, source: InputFile | BytesIO, guessed: pa.Schema) -> pa.Schema:
        """The types of dates and times, as they are inferred from CSV: those with a time zone are instants."""
        texts = {column.name: pa.string() for column in guessed if column.type in _MAY_BE_TIMES}
        first = self._first(source, texts) if texts else None
        kinds = {} if first is None else {name: _type_of(first[name]) for name in texts}
        return pa.schema([column.with_type(kinds.get(column.name, column.type)) for column in guessed])

    def _with_whole_numbers(self, file: InputFile | BytesIO, guessed: pa.Schema) -> pa.Schema:
        """Decimals where whole numbers of more than 64 bits would be doubles, and lose digits."""
        doubles = {column.name: column.type for column in guessed if column.type == pa.float64()}
        first = self._first(file, doubles) if doubles else None
        large = [name for name in doubles if first and (pc.max(pc.abs(first[name])).as_py() or 0) >= _EXACT]
        whole = [name for name in large if succeeds(partial(self._first, file, {name: _WHOLE}))]
        return pa.schema([column.with_type(_WHOLE) if column.name in whole else column for column in guessed])

    def _first(self, file: InputFile | BytesIO, kinds: Types) -> pa.RecordBatch | None:
        return next(iter(self._open_file(file, kinds, "ignore")), None)

    def later_columns(self, file: InputFile, kinds: Types) -> set[str]:
        with read_errors(file, "JSON lines", lambda: self._culprit(file, kinds, "ignore")):
            found = [
                name
                for batch in self._batches(file, lambda source, _: self._open_file(source, kinds, "ignore"), kinds)
                for name, values in zip(batch.schema.names, batch.columns, strict=True)
                if values.null_count < len(values)
            ]
        return set(found)

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:
        found = self.columns(file)
        if not found.names:
            return
        own = {name: name for name in wanted.names} | names_in(found.names, wanted)
        kinds, others = {own[column.name]: column.type for column in wanted}, "error" if strict else "ignore"
        with read_errors(file, "JSON lines", lambda: self._culprit(file, kinds, others)):
            yield from self._batches(
                file,
                lambda source, others: (in_columns(batch, own, wanted) for batch in self._read(source, kinds, others)),
                kinds,
                others,
            )

    def _batches(
        self, file: InputFile, read: "_Read", kinds: Types, others: str = "ignore"
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a file. Where bad lines are left out, only blocks that have some are read line by line."""
        if self.bad is None:
            yield from read(file, others)
            return
        number = 1
        for block in line_blocks(file):
            try:
                batches = list(read(BytesIO(block), others))
            except (pa.ArrowException, UnicodeDecodeError):
                lines = [(n, line) for n, line in enumerate(block.split(b"\n"), number) if line.strip()]
                batches = self._good_lines(file, lines, read, kinds, others)
            yield from batches
            number += block.count(b"\n") + 1

    def _good_lines(
        self, file: InputFile, lines: "_Lines", read: "_Read", kinds: Types, others: str
    ) -> list[pa.RecordBatch]:
        """The lines of a block that can be read. Others are kept as bad lines; a column that is not known is an error."""
        bad: set[int] = set()

        def read_some(start: int, end: int) -> list[pa.RecordBatch]:
            return list(read(_joined(line for _, line in lines[start:end]), "ignore"))

        def refuse(index: int) -> None:
            number, line = lines[index]
            bad.add(number)
            text = line.decode(errors="surrogateescape")
            if self.bad is not None:
                self.bad.add(line, lambda: self._objection(place_of(file, number), text, kinds, "ignore"), file)

        found = read_without_refused(len(lines), read_some, refuse)
        good = [(number, line) for number, line in lines if number not in bad]
        if others == "error" and good and not succeeds(lambda: list(read(_joined(line for _, line in good), others))):
            texts = ((number, line.decode(errors="surrogateescape")) for number, line in good)
            raise self._first_objection(file, texts, kinds, others) or pa.ArrowInvalid("lines cannot be read together")
        return found

    def _read(self, source: InputFile | BytesIO, kinds: Types | None, others: str) -> Iterator[pa.RecordBatch]:
        """The batches; texts whose type was inferred as a time all have a time zone, or none has."""
        times = {name: kind for name, kind in (kinds or {}).items() if pa.types.is_temporal(kind)}
        inferred = {name: kind for name, kind in times.items() if name.lower() not in self.types}
        for batch in self._open_file(source, kinds, others):
            names = batch.schema.names
            columns = [batch[name].cast(inferred.get(name, batch[name].type)) for name in names]
            rows = pa.RecordBatch.from_arrays(columns, names=names)
            rows.validate(full=True)  # Arrow takes any bytes for text
            yield rows

    def _open_file(self, source: InputFile | BytesIO, kinds: Types | None, others: str) -> BlockReader:
        first = {name: pa.string() if pa.types.is_temporal(kind) else kind for name, kind in (kinds or {}).items()}
        schema = None if kinds is None else pa.schema(first)
        parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)

        def open_file(size: int) -> pa.RecordBatchReader:
            reading = pj.ReadOptions(block_size=size)
            content = json_as_text(_lines(source), self.texts) if self.texts else opened(source)
            if HAS_BLOCKS_OF_JSON:
                return pj.open_json(content, read_options=reading, parse_options=parsing)
            return pj.read_json(content, read_options=reading, parse_options=parsing).to_reader()

        return BlockReader(open_file)

    def _culprit(self, file: InputFile, kinds: Types | None, others: str) -> IndexTablesError | None:
        """The error of the first invalid line; without types, they are inferred from the lines before it."""
        with text_of(file) as lines:
            numbered = ((number, line.strip()) for number, line in enumerate(lines, 1) if line.strip())
            return self._first_objection(file, numbered, kinds, others)

    def _first_objection(
        self, file: InputFile, numbered: Iterator[tuple[int, str]], kinds: Types | None, others: str
    ) -> IndexTablesError | None:
        at_once = {} if kinds else {"at_once": BLOCK}
        found = first_refused(numbered, lambda some: self._reads([line for _, line in some], kinds, others), **at_once)
        if not found:
            return None
        *before, (number, line) = found
        if kinds is None and before:
            schema = self._inferred(_encode([line for _, line in before]))
            kinds = dict(zip(schema.names, schema.types, strict=True))
        if number == 1 and line.startswith("["):
            return _is_array(file, line)
        return self._objection(place_of(file, number), line, kinds or {}, others)

    def _reads(self, lines: Sequence[str], kinds: Types | None, others: str) -> bool:
        return fits(lambda: self._read(_encode(lines), kinds, others), kinds or {})

    def _objection(self, place: str, line: str, kinds: Types, others: str) -> IndexTablesError | None:  # noqa: PLR0911
        try:
            record = msgspec.json.decode(line.encode(errors="surrogateescape"))
        except RecursionError:
            return IndexTablesError(
                f"{place} is nested too deep: {shortened(line)}; write one plain object in each line"
            )
        except UnicodeDecodeError:
            return not_utf8(place, None)
        except msgspec.DecodeError as error:
            return IndexTablesError(f"{place} is not JSON: {shortened(line)} ({error}); write one object in each line")
        if not isinstance(record, dict):
            return IndexTablesError(f"{place} is not an object: {shortened(line)}; write one object in each line")
        for name, value in record.items():
            if name not in kinds and others == "error":
                return SchemaError(
                    f"{place}: there is a column {name!r}, which is not in the first block of the file; "
                    f"set its type, as in --type {name}=string, or exclude it with --columns",
                    column=name,
                )
            text = msgspec.json.encode({name: value}).decode()
            if name in kinds and not self._reads([text], {name: kinds[name]}, others):
                return misfit(place, name, value, kinds[name])
        return None


def _is_array(file: InputFile, line: str) -> IndexTablesError:
    name = quote(file.name) if str(file.path) == file.name else "file.json"
    return IndexTablesError(
        f"{place_of(file, 1)} is not an object: {shortened(line)}; write one object in each line; "
        f"jq -c '.[]' {name} does so with the objects of an array"
    )


def _lines(source: InputFile | BytesIO) -> Iterator[str]:
    if isinstance(source, InputFile):
        with text_of(source) as lines:
            yield from lines
    else:
        source.seek(0)
        yield from (line.decode(errors="surrogateescape") for line in source)


def _encode(lines: Iterable[str]) -> BytesIO:
    return _joined(line.encode(errors="surrogateescape") for line in lines)


def _joined(lines: Iterable[bytes]) -> BytesIO:
    return BytesIO(b"\n".join(lines))


def _consistent(block: bytes, texts: frozenset[str]) -> list[str]:
    r"""The lines of a block that are objects, and whose values are of the kind that most of their column are.

    >>> _consistent(b'{"n":1}\n{"n":"x"}\n{"n":\n{"n":null}\n{"n":-2.5}', frozenset())
    ['{"n":1}', '{"n":null}', '{"n":-2.5}']
    """
    records = {}
    for line in filter(bytes.strip, block.split(b"\n")):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            values = _RECORD.decode(line)
            records[line.decode()] = {
                (name, _kind(bytes(value))) for name, value in values.items() if name.lower() not in texts
            }
    counts = Counter(kind for kinds in records.values() for kind in kinds if kind[1] is not None)
    most = {name: kind for (name, kind), _ in reversed(counts.most_common())}
    return [line for line, kinds in records.items() if all(kind in {None, most.get(name)} for name, kind in kinds)]


def _kind(value: bytes) -> str | None:
    """What a value in JSON is, by its first character; None if it is null."""
    return {b'"': "string", b"{": "object", b"[": "array", b"t": "flag", b"f": "flag", b"n": None}.get(
        value[:1], "number"
    )


def _type_of(texts: pa.Array) -> pa.DataType:
    """The type of date or time that all texts have, or else strings.

    >>> _type_of(pa.array(["2024-05-01T10:00:00.5+02:00", None])), _type_of(pa.array(["2024-05-01T10:00Z", "2024-05-01"]))
    (TimestampType(timestamp[us, tz=UTC]), DataType(string))
    """
    known = texts.drop_null()
    may_be = len(known) and pc.all(pc.match_substring_regex(known, r"^\d{4}-\d\d-\d\d")).as_py()
    return next((kind for kind in _TIMES if may_be and succeeds(partial(known.cast, kind))), pa.string())


_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])


def json_as_text(lines: Iterable[str], columns: frozenset[str]) -> BufferedReader:
    """The lines; in these columns, values that are neither strings nor null become strings, in their JSON notation.

    >>> lines = ['{"a": [1, 2.50], "b": 1}', '{"A": "x"}', '{"a": nul', '{"a":1,"a":2}']
    >>> json_as_text(lines, frozenset("a")).read().splitlines()
    [b'{"a":"[1, 2.50]","b":1}', b'{"A": "x"}', b'{"a": nul', b'{"a":1,"a":2}']
    """
    return BufferedReader(PieceStream(_as_text(line, columns) for line in lines))


def _as_text(line: str, columns: frozenset[str]) -> bytes:
    """A line that is no object, or that has a name twice, stays as it is; the reader refuses it."""
    data = line.encode(errors="surrogateescape")
    try:
        record = _RECORD.decode(data)
        values = {name: bytes(value) for name, value in record.items() if name.lower() in columns}
        texts = {name: value.decode() for name, value in values.items() if value != b"null" and value[:1] != b'"'}
        texts = {} if texts and _has_name_twice(data, record) else texts
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        texts = {}
    return msgspec.json.encode({**record, **texts}) + b"\n" if texts else data.removesuffix(b"\n") + b"\n"


def _has_name_twice(line: bytes, record: dict[str, msgspec.Raw]) -> bool:
    if len(msgspec.json.encode(record)) == len(line.strip()):  # nothing was left out
        return False
    return len(json.loads(line, object_pairs_hook=list)) > len(record)
