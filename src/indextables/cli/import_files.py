"""Files of rows, read as Arrow batches: CSV, JSON lines, logs, and columnar formats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

import pyarrow as pa

from indextables.cli.bad_lines import BadLines
from indextables.cli.columnar_readers import ColumnarReader
from indextables.cli.csv_reader import CsvReader
from indextables.cli.file_reader import Reader, Types, WrappingReader, kind_name, names_in, shortened
from indextables.cli.input_files import COLUMNAR, InputFile, format_of
from indextables.cli.json_reader import JsonReader
from indextables.cli.log_patterns import LogPattern
from indextables.cli.log_reader import LogReader, pattern_of
from indextables.cli.path_columns import PathColumnsReader, path_columns, path_types
from indextables.cli.timestamp_columns import TimestampColumn, TimestampReader
from indextables.errors import ConfigError, IndexTablesError, SchemaError
from indextables.nearest import nearest
from indextables.plural import agreeing
from indextables.schema import column_named, refuse_ambiguous_names


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files are read: their format if it is not that of their extension, and what is special about it."""

    format: str | None = None
    delimiter: str | None = None
    pattern: LogPattern | None = None
    timestamps: Sequence[TimestampColumn] = ()
    bad: BadLines | None = None


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """The rows of files, the reader of log files if they are such files, and the columns that come from their paths."""

    batches: pa.RecordBatchReader
    log: LogReader | None
    path_columns: Sequence[str] = ()
    bad: BadLines | None = None

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
    options = options or FileOptions()
    reader = reader_of(files, options, known, frozenset(name.lower() for name in named or ()))
    inner, in_paths = _innermost(reader), path_columns(files)
    if isinstance(inner, ColumnarReader) and {name.lower() for name in named or ()} - set(map(str.lower, in_paths)):
        raise IndexTablesError(
            "the columns of Parquet, Arrow and ORC files have their types; --type is for CSV and JSON lines"
        )
    found = [reader.columns(file) for file in files]
    for schema in found:
        refuse_ambiguous_names(schema.names)
    more = [("", pa.schema(types)), ("", pa.schema(dict(named or {})))] if reader.may_have_more_columns else []
    owned = [(file.name, schema) for file, schema in zip(files, found, strict=True)]
    schema = _together([*owned, *more], known, columns, are_texts=not isinstance(inner, ColumnarReader))
    for name in named or ():
        column_named(schema, name)
    wanted = schema if columns is None else pa.schema([schema.field(column_named(schema, name)) for name in columns])
    if table is not None and not merge_schema:
        for file, own in zip(files, found, strict=True):
            _refuse_other_columns(reader, file, own, wanted, table)
    _refuse_nested(wanted, may_be_text=isinstance(inner, JsonReader))
    batches = pa.RecordBatchReader.from_batches(
        wanted, _batches(reader, files, wanted, options.bad, strict=columns is None)
    )
    own = names_in(in_paths, wanted)
    return ImportedRows(batches, inner if isinstance(inner, LogReader) else None, list(own), options.bad)


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


def _innermost(reader: Reader) -> Reader:
    return _innermost(reader.inner) if isinstance(reader, WrappingReader) else reader


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
    in_path = [name for name, _ in file.path_values if name in strange]
    hints += (
        [f"{_list(in_path)} {agreeing(len(in_path), 'comes', 'come')} from the path of the file;"] if in_path else []
    )
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
    reader: Reader, files: Sequence[InputFile], wanted: pa.Schema, bad: BadLines | None, *, strict: bool
) -> Iterator[pa.RecordBatch]:
    rows = 0
    if bad is not None:
        bad.restart()
    for file in files:
        for batch in reader.batches(file, wanted, strict=strict):
            rows += len(batch)
            yield batch
    if bad is not None:
        bad.finish(rows)


