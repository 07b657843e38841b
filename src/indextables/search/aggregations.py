"""Aggregations over the rows of a scan.

>>> terms("level", size=3)
Terms(field='level', size=3)
>>> date_histogram("ts", "15m")
DateHistogram(field='ts', interval=datetime.timedelta(seconds=900))

`bind` checks one against a table, before any split is opened.

>>> from indextables.search import resolve
>>> schema = pa.schema({"message": pa.string(), "n": pa.int32()})
>>> bind(terms("message"), schema, resolve(schema, {"message": "text"}))
Traceback (most recent call last):
indextables.errors.SearchQueryError: terms of 'message' cannot be counted: it is indexed as text; index it as string
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa

from indextables.errors import SearchQueryError
from indextables.nearest import nearest
from indextables.schema import type_name
from indextables.search.field_rules import TEXT, FieldRule
from indextables.search.ordinals import is_ordinal

_INTERVAL = re.compile(r"\s*([0-9]{1,6})\s*(s|m|h|d|w)\s*")
_DAY, _MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Terms:
    """The most frequent values and how many rows have each."""

    field: str
    size: int | None = 10

    verb = "counted"


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of rows in each interval; the key of an interval is its inclusive start."""

    field: str
    interval: Decimal

    verb = "put in intervals"


@dataclass(frozen=True, slots=True)
class DateHistogram:
    """The same for dates and instants. Intervals are counted from 1970-01-01T00:00:00."""

    field: str
    interval: timedelta

    verb = "put in intervals"


@dataclass(frozen=True, slots=True)
class Ranges:
    """The number of rows in each range; the first end is inclusive, the second exclusive."""

    field: str
    ranges: tuple[tuple[Any, Any], ...]

    verb = "put in ranges"


@dataclass(frozen=True, slots=True)
class Stats:
    """Count of the values that are not null, their sum, least, greatest and average."""

    field: str

    verb = "summed up"


Aggregation = Terms | Histogram | DateHistogram | Ranges | Stats


def terms(field: str, *, size: int | None = 10) -> Terms:
    """The `size` most frequent values, or all of them where it is None."""
    return Terms(field, size)


def histogram(field: str, *, interval: float | Decimal) -> Histogram:
    return Histogram(field, Decimal(str(interval)))


def date_histogram(field: str, interval: str | timedelta) -> DateHistogram:
    """Intervals of `30s`, `15m`, `1h`, `1d` or `1w`."""
    return DateHistogram(field, interval if isinstance(interval, timedelta) else _duration(field, interval))


def ranges(field: str, pairs: Iterable[tuple[Any, Any]]) -> Ranges:
    """Ranges that may overlap and have open ends: `ranges("n", [(None, 10), (10, 100)])`.

    >>> ranges("n", [0, 10, 100])
    Traceback (most recent call last):
    indextables.errors.SearchQueryError: ranges of 'n' cannot be put in ranges: 0 is not ...; write [(0, 10), (10, 100)]
    """
    given = list(pairs)
    odd = [pair for pair in given if not isinstance(pair, list | tuple) or len(pair) != 2]  # noqa: PLR2004 - a pair
    if odd:
        joined = list(pairwise(given)) if len(odd) == len(given) and len(given) > 1 else [(0, 10), (10, None)]
        reason = f"{odd[0]!r} is not a pair of a start and an end, each a value or None; write {joined!r}"
        raise _refusal(Ranges(field, ()), reason)
    return Ranges(field, tuple((lower, upper) for lower, upper in given))


def stats(field: str) -> Stats:
    return Stats(field)


