"""Columns from the directories of a Hive layout: `orders/country=NO/day=2024-01-01/part-0.parquet`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.file_reader import Types, WrappingReader, kind_name
from indextables.cli.input_files import InputFile
from indextables.errors import SchemaError
from indextables.schema import refuse_ambiguous_names
from indextables.values import decode

_INFERRED = (pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))
_LOSSY = r"[+-]?0[0-9]{2,}|[+].*"  # 007; 01 is a month, or a day, or an hour


@dataclass(frozen=True, slots=True)
class PathColumnsReader(WrappingReader):
    """Another reader, and columns that are in the paths of its files; `named` are the columns whose type was given."""

    kinds: Types
    named: frozenset[str]

    def columns(self, file: InputFile) -> pa.Schema:
        found = self.inner.columns(file)
        if not found.names:
            return found
        own = {name.lower() for name in found.names}
        return pa.schema(
            [*found, *((name, self.kinds[name.lower()]) for name in _values(file) if name.lower() not in own)]
        )

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:
        values = {name.lower(): (name, text) for name, text in _values(file).items()}
        own = self.inner.columns(file)
        known = {name.lower() for name in own.names}
        fields = [field for field in wanted if field.name.lower() not in values or field.name.lower() in known]
        read = pa.schema(fields or list(own)[:1])  # at least one, because a batch without columns has no rows
        given = {
            field.name: self._scalar(file, *values[field.name.lower()], field)
            for field in wanted
            if field.name.lower() in values
        }
        for batch in self.inner.batches(file, read, strict=strict):
            for name in given.keys() & set(read.names):
                _refuse_other_values(file, name, batch.column(name), given[name])
            columns = [
                batch.column(field.name) if field in fields else pa.repeat(given[field.name], len(batch))
                for field in wanted
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)

    def _scalar(self, file: InputFile, name: str, text: str | None, field: pa.Field) -> pa.Scalar:
        value = decode(pa.array([text], pa.string()), field.type).cast(field.type)[0]
        lossy = pa.types.is_integer(field.type) and name.lower() not in self.named and re.fullmatch(_LOSSY, text or "")
        if (text is None) == value.is_valid or lossy:
            raise SchemaError(
                f"{file}: column {field.name!r} is {kind_name(field.type)}, and its value in the path is {text!r}; rename "
                f"the directory, or give a new table another type, as in --type {name}=string",
                column=field.name,
            )
        return value


def path_columns(files: Sequence[InputFile]) -> list[str]:
    """The columns in the paths of files."""
    names = list(dict.fromkeys(name for file in files for name in _values(file)))
    refuse_ambiguous_names(names)
    return names


def path_types(files: Sequence[InputFile], known: Types) -> dict[str, pa.DataType]:
    """The types of the columns in paths, by their names in lower case: the known ones, or whole numbers, dates and times.

    >>> from pathlib import Path
    >>> paths = "n=1/day=2024-05-01/zip=007/a.csv", "n=02/day=2024-05-02/zip=1/a.csv"
    >>> path_types([InputFile(Path(path), path) for path in paths], {})
    {'n': DataType(int64), 'day': DataType(date32[day]), 'zip': DataType(string)}
    """
    found: dict[str, set[str]] = {}
    for name, text in chain.from_iterable(_values(file).items() for file in files):
        texts = found.setdefault(name.lower(), set())
        texts.update([] if text is None else [text])
    return {name: known.get(name) or _inferred(pa.array(sorted(texts), pa.string())) for name, texts in found.items()}


def _inferred(texts: pa.Array) -> pa.DataType:
    if not len(texts) or pc.any(pc.match_substring_regex(texts, f"^({_LOSSY})$")).as_py():
        return pa.string()
    return next((kind for kind in _INFERRED if not decode(texts, kind).null_count), pa.string())


def _values(file: InputFile) -> dict[str, str | None]:
    """The values in the path of a file; a name that has two is refused."""
    values: dict[str, str | None] = {}
    for name, text in file.path_values:
        if values.setdefault(name, text) != text:
            raise SchemaError(
                f"{file}: {name!r} has two values in the path, {values[name]!r} and {text!r}", column=name
            )
    return values


def _refuse_other_values(file: InputFile, name: str, values: pa.Array, given: pa.Scalar) -> None:
    """A column of a file may also be in its path, if it says the same."""
    other = pc.fill_null(pc.not_equal(values, given), True) if given.is_valid else values.is_valid()
    if pc.any(other).as_py():
        first = values.filter(other)[0].as_py()
        raise SchemaError(
            f"{file}: column {name!r} is in the path with the value {given.as_py()!s:.60}, and in the file with "
            f"{first!s:.60}; rename one of the two, leave the column out with --columns, or name the file from within "
            "its directory",
            column=name,
        )
