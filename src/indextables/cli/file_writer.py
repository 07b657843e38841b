"""Files of rows, written batch by batch: Parquet, CSV and JSON lines, compressed or not.

A file is written under another name beside its own, and renamed once it is complete. Memory holds a group of rows at a time.

Dates, times and decimals are text in CSV and JSON lines, as `indextables.values` writes them, so that none loses digits.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.csv import CSVWriter, WriteOptions

from indextables.errors import ConfigError, IndexTablesError, SchemaError
from indextables.expressions.closed_connection import closed_connection
from indextables.kernels import gather_batches
from indextables.nearest import nearest
from indextables.storage import Location
from indextables.values import encode

FORMATS = ("parquet", "csv", "tsv", "json")
_FORMAT_OF = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv"} | dict.fromkeys(
    (".json", ".jsonl", ".ndjson"), "json"
)
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
_STANDARD_OUTPUT = {"-", "/dev/stdout"}
_GROUP = 64 << 20  # bytes of rows that are written at a time
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_NAMES = {"csv": "CSV", "tsv": "TSV", "json": "JSON lines"}


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that is to be written; `path` is None for standard output. `replace` if one that exists is replaced."""

    name: str
    path: Path | None
    format: str
    compression: str | None
    replace: bool

    @property
    def exists(self) -> bool:
        return self.path is not None and self.path.is_file()

    def refuse_existing(self) -> None:
        if self.exists and not self.replace:
            raise IndexTablesError(f"the file {self.name} exists; choose another name, or use --force")


def output_file(given: str, format_: str | None, *, replace: bool = False) -> OutputFile:
    """The file that a user names, in the format that is given, or that of its extension.

    >>> [output_file(name, None).format for name in ("out.parquet", "rows.csv.gz", "lines.jsonl")]
    ['parquet', 'csv', 'json']
    """
    if format_ is not None and format_ not in FORMATS:
        meant = nearest(format_, FORMATS)
        hint = f"did you mean {meant!r}? Use" if meant else "use"
        raise ConfigError(
            f"{format_!r} is not a format of exports; {hint} {', '.join(FORMATS)}", key="--format", value=format_
        )
    if given in _STANDARD_OUTPUT:
        if format_ is None:
            raise IndexTablesError(f"give --format {'|'.join(FORMATS)}: standard output has no file extension")
        return OutputFile("standard output", None, format_, None, replace)
    location = Location.parse(given)
    if location.scheme != "file":
        raise IndexTablesError(
            f"{location} is not a file of this machine; write to standard output, and let another program store it: "
            "indextables export TABLE - --format parquet | aws s3 cp - s3://bucket/rows.parquet"
        )
    path = Path(location.path).resolve()
    ending, compressed = _endings(Path(location.path))
    format_ = format_ or _FORMAT_OF.get(ending)
    if format_ is None:
        raise IndexTablesError(
            f"{given} has no known file extension; supported are {', '.join(_FORMAT_OF)} (but for .parquet also with "
            f"{', '.join(_COMPRESSED)}); for others, give --format {'|'.join(FORMATS)}"
        )
    if format_ == "parquet" and compressed:
        raise IndexTablesError(f"{given}: the pages of Parquet files are compressed; leave out {compressed}")
    return OutputFile(given, path, format_, _COMPRESSED.get(compressed), replace)


def _endings(path: Path) -> tuple[str, str]:
    """The extension of the format, and that of the compression."""
    last = path.suffix.lower()
    return (Path(path.stem).suffix.lower(), last) if last in _COMPRESSED else (last, "")


def refuse_columns(schema: pa.Schema, format_: str) -> None:
    """Raises a SchemaError for columns that a file of the format cannot hold."""
    if not schema.names:
        raise SchemaError("an export needs at least one column", column=None)
    binary = [column.name for column in schema if pa.types.is_binary(column.type)]
    if binary and format_ != "parquet":
        others = [name for name in schema.names if name not in binary]
        hint = (
            f"leave it out with --columns {','.join(others)!r}, or export to Parquet" if others else "export to Parquet"
        )
        raise SchemaError(
            f"column {binary[0]!r} is binary, which {_NAMES[format_]} cannot hold; {hint}", column=binary[0]
        )


