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

import pyarrow as pa
import pyarrow.compute as pc

from indextables.civil import DAY, HOUR, SECOND, date_from_days, days_from_date, floor_divide
from indextables.errors import SchemaError
from indextables.schema import MAX_DECIMAL_PRECISION, normalize, type_name

_WIDEST = pa.decimal128(MAX_DECIMAL_PRECISION, 0)


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
    type = _table_type(type)  # noqa: A001
    codec = _codec(type)
    return over_distinct(lambda distinct: codec.decode(distinct, type), in_table_type(text))


def in_table_type(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The same values as one array of a table type (see `indextables.schema`), numbers in canonical form."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return canonical(array.cast(_table_type(array.type)))


def canonical(array: pa.Array) -> pa.Array:
    """The same values, of floating point one zero and one NaN, so that equal values are the same bits.

    >>> canonical(pa.array([-0.0])).to_pylist()
    [0.0]
    """
    if not pa.types.is_floating(array.type):
        return array
    nan = pa.scalar(float("nan"), array.type)
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, pa.scalar(0.0, array.type)))


def over_distinct(function: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    """`function(array)`, where each distinct value is worked on once."""
    encoded = array.dictionary_encode()
    return function(encoded.dictionary).take(encoded.indices)


def _table_type(arrow: pa.DataType) -> pa.DataType:
    return normalize(pa.schema({"value": arrow})).types[0]


def _encode_plain(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _decode_boolean(text: pa.Array, _: pa.DataType) -> pa.Array:
    return _matching(pc.utf8_lower(text), "true|false").cast(pa.bool_())


def _decode_integer(text: pa.Array, integer: pa.DataType) -> pa.Array:
    number = _matching(text, r"[+-]?[0-9]{1,38}").cast(_WIDEST)
    limit = 2 ** (integer.bit_width - 1)
    fits = pc.and_(pc.greater_equal(number, _wide(-limit)), pc.less(number, _wide(limit)))
    return _where(fits, number).cast(integer)


def _encode_float(array: pa.Array) -> pa.Array:
    shortest = array.cast(pa.string())  # exact for both widths, but not as Java lays it out
    return pa.array(map(_as_java_prints, array.to_pylist(), shortest.to_pylist()), pa.string())


def _as_java_prints(value: float | None, shortest: str | None) -> str | None:
    if value is None or shortest is None:
        return None
    number = Decimal(shortest)
    if not number.is_finite():
        return "NaN" if number.is_nan() else f"{'-' * number.is_signed()}Infinity"
    if len(number.normalize().as_tuple().digits) == 1:
        number = Decimal(f"{value:.1e}")  # Java shows two digits at least, and chooses the nearest: 4.9E-324
    number = number.normalize()
    if not -3 <= number.adjusted() < 7:  # noqa: PLR2004 - where Java begins to write exponents
        first, *rest = map(str, number.as_tuple().digits)
        return f"{'-' * number.is_signed()}{first}.{''.join(rest) or '0'}E{number.adjusted()}"
    plain = f"{number:f}"
    return plain if "." in plain else f"{plain}.0"


def _decode_float(text: pa.Array, floating: pa.DataType) -> pa.Array:
    number = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?"
    readable = _matching(text, rf"{number}|NaN|[+-]?Infinity")
    return canonical(pc.utf8_ltrim(readable, "+").cast(floating))


def _encode_decimal(array: pa.Array) -> pa.Array:
    scale = array.type.scale
    unscaled = array.view(_WIDEST).cast(pa.string())
    if scale == 0:
        return unscaled
    sign = pc.if_else(pc.starts_with(unscaled, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(unscaled, "-"), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    return _join(sign, whole, ".", fraction)


def _decode_decimal(text: pa.Array, decimal: pa.DataType) -> pa.Array:
    parts = pc.extract_regex(text, r"\A(?P<sign>[+-]?)0*(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]*?)0*)?\z")
    fraction = pc.utf8_rpad(_part(parts, "fraction"), decimal.scale, "0")
    digits = _join(_part(parts, "whole"), fraction)
    exact = pc.equal(pc.utf8_length(fraction), decimal.scale)
    fits = pc.less_equal(pc.utf8_length(pc.utf8_ltrim(digits, "0")), decimal.precision)
    readable = _where(pc.and_(exact, fits), digits)
    return _join(_part(parts, "sign"), readable).cast(_WIDEST).view(decimal)


def _encode_date(array: pa.Array) -> pa.Array:
    return text_of_date(*date_from_days(array.view(pa.int32())))


def text_of_date(year: pa.Array, month: pa.Array, day: pa.Array) -> pa.Array:
    return _join(text_of_year(year), "-", padded(month), "-", padded(day))


def text_of_year(year: pa.Array) -> pa.Array:
    """Four digits, or a sign and as many as it takes.

    >>> text_of_year(pa.array([33, 2024, 12024, -44])).to_pylist()
    ['0033', '2024', '+12024', '-0044']
    """
    sign = pc.case_when(pc.make_struct(pc.less(year, 0), pc.greater(year, 9999)), "-", "+", "")
    return _join(sign, padded(pc.abs(year), 4))


def padded(number: pa.Array, width: int = 2) -> pa.Array:
    """The text of numbers that are not negative, with leading zeros."""
    return pc.utf8_lpad(number.cast(pa.string()), width, "0")


DATE_PATTERN = r"(?P<year>[+-]?[0-9]{4,7})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_TIME_PATTERN = (
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,6}))?)?"
)
_ZONE_PATTERN = r"Z|(?P<zone_sign>[+-])(?P<zone_hour>[01][0-9]):?(?P<zone_minute>[0-5][0-9])?"


