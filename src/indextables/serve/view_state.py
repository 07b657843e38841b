"""What a request asks for: the search, the filters, the order and the columns of a view, as values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from indextables.errors import ConfigError
from indextables.predicate import (
    Column,
    Comparison,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Op,
    Predicate,
    conjunction,
    disjunction,
    parse_condition,
)
from indextables.schema import column_named, type_name
from indextables.serve.time_column import TimeColumn
from indextables.values import decode

MAX_SIZE, MAX_OFFSET, MAX_DOWNLOAD = 500, 100_000, 100_000
_DEFAULT_SIZE = 50
_MAX_FILTERS = 200
_MAX_DIGITS = 19


class Sort(Enum):
    NEWEST = "time"
    OLDEST = "-time"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class ColumnSort:
    """The order of the values of a column, equal ones by time, the newest first. Rows without a value come last."""

    column: str
    descending: bool


class Parameters(Protocol):
    """The parameters of a request, each of which may be there several times."""

    def get(self, key: str, /) -> Any: ...

    def getlist(self, key: str, /) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """A value that a column has, or has not; None is a null."""

    column: str
    value: str | float | bool | None


@dataclass(frozen=True, slots=True)
class ViewState:
    """The state of a view. Rows have one of the `included` values of each column, and none of the `excluded` ones."""

    query: str | None = None
    where: str | None = None
    start: str | None = None
    end: str | None = None
    included: tuple[Filter, ...] = ()
    excluded: tuple[Filter, ...] = ()
    sort: Sort | ColumnSort = Sort.NEWEST
    columns: tuple[str, ...] | None = None
    offset: int = 0
    size: int = _DEFAULT_SIZE

    @property
    def rows_only(self) -> "ViewState":
        """What decides which rows there are, without their order, columns and pages."""
        return replace(self, sort=Sort.NEWEST, columns=None, offset=0, size=_DEFAULT_SIZE)

    def without_included(self, column: str) -> "ViewState":
        """The state before a value of a column was chosen: what the facet of that column shows."""
        kept = tuple(chosen for chosen in self.included if chosen.column.lower() != column.lower())
        return replace(self, included=kept)

    def condition(self, schema: pa.Schema, time: TimeColumn | None) -> Predicate | None:
        """The filters as a predicate that is bound to a table's schema; None where there is no filter."""
        terms = [] if self.where is None else [parse_condition(self.where, schema)]
        terms += self._time_range(time)
        by_column: dict[str, list[Filter]] = {}
        for chosen in self.included:
            by_column.setdefault(column_named(schema, chosen.column), []).append(chosen)
        terms += [_any_of(schema.field(name), chosen) for name, chosen in by_column.items()]
        terms += [_none_of(schema.field(column_named(schema, gone.column)), gone) for gone in self.excluded]
        return conjunction(*terms) if terms else None

    def _time_range(self, time: TimeColumn | None) -> list[Predicate]:
        ends = ((self.start, "from", Op.GE), (self.end, "to", Op.LT))
        given = [(text, parameter, op) for text, parameter, op in ends if text is not None]
        if given and time is None:
            raise ConfigError("the table has no time column, so from and to mean nothing", key="from", value=self.start)
        return [
            Comparison(Column(time.name), op, time.scalar(time.parse(text, parameter=parameter)))
            for text, parameter, op in given
            if time is not None
        ]


def parse_state(given: Parameters, *, max_size: int = MAX_SIZE) -> ViewState:
    """The state of a view, from the parameters of a request; what cannot be read is a ConfigError."""
    return ViewState(
        query=_text(given, "q"),
        where=_text(given, "where"),
        start=_text(given, "from"),
        end=_text(given, "to"),
        included=_filters(given, "is"),
        excluded=_filters(given, "not"),
        sort=_sort(given.get("sort")),
        columns=_columns(given.get("columns")),
        offset=whole_number(given, "offset", default=0, most=MAX_OFFSET),
        size=whole_number(given, "size", default=_DEFAULT_SIZE, least=1, most=max_size),
    )


