"""Files of rows, read as Arrow batches: Parquet, CSV, JSON lines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from indextables.errors import IndexTablesError
from indextables.schema import column_named

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}


def rows_in(
    files: Sequence[Path],
    columns: Sequence[str] | None = None,
    *,
    like: pa.Schema | None = None,
    delimiter: str | None = None,
) -> pa.RecordBatchReader:
    """The rows of all files, which have one format and the same columns; times of day and columns of nulls as text.

    What is text in a file has the type of the column of that name in `like`. Where there is none, the beginning of the
    first file tells.
    """
    missing = [str(file) for file in files if not file.exists()]
    if missing:
        raise IndexTablesError(f"there is no file {missing[0]}")
    formats = sorted({format_of(file) for file in files})
    if len(formats) != 1:
        raise IndexTablesError(f"the files are of several formats: {', '.join(formats)}; import one format at a time")
    with _told_as(formats[0]):
        paths, reading = [str(file) for file in files], _reader(formats[0], delimiter)
        rows = ds.dataset(paths, format=reading)
        if formats[0] in _DELIMITERS and delimiter is None:
            _refuse_other_delimiter(rows.schema.names)
        if formats[0] != "parquet":
            rows = ds.dataset(paths, format=reading, schema=_typed(rows.schema, like or pa.schema([])))
        names = [column_named(rows.schema, name) for name in columns or rows.schema.names]
        wanted = {name: _as_stored(rows.schema.field(name)) for name in names}
        reader = rows.scanner(columns=wanted).to_reader()
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, formats[0]))


def _batches(reader: pa.RecordBatchReader, name: str) -> Iterator[pa.RecordBatch]:
    with _told_as(name):
        yield from reader


@contextmanager
def _told_as(name: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise IndexTablesError(f"the files cannot be read as {name}: {error}") from error


def _typed(found: pa.Schema, like: pa.Schema) -> pa.Schema:
    """The columns of the files with the types that are known; bytes among them are text in an unknown encoding."""
    known = {field.name.lower(): field.type for field in like}
    typed = pa.schema([field.with_type(known.get(field.name.lower(), field.type)) for field in found])
    for field in typed:
        if pa.types.is_binary(field.type) and field.name.lower() not in known:
            raise IndexTablesError(
                f"column {field.name!r} is not text in UTF-8; convert the file first, as in "
                "iconv -f latin1 -t utf-8 old.csv > new.csv"
            )
    return typed


def format_of(file: Path) -> str:
    """The format that the name of a file tells.

    >>> format_of(Path("lines.jsonl")), format_of(Path("rows.csv.gz"))
    ('json', 'csv')
    """
    endings = [ending.lower() for ending in file.suffixes]
    ending = next((ending for ending in reversed(endings) if ending not in _COMPRESSED), "")
    if ending not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise IndexTablesError(f"{file} has no ending that tells its format; known are {known} (also with .gz)")
    return _FORMATS[ending]


def _as_stored(field: pa.Field) -> ds.Expression:
    column = ds.field(field.name)
    return column.cast(pa.string()) if pa.types.is_time(field.type) or pa.types.is_null(field.type) else column


def _reader(name: str, delimiter: str | None) -> ds.FileFormat | str:
    if name not in _DELIMITERS:
        return name
    from pyarrow.csv import ParseOptions

    return ds.CsvFileFormat(parse_options=ParseOptions(delimiter=delimiter or _DELIMITERS[name]))


def _refuse_other_delimiter(names: Sequence[str]) -> None:
    """A file of one column whose name has a `;` in it is one of several columns."""
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        raise IndexTablesError(
            f"the first line, {names[0]!r}, has no commas; if its columns are parted by {other!r}, say --delimiter {other!r}"
        )
