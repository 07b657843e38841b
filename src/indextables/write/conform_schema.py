"""Rows in the columns of the table: which data a table accepts, and how it is cast.

>>> table = pa.schema({"id": pa.int64(), "name": pa.string()})
>>> rows = pa.record_batch({"ID": pa.array([1], pa.int32())})
>>> conformer(rows.schema, table)(rows, 0).to_pylist()
[{'id': 1, 'name': None}]
>>> conformer(pa.schema({"id": pa.int64(), "nmae": pa.string()}), table)
Traceback (most recent call last):
indextables.errors.SchemaError: the table has no column 'nmae'; ...

Types alone decide where every value of a number fits (`int` in a `bigint` column). Elsewhere the values do: whole numbers
that fit a narrower column, and whole floating-point numbers, which is what pandas makes of integers with gaps.

>>> cast_numbers(pa.array([1.0, None]), pa.int32()).to_pylist()
[1, None]
>>> first_misfit(pa.array([1, 2, 1 << 40, 1 << 50]), pa.int32())
2

| from | to | where |
|---|---|---|
| integers | integers | each value is in the range |
| integers | float, double | each value is at most 2^24, or 2^53, in size |
| integers, decimals | decimals | each value has no more digits than the column |
| float, double | integers | each value is whole and in the range |
| double | float | each value has the same value there |
| decimals | integers | each value is whole and in the range |
"""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.layout import Layout, Void
from indextables.schema import normalize, type_name, widens

Conform = Callable[[pa.RecordBatch, int], pa.RecordBatch]
"""From a batch, and the number of its first row in the data, to a batch of the table."""

_UINT64_DIGITS = 20
_UNCHECKED = pa.types.is_floating, pa.types.is_decimal  # Arrow rounds, and decimals of 128 bits overflow


