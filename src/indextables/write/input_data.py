"""The data of a write, in whatever form a user has it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from decimal import Decimal
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.schema import type_name
from indextables.write.dataframe_input import (
    batches_from_polars,
    columns_without_index,
    is_lazy_polars,
    is_pandas,
    is_pandas_series,
    reader_from_stream,
    schema_from_polars,
    table_from_pandas,
    without_pandas_index,
)

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Columns: TypeAlias = Mapping[str, Any]


class ArrowStream(Protocol):
    """Data that exports an Arrow stream: frames of pandas and Polars, relations of DuckDB, and many others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Dataset(Protocol):
    """A dataset of Arrow: `pyarrow.dataset.dataset("orders", partitioning="hive")`."""

    def scanner(self) -> Any: ...


class LazyFrame(Protocol):
    """A lazy frame of Polars."""

    def collect_schema(self) -> Any: ...


Data: TypeAlias = (
    pa.Table
    | pa.RecordBatchReader
    | pa.RecordBatch
    | Iterable[pa.RecordBatch]
    | ArrowStream
    | Dataset
    | LazyFrame
    | Rows
    | Columns
)
_BATCH = 131_072
_SAMPLED_BYTES = 64 * 1024**2
_CONVERSION_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, UnicodeEncodeError)


@dataclass(frozen=True, slots=True, eq=False)
class InputRows:
    """The data of a write as batches. Its schema and the number of its rows are None where they are not known yet."""

    schema: pa.Schema | None
    batches: Iterable[pa.RecordBatch]
    num_rows: int | None = None


def batches_of(  # noqa: PLR0911 - one for each form
    data: Data, table: pa.Schema | None = None
) -> InputRows:
    """The data as batches. Python values get the types of the table.

    >>> batches_of([{"id": 1}, {"ID": 2, "name": "b"}], pa.schema({"id": pa.int32()}))
    Traceback (most recent call last):
    indextables.errors.SchemaError: the data has columns 'id' and 'ID', which differ in case only; ...
    >>> batches_of({"id": [1, 2.5]}, pa.schema({"id": pa.int32()}))
    Traceback (most recent call last):
    indextables.errors.SchemaError: column 'id' is integer, and the data has 2.5 (float), which does not fit; ...
    >>> batches_of({"id": [1, 2]}, pa.schema({"id": pa.int32()})).schema.types
    [DataType(int32)]
    """
    match data:
        case pa.Table():
            kept = data.select(columns_without_index(data.schema))
            return InputRows(kept.schema, kept.to_batches(max_chunksize=_BATCH), kept.num_rows)
        case pa.RecordBatchReader():
            kept = pa.schema([data.schema.field(name) for name in columns_without_index(data.schema)])
            return InputRows(kept, map(without_pandas_index, data))
        case pa.RecordBatch():
            return batches_of(pa.Table.from_batches([data]))
        case Mapping():
            return batches_of(_table(data, table))
        case [Mapping(), *_]:
            return batches_of(_table(_columns(data), table))
        case _ if is_pandas(data):
            return batches_of(table_from_pandas(data))
        case _ if is_lazy_polars(data):
            return InputRows(schema_from_polars(data), batches_from_polars(data))
        case _ if (reader := reader_from_stream(data)) is not None:
            return batches_of(reader)
        case Iterable() if not isinstance(data, str | bytes):
            return InputRows(None, _checked(data))
        case _:
            raise _unsupported(data)


def peeked(data: InputRows) -> InputRows:
    """The same data, with the schema of its first batch where it was not known; None where there is no batch."""
    if data.schema is not None:
        return data
    rest: Iterator[pa.RecordBatch] = iter(data.batches)
    first = next(rest, None)
    return InputRows(None, (), 0) if first is None else InputRows(first.schema, chain([first], rest))


def table_of(data: Data) -> pa.Table:
    """The data, in memory.

    >>> table_of([{"id": 1}, {"id": 2}])["id"].to_pylist()
    [1, 2]
    """
    rows = batches_of(data)
    batches = list(rows.batches)
    try:
        return pa.Table.from_batches(batches, None if batches else rows.schema or pa.schema([]))
    except pa.ArrowInvalid as error:
        raise SchemaError(f"the batches of the data have different columns: {error}", column=None) from error


