"""Values in another type, by the rules of Spark's CAST with ANSI mode on.

>>> cast_array(pa.array([" 42 ", None]), pa.int64()).to_pylist()
[42, None]
>>> cast_array(pa.array(["42", "abc"]), pa.int64())
Traceback (most recent call last):
indextables.errors.CastInvalidInputError: [CAST_INVALID_INPUT] the value 'abc' of type string cannot be cast to ...
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import CastInvalidInputError, InvalidPredicateError
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ
from indextables.schema import type_name

# What Spark trims from a text before it reads a value from it.
_BLANK = "".join(map(chr, range(0x21))) + "\x7f"
_LONGEST_INTEGER = 20  # a sign and 19 digits
_WHOLE_NUMBER = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DOUBLE = r"(?i)^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?|[+-]?inf(inity)?|[+-]?nan)$"
_TRUE_WORDS = ["t", "true", "y", "yes", "1"]
_FALSE_WORDS = ["f", "false", "n", "no", "0"]
_CALENDAR = r"^\+?(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})"
_DATE = _CALENDAR + r"(?:[ T].*)?)?)?$"
_TIMESTAMP = (
    _CALENDAR
    + r"(?:[ T](?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]*))?)?)?"
    + r" *(?P<zone>[A-Za-z][A-Za-z0-9_/+:-]*|[+-][0-9:]+)?)?)?)?$"
)
# Java's names; those of three letters are offsets to it, and in newer databases cities with a past.
_OTHERWISE = {**dict.fromkeys(("Z", "z", "GMT", "UT"), "UTC"), "EST": "-05:00", "MST": "-07:00", "HST": "-10:00"}
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?")


def cast_array(array: pa.Array, kind: pa.DataType, *, time_zone: str = "UTC") -> pa.Array:
    """Every value in type `kind`; a text that does not spell one is a CastInvalidInputError that shows it."""
    converted = try_cast_array(array, kind, time_zone=time_zone)
    if converted.null_count > array.null_count:
        raise _malformed(array.filter(pc.and_(pc.is_null(converted), pc.is_valid(array)))[0].as_py(), kind)
    return converted


def try_cast_array(array: pa.Array, kind: pa.DataType, *, time_zone: str = "UTC") -> pa.Array:
    """Every value in type `kind`, null for a text that does not spell one.

    >>> try_cast_array(pa.array(["7", "abc", "300"]), pa.int8()).to_pylist()
    [7, None, None]
    """
    if pa.types.is_string(array.type) and kind != pa.string():
        return _from_text(array, kind, time_zone)
    if kind == TIMESTAMP and array.type != TIMESTAMP:
        return _instants(array.cast(TIMESTAMP_NTZ), time_zone)
    if kind == TIMESTAMP_NTZ and array.type == TIMESTAMP:
        with _known_zone(time_zone):
            return pc.local_timestamp(array.cast(pa.timestamp("us", zone_name(time_zone))))
    return array.cast(kind, safe=False)


def cast_scalar(value: pa.Scalar, kind: pa.DataType, *, time_zone: str = "UTC") -> pa.Scalar:
    """One value in type `kind`.

    >>> cast_scalar(pa.scalar("2024-07-01"), TIMESTAMP, time_zone="Europe/Berlin").as_py().isoformat()
    '2024-06-30T22:00:00+00:00'
    """
    if value.type == kind:
        return value
    if pa.types.is_decimal(value.type) and pa.types.is_floating(kind):
        return pa.scalar(float(value.as_py()), kind)  # Arrow rounds more than once on this way
    if pa.types.is_decimal(kind) and (pa.types.is_decimal(value.type) or pa.types.is_integer(value.type)):
        try:
            return pa.scalar(rescaled(Decimal(value.as_py()), kind.scale), kind)
        except pa.ArrowInvalid:
            raise _too_large(value, kind) from None
    return cast_array(pa.array([value]), kind, time_zone=time_zone)[0]


def names_zone(text: str) -> bool:
    """Whether a text spells a time with a time zone, which a cast to a timestamp without one ignores, as in Spark.

    >>> names_zone("2024-01-31T12:00:00+02:00"), names_zone("2024-01-31T12:00:00")
    (True, False)
    """
    found = re.match(_TIMESTAMP, text.strip())
    return found is not None and found["zone"] is not None


def start_of_day(midnight: pa.Scalar, time_zone: str) -> pa.Scalar | None:
    """The instant at which a day begins in a time zone; None where it begins twice.

    >>> from datetime import datetime
    >>> start_of_day(pa.scalar(datetime(2024, 7, 1)), "Europe/Berlin").as_py().isoformat()
    '2024-06-30T22:00:00+00:00'
    >>> start_of_day(pa.scalar(datetime(2024, 11, 3)), "America/Havana") is None
    True
    """
    wall = pa.array([midnight])
    start = _instants(wall, time_zone)
    zone = zone_name(time_zone)
    if zone != "UTC":
        later = pc.assume_timezone(wall, zone, ambiguous="latest", nonexistent="latest").cast(TIMESTAMP)
        near = cast_array(pc.subtract(start, pa.scalar(1, pa.duration("us"))), TIMESTAMP_NTZ, time_zone=time_zone)
        if later[0].as_py() > start[0].as_py() or near[0].as_py() >= midnight.as_py():
            return None
    return start[0]


def rescaled(value: Decimal, scale: int) -> Decimal:
    with localcontext(prec=100, rounding=ROUND_HALF_UP) as context:
        return value.quantize(Decimal(1).scaleb(-scale, context), context=context)


def zone_name(time_zone: str) -> str:
    """A time zone's name as Arrow accepts it.

    >>> zone_name("GMT+8"), zone_name("Z"), zone_name("Europe/Berlin")
    ('+08:00', 'UTC', 'Europe/Berlin')
    """
    offset = _OFFSET.fullmatch(time_zone)
    if offset:
        return f"{offset[1]}{int(offset[2]):02d}:{int(offset[3] or 0):02d}"
    return _OTHERWISE.get(time_zone, time_zone)


def _from_text(array: pa.Array, kind: pa.DataType, time_zone: str) -> pa.Array:
    if pa.types.is_binary(kind):
        return array.cast(kind)
    trimmed = pc.utf8_trim(array, characters=_BLANK)
    try:
        return _read_text(trimmed, kind, time_zone)
    except pa.ArrowInvalid:  # well formed and yet no value: the 30th of February, a number too large
        return _read_one_by_one(trimmed.dictionary_encode(), kind, time_zone)


def _read_one_by_one(texts: pa.DictionaryArray, kind: pa.DataType, time_zone: str) -> pa.Array:
    """The values of texts of which some are none, each distinct one read on its own."""
    read = [_read_or_null(text, kind, time_zone) for text in texts.dictionary]
    return pa.array(read, kind).take(texts.indices)


def _read_or_null(text: pa.Scalar, kind: pa.DataType, time_zone: str) -> pa.Scalar:
    try:
        return _read_text(pa.array([text]), kind, time_zone)[0]
    except pa.ArrowInvalid:
        return pa.scalar(None, kind)


def _read_text(texts: pa.Array, kind: pa.DataType, time_zone: str) -> pa.Array:
    """The values that the texts spell; null where a text has not even the form of one."""
    if kind == TIMESTAMP:
        return _timestamps(texts, time_zone)
    if kind == TIMESTAMP_NTZ:
        return _wall_clock(pc.extract_regex(texts, _TIMESTAMP))
    if pa.types.is_decimal(kind):
        exact = _matching(texts, _NUMBER).cast(pa.decimal256(76, 38))
        return pc.round(exact, kind.scale, round_mode="half_towards_infinity").cast(kind)
    if pa.types.is_integer(kind):
        return _whole_numbers(texts, kind)
    if pa.types.is_floating(kind):
        return _fractions(texts, kind)
    return _READERS[kind](texts)


def _whole_numbers(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Null also for numbers that the type has no room for."""
    digits = pc.replace_substring_regex(_matching(texts, _WHOLE_NUMBER), r"^([+-]?)0*([0-9])", r"\1\2")
    plain = pc.utf8_ltrim(digits, characters="+")
    few = pc.if_else(pc.less_equal(pc.utf8_length(plain), _LONGEST_INTEGER), plain, None)
    exact, limit = few.cast(pa.decimal128(_LONGEST_INTEGER, 0)), 2 ** (kind.bit_width - 1)
    fits = pc.and_(pc.less(exact, Decimal(limit)), pc.greater_equal(exact, Decimal(-limit)))
    return pc.if_else(fits, exact, None).cast(kind)


