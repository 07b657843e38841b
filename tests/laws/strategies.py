"""Arrow values of every type that a layout can use, the limits of each type among them."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
INSTANTS = {pa.date32(): 32, pa.timestamp("us"): 64, pa.timestamp("us", "UTC"): 64}
COUNTED = INTEGERS | INSTANTS


@st.composite
def decimal_types(draw: st.DrawFn) -> pa.DataType:
    precision = draw(st.integers(1, 38))
    return pa.decimal128(precision, draw(st.integers(0, precision)))


integer_types = st.sampled_from(list(INTEGERS))
instant_types = st.sampled_from(list(INSTANTS))
types = st.one_of(
    integer_types,
    instant_types,
    decimal_types(),
    st.sampled_from([pa.bool_(), pa.float32(), pa.float64(), pa.string()]),
)


def values(type_: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type as `array` takes them: dates and timestamps as counts, decimals unscaled; NaN left out."""
    if type_ in COUNTED:
        return _counts(COUNTED[type_])
    if pa.types.is_decimal(type_):
        largest = 10**type_.precision - 1
        return st.one_of(st.integers(-largest, largest), st.integers(-largest, min(100 - largest, largest)))
    if pa.types.is_floating(type_):
        return st.floats(width=type_.bit_width, allow_nan=False)
    return st.booleans() if pa.types.is_boolean(type_) else texts


def array(given: list[Any], type_: pa.DataType) -> pa.Array:
    if not pa.types.is_decimal(type_):
        return pa.array(given, type_)
    unscaled = [None if value is None else Decimal(value) for value in given]
    return pa.array(unscaled, pa.decimal128(38, 0)).view(type_)


@st.composite
def arrays(draw: st.DrawFn, types: st.SearchStrategy[pa.DataType] = types, *, min_size: int = 0) -> pa.Array:
    type_ = draw(types)
    return array(draw(st.lists(st.none() | values(type_), min_size=min_size, max_size=12)), type_)


def _counts(bits: int) -> st.SearchStrategy[int]:
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    near_limits = st.integers(0, 127).flatmap(lambda n: st.sampled_from([lowest + n, highest - n]))
    return st.one_of(st.integers(lowest, highest), near_limits, st.integers(-128, 127))


# Few letters, so that prefixes are shared: the first and last of each length in UTF-8, the neighbours of surrogates.
letters = st.sampled_from("ab\x00\x7f\x80߿ࠀ\ud7ff\ue000\uffff\U00010000\U0010ffff")
texts = st.one_of(st.text(letters, max_size=6), st.text(max_size=12))