def sampled(data: InputRows, most: int) -> tuple[pa.Table | None, InputRows]:
    """Some of the first rows, evenly spaced, and the same data; None where there is no batch."""
    rest, first = iter(data.batches), list[pa.RecordBatch]()
    count = size = 0
    for batch in rest:
        first.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= most or size >= _SAMPLED_BYTES:
            break
    same = replace(data, batches=chain(first, rest))
    if not first:
        return None, same
    alike = [batch for batch in first if batch.schema == first[0].schema]
    every = -(-sum(map(len, alike)) // most) or 1
    starts = accumulate((len(batch) for batch in alike), initial=0)
    taken = [  # batch by batch, because their dictionaries may differ
        batch.take(pa.array(range(-start % every, len(batch), every), pa.int64()))
        for start, batch in zip(starts, alike, strict=False)
    ]
    return pa.Table.from_batches(taken), same


def total_rows(data: Iterable[InputRows]) -> int | None:
    """The number of all rows, where each part knows its own."""
    numbers = [rows.num_rows for rows in data]
    return None if None in numbers else sum(number or 0 for number in numbers)


def _checked(items: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for item in items:
        if not isinstance(item, pa.RecordBatch):
            raise _unsupported(item)
        yield without_pandas_index(item)


def _columns(rows: Rows) -> Columns:
    """Rows as columns; a column that a row does not have is null."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise _unsupported(next(row for row in rows if not isinstance(row, Mapping)))
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _table(columns: Columns, table: pa.Schema | None) -> pa.Table:
    types = {} if table is None else {field.name.lower(): field.type for field in table}
    _refuse_ambiguous_names(list(columns))
    arrays = {name: _array(name, values, types.get(name.lower())) for name, values in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise SchemaError(f"the columns of the data are of different lengths: {lengths}", column=None)
    return pa.table(arrays)


def _array(name: str, values: Any, kind: pa.DataType | None) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise SchemaError(f"column {name!r} is {values!r}; a column is a list of values", column=name)
    if str(getattr(values, "dtype", "object")) != "object":
        return _from_typed(name, values)
    items = values if isinstance(values, Sequence) else list(values)
    try:
        array = pa.array(items, kind)
    except _CONVERSION_ERRORS as error:
        raise _conversion_error(name, items, kind, error) from error
    if kind is not None and any(issubclass(of, _changing(kind)) for of in set(map(type, items))):
        changed = next((value for value in items if _would_change(value, kind)), None)
        if changed is not None:
            raise _conversion_error(name, [changed], kind)
    return array


def _from_typed(name: str, values: Any) -> pa.Array | pa.ChunkedArray:
    """An array of NumPy, or a series of pandas or Polars, in the type that it has."""
    exports = hasattr(values, "__arrow_c_stream__") and not is_pandas_series(values)
    try:
        return pa.chunked_array(values) if exports else pa.array(values, from_pandas=is_pandas_series(values))
    except (*_CONVERSION_ERRORS, pa.ArrowNotImplementedError) as error:
        raise SchemaError(f"column {name!r} cannot be stored: {error}; convert it first", column=name) from error


def _changing(kind: pa.DataType) -> tuple[type, ...]:
    """Types of values that Arrow may change silently when it puts them into a column."""
    if pa.types.is_integer(kind):
        return (float, Decimal)
    if pa.types.is_temporal(kind):
        return (int,) if pa.types.is_timestamp(kind) and kind.tz else (int, datetime)
    return ()


def _would_change(value: Any, kind: pa.DataType) -> bool:
    """Whether a value would be truncated, or a number read as days or microseconds since 1970."""
    match value:
        case float() | Decimal() if pa.types.is_integer(kind):
            return value != int(value)
        case int():
            return bool(pa.types.is_temporal(kind))
        case datetime() if pa.types.is_date(kind):
            return value.time() != time()
        case datetime() if pa.types.is_timestamp(kind):
            return kind.tz is None and value.tzinfo is not None
        case _:
            return False


def _conversion_error(
    name: str, values: Sequence[Any], kind: pa.DataType | None, error: Exception | None = None
) -> SchemaError:
    """Names the first value that does not fit; where the type is inferred, the values contradict each other."""
    if kind is None:
        return SchemaError(f"column {name!r} has values of different types: {error}", column=name)
    value = next((value for value in values if not _fits(value, kind) or _would_change(value, kind)), None)
    what = f"column {name!r} is {type_name(kind)}, and the data has {value!r:.60} ({type(value).__name__})"
    return SchemaError(f"{what}, which does not fit; convert it first", column=name)


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except _CONVERSION_ERRORS:
        return False
    return True


def _refuse_ambiguous_names(names: list[Any]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(f"the data has a column {name!r}, but columns are named by text", column=None)
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SchemaError(
                f"the data has columns {other!r} and {name!r}, which differ in case only; give them one name",
                column=name,
            )


def _unsupported(item: object) -> SchemaError:
    hint = (
        "give a DataFrame of pandas or Polars, a relation of DuckDB, Arrow data or an Arrow dataset, a list of dicts or a "
        "dict of columns"
    )
    if isinstance(item, str | Path):
        hint = f"read the file first, as in pyarrow.parquet.read_table({str(item)!r}), or use `indextables import`"
    return SchemaError(f"a {type(item).__name__} is no data for a table; {hint}", column=None)
