"""Transforms: what a layout computes from a column to decide where a row belongs.

They are Iceberg's, value for value:

>>> bucket = Transform.parse("bucket[16]")
>>> bucket.apply(pa.array(["val", None])).to_pylist()
[14, None]

Every transform can also be read backwards. A day is a range of instants, a truncated string is a range of strings, and
an identity partition value is a range of one, so that pruning does not depend on transforms:

>>> january = Transform.parse("month").preimage(pa.array([0], pa.int32()), pa.date32())
>>> january.lower[0].as_py(), january.upper[0].as_py()
(datetime.date(1970, 1, 1), datetime.date(1970, 1, 31))
"""

import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, assert_never, get_args

import pyarrow as pa
import pyarrow.compute as pc

from indextables import values
from indextables.civil import (
    DATE_PATTERN,
    DAY,
    HOUR,
    YEAR_PATTERN,
    date_from_days,
    days_from_captures,
    days_from_month,
    month_from_days,
    padded,
    text_from_days,
    text_from_year,
)
from indextables.errors import LayoutError, SchemaError
from indextables.kernels import (
    captured_number,
    clamp,
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
from indextables.layout import iceberg
from indextables.schema import MAX_DECIMAL_PRECISION

MAX_SIZE = 2**31 - 1
_LOWEST = {bits: -(2 ** (bits - 1)) for bits in (8, 16, 32, 64)}
_HIGHEST = {bits: 2 ** (bits - 1) - 1 for bits in (8, 16, 32, 64)}


@dataclass(frozen=True, slots=True)
class Preimage:
    """For each result, the range of source values that have it: from `lower`, which belongs to it, to `upper`.

    A bound that is null does not bound. A null result has no bounds at all; see `Transform.preserves_null`.
    """

    lower: pa.Array
    upper: pa.Array
    upper_inclusive: pa.BooleanArray


class Transform(ABC):
    """A function from a column to partition values; compare, print and pickle it like any value."""

    __slots__ = ()

    # Whether null, and nothing else, becomes null.
    preserves_null: ClassVar[bool] = True

    @staticmethod
    def parse(text: str) -> "Transform":
        """The transform of a name: `identity`, `year`, `month`, `day`, `hour`, `bucket[16]`, `truncate[4]`, `void`.

        >>> Transform.parse("Bucket(16)")
        Bucket(n=16)
        >>> str(Transform.parse("Bucket(16)"))
        'bucket[16]'
        """
        return _parse(text)

    def apply(self, array: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The result for each value, in `result_type`; null stays null."""
        array = values.in_table_type(array)
        self._refuse_unless_accepted(array.type)
        return self._apply(array)

    def accepts(self, source_type: pa.DataType) -> bool:
        """Whether a column of this type has such results.

        >>> Transform.parse("hour").accepts(pa.date32())
        False
        """
        try:
            return self._accepts(values.table_type(source_type))
        except SchemaError:
            return False

    def result_type(self, source_type: pa.DataType) -> pa.DataType:
        """The type of the results for a column of this type."""
        source_type = values.table_type(source_type)
        self._refuse_unless_accepted(source_type)
        return self._result_type(source_type)

    def preimage(self, results: pa.Array | pa.ChunkedArray, source_type: pa.DataType) -> Preimage:
        """The source values that each result stands for, as a range in the source type.

        >>> range_ = Transform.parse("truncate[2]").preimage(pa.array(["he", "h"]), pa.string())
        >>> range_.lower.to_pylist(), range_.upper.to_pylist(), range_.upper_inclusive.to_pylist()
        (['he', 'h'], ['hf', 'h'], [False, True])
        """
        source_type = values.table_type(source_type)
        self._refuse_unless_accepted(source_type)
        return self._preimage(flat(results), source_type)

    def to_text(self, results: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The results as the log writes them."""
        return values.encode(results)

    def from_text(self, text: pa.Array | pa.ChunkedArray, source_type: pa.DataType) -> pa.Array:
        """The results of such texts; null where a text is null or malformed."""
        return values.decode(text, self.result_type(source_type))

    def name_for(self, value: Any) -> str:
        """The display text of one result.

        >>> Transform.parse("hour").name_for(420042)
        '2017-12-01-18'
        """
        if value is None or value == pa.NULL:
            return "null"
        text = self.to_text(pa.array([value]))[0].as_py()
        return "null" if text is None else str(text)

    @property
    @abstractmethod
    def word(self) -> str:
        """The name without its size."""

    @property
    def size(self) -> int | None:
        return None

    @property
    def suffix(self) -> str:
        """What a field's name adds to the name of its column."""
        return f"_{self.word}"

    def over(self, column: str) -> str:
        """The transform as a layout writes it.

        >>> Transform.parse("bucket[16]").over("user_id")
        'bucket(16, user_id)'
        """
        return f"{self.word}({column})" if self.size is None else f"{self.word}({self.size}, {column})"

    def __str__(self) -> str:
        return self.word if self.size is None else f"{self.word}[{self.size}]"

    def _refuse_unless_accepted(self, source_type: pa.DataType) -> None:
        if not self._accepts(source_type):
            raise LayoutError(f"{self} cannot be applied to values of type {source_type}", field=str(self))

    @abstractmethod
    def _apply(self, array: pa.Array) -> pa.Array: ...

    @abstractmethod
    def _accepts(self, source_type: pa.DataType) -> bool: ...

    @abstractmethod
    def _result_type(self, source_type: pa.DataType) -> pa.DataType: ...

    @abstractmethod
    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage: ...


@dataclass(frozen=True, slots=True)
class Identity(Transform):
    """The value itself, as in Hive; negative zero is zero, and there is one NaN."""

    word = "identity"
    suffix = ""

    def over(self, column: str) -> str:
        return column

    def _apply(self, array: pa.Array) -> pa.Array:
        return array

    def _accepts(self, source_type: pa.DataType) -> bool:
        return not pa.types.is_binary(source_type)

    def _result_type(self, source_type: pa.DataType) -> pa.DataType:
        return source_type

    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        results = results.cast(source_type)
        return _closed(results, results)


Unit = Literal["year", "month", "day", "hour"]
_CALENDAR_PATTERNS: dict[Unit, str] = {
    "year": YEAR_PATTERN,
    "month": rf"{YEAR_PATTERN}-(?P<month>0[1-9]|1[0-2])",
    "day": DATE_PATTERN,
    "hour": rf"{DATE_PATTERN}-(?P<hour>[01][0-9]|2[0-3])",
}


@dataclass(frozen=True, slots=True)
class Calendar(Transform):
    """Years, months, days or hours since 1970-01-01T00:00 UTC, negative before it.

    An hour so far away that 32 bits cannot count it (beyond the year 246,953) counts as the last one, or the first.
    """

    unit: Unit

    @property
    def word(self) -> str:
        return self.unit

    def to_text(self, results: pa.Array | pa.ChunkedArray) -> pa.Array:
        return over_distinct(self._name, flat(results))

    def from_text(self, text: pa.Array | pa.ChunkedArray, source_type: pa.DataType) -> pa.Array:
        self._refuse_unless_accepted(values.table_type(source_type))
        return over_distinct(self._ordinal, flat(text).cast(pa.string()))

    def _name(self, results: pa.Array) -> pa.Array:
        ordinal = results.cast(pa.int32()).cast(pa.int64())
        match self.unit:
            case "year":
                return text_from_year(pc.add(ordinal, 1970))
            case "month":
                year, month, _ = date_from_days(days_from_month(ordinal))
                return join(text_from_year(year), "-", padded(month))
            case "day":
                return text_from_days(ordinal)
            case "hour":
                day = floor_divide(ordinal, 24)
                return join(text_from_days(day), "-", padded(remainder(ordinal, 24)))
            case _:
                assert_never(self.unit)

    def _ordinal(self, text: pa.Array) -> pa.Array:
        captures = extract(text, _CALENDAR_PATTERNS[self.unit])
        match self.unit:
            case "year":
                ordinal = pc.subtract(captured_number(captures, "year"), 1970)
            case "month":
                months = pc.subtract(captured_number(captures, "month"), 1)
                ordinal = mixed_radix(pc.subtract(captured_number(captures, "year"), 1970), (12, months))
            case "day":
                ordinal = days_from_captures(captures)
            case "hour":
                ordinal = mixed_radix(days_from_captures(captures), (24, captured_number(captures, "hour")))
            case _:
                assert_never(self.unit)
        return within(ordinal, _LOWEST[32], _HIGHEST[32]).cast(pa.int32())

    def _apply(self, array: pa.Array) -> pa.Array:
        count = array.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date(array.type) else array.view(pa.int64())
        day = count if pa.types.is_date(array.type) else floor_divide(count, DAY)
        match self.unit:
            case "year":
                ordinal = pc.subtract(date_from_days(day)[0], 1970)
            case "month":
                ordinal = month_from_days(day)
            case "day":
                ordinal = day
            case "hour":
                ordinal = clamp(floor_divide(count, HOUR), _LOWEST[32], _HIGHEST[32])
            case _:
                assert_never(self.unit)
        return ordinal.cast(pa.int32())

    def _accepts(self, source_type: pa.DataType) -> bool:
        return pa.types.is_timestamp(source_type) or (pa.types.is_date(source_type) and self.unit != "hour")

    def _result_type(self, source_type: pa.DataType) -> pa.DataType:  # noqa: ARG002 - the same for every source
        return pa.int32()

    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        ordinal = results.cast(pa.int64())
        first, after = (self._start(one, source_type) for one in (ordinal, pc.add(ordinal, 1)))
        if self.unit == "hour":
            first = where(pc.greater(ordinal, _LOWEST[32]), first)
            after = where(pc.less(ordinal, _HIGHEST[32]), after)
        lowest, highest = _LOWEST[source_type.bit_width], _HIGHEST[source_type.bit_width]
        integer = pa.int32() if pa.types.is_date(source_type) else pa.int64()
        last = pc.subtract_checked(after, 1)
        lower, upper = (within(bound, lowest, highest).cast(integer).view(source_type) for bound in (first, last))
        return _closed(lower, upper)

    def _start(self, ordinal: pa.Array, source_type: pa.DataType) -> pa.Array:
        """Where a year, month, day or hour begins in the source's unit; null where it exceeds 64 bits."""
        match self.unit:
            case "year":
                start, length = days_from_month(pc.multiply_checked(ordinal, 12)), DAY
            case "month":
                start, length = days_from_month(ordinal), DAY
            case "day":
                start, length = ordinal, DAY
            case "hour":
                start, length = ordinal, HOUR
            case _:
                assert_never(self.unit)
        if pa.types.is_date(source_type):
            return start
        limit = _HIGHEST[64] // length
        return pc.multiply_checked(where(pc.less_equal(pc.abs(start), limit), start), length)


@dataclass(frozen=True, slots=True)
class Bucket(Transform):
    """A hash of the value (32-bit Murmur3) modulo `n`."""

    n: int
    word = "bucket"

    def __post_init__(self) -> None:
        _refuse_size(self, self.n)

    @property
    def size(self) -> int:
        return self.n

    def _apply(self, array: pa.Array) -> pa.Array:
        wide = array.cast(pa.int64()) if pa.types.is_integer(array.type) else array
        return iceberg.bucket(wide, self.n)

    def _accepts(self, source_type: pa.DataType) -> bool:
        return not (pa.types.is_floating(source_type) or pa.types.is_boolean(source_type))

    def _result_type(self, source_type: pa.DataType) -> pa.DataType:  # noqa: ARG002 - the same for every source
        return pa.int32()

    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        return _unbounded(len(results), source_type)


@dataclass(frozen=True, slots=True)
class Truncate(Transform):
    """The first `width` code points of a string, or a number rounded down to a multiple of `width`.

    The width of a decimal counts units of its last digit. Results are 64-bit integers and decimals of 38 digits, since
    rounding down may leave the type of the column; what leaves even these is the lowest value that there is.
    """

    width: int
    word = "truncate"
    suffix = "_trunc"

    def __post_init__(self) -> None:
        _refuse_size(self, self.width)

    @property
    def size(self) -> int:
        return self.width

    def _apply(self, array: pa.Array) -> pa.Array:
        if pa.types.is_integer(array.type):
            wide = array.cast(pa.int64())
            rounded = iceberg.truncate(wide, self.width)
            return pc.if_else(pc.greater(rounded, wide), _LOWEST[64], rounded)
        if pa.types.is_decimal(array.type):
            rounded = iceberg.truncate(array.view(_widest(array.type)), self.width)
            return clamp(rounded.view(_WIDEST), 1 - 10**MAX_DECIMAL_PRECISION, 10**MAX_DECIMAL_PRECISION - 1).view(
                rounded.type
            )
        return iceberg.truncate(array, self.width)

    def _accepts(self, source_type: pa.DataType) -> bool:
        return any(is_kind(source_type) for is_kind in (pa.types.is_integer, pa.types.is_decimal, pa.types.is_string))

    def _result_type(self, source_type: pa.DataType) -> pa.DataType:
        if pa.types.is_integer(source_type):
            return pa.int64()
        return _widest(source_type) if pa.types.is_decimal(source_type) else source_type

    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        if pa.types.is_integer(source_type):
            return self._integers(results.cast(pa.int64()), source_type)
        if pa.types.is_decimal(source_type):
            return self._decimals(results.cast(_widest(source_type)), source_type)
        return self._strings(results.cast(pa.string()))

    def _integers(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        # Below the lowest value both steps wrap, there and back; above the highest only the second does.
        last = pc.add(iceberg.truncate(results, self.width), self.width - 1)
        last = pc.if_else(pc.less(last, results), _HIGHEST[64], last)
        lowest, highest = _LOWEST[source_type.bit_width], _HIGHEST[source_type.bit_width]
        lower, upper = (clamp(bound, lowest, highest).cast(source_type) for bound in (results, last))
        return _closed(lower, upper)

    def _decimals(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        unscaled = results.view(_WIDEST)
        first, last = unscaled.cast(_WIDE_DECIMAL), iceberg.truncate(unscaled, self.width).cast(_WIDE_DECIMAL)
        last = pc.add(last, pa.scalar(self.width - 1, _WIDE_DECIMAL))
        largest = 10**source_type.precision - 1
        lower, upper = (
            clamp(bound, -largest, largest).cast(pa.decimal128(source_type.precision, 0)).view(source_type)
            for bound in (first, last)
        )
        return _closed(lower, upper)

    def _strings(self, results: pa.Array) -> Preimage:
        whole = pc.less(pc.utf8_length(results), self.width)
        upper = pc.if_else(whole, results, _after(results))
        return Preimage(results, upper, pc.fill_null(whole, fill_value=True))


@dataclass(frozen=True, slots=True)
class Void(Transform):
    """Always null: what is left of a field that a layout has dropped."""

    word = "void"
    preserves_null = False

    def _apply(self, array: pa.Array) -> pa.Array:
        return pa.nulls(len(array), array.type)

    def _accepts(self, source_type: pa.DataType) -> bool:  # noqa: ARG002 - anything can be left out
        return True

    def _result_type(self, source_type: pa.DataType) -> pa.DataType:
        return source_type

    def _preimage(self, results: pa.Array, source_type: pa.DataType) -> Preimage:
        return _unbounded(len(results), source_type)


_WIDEST = pa.decimal128(MAX_DECIMAL_PRECISION, 0)
_WIDE_DECIMAL = pa.decimal256(50, 0)
_PLAIN: dict[str, Transform] = {"identity": Identity(), "void": Void()}
_PLAIN |= {unit: Calendar(unit) for unit in get_args(Unit)}
_PLAIN |= {f"{unit}s": Calendar(unit) for unit in get_args(Unit)}  # the names in Spark SQL and Iceberg DDL
_SIZED = {"bucket": Bucket, "truncate": Truncate}
_NOTATION = re.compile(r"\s*(\w+)\s*(?:\[\s*(-?[0-9]{1,18})\s*\]|\(\s*(-?[0-9]{1,18})\s*\))?\s*")


def _parse(text: str) -> Transform:
    notation = _NOTATION.fullmatch(text)
    word = notation[1].lower() if notation else ""
    size = (notation[2] or notation[3]) if notation else None
    if size is None and word in _PLAIN:
        return _PLAIN[word]
    if size is not None and word in _SIZED:
        return _SIZED[word](int(size))
    raise LayoutError(
        f"{text!r} is not a transform; choose identity, year, month, day, hour, bucket(N, column), "
        "truncate(W, column) or void",
        field=text,
    )


def _refuse_size(transform: Bucket | Truncate, size: int) -> None:
    if not 1 <= size <= MAX_SIZE:
        raise LayoutError(f"{transform} is out of range; give it a size from 1 to {MAX_SIZE}", field=str(transform))


def _widest(decimal: pa.DataType) -> pa.DataType:
    return pa.decimal128(MAX_DECIMAL_PRECISION, decimal.scale)


def _after(prefixes: pa.Array) -> pa.Array:
    """The first string after all those that start with a prefix, by code points; null where there is none."""
    stem = pc.utf8_rtrim(prefixes, chr(sys.maxunicode))
    last = pc.utf8_slice_codeunits(stem, -1)
    following = over_distinct(lambda letters: pa.array(map(_successor, letters.to_pylist()), pa.string()), last)
    return join(pc.utf8_slice_codeunits(stem, 0, -1), following)


def _successor(letter: str | None) -> str | None:
    if not letter:
        return None
    return "\ue000" if letter == "\ud7ff" else chr(ord(letter) + 1)  # between them are surrogates, which are no text


def _closed(lower: pa.Array, upper: pa.Array) -> Preimage:
    return Preimage(lower, upper, pa.repeat(pa.scalar(value=True), len(lower)))


def _unbounded(length: int, source_type: pa.DataType) -> Preimage:
    return _closed(pa.nulls(length, source_type), pa.nulls(length, source_type))