def reader_of(files: Sequence[InputFile], options: FileOptions, types: Types, named: frozenset[str]) -> Reader:
    """The reader of files, which have one format."""
    formats = sorted({format_of(file, options.format) for file in files})
    _refuse_other_options(formats, options)
    timestamps = list(options.timestamps)
    reader: Reader
    match formats:
        case [name] if name in COLUMNAR:
            reader = ColumnarReader(name)
        case ["json"]:
            reader = _json_reader(files, types, named, options.bad)
        case ["csv" | "tsv" as name]:
            mark = options.delimiter or {"csv": ",", "tsv": "\t"}[name]
            reader = CsvReader(types, named, mark, guessed=options.delimiter is None, bad=options.bad)
        case ["log"]:
            pattern = options.pattern or pattern_of(files[0])
            reader = LogReader(pattern, types)
            given = {source.lower() for column in timestamps for source in column.sources}
            own = [pattern.timestamp] if pattern.timestamp else reader.iso_timestamps(files[0])
            timestamps += [column for column in own if column.name.lower() not in given]
        case _:
            examples = {format_of(file, options.format): file for file in reversed(files)}
            named_formats = ", ".join(f"{name} ({examples[name]})" for name in formats)
            raise IndexTablesError(
                f"the files are of several formats: {named_formats}; import one format at a time, as in "
                f"'DIRECTORY/**/*{examples[formats[0]].path.suffix}'"
            )
    if kinds := path_types(files, types):
        reader = PathColumnsReader(reader, kinds, named)
    return TimestampReader(reader, timestamps) if timestamps else reader


def _json_reader(files: Sequence[InputFile], types: Types, named: frozenset[str], bad: BadLines | None) -> JsonReader:
    plain = JsonReader(types)
    of_table = any(map(plain.has_other_values, files))
    texts = [name for name, kind in types.items() if kind == pa.string() and (of_table or name in named)]
    return JsonReader(types, frozenset(texts), bad)


def _refuse_other_options(formats: Sequence[str], options: FileOptions) -> None:
    if options.pattern is not None and formats != ["log"]:
        raise ConfigError(f"--pattern is for --format log, and the files are {formats[0]}", key="--pattern", value=None)
    if options.delimiter is not None and not {"csv", "tsv"} & set(formats):
        raise ConfigError(f"--delimiter is for CSV, and the files are {formats[0]}", key="--delimiter", value=None)
    if options.bad is not None and not {"csv", "tsv", "json"} & set(formats):
        raise ConfigError(
            f"--bad-lines is for CSV and JSON lines, and the files are {formats[0]}", key="--bad-lines", value=None
        )


def _together(
    schemas: Sequence[tuple[str, pa.Schema]], types: Types, columns: Sequence[str] | None = None, *, are_texts: bool
) -> pa.Schema:
    """The columns of all files: in the known types, or in one that holds what each of them has.

    Columns that are not among those of an import may have types that contradict each other.

    >>> first, second = pa.schema({"n": pa.int64(), "zip": pa.int64()}), pa.schema({"N": pa.float64(), "zip": pa.string()})
    >>> _together([("a.csv", first), ("b.csv", second)], {}, are_texts=True)
    n: double
    zip: string
    >>> _together([("a.parquet", first), ("b.parquet", second)], {}, are_texts=False)
    Traceback (most recent call last):
    indextables.errors.SchemaError: column 'zip' is long in a.parquet and string in b.parquet, ...
    """
    found: dict[str, tuple[str, pa.Field]] = {}
    chosen = None if columns is None else {name.lower() for name in columns}
    for file, field in ((file, field) for file, schema in schemas for field in schema):
        key = field.name.lower()
        first, known = found.setdefault(key, (file, field))
        kind = types.get(key) or _wider(known.type, field.type, are_texts=are_texts)
        if kind is None and chosen is not None and key not in chosen:
            kind = known.type
        if kind is None:
            raise _no_common_type(first, known, file, field, are_texts=are_texts)
        found[key] = (first if kind == known.type else file, known.with_type(kind))
    if not found:
        raise SchemaError("the files are empty, so their columns cannot be inferred", column=None)
    return pa.schema([pa.field(field.name, _stored(field.type)) for _, field in found.values()])


def _wider(first: pa.DataType, second: pa.DataType, *, are_texts: bool) -> pa.DataType | None:
    if first == second:
        return first
    if not are_texts and pa.types.is_binary(first) != pa.types.is_binary(second):
        return None
    schemas = [pa.schema({"column": first}), pa.schema({"column": second})]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]
    except pa.ArrowTypeError:
        return pa.string() if are_texts and pa.string() in {first, second} else None


def _no_common_type(first: str, known: pa.Field, file: str, field: pa.Field, *, are_texts: bool) -> SchemaError:
    name = field.name
    advice = (
        f"give it one, as in --type {quote(f'{name}=string')}" if are_texts else "convert the column in one of them"
    )
    return SchemaError(
        f"column {name!r} is {kind_name(_stored(known.type))} in {first} and {kind_name(_stored(field.type))} in {file}, "
        f"and no type holds both; {advice}, or leave it out with --columns",
        column=name,
    )


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_time(kind) or pa.types.is_null(kind) else kind