def whole_number(given: Parameters, name: str, *, default: int, least: int = 0, most: int) -> int:
    """A parameter that is a whole number; one beyond its range is a ConfigError."""
    text = given.get(name)
    if text is None or text == "":
        return default
    digits = text.lstrip("0") if text.isascii() and text.isdecimal() else None
    if digits is None or len(digits) > _MAX_DIGITS or not least <= int(digits or 0) <= most:
        raise ConfigError(
            f"{name} is {text[:40]!r}; it is a whole number from {least:,} to {most:,}", key=name, value=text
        )
    return int(digits or 0)


def _text(given: Parameters, name: str) -> str | None:
    text = given.get(name)
    return text if text and text.strip() else None


def _sort(text: str | None) -> Sort | ColumnSort:
    named = {"oldest": Sort.OLDEST, "newest": Sort.NEWEST, "": Sort.NEWEST, None: Sort.NEWEST}
    if text is not None and text.startswith("["):
        match _json(text, "sort"):
            case [str(column)] | [str(column), "asc"]:
                return ColumnSort(column, descending=False)
            case [str(column), "desc"]:
                return ColumnSort(column, descending=True)
    try:
        return named[text] if text in named else Sort(text)
    except ValueError:
        choices = 'time, -time, score, or a column like ["host", "desc"]'
        raise ConfigError(f"sort is {text!r:.60}; it is {choices}", key="sort", value=text) from None


def _columns(text: str | None) -> tuple[str, ...] | None:
    names = _json(text, "columns") if text else None
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"columns is {text!r:.60}; it is a JSON array of names", key="columns", value=text)
    return tuple(dict.fromkeys(names)) or None


def _filters(given: Parameters, name: str) -> tuple[Filter, ...]:
    texts = given.getlist(name)
    if len(texts) > _MAX_FILTERS:
        raise ConfigError(f"there are {len(texts)} values of {name}; {_MAX_FILTERS} are allowed", key=name, value=None)
    return tuple(dict.fromkeys(_filter(text, name) for text in texts if text))


def _filter(text: str, name: str) -> Filter:
    match _json(text, name):
        case [str(column), None | str() | bool() | int() | float() as value]:
            return Filter(column, value)
    raise ConfigError(f'{name} is {text!r:.60}; write it like ["level", "ERROR"]', key=name, value=text)


def _json(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise ConfigError(f"{name} is {text!r:.60}, which is not JSON", key=name, value=text) from None


def _any_of(field: pa.Field, chosen: Sequence[Filter]) -> Predicate:
    column = Column(field.name)
    values = tuple(_value(field, each) for each in chosen if each.value is not None)
    equal = [Comparison(column, Op.EQ, values[0])] if len(values) == 1 else [In(column, values)] if values else []
    nulls = [IsNull(column)] if any(each.value is None for each in chosen) else []
    return disjunction(*equal, *nulls)


def _none_of(field: pa.Field, gone: Filter) -> Predicate:
    """Rows whose value is another one, or null: to exclude a value does not exclude rows without any."""
    column = Column(field.name)
    return Not(IsNull(column)) if gone.value is None else Not(NullSafeEqual(column, _value(field, gone)))


def _is_rounded(value: float, kind: pa.DataType) -> bool:
    return not (value.is_integer() if pa.types.is_integer(kind) else math.isfinite(value))


def _value(field: pa.Field, chosen: Filter) -> pa.Scalar:
    """The value of a filter in the type of its column, as exact as it was written."""
    value, kind = chosen.value, field.type
    try:
        if pa.types.is_boolean(kind) is isinstance(value, bool):
            is_text = isinstance(value, str) and not pa.types.is_string(kind)
            scalar = decode(pa.array([value], pa.string()), kind)[0] if is_text else pa.scalar(value, kind)
            if scalar.is_valid and not (isinstance(value, float) and _is_rounded(value, kind)):
                return scalar
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    shown = f"{value!r:.60} is not a value of the column {field.name!r}, which has type {type_name(kind)}"
    raise ConfigError(shown, key=field.name, value=str(value))