def _fractions(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    plain = pc.replace_substring_regex(_matching(texts, _DOUBLE), r"(?i)([0-9.])[df]$", r"\1")
    return pc.replace_substring_regex(plain, r"(?i)^[+-]?nan$", "nan").cast(kind)


def _booleans(texts: pa.Array) -> pa.Array:
    words = pc.utf8_lower(texts)
    true, false = pc.is_in(words, pa.array(_TRUE_WORDS)), pc.is_in(words, pa.array(_FALSE_WORDS))
    return pc.if_else(pc.or_(true, false), true, None)


def _dates(texts: pa.Array) -> pa.Array:
    return _calendar(pc.extract_regex(texts, _DATE)).cast(pa.date32())


_READERS: dict[pa.DataType, Callable[[pa.Array], pa.Array]] = {
    pa.bool_(): _booleans,
    pa.date32(): _dates,
}


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)


def _calendar(fields: pa.StructArray) -> pa.Array:
    return pc.binary_join_element_wise(
        _field(fields, "year"), _two(fields, "month", "01"), _two(fields, "day", "01"), "-"
    )


def _wall_clock(fields: pa.StructArray) -> pa.Array:
    time = pc.binary_join_element_wise(*(_two(fields, name, "00") for name in ("hour", "minute", "second")), ":")
    micros = pc.utf8_slice_codeunits(pc.utf8_rpad(_field(fields, "fraction"), 6, padding="0"), 0, 6)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(_calendar(fields), time, " "), micros, ".").cast(
        TIMESTAMP_NTZ
    )


