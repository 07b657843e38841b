"""Files of rows, read as Arrow batches: Parquet, CSV, JSON lines, logs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

import pyarrow as pa

from indextables.cli.csv_reader import CsvReader
from indextables.cli.file_reader import ParquetReader, Reader, Types, shortened
from indextables.cli.input_files import InputFile, format_of
from indextables.cli.json_reader import JsonReader
from indextables.cli.log_patterns import LogPattern
from indextables.cli.log_reader import LogReader, pattern_of
from indextables.cli.timestamp_columns import TimestampColumn, TimestampReader
from indextables.errors import ConfigError, IndexTablesError, SchemaError
from indextables.nearest import nearest
from indextables.schema import column_named, refuse_ambiguous_names


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files are read: their format if it is not that of their extension, and what is special about it."""

    format: str | None = None
    delimiter: str | None = None
    pattern: LogPattern | None = None
    timestamps: Sequence[TimestampColumn] = ()


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """The rows of files, and the reader of log files if they are such files."""

    batches: pa.RecordBatchReader
    log: LogReader | None

    @property
    def schema(self) -> pa.Schema:
        return self.batches.schema


def rows_in(
    files: Sequence[InputFile],
    columns: Sequence[str] | None = None,
    *,
    table: pa.Schema | None = None,
    merge_schema: bool = False,
    named: Types | None = None,
    options: FileOptions | None = None,
) -> ImportedRows:
    """The rows of all files, which have one format; times of day and columns of nulls as text.

    What is text in a file has the type of the column of that name in `named`, which must be there, or else in the `table`
    that the rows are for. Where there is none, columns are inferred from the files. Each file has the columns of the table,
    unless `merge_schema` allows others and fewer. A column that some files do not have is null in their rows.
    """
    types = {} if table is None else dict(zip(table.names, table.types, strict=True))
    known = {name.lower(): kind for name, kind in {**types, **(named or {})}.items()}
    reader = reader_of(files, options or FileOptions(), known, frozenset(name.lower() for name in named or ()))
    if named and isinstance(reader, ParquetReader):
        raise IndexTablesError("the columns of Parquet files have their types; --type is for CSV and JSON lines")
    found = [reader.columns(file) for file in files]
    for schema in found:
        refuse_ambiguous_names(schema.names)
    schema = _together(
        [*found, *([pa.schema(types), pa.schema(dict(named or {}))] if reader.may_have_more_columns else [])], known
    )
    for name in named or ():
        column_named(schema, name)
    wanted = schema if columns is None else pa.schema([schema.field(column_named(schema, name)) for name in columns])
    if table is not None and not merge_schema:
        for file, own in zip(files, found, strict=True):
            _refuse_other_columns(reader, file, own, wanted, table)
    _refuse_nested(wanted, may_be_text=isinstance(reader, JsonReader))
    batches = _batches(reader, files, wanted, strict=columns is None)
    return ImportedRows(pa.RecordBatchReader.from_batches(wanted, batches), _log_reader(reader))


def _refuse_nested(wanted: pa.Schema, *, may_be_text: bool) -> None:
    nested = [column for column in wanted if pa.types.is_nested(column.type)]
    if not nested:
        return
    plain = [column.name for column in wanted if column not in nested]
    as_text = " ".join(f"--type {quote(f'{column.name}=string')}" for column in nested)
    advice = [
        *([f"keep its JSON as text with {as_text}"] if may_be_text else []),
        *([f"leave it out with --columns {quote(','.join(plain))}"] if plain else []),
    ]
    hint = ", or ".join(advice) or "flatten it first"
    raise SchemaError(
        f"column {nested[0].name!r} has type {shortened(str(nested[0].type))}, which a table cannot hold; {hint}",
        column=nested[0].name,
    )


def _log_reader(reader: Reader) -> LogReader | None:
    inner = reader.inner if isinstance(reader, TimestampReader) else reader
    return inner if isinstance(inner, LogReader) else None


