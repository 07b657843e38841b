"""Values as text: one codec per table type, each with an exact inverse.

The log and the directories hold text, which is unambiguous and can be read by eye:

>>> encode(pa.array([0, 1_704_067_200_123_456], pa.timestamp("us", "UTC"))).to_pylist()
['1970-01-01T00:00:00Z', '2024-01-01T00:00:00.123456Z']

Reading is generous with spelling and strict with meaning. What cannot be read as the type is null, so a text is
malformed where it is valid and its value is not:

>>> decode(pa.array(["42", "0042", "forty-two", None]), pa.int32()).to_pylist()
[42, 42, None, None]

| type | text |
|---|---|
| boolean | `true`, `false` |
| byte, short, integer, long | `-42` |
| float, double | `3.14`, `1.0E10`, `NaN`, `-Infinity`, as Java prints them; negative zero is `0.0` |
| decimal | `0.0000000001`, all digits of the scale, never an exponent |
| date | `2024-01-31`; years beyond four digits as ISO 8601 has them: `+12024-01-31`, `-0044-03-15` |
| timestamp | `2024-01-31T12:00:00Z`, or six digits of a fraction that is not zero: `2024-01-31T12:00:00.000001Z` |
| timestamp_ntz | the same without `Z` |
| string | itself |
| binary | none |
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.civil import DATE_PATTERN, DAY, HOUR, SECOND, are_plain, days_from_captures, padded, text_from_days
from indextables.errors import SchemaError
from indextables.kernels import (
    captured_number,
    extract,
    flat,
    floor_divide,
    join,
    mixed_radix,
    over_distinct,
    remainder,
    where,
    within,
)
from indextables.schema import MAX_DECIMAL_PRECISION, normalize, type_name

_WIDEST = pa.decimal128(MAX_DECIMAL_PRECISION, 0)
_WALL_CLOCK = pa.timestamp("us")
_PLAIN_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_PLAIN_TIMESTAMP = _PLAIN_DATE + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?"


def encode(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The text of each value; null stays null.

    >>> encode(pa.array([3.14, 1e10, -0.0, None])).to_pylist()
    ['3.14', '1.0E10', '0.0', None]
    """
    array = in_table_type(array)
    return over_distinct(_codec(array.type).encode, array)


def decode(text: pa.Array | pa.ChunkedArray, type: pa.DataType) -> pa.Array:  # noqa: A002 - as in pyarrow
    """The value of each text; null where the text is null or cannot be read as the type.

    >>> decode(pa.array(["2024-02-29", "2023-02-29"]), pa.date32()).to_pylist()
    [datetime.date(2024, 2, 29), None]
    """
    type = table_type(type)  # noqa: A001
    codec = _codec(type)
    return over_distinct(lambda distinct: codec.decode(distinct, type), flat(text).cast(pa.string()))


