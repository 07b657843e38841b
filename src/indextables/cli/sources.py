"""Files of rows, read as Arrow batches: Parquet, CSV, JSON lines."""

from collections.abc import Sequence
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
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}


def rows_in(files: Sequence[Path], columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """The rows of all files, which have one format and the same columns; times of day and columns of nulls as text."""
    missing = [str(file) for file in files if not file.exists()]
    if missing:
        raise IndexTablesError(f"there is no file {missing[0]}")
    formats = sorted({format_of(file) for file in files})
    if len(formats) != 1:
        raise IndexTablesError(f"the files are of several formats: {', '.join(formats)}; import one format at a time")
    try:
        rows = ds.dataset([str(file) for file in files], format=_reader(formats[0]))
        names = [column_named(rows.schema, name) for name in columns or rows.schema.names]
        wanted = {name: _as_stored(rows.schema.field(name)) for name in names}
        return rows.scanner(columns=wanted).to_reader()
    except (pa.ArrowException, OSError) as error:
        raise IndexTablesError(f"the files cannot be read as {formats[0]}: {error}") from error


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


def _reader(name: str) -> ds.FileFormat | str:
    if name == "tsv":
        from pyarrow.csv import ParseOptions

        return ds.CsvFileFormat(parse_options=ParseOptions(delimiter="\t"))
    return name
