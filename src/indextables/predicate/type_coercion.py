"""Spark's rules for comparing a column with a literal of another type (ANSI mode on).

Spark converts both sides to a common type. We keep the column as it is and rewrite the literal, so that a comparison
can be evaluated on the bounds of a file. Three shapes cover every pair of types:

- the common type is the column's: the literal is converted;
- the column's values climb in the common type as they do in their own: the literal's place among them is found by
  bisection. `year < 2024.5` on integers is `year < 2025`, and a literal out of the type's range is below or above all;
- a text column is compared with something else: each row is converted (`Cast`).

>>> locate(pa.int32(), pa.scalar(2024.5), pa.float64()).first_above
<pyarrow.Int32Scalar: 2025>
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from indextables.predicate.cast import cast_scalar
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ
from indextables.schema import MAX_DECIMAL_PRECISION

_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_LAST_DAY = 2**63 // (86_400 * 10**6) - 1
_INFINITY_BITS = 0x7F80_0000


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type in which Spark compares two types, or None where it refuses to.

    >>> common_type(pa.int16(), pa.string()), common_type(pa.decimal128(10, 2), pa.int32())
    (DataType(int64), Decimal128Type(decimal128(12, 2)))
    >>> common_type(pa.date32(), pa.int32()) is None
    True
    """
    if one == other:
        return one
    if pa.types.is_string(other):
        return _with_text(one)
    if pa.types.is_string(one):
        return _with_text(other)
    if _is_number(one) and _is_number(other):
        return _wider_number(one, other)
    if pa.types.is_temporal(one) and pa.types.is_temporal(other):
        return TIMESTAMP if TIMESTAMP in {one, other} else TIMESTAMP_NTZ
    return None


def _with_text(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if _is_number(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind))


def _wider_number(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return pa.float64()
    if pa.types.is_integer(one) and pa.types.is_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    (whole, scale), (other_whole, other_scale) = _decimal_shape(one), _decimal_shape(other)
    scale = max(scale, other_scale)
    precision = min(max(whole, other_whole) + scale, MAX_DECIMAL_PRECISION)
    return pa.decimal128(precision, min(scale, precision))


def _decimal_shape(kind: pa.DataType) -> tuple[int, int]:
    return (kind.precision - kind.scale, kind.scale) if pa.types.is_decimal(kind) else (_DIGITS[kind], 0)


@dataclass(frozen=True, slots=True)
class ValuePosition:
    """The position of a literal among the values of a column's type.

    `first_reaching` is the least value that is equal to the literal or above it, `first_above` the least one above it,
    `exact` the only one equal to it; None where there is none. `lowest` is the least value of all.
    """

    lowest: pa.Scalar
    first_reaching: pa.Scalar | None
    first_above: pa.Scalar | None
    exact: pa.Scalar | None


def locate(kind: pa.DataType, value: pa.Scalar, common: pa.DataType, *, time_zone: str = "UTC") -> ValuePosition:
    """The place of a literal among the values of `kind`, compared in type `common`."""
    ladder = _ladder(kind, common, time_zone)
    target = _sortable(value, common, time_zone)
    reaching = ladder.first(lambda step: ladder.sortable(step) >= target)
    above = ladder.first(lambda step: ladder.sortable(step) > target)
    return ValuePosition(
        lowest=ladder.value(ladder.lowest),
        first_reaching=ladder.scalar(reaching),
        first_above=ladder.scalar(above),
        exact=ladder.scalar(reaching) if above - reaching == 1 else None,
    )


@dataclass(frozen=True, slots=True)
class _Ladder:
    """The values of a type as steps, numbered in their order."""

    lowest: int
    highest: int
    value: Callable[[int], pa.Scalar]
    sortable: Callable[[int], Any]

    def first(self, reached: Callable[[int], bool]) -> int:
        """The lowest step from which `reached` holds; one above the highest where it never does."""
        low, high = self.lowest, self.highest + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle + 1, high)
        return low

    def scalar(self, step: int) -> pa.Scalar | None:
        return None if step > self.highest else self.value(step)


def _ladder(kind: pa.DataType, common: pa.DataType, time_zone: str) -> _Ladder:
    if pa.types.is_integer(kind):
        limit = 2 ** (kind.bit_width - 1)
        return _Ladder(
            -limit, limit - 1, partial(pa.scalar, type=kind), float_order if _is_double(common) else Fraction
        )
    if pa.types.is_decimal(kind):
        limit, unit = 10**kind.precision - 1, 10**kind.scale
        as_double, exactly = (lambda step: float_order(step / unit)), (lambda step: Fraction(step, unit))
        return _Ladder(-limit, limit, partial(_decimal, kind=kind), as_double if _is_double(common) else exactly)
    if pa.types.is_date(kind):
        value = partial(pa.scalar, type=pa.date32())
        return _Ladder(
            -_LAST_DAY, _LAST_DAY, value, lambda step: cast_scalar(value(step), common, time_zone=time_zone).value
        )
    # NaN is one step above infinity, and the two zeros are one step.
    return _Ladder(-_INFINITY_BITS, _INFINITY_BITS + 1, _float32, lambda step: float_order(_float32(step).as_py()))


def _is_double(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))


def float_order(number: float) -> tuple[bool, float]:
    """Spark's order of doubles: NaN equals itself and is above everything."""
    return (True, 0.0) if math.isnan(number) else (False, float(number))


def _decimal(step: int, kind: pa.DataType) -> pa.Scalar:
    digits = tuple(map(int, str(abs(step))))
    return pa.scalar(Decimal((int(step < 0), digits, -kind.scale)), kind)


def _float32(step: int) -> pa.Scalar:
    bits = min(abs(step), _INFINITY_BITS) if step <= _INFINITY_BITS else 0x7FC0_0000
    return pa.scalar(math.copysign(struct.unpack("<f", struct.pack("<I", bits))[0], step), pa.float32())


def _sortable(value: pa.Scalar, common: pa.DataType, time_zone: str) -> Any:
    if not pa.types.is_string(value.type) and pa.types.is_decimal(common):
        return Fraction(value.as_py())  # exact, even where Spark's common type has no room for all the digits
    converted = cast_scalar(value, common, time_zone=time_zone)
    if pa.types.is_temporal(common):
        return converted.value
    return float_order(converted.as_py()) if _is_double(common) else Fraction(converted.as_py())
