"""Numbers in the type of a column, where no value changes.

Types alone decide where every value fits (`int` in a `bigint` column). Elsewhere the values do: whole numbers that fit a
narrower column, and whole floating-point numbers, which is what pandas makes of integers with gaps.

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

import pyarrow as pa
import pyarrow.compute as pc

_UINT64_DIGITS = 20
_UNCHECKED = pa.types.is_floating, pa.types.is_decimal  # Arrow rounds, and decimals of 128 bits overflow


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
    if _fits(column, target):
        return None
    fine, refused = 0, len(column)
    while refused - fine > 1:
        middle = (fine + refused) // 2
        fine, refused = (middle, refused) if _fits(column[fine:middle], target) else (fine, middle)
    return fine


def _fits(column: pa.Array, target: pa.DataType) -> bool:
    try:
        cast_numbers(column, target)
    except pa.ArrowInvalid:
        return False
    return True