def _refuse_other_columns(reader: Reader, file: InputFile, own: pa.Schema, wanted: pa.Schema, table: pa.Schema) -> None:
    """Refuses a file that has columns which are wanted and which the table lacks, or that lacks columns of the table."""
    has, chosen, known = ({name.lower() for name in schema.names} for schema in (own, wanted, table))
    strange = [name for name in own.names if name.lower() in chosen - known]
    absent = [column for column in table if column.name.lower() not in has]
    later = (
        reader.later_columns(file, {column.name: column.type for column in absent}) if absent and own.names else set()
    )
    missing = [column.name for column in absent if column.name not in later]
    if not own.names or not (strange or missing):
        return
    meant = {name: found for name in strange if (found := nearest(name, missing or table.names))}
    hints = [f"did you mean {found!r} by {name!r}?" for name, found in meant.items()]
    faults = [
        *([f"the table has no column {_list(strange)}"] if strange else []),
        *([f"the file has no column {_list(missing)}"] if missing else []),
    ]
    raise SchemaError(
        f"{file} has other columns than the table: {', and '.join(faults)}; {' '.join([*hints, ''])}the table has "
        f"{', '.join(table.names)}; rename columns, select some with --columns, or use --merge-schema to add columns "
        "to the table and to leave missing ones null",
        column=[*strange, *missing][0],
    )


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _batches(
    reader: Reader, files: Sequence[InputFile], wanted: pa.Schema, *, strict: bool
) -> Iterator[pa.RecordBatch]:
    for file in files:
        yield from reader.batches(file, wanted, strict=strict)


def reader_of(files: Sequence[InputFile], options: FileOptions, types: Types, named: frozenset[str]) -> Reader:
    """The reader of files, which have one format."""
    formats = sorted({format_of(file, options.format) for file in files})
    _refuse_other_options(formats, options)
    timestamps = list(options.timestamps)
    reader: Reader
    match formats:
        case ["parquet"]:
            reader = ParquetReader()
        case ["json"]:
            reader = _json_reader(files, types, named)
        case ["csv" | "tsv" as name]:
            mark = options.delimiter or {"csv": ",", "tsv": "\t"}[name]
            reader = CsvReader(types, named, mark, guessed=options.delimiter is None)
        case ["log"]:
            pattern = options.pattern or pattern_of(files[0])
            reader = LogReader(pattern, types)
            given = {source.lower() for column in timestamps for source in column.sources}
            own = [pattern.timestamp] if pattern.timestamp else reader.iso_timestamps(files[0])
            timestamps += [column for column in own if column.name.lower() not in given]
        case _:
            raise IndexTablesError(
                f"the files are of several formats: {', '.join(formats)}; import one format at a time"
            )
    return TimestampReader(reader, timestamps) if timestamps else reader


def _json_reader(files: Sequence[InputFile], types: Types, named: frozenset[str]) -> JsonReader:
    plain = JsonReader(types)
    of_table = any(map(plain.has_other_values, files))
    texts = [name for name, kind in types.items() if kind == pa.string() and (of_table or name in named)]
    return JsonReader(types, frozenset(texts))


def _refuse_other_options(formats: Sequence[str], options: FileOptions) -> None:
    if options.pattern is not None and formats != ["log"]:
        raise ConfigError(f"--pattern is for --format log, and the files are {formats[0]}", key="--pattern", value=None)
    if options.delimiter is not None and not {"csv", "tsv"} & set(formats):
        raise ConfigError(f"--delimiter is for CSV, and the files are {formats[0]}", key="--delimiter", value=None)


def _together(schemas: Sequence[pa.Schema], types: Types) -> pa.Schema:
    """The columns of all files: in the known types, or in one that holds what each of them has, or as the first has it.

    >>> first, second = pa.schema({"n": pa.int64(), "zip": pa.int64()}), pa.schema({"N": pa.float64(), "zip": pa.string()})
    >>> _together([first, second], {})
    n: double
    zip: string
    """
    found: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        known = found.setdefault(field.name.lower(), field)
        found[field.name.lower()] = known.with_type(types.get(field.name.lower()) or _wider(known.type, field.type))
    if not found:
        raise SchemaError("the files are empty, so their columns cannot be inferred", column=None)
    return pa.schema([pa.field(field.name, _stored(field.type)) for field in found.values()])


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    schemas = [pa.schema({"column": first}), pa.schema({"column": second})]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]
    except pa.ArrowTypeError:
        return pa.string() if pa.string() in {first, second} else first


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind
