"""Timestamps that are made of the texts of one or several columns: `ts=date+time`, `ts=time as %d/%b/%Y:%H:%M:%S %z`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.file_reader import ZONED, WrappingReader, shortened
from indextables.cli.input_files import InputFile
from indextables.errors import ConfigError, SchemaError
from indextables.kernels import flat
from indextables.schema import column_named, type_name
from indextables.values import decode

_UTC, _NO_ZONE = pa.timestamp("us", "UTC"), pa.timestamp("us")
_LOOKS_LIKE_TIME = r"\d[-/]\d\d?[-/]\d|\d\.\d\d?\.\d{4}|\d\d:\d\d"
_ISO = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
_NULLS = pa.array(["", "-", "NULL", "null", "N/A"])


@dataclass(frozen=True, slots=True)
class TimestampColumn:
    """A timestamp that replaces its source columns; ISO 8601 where there is no format."""

    name: str
    sources: tuple[str, ...]
    format: str | None

    def type_of(self, texts: pa.Array) -> pa.DataType:
        """The type of the column, given some of its texts: that with a time zone if they have one."""
        if self.format is not None and _has_zone(self.format):
            return _UTC
        zoned = pc.any(pc.match_substring_regex(texts, ZONED if self.format is None else f"{_ISO}.*{ZONED}")).as_py()
        return _UTC if zoned else _NO_ZONE


def parse_timestamps(given: Iterable[str] | None) -> list[TimestampColumn]:
    """Timestamps as users write them.

    >>> parse_timestamps(["ts=date+time", "at = Time as %d/%b/%Y:%H:%M:%S %z"])[1].format
    '%d/%b/%Y:%H:%M:%S %z'
    """
    return [_parse(text) for text in given or ()]


def _parse(text: str) -> TimestampColumn:
    name, equals, rest = text.partition("=")
    columns, _, format_ = re.sub(r"\s+as\s+", "\0", rest, count=1, flags=re.IGNORECASE).partition("\0")
    sources = tuple(part.strip() for part in columns.split("+"))
    if not equals or not name.strip() or not all(sources):
        raise ConfigError(
            f"--timestamp {text!r} does not say what the timestamp is made of; write NAME=COLUMN+COLUMN, as in "
            "ts=date+time, or with a format, as in 'ts=time as %d/%b/%Y:%H:%M:%S %z'",
            key="--timestamp",
            value=text,
        )
    return TimestampColumn(name.strip(), sources, format_.strip() or None)


@dataclass(frozen=True, slots=True)
class TimestampReader(WrappingReader):
    """Another reader, some of whose columns become timestamps."""

    timestamps: Sequence[TimestampColumn]

    def columns(self, file: InputFile) -> pa.Schema:
        found = self.inner.columns(file)
        if not found.names:
            return found
        for column in self.timestamps:
            found = self._replaced(file, found, column)
        return found

    def _replaced(self, file: InputFile, found: pa.Schema, column: TimestampColumn) -> pa.Schema:
        sources = [column_named(found, source) for source in column.sources]
        others = [name for name in found.names if name not in sources]
        if column.name.lower() in {name.lower() for name in others}:
            raise SchemaError(
                f"{file} has a column {column.name!r} already; give the timestamp another name", column=column.name
            )
        wanted = pa.schema([(source, pa.string()) for source in sources])
        first = next(self.inner.batches(file, wanted, strict=False), None)
        kind = _NO_ZONE if first is None else column.type_of(_joined(first, sources))
        fields = [pa.field(column.name, kind) if field.name == sources[0] else field for field in found]
        return pa.schema([field for field in fields if field.name not in sources or field.name == column.name])

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:
        own = self.inner.columns(file)
        if not own.names:
            return
        made = {column.name.lower(): column for column in self.timestamps}
        sources = {source: column_named(own, source) for column in self.timestamps for source in column.sources}
        texts = [pa.field(name, pa.string()) for name in dict.fromkeys(sources.values())]
        plain = [field for field in wanted if field.name.lower() not in made and field.name not in sources.values()]
        row = 0
        for batch in self.inner.batches(file, pa.schema([*texts, *plain]), strict=strict):

            def column_of(field: pa.Field, batch: pa.RecordBatch = batch, row: int = row) -> pa.Array:
                column = made.get(field.name.lower())
                if column is None:
                    return batch.column(field.name)
                joined = _joined(batch, [sources[source] for source in column.sources])
                return _timestamps(file, joined, column, field.type, row)

            yield pa.RecordBatch.from_arrays([column_of(field) for field in wanted], schema=wanted)
            row += len(batch)


def _timestamps(file: InputFile, texts: pa.Array, column: TimestampColumn, kind: pa.DataType, row: int) -> pa.Array:
    """The timestamps of texts; `row` is the number of the first one in the file."""
    if not pa.types.is_timestamp(kind):
        raise SchemaError(
            f"--timestamp makes a timestamp of {column.name!r}, and the column is {type_name(kind)}", column=column.name
        )
    if column.format is not None and _has_zone(column.format) and kind.tz is None:
        raise SchemaError(
            f"the column {column.name!r} has no time zone (timestamp_ntz), and the format {column.format!r} reads one; "
            "leave %z out",
            column=column.name,
        )
    read = parse_times(texts, column.format, kind, file.modified)
    if read.null_count > texts.null_count:
        wrong = pc.index(pc.and_(pc.is_null(read), pc.is_valid(texts)), value=True).as_py()
        what = "an ISO 8601 timestamp" if column.format is None else f"a time of the format {column.format!r}"
        zone = " without a time zone" if kind.tz is None else ""
        raise SchemaError(
            f"{file}: {shortened(texts[wrong].as_py())} in row {row + wrong + 1:,} is not {what}{zone}; give "
            f"the format, as in --timestamp '{column.name}={'+'.join(column.sources)} as %Y-%m-%d %H:%M:%S'",
            column=column.name,
        )
    return read


def _joined(batch: pa.RecordBatch, sources: Sequence[str]) -> pa.Array:
    """The texts of some columns with a space between them; null where one is."""
    texts = [pc.utf8_trim_whitespace(batch.column(source)) for source in sources]
    known = [pc.if_else(pc.is_in(text, _NULLS), None, text) for text in texts]
    return known[0] if len(known) == 1 else pc.binary_join_element_wise(*known, " ")


def parse_times(texts: pa.Array, format_: str | None, kind: pa.DataType, newest: datetime) -> pa.Array:
    """The times of texts, null where a text is none. A format without a year is of the last year before `newest`.

    ISO 8601 is understood in any case.
    """
    iso = decode(_as_iso(texts), kind)
    if format_ is None or iso.null_count == texts.null_count:
        return iso
    read = _strptime(texts, format_, newest).cast(kind)
    return pc.coalesce(iso, read)


def are_iso(texts: pa.Array) -> bool:
    """Whether all texts are timestamps of ISO 8601.

    >>> are_iso(pa.array(["2024-05-01 10:00:00,5", None])), are_iso(pa.array(["2024-05-01"])), are_iso(pa.array(["noon"]))
    (True, False, False)
    """
    texts = pc.if_else(pc.is_in(texts, _NULLS), None, texts).drop_null()
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, _ISO)).as_py():
        return False
    kind = TimestampColumn("", (), None).type_of(texts)
    return bool(decode(_as_iso(texts), kind).null_count == 0)


def timestamp_advice(column: str, texts: pa.Array) -> str | None:
    """How to import a column as a timestamp, if its first text looks like a time.

    >>> timestamp_advice("ts", pa.array([None, "01.05.2024 10:00"]))
    "'01.05.2024 10:00' looks like a time; import it as a timestamp with --timestamp 'ts=ts as %d/%m/%Y %H:%M:%S' ..."
    """
    known = texts.drop_null()
    first = known[0].as_py() if len(known) else ""
    if not re.search(_LOOKS_LIKE_TIME, first):
        return None
    option = f"{column}={column}"
    how = quote(option) if are_iso(texts) else f"{quote(f'{option} as %d/%m/%Y %H:%M:%S')} (the format of the texts)"
    return f"{shortened(first)} looks like a time; import it as a timestamp with --timestamp {how}"


def _as_iso(texts: pa.Array) -> pa.Array:
    """Texts with a point before the fraction, of at most six digits, and a colon in the offset."""
    point = pc.replace_substring_regex(texts, r"(\d\d:\d\d)[.,](\d{1,6})\d*", r"\1.\2")
    zone = pc.replace_substring_regex(point, r"(:\d\d\S*) (Z|[+-])", r"\1\2")
    return pc.replace_substring_regex(zone, r"(:\d\d\S*[+-]\d\d)(\d\d)$", r"\1:\2")


def _strptime(texts: pa.Array, format_: str, newest: datetime) -> pa.Array:
    import duckdb

    times = pa.table({"text": texts})  # noqa: F841 - DuckDB finds it by its name
    limit = newest.replace(tzinfo=None) + timedelta(days=1)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        try:
            if re.search("%[YyGcxs]", format_):
                found = connection.sql("SELECT try_strptime(text, ?) AS t FROM times", params=[format_])
            else:
                found = connection.sql(
                    "SELECT CASE WHEN this <= ? THEN this ELSE last END AS t FROM (SELECT try_strptime(? || text, ?) "
                    "::TIMESTAMP AS this, try_strptime(? || text, ?)::TIMESTAMP AS last FROM times)",
                    params=[limit, f"{limit.year} ", f"%Y {format_}", f"{limit.year - 1} ", f"%Y {format_}"],
                )
            return flat(found.to_arrow_table()["t"])
        except duckdb.Error as error:
            raise ConfigError(
                f"{format_!r} is not a format of a time: {error}; see strptime of DuckDB",
                key="--timestamp",
                value=format_,
            ) from error


def _has_zone(format_: str) -> bool:
    return "%z" in format_ or "%Z" in format_