@dataclass(frozen=True, slots=True)
class Bound:
    """An aggregation of a column that there is, with its type and how it is indexed."""

    aggregation: Aggregation
    type: pa.DataType
    rule: FieldRule

    @property
    def field(self) -> str:
        return self.aggregation.field

    @property
    def step(self) -> int:
        """The interval of a histogram, in the integers that stand for the values."""
        match self.aggregation:
            case Histogram(_, interval):
                return int(interval.scaleb(self.type.scale if pa.types.is_decimal(self.type) else 0))
            case DateHistogram(_, interval):
                return interval // (_DAY if pa.types.is_date(self.type) else _MICROSECOND)
            case _:
                raise AssertionError(self.aggregation)

    def ends(self) -> list[tuple[pa.Scalar | None, pa.Scalar | None]]:
        """The ends of ranges, in the column's type."""
        pairs = self.aggregation.ranges if isinstance(self.aggregation, Ranges) else ()
        return [(self._end(lower), self._end(upper)) for lower, upper in pairs]

    def _end(self, value: Any) -> pa.Scalar | None:
        return None if value is None else pa.scalar(value, self.type)


def bind(aggregation: Aggregation, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> Bound:
    """Binds an aggregation to a table's schema, or raises a SearchQueryError."""
    column = next((name for name in schema.names if name.lower() == aggregation.field.lower()), None)
    if column is None:
        meant = nearest(aggregation.field, schema.names)
        hint = f"; did you mean {meant!r}?" if meant else f"; there are {', '.join(schema.names)}"
        raise _refusal(aggregation, f"there is no such column{hint}")
    bound = Bound(replace(aggregation, field=column), schema.field(column).type, rules[column])
    reason = _objection(bound)
    if reason:
        raise _refusal(bound.aggregation, reason)
    return bound


def _objection(bound: Bound) -> str | None:  # noqa: PLR0911 - one for each mistake
    kind, named = bound.type, f"it has type {type_name(bound.type)}"
    integral = is_ordinal(kind) and not (pa.types.is_floating(kind) or pa.types.is_boolean(kind))
    timed = pa.types.is_temporal(kind)
    match bound.aggregation:
        case _ if pa.types.is_binary(kind):
            return named
        case Terms(size=size) if size is not None and size < 1:
            return f"the size is {size}, and at least 1 is needed"
        case Terms() if bound.rule.type == TEXT:
            return "it is indexed as text; index it as string"
        case Histogram() if timed or not integral:
            return f"{named}; a histogram is of whole numbers or decimals up to 18 digits"
        case DateHistogram() if not timed:
            return f"{named}; a date histogram is of dates or timestamps"
        case Histogram() | DateHistogram() if not _is_whole(bound):
            return "the interval must be a multiple of the smallest step of the column's type, and above zero"
        case Stats() if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or timed
        ):
            return f"{named}; statistics are of numbers, dates and timestamps"
        case Ranges():
            return _bad_end(bound)
        case _:
            return None


def _is_whole(bound: Bound) -> bool:
    match bound.aggregation:
        case Histogram(_, interval) if interval.is_finite():
            scale = bound.type.scale if pa.types.is_decimal(bound.type) else 0
            return interval > 0 and interval.scaleb(scale) == bound.step
        case DateHistogram(_, interval):
            unit = _DAY if pa.types.is_date(bound.type) else _MICROSECOND
            return bound.step > 0 and bound.step * unit == interval
        case _:
            return False


def _bad_end(bound: Bound) -> str | None:
    try:
        bound.ends()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        return f"an end of its ranges is not of type {type_name(bound.type)}: {error}"
    return None


def _refusal(aggregation: Aggregation, reason: str) -> SearchQueryError:
    what = type(aggregation).__name__.lower()
    return SearchQueryError(
        f"{what} of {aggregation.field!r} cannot be {aggregation.verb}: {reason}",
        query=repr(aggregation),
        reason=reason,
        field=aggregation.field,
    )


def _duration(field: str, text: str) -> timedelta:
    match = _INTERVAL.fullmatch(text)
    if not match or int(match[1]) == 0:
        reason = f"{text!r} is not an interval; write 30s, 15m, 1h, 1d or 1w"
        raise SearchQueryError(
            f"dates of {field!r} cannot be put in intervals: {reason}", query=text, reason=reason, field=field
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