def in_table_type(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The same values as one array of a table type (see `indextables.schema`), numbers in canonical form."""
    return canonical(flat(array).cast(table_type(array.type)))


def canonical(array: pa.Array) -> pa.Array:
    """The same values, of floating point one zero and one NaN, so that equal values are the same bits.

    >>> canonical(pa.array([-0.0])).to_pylist()
    [0.0]
    """
    if not pa.types.is_floating(array.type):
        return array
    nan = pa.scalar(float("nan"), array.type)
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, pa.scalar(0.0, array.type)))


def json_values(array: pa.Array) -> list[Any]:
    """Values as the log has them in its statistics: numbers, truth values and texts; others as text.

    >>> json_values(pa.array([1.5, float("nan"), None])), json_values(pa.array([0], pa.date32()))
    ([1.5, 'NaN', None], ['1970-01-01'])
    """
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_string(kind):
        return list(array.to_pylist())
    if not pa.types.is_floating(kind):
        return list(encode(array).to_pylist())
    numbers = array.to_pylist()
    if all(number is not None and isfinite(number) for number in numbers):
        return list(numbers)
    texts = zip(numbers, encode(array).to_pylist(), strict=True)
    return [number if number is not None and isfinite(number) else text for number, text in texts]


@lru_cache(maxsize=256)
def table_type(arrow: pa.DataType) -> pa.DataType:
    """The table type that holds the values of an Arrow type, or a SchemaError."""
    return normalize(pa.schema({"value": arrow})).types[0]


def _encode_plain(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _decode_boolean(text: pa.Array, _: pa.DataType) -> pa.Array:
    return _matching(pc.utf8_lower(text), "true|false").cast(pa.bool_())


def _decode_integer(text: pa.Array, integer: pa.DataType) -> pa.Array:
    wide = _matching(text, "[+-]?[0-9]{1,38}").cast(_WIDEST)
    largest = 2 ** (integer.bit_width - 1) - 1
    return within(wide, -largest - 1, largest).cast(integer)


def _encode_float(array: pa.Array) -> pa.Array:
    shortest = array.cast(pa.string())  # the right digits for both widths, but not laid out as Java does
    return pa.array(map(_as_java_prints, array.to_pylist(), shortest.to_pylist()), pa.string())


def _as_java_prints(value: float | None, shortest: str | None) -> str | None:
    if value is None or shortest is None:
        return None
    exact = Decimal(shortest).normalize()
    if not exact.is_finite():
        return "NaN" if exact.is_nan() else f"{'-' * exact.is_signed()}Infinity"
    if len(exact.as_tuple().digits) == 1:
        exact = Decimal(f"{value:.1e}").normalize()  # Java looks at two digits at least: 4.9E-324, not 5.0E-324
    if not -3 <= exact.adjusted() < 7:  # noqa: PLR2004 - where Java begins to write exponents
        first, *rest = map(str, exact.as_tuple().digits)
        return f"{'-' * exact.is_signed()}{first}.{''.join(rest) or '0'}E{exact.adjusted()}"
    plain = f"{exact:f}"
    return plain if "." in plain else f"{plain}.0"


def _decode_float(text: pa.Array, floating: pa.DataType) -> pa.Array:
    finite = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?"
    readable = _matching(text, rf"{finite}|NaN|[+-]?Infinity")
    return canonical(pc.utf8_ltrim(readable, "+").cast(floating))


def _encode_decimal(array: pa.Array) -> pa.Array:
    scale = array.type.scale
    unscaled = array.view(_WIDEST).cast(pa.string())
    if scale == 0:
        return unscaled
    sign = pc.if_else(pc.starts_with(unscaled, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(unscaled, "-"), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    return join(sign, whole, ".", fraction)


def _decode_decimal(text: pa.Array, decimal: pa.DataType) -> pa.Array:
    captures = extract(text, r"(?P<sign>[+-]?)0*(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]*?)0*)?")
    fraction = pc.utf8_rpad(pc.struct_field(captures, "fraction"), decimal.scale, "0")
    digits = join(pc.struct_field(captures, "whole"), fraction)
    exact = pc.equal(pc.utf8_length(fraction), decimal.scale)
    fits = pc.less_equal(pc.utf8_length(pc.utf8_ltrim(digits, "0")), decimal.precision)
    unscaled = join(pc.struct_field(captures, "sign"), where(pc.and_(exact, fits), digits))
    return unscaled.cast(_WIDEST).view(decimal)


def _encode_date(array: pa.Array) -> pa.Array:
    return text_from_days(array.view(pa.int32()))


def _decode_date(text: pa.Array, date: pa.DataType) -> pa.Array:
    if (plain := _decode_plain(text, _PLAIN_DATE, date)) is not None:
        return plain
    days = days_from_captures(extract(text, DATE_PATTERN))
    return within(days, -(2**31), 2**31 - 1).cast(pa.int32()).view(date)


def _encode_timestamp(array: pa.Array) -> pa.Array:
    instant, zone = array.view(pa.int64()), "Z" if array.type.tz else ""
    if are_plain(instant, per_day=DAY):
        text = pc.utf8_replace_slice(instant.view(_WALL_CLOCK).cast(pa.string()), 10, 11, "T")
        return join(pc.replace_substring(text, ".000000", ""), zone)
    days = floor_divide(instant, DAY)
    time = remainder(instant, DAY)
    minutes, seconds, fraction = pc.divide(time, 60 * SECOND), pc.divide(time, SECOND), remainder(time, SECOND)
    return join(
        join(text_from_days(days), "T", padded(pc.divide(time, HOUR))),
        join(":", padded(remainder(minutes, 60)), ":", padded(remainder(seconds, 60))),
        pc.if_else(pc.equal(fraction, 0), "", join(".", padded(fraction, 6))),
        zone,
    )


_CLOCK = "(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
_SECONDS = r":(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,6}))?"
_ZONE = "Z|(?P<zone_sign>[+-])(?P<zone_hour>[01][0-9])(?::?(?P<zone_minute>[0-5][0-9]))?"


def _decode_timestamp(text: pa.Array, timestamp: pa.DataType) -> pa.Array:
    pattern = f"{_PLAIN_TIMESTAMP}Z" if timestamp.tz else _PLAIN_TIMESTAMP
    if (plain := _decode_plain(text, pattern, _WALL_CLOCK)) is not None:
        return plain.view(timestamp)
    zone = f"(?:{_ZONE})?" if timestamp.tz else ""
    captures = extract(text, f"{DATE_PATTERN}(?:[T ]{_CLOCK}(?:{_SECONDS})?{zone})?")
    hour, minute, second = (captured_number(captures, name) for name in ("hour", "minute", "second"))
    minutes = mixed_radix(days_from_captures(captures), (24, hour), (60, minute))
    if timestamp.tz:
        minutes = pc.subtract(minutes, _zone_minutes(captures))
    seconds = mixed_radix(minutes, (60, second))
    fraction = pc.utf8_rpad(pc.struct_field(captures, "fraction"), 6, "0").cast(pa.int64())
    instant = pc.add(pc.multiply(seconds, SECOND), fraction)  # wraps beyond the limits, which the next line notices
    return where(pc.equal(floor_divide(instant, SECOND), seconds), instant).view(timestamp)


def _zone_minutes(captures: pa.StructArray) -> pa.Array:
    ahead = mixed_radix(captured_number(captures, "zone_hour"), (60, captured_number(captures, "zone_minute")))
    return pc.if_else(pc.equal(pc.struct_field(captures, "zone_sign"), "-"), pc.negate(ahead), ahead)


def _decode_plain(text: pa.Array, pattern: str, kind: pa.DataType) -> pa.Array | None:
    """What Arrow reads, a letter Z at the end aside, where all texts are as `encode` writes them; else None."""
    if not pc.all(pc.match_substring_regex(text, rf"\A(?:{pattern})\z"), min_count=0).as_py():
        return None
    try:
        return pc.utf8_rtrim(text, "Z").cast(kind)
    except pa.ArrowInvalid:  # there is no such day or hour, and the others are to be read
        return None


def _matching(text: pa.Array, pattern: str) -> pa.Array:
    return where(pc.match_substring_regex(text, rf"\A(?:{pattern})\z"), text)


@dataclass(frozen=True, slots=True)
class _Codec:
    encode: Callable[[pa.Array], pa.Array]
    decode: Callable[[pa.Array, pa.DataType], pa.Array]


_INTEGER = _Codec(_encode_plain, _decode_integer)
_FLOAT = _Codec(_encode_float, _decode_float)
_TIMESTAMP = _Codec(_encode_timestamp, _decode_timestamp)
_CODECS = {
    "boolean": _Codec(_encode_plain, _decode_boolean),
    "byte": _INTEGER,
    "short": _INTEGER,
    "integer": _INTEGER,
    "long": _INTEGER,
    "float": _FLOAT,
    "double": _FLOAT,
    "decimal": _Codec(_encode_decimal, _decode_decimal),
    "string": _Codec(lambda array: array, lambda text, _: text),
    "date": _Codec(_encode_date, _decode_date),
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": _TIMESTAMP,
}


def _codec(arrow: pa.DataType) -> _Codec:
    name = type_name(arrow).partition("(")[0]
    if name not in _CODECS or (name == "decimal" and arrow.scale < 0):
        raise SchemaError(f"values of type {type_name(arrow)} have no text form", column=None)
    return _CODECS[name]