def write_rows(
    file: OutputFile, schema: pa.Schema, batches: Iterable[pa.RecordBatch], progress: Callable[[int], object]
) -> tuple[int, int]:
    """Writes the rows; gives their number and that of the bytes. `progress` is called with the rows so far."""
    rows = 0
    with _destination(file) as (raw, close):
        sink = _Counted(raw)
        with (
            pa.PythonFile(sink, "w") as plain,
            _compressed(plain, file.compression) as stream,
            _table_writer(stream, schema, file.format) as write,
        ):
            for group in gather_batches(batches, at_least=_GROUP):
                write(group)
                rows += group.num_rows
                progress(rows)
        close()
    return rows, sink.tell()


@contextmanager
def _destination(file: OutputFile) -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """A stream to write to, and what completes the file; without that, nothing is left of it."""
    path = file.path
    if path is None:
        yield sys.stdout.buffer, sys.stdout.buffer.flush
        return
    if path.exists() and not path.is_file():  # a pipe or a device
        with path.open("wb") as device:
            yield device, device.flush
        return
    temporary = path.with_name(f".indextables-{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as stream:

            def complete() -> None:
                stream.close()
                file.refuse_existing()  # it may have been written meanwhile
                temporary.replace(path)

            yield stream, complete
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


class _Counted:
    """A stream that knows how many bytes it was given: a pipe does not."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._written = 0

    def write(self, data: Any) -> int:
        size = self._stream.write(data)
        self._written += size
        return size

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self.closed = True


@contextmanager
def _compressed(stream: pa.NativeFile, compression: str | None) -> Iterator[pa.NativeFile]:
    if compression is None:
        yield stream
        return
    with pa.CompressedOutputStream(stream, compression) as packed:
        yield packed


@contextmanager
def _table_writer(stream: pa.NativeFile, schema: pa.Schema, format_: str) -> Iterator[Callable[[pa.Table], object]]:
    match format_:
        case "parquet":
            with pq.ParquetWriter(stream, schema, compression="zstd") as parquet:
                yield parquet.write_table
        case "json":
            with closing(closed_connection(threads=os.cpu_count() or 1)) as connection:
                yield lambda rows: stream.write(_json_lines(rows, connection))
        case _:
            options = WriteOptions(delimiter=_DELIMITERS[format_])
            with CSVWriter(stream, _cells(schema.empty_table()).schema, write_options=options) as csv:
                yield lambda rows: csv.write_table(_cells(rows))


def _cells(rows: pa.Table) -> pa.Table:
    """Rows as CSV has them. A null is an empty cell, and an empty text is `""`; a line without a character is no row."""
    columns = [_exact(column) for column in rows.columns]
    if len(columns) == 1:
        columns = [pc.fill_null(columns[0].cast(pa.string()), "")]
    return pa.table(columns, names=rows.column_names)


def _json_lines(rows: pa.Table, connection: Any) -> bytes:
    """One object in each line. NaN and infinities are bare words, as Python's json module and Spark write and read them."""
    columns = [_shortest(_exact(column)) for column in rows.columns]
    connection.register("rows", pa.table(columns, names=[f"c{number}" for number in range(len(columns))]))
    fields = (f"{_quoted(name)}: c{number}" for number, name in enumerate(rows.column_names))
    query = f"SELECT to_json({{{', '.join(fields)}}}) FROM rows"  # noqa: S608 - the names are quoted
    lines: Sequence[str] = connection.sql(query).to_arrow_table()[0].to_pylist()
    return "".join(f"{line}\n" for line in lines).encode()


def _exact(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Dates, times and decimals as text."""
    return encode(column) if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type) else column


def _shortest(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Floats as doubles that are written with the same digits: 0.1, not 0.10000000149011612."""
    return column.cast(pa.string()).cast(pa.float64()) if pa.types.is_float32(column.type) else column


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
