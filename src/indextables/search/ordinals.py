"""Values as 64-bit integers that are ordered as the values are.

Comparisons, histograms and group keys work on these integers, whatever the type of the column:

>>> numbers = ordinals(pa.array([-1.5, 0.0, float("inf"), float("nan")])).to_pylist()
>>> numbers == sorted(numbers)
True

| column | integer |
|---|---|
| boolean | 0, 1 |
| byte, short, integer, long | itself |
| float, double | the bits of the double, negative ones reversed; NaN is the largest, and there is one zero |
| decimal up to 18 digits | the unscaled value |
| date | days since 1970-01-01 |
| timestamp, timestamp_ntz | microseconds since 1970-01-01T00:00:00 |

Decimals of more digits become a text of 39 digits, the unscaled value plus 10^38 (`term_texts`); strings are their own text.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import MAX_DECIMAL_PRECISION, type_name
from indextables.values import canonical

_MAX_DIGITS = 18
_WIDEST = pa.decimal128(MAX_DECIMAL_PRECISION, 0)
_WIDE_DECIMAL = pa.decimal256(MAX_DECIMAL_PRECISION + 2, 0)
_TURN = 2**63 - 1


def is_ordinal(arrow: pa.DataType) -> bool:
    """Whether values of this type have such integers."""
    is_wide = pa.types.is_decimal(arrow) and arrow.precision > _MAX_DIGITS
    return not (pa.types.is_string(arrow) or is_wide)


def ordinals(array: pa.Array) -> pa.Array:
    """The 64-bit integers that stand for the values of a column that is not of text; null stays null.

    >>> ordinals(pa.array([19782], pa.int32()).view(pa.date32())).to_pylist()
    [19782]
    """
    return _ORDINALS[type_name(array.type).partition("(")[0]](array)


def from_ordinals(numbers: pa.Array, arrow: pa.DataType) -> pa.Array:
    """The values of a type that the integers stand for.

    >>> from_ordinals(ordinals(pa.array([-1.5, None])), pa.float64()).to_pylist()
    [-1.5, None]
    """
    return _FROM_ORDINALS[type_name(arrow).partition("(")[0]](numbers, arrow)


def keys_of(array: pa.Array) -> pa.Array:
    """What stands for the values of a column, in their order: integers, or texts."""
    if is_ordinal(array.type):
        return ordinals(array)
    return term_texts(array) if pa.types.is_decimal(array.type) else array


def values_of(keys: pa.Array, arrow: pa.DataType) -> pa.Array:
    """The values of a type that such keys stand for."""
    if is_ordinal(arrow):
        return from_ordinals(keys, arrow)
    return _from_digits(keys, arrow) if pa.types.is_decimal(arrow) else keys


def _float_ordinals(array: pa.Array) -> pa.Array:
    bits = canonical(array.cast(pa.float64())).view(pa.int64())
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, _TURN), bits)


def term_texts(array: pa.Array) -> pa.Array:
    """The texts that stand for decimals of many digits."""
    unscaled = array.view(_WIDEST).cast(_WIDE_DECIMAL)
    raised = pc.add(unscaled, pa.scalar(10**MAX_DECIMAL_PRECISION, _WIDE_DECIMAL))
    return pc.utf8_lpad(raised.cast(pa.string()), MAX_DECIMAL_PRECISION + 1, "0")


def _from_digits(texts: pa.Array, decimal: pa.DataType) -> pa.Array:
    raised = texts.cast(_WIDE_DECIMAL)
    return pc.subtract(raised, pa.scalar(10**MAX_DECIMAL_PRECISION, _WIDE_DECIMAL)).cast(_WIDEST).view(decimal)


def _floats(numbers: pa.Array, floating: pa.DataType) -> pa.Array:
    bits = pc.if_else(pc.less(numbers, 0), pc.bit_wise_xor(numbers, _TURN), numbers)
    return bits.view(pa.float64()).cast(floating)


_INTEGERS = ("boolean", "byte", "short", "integer", "long")
_ORDINALS: dict[str, Callable[[pa.Array], pa.Array]] = {
    **dict.fromkeys(_INTEGERS, lambda array: array.cast(pa.int64())),
    **dict.fromkeys(("float", "double"), _float_ordinals),
    "decimal": lambda array: array.view(_WIDEST).cast(pa.int64()),
    "date": lambda array: array.view(pa.int32()).cast(pa.int64()),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), lambda array: array.view(pa.int64())),
}
_FROM_ORDINALS: dict[str, Callable[[pa.Array, pa.DataType], pa.Array]] = {
    **dict.fromkeys(_INTEGERS, lambda numbers, arrow: numbers.cast(arrow)),
    **dict.fromkeys(("float", "double"), _floats),
    "decimal": lambda numbers, arrow: numbers.cast(_WIDEST).view(arrow),
    "date": lambda numbers, arrow: numbers.cast(pa.int32()).view(arrow),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), lambda numbers, arrow: numbers.view(arrow)),
}