def _timestamps(texts: pa.Array, time_zone: str) -> pa.Array:
    fields = pc.extract_regex(texts, _TIMESTAMP)
    local, zones = _wall_clock(fields), _field(fields, "zone")
    instants = _instants(local, time_zone)
    for zone in pc.drop_null(zones.unique()).to_pylist():  # few, whatever the number of rows
        if zone:
            instants = pc.if_else(pc.equal(zones, zone), _instants(local, zone), instants)
    return instants


def _field(fields: pa.StructArray, name: str) -> pa.Array:
    return pc.struct_field(fields, name)


def _two(fields: pa.StructArray, name: str, default: str) -> pa.Array:
    digits = _field(fields, name)
    return pc.if_else(pc.equal(digits, ""), default, pc.utf8_lpad(digits, 2, padding="0"))


def _instants(local: pa.Array, time_zone: str) -> pa.Array:
    """Wall-clock times as instants: the earlier one where clocks go back, an hour on where they skip it, as in Java."""
    zone = zone_name(time_zone)
    if zone == "UTC":
        return local.cast(TIMESTAMP)
    with _known_zone(time_zone):
        near = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    offset = pc.subtract(pc.local_timestamp(near), near.cast(TIMESTAMP).cast(TIMESTAMP_NTZ))
    return pc.subtract(local, offset).cast(TIMESTAMP)


@contextmanager
def _known_zone(time_zone: str) -> Iterator[None]:
    """Within it, a time zone that Arrow does not support, such as Java's PST, raises an error that names it."""
    try:
        yield
    except pa.ArrowInvalid:
        reason = f"there is no time zone {time_zone!r}"
        raise InvalidPredicateError(reason, predicate=time_zone, reason=reason) from None


def _too_large(value: pa.Scalar, kind: pa.DataType) -> CastInvalidInputError:
    name = type_name(kind)
    reason = f"the value {value} does not fit {name}, in which both are compared"
    return CastInvalidInputError(reason, predicate=str(value), reason=reason, value=str(value), expected_type=name)


def _malformed(text: str, kind: pa.DataType) -> CastInvalidInputError:
    name = type_name(kind)
    reason = f"the value {text!r} of type string cannot be cast to {name}, because it is not a valid {name}"
    return CastInvalidInputError(
        f"[CAST_INVALID_INPUT] {reason}; compare the column with a text, or correct the value",
        predicate=text,
        reason=reason,
        value=text,
        expected_type=name,
    )