def _decode_date(text: pa.Array, _: pa.DataType) -> pa.Array:
    days = days_in(pc.extract_regex(text, rf"\A{DATE_PATTERN}\z"))
    return _where(_fits_32_bits(days), days).cast(pa.int32()).view(pa.date32())


def days_in(parts: pa.StructArray) -> pa.Array:
    """Days since 1970-01-01 of the parts year, month and day of a pattern; null where there is no such date."""
    year, month, day = numbers(parts, "year"), numbers(parts, "month"), numbers(parts, "day")
    days = days_from_date(year, month, day)
    same_year, same_month, same_day = map(pc.equal, date_from_days(days), (year, month, day))
    return _where(pc.and_(same_year, pc.and_(same_month, same_day)), days)


def _fits_32_bits(number: pa.Array) -> pa.Array:
    return pc.and_(pc.greater_equal(number, -(2**31)), pc.less(number, 2**31))


def _encode_timestamp(array: pa.Array) -> pa.Array:
    instant = array.view(pa.int64())
    days = floor_divide(instant, DAY)
    time = pc.subtract(instant, pc.multiply(days, DAY))  # wraps there and back on the first day that there is
    fraction = time - time / SECOND * SECOND
    return _join(
        text_of_date(*date_from_days(days)),
        "T",
        padded(time / HOUR),
        ":",
        padded(_remainder(time / (60 * SECOND), 60)),
        ":",
        padded(_remainder(time / SECOND, 60)),
        pc.if_else(pc.equal(fraction, 0), "", _join(".", padded(fraction, 6))),
        "Z" if array.type.tz else "",
    )


def _remainder(number: pa.Array, divisor: int) -> pa.Array:
    return number - number / divisor * divisor


def _decode_timestamp(text: pa.Array, timestamp: pa.DataType) -> pa.Array:
    zone = f"(?:{_ZONE_PATTERN})?" if timestamp.tz else ""
    parts = pc.extract_regex(text, rf"\A{DATE_PATTERN}(?:[T ]{_TIME_PATTERN}{zone})?\z")
    minutes = days_in(parts) * 1440 + numbers(parts, "hour") * 60 + numbers(parts, "minute")
    if timestamp.tz:
        minutes = minutes - _zone_minutes(parts)
    seconds = minutes * 60 + numbers(parts, "second")
    fraction = pc.utf8_rpad(_part(parts, "fraction"), 6, "0").cast(pa.int64())
    instant = pc.add(pc.multiply(seconds, SECOND), fraction)
    wrapped = pc.not_equal(floor_divide(instant, SECOND), seconds)
    return _where(pc.invert(wrapped), instant).cast(timestamp)


def _zone_minutes(parts: pa.StructArray) -> pa.Array:
    ahead = numbers(parts, "zone_hour") * 60 + numbers(parts, "zone_minute")
    return pc.if_else(pc.equal(_part(parts, "zone_sign"), "-"), -ahead, ahead)


def numbers(parts: pa.StructArray, name: str) -> pa.Array:
    """One group of a pattern as integers; what was left out is zero."""
    text = pc.utf8_ltrim(_part(parts, name), "+")
    return pc.if_else(pc.equal(text, ""), "0", text).cast(pa.int64())


def _part(parts: pa.StructArray, name: str) -> pa.Array:
    return pc.struct_field(parts, name)


def _join(*pieces: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, "")


def _matching(text: pa.Array, pattern: str) -> pa.Array:
    return _where(pc.match_substring_regex(text, rf"\A(?:{pattern})\z"), text)


def _where(condition: pa.Array, array: pa.Array) -> pa.Array:
    return pc.if_else(condition, array, pa.scalar(None, array.type))


def _wide(number: int) -> pa.Scalar:
    return pa.scalar(Decimal(number), _WIDEST)


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