def conformer(incoming: pa.Schema, table: pa.Schema, *, layout: Layout | None = None, by_value: bool = True) -> Conform:
    """The function from such batches to batches of the table; a SchemaError where there is none.

    A column that the data lacks is null, but not one that a `layout` computes partition values from. With `by_value`,
    numbers of another type are accepted where each of them fits the column; else where every number of their type does.
    """
    own = {field.name.lower(): field for field in _storable(incoming)}
    _refuse_unknown_columns(own, table)
    sources = [_source(field, own.get(field.name.lower()), by_value=by_value) for field in table]
    _refuse_missing_partition_columns(own, layout or Layout())

    def conform(batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        columns = [_column(batch, source, field, first_row) for source, field in zip(sources, table, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=table)

    return conform


def conformed(
    batches: Iterable[pa.RecordBatch], table: pa.Schema, *, layout: Layout | None = None
) -> Iterator[pa.RecordBatch]:
    """The batches, each of which may have a schema of its own, as batches of the table."""
    conform, schema, seen = None, None, 0
    for batch in batches:
        if conform is None or batch.schema != schema:
            conform, schema = conformer(batch.schema, table, layout=layout), batch.schema
        yield conform(batch, seen)
        seen += batch.num_rows


def widened(table: pa.Schema, incoming: pa.Schema) -> pa.Schema:
    """The table's schema with the columns that only the data has, all of them nullable."""
    own = {name.lower() for name in table.names}
    return pa.schema(
        [*table, *(f.with_nullable(nullable=True) for f in _storable(incoming) if f.name.lower() not in own)]
    )


def _storable(incoming: pa.Schema) -> pa.Schema:
    """The schema of the data in table types; a column of nulls only fits any type, and unsigned numbers may fit."""
    kept = {field.name: field.type for field in incoming if field.type in (pa.null(), pa.uint64())}
    known = normalize(pa.schema([field.with_type(pa.int8()) if field.name in kept else field for field in incoming]))
    return pa.schema([field.with_type(kept.get(field.name, field.type)) for field in known])


def _refuse_unknown_columns(own: dict[str, pa.Field], table: pa.Schema) -> None:
    unknown = [own[name].name for name in own.keys() - {name.lower() for name in table.names}]
    if unknown:
        raise SchemaError(
            f"the table has no column {', '.join(map(repr, sorted(unknown)))}; it has {', '.join(table.names)}; "
            "leave it out, or set mergeSchema to true to add it to the table",
            column=min(unknown),
        )


def _refuse_missing_partition_columns(own: dict[str, pa.Field], layout: Layout) -> None:
    sources = dict.fromkeys(field.source for field in layout.fields if not isinstance(field.transform, Void))
    missing = [source for source in sources if source.lower() not in own]
    if missing:
        what = "the partition column" if len(missing) == 1 else "the partition columns"
        raise SchemaError(
            f"the data does not have {what} {', '.join(map(repr, missing))} of the table, which is partitioned by {layout}; "
            "add what is missing, with nulls where the value is not known",
            column=missing[0],
        )


def _source(field: pa.Field, incoming: pa.Field | None, *, by_value: bool) -> pa.Field | None:
    """The data's column that becomes this one, in a table type."""
    if incoming is None:
        if not field.nullable:
            raise SchemaError(
                f"column {field.name!r} may not be null, and the data does not have it", column=field.name
            )
        return None
    if not (_fits(incoming.type, field.type) or (by_value and may_fit(incoming.type, field.type))):
        raise SchemaError(
            f"column {field.name!r} is {type_name(field.type)}, and the data has {_name_of(incoming.type)}; cast the data",
            column=field.name,
        )
    return incoming


def _name_of(kind: pa.DataType) -> str:
    return "unsigned long" if kind == pa.uint64() else type_name(kind)


def _fits(incoming: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value of one type is also a value of the other."""
    if incoming == target or pa.types.is_null(incoming):
        return True
    if widens(incoming, target):
        return True
    if pa.types.is_decimal(incoming) and pa.types.is_decimal(target):
        whole, target_whole = incoming.precision - incoming.scale, target.precision - target.scale
        return bool(incoming.scale <= target.scale and whole <= target_whole)
    return False


def _column(batch: pa.RecordBatch, source: pa.Field | None, field: pa.Field, first_row: int) -> pa.Array:
    if source is None:
        return pa.nulls(batch.num_rows, field.type)
    column = _cast(batch.column(source.name), source.type, field, first_row)
    if not field.nullable and column.null_count:
        raise SchemaError(
            f"column {field.name!r} may not be null, and {column.null_count} rows of the data are", column=field.name
        )
    return column


def _cast(column: pa.Array, storable: pa.DataType, field: pa.Field, first_row: int) -> pa.Array:
    try:
        if may_fit(storable, field.type):
            return _cast_numbers(column.cast(storable), field, first_row)
        column = column.cast(field.type)
        if pa.types.is_string(field.type):
            column.validate(full=True)  # text may come from anywhere, and only what is UTF-8 can be read back
    except pa.ArrowInvalid as error:
        message = f"column {field.name!r} does not fit {type_name(field.type)}: {error}"
        raise SchemaError(message, column=field.name) from error
    return column


def _cast_numbers(column: pa.Array, field: pa.Field, first_row: int) -> pa.Array:
    try:
        return cast_numbers(column, field.type)
    except pa.ArrowInvalid:
        row = first_misfit(column, field.type)
        if row is None:
            raise
        raise SchemaError(
            f"column {field.name!r} is {type_name(field.type)}, and the data has {column[row].as_py()} "
            f"({_name_of(column.type)}) in row {first_row + row:,}, counted from 0, which cannot be stored there without "
            "loss; cast the data, or widen the column",
            column=field.name,
        ) from None


def may_fit(incoming: pa.DataType, target: pa.DataType) -> bool:
    """Whether some values of one type may also be values of the other."""
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    from_integer, from_float, from_decimal = (is_kind(incoming) for is_kind in kinds)
    to_integer, to_float, to_decimal = (is_kind(target) for is_kind in kinds)
    to_any = to_integer and (from_integer or from_float or from_decimal)
    return bool(
        to_any or (to_float and (from_integer or from_float)) or (to_decimal and (from_integer or from_decimal))
    )


def cast_numbers(column: pa.Array, target: pa.DataType) -> pa.Array:
    """The same values in another type; ArrowInvalid where one of them is no value of it."""
    if pa.types.is_integer(column.type) and pa.types.is_decimal(target):
        column = column.cast(pa.decimal256(_UINT64_DIGITS + target.scale, target.scale))
    cast = column.cast(target)
    if any(is_kind(column.type) and is_kind(target) for is_kind in _UNCHECKED):
        same = pc.equal(cast.cast(column.type), column)
        same = pc.or_(same, pc.is_nan(column)) if pa.types.is_floating(target) else same
        if not pc.all(same, min_count=0).as_py():
            raise pa.ArrowInvalid(f"a value would change as {target}")
    return cast


def first_misfit(column: pa.Array, target: pa.DataType) -> int | None:
    """The position of the first value that is no value of the type."""
    if _converts(column, target):
        return None
    fine, refused = 0, len(column)
    while refused - fine > 1:
        middle = (fine + refused) // 2
        fine, refused = (middle, refused) if _converts(column[fine:middle], target) else (fine, middle)
    return fine


def _converts(column: pa.Array, target: pa.DataType) -> bool:
    try:
        cast_numbers(column, target)
    except pa.ArrowInvalid:
        return False
    return True
