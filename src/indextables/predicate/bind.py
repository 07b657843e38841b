"""From what was written to what is compared: names of the table, values of the column's type.

>>> from indextables.predicate.column_expression import col
>>> schema = pa.schema({"year": pa.int16(), "name": pa.string()})
>>> bind(col("YEAR") == "2024", schema) == Comparison(Column("year"), Op.EQ, pa.scalar(2024, pa.int16()))
True
>>> bind(col("yaer") == 2024, schema)
Traceback (most recent call last):
indextables.errors.InvalidPredicateError: there is no column 'yaer'; did you mean 'year'? The table has year, name
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import assert_never

import pyarrow as pa

from indextables.errors import CastInvalidInputError, InvalidPredicateError, TypeMismatchError
from indextables.predicate import nodes
from indextables.predicate.cast import cast_array, cast_scalar, names_zone, start_of_day
from indextables.predicate.like import simplify_like
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ, literal
from indextables.predicate.negation_normal_form import push_negations
from indextables.predicate.nodes import (
    Cast,
    Column,
    Comparison,
    Contains,
    EndsWith,
    In,
    IndexQuery,
    IsNull,
    Like,
    Literal,
    Not,
    NullSafeEqual,
    Op,
    Operand,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
)
from indextables.predicate.sql_text import to_sql, value_sql
from indextables.predicate.successors import successor
from indextables.predicate.type_coercion import ValuePosition, common_type, locate
from indextables.schema import available_columns_hint, normalize, type_name

logger = logging.getLogger(__name__)
_BOTH_ENDS = 2
_MANY_EQUALITIES = 16


def bind(predicate: Predicate, schema: pa.Schema, *, time_zone: str = "UTC", case_sensitive: bool = False) -> Predicate:
    """The predicate in the names and types of the schema, equal to what Spark would make of it.

    Raises InvalidPredicateError for a name that does not exist and TypeMismatchError for a comparison that cannot be.
    """
    return _Binder(normalize(schema), time_zone, case_sensitive).bind(predicate)


def is_never_equal(field: pa.Field, value: pa.Scalar, *, time_zone: str = "UTC") -> bool:
    """Whether no value of the column can be equal to a literal.

    >>> year = pa.field("year", pa.int16())
    >>> [is_never_equal(year, pa.scalar(value)) for value in (2023.5, 2023.0, 99999)]
    [True, False, True]
    """
    column = Column(field.name)
    return bind(Comparison(column, Op.EQ, value), pa.schema([field]), time_zone=time_zone) == _never(column)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The operand of a leaf: values of `type`, compared as if they had been cast to `compared_as`."""

    field: pa.Field
    operand: Operand
    type: pa.DataType
    compared_as: pa.DataType


@dataclass(frozen=True, slots=True)
class _Binder:
    schema: pa.Schema
    time_zone: str
    case_sensitive: bool

    def bind(self, predicate: Predicate) -> Predicate:  # noqa: C901, PLR0911, PLR0912  (one line per kind of node)
        match predicate:
            case nodes.And(terms):
                return conjunction(*map(self.bind, terms))
            case nodes.Or(terms):
                return disjunction(*_gathered([self.bind(term) for term in terms]))
            case Not(term):
                return Not(self.bind(term))
            case Comparison(Column(name), Op.EQ, pa.BooleanScalar()) if not self.fields(name):
                raise self.missing(name, "; to search for a word, give it as the query")
            case Comparison(operand, op, value):
                return self.comparison(self.subject(operand), op, literal(value))
            case NullSafeEqual(operand, value):
                return self.null_safe_equal(self.subject(operand), literal(value))
            case In(operand, values):
                return self.membership(self.subject(operand), tuple(map(literal, values)))
            case IsNull(operand):
                return IsNull(self.subject(operand).operand)
            case StartsWith(operand, text) | EndsWith(operand, text) | Contains(operand, text):
                return type(predicate)(self.text_operand(operand), text)
            case Like(operand, pattern, escape):
                return simplify_like(self.text_operand(operand), pattern, escape)
            case IndexQuery(field, query):
                return IndexQuery(field and self.field(Column(field)).name, query)
            case Literal():
                return predicate
            case _:
                assert_never(predicate)

    def field(self, operand: Operand) -> pa.Field:
        if found := self.fields(operand.name):
            return found[0]
        raise self.missing(operand.name)

    def fields(self, name: str) -> list[pa.Field]:
        return [field for field in self.schema if self.same_name(field.name, name)]

    def missing(self, name: str, hint: str = "") -> InvalidPredicateError:
        names = self.schema.names
        reason = f"there is no column {name!r}; {available_columns_hint(name, names)}{hint}"
        return InvalidPredicateError(reason, predicate=name, reason=reason, columns=names)

    def same_name(self, one: str, other: str) -> bool:
        return one == other if self.case_sensitive else one.lower() == other.lower()

    def subject(self, operand: Operand) -> "_Subject":
        """The bound operand: a column, a cast of a column, or the column itself where a cast only widens it."""
        field = self.field(operand)
        column = _Subject(field, Column(field.name), field.type, field.type)
        if not isinstance(operand, Cast) or operand.type == field.type:
            return column
        converted = replace(column, operand=Cast(field.name, operand.type, self.time_zone, operand.mode))
        if pa.types.is_string(field.type):
            return replace(converted, type=operand.type, compared_as=operand.type)
        if pa.types.is_string(operand.type) and _is_spelled_alike(field.type):
            return replace(column, operand=Cast(field.name, pa.string()), type=pa.string(), compared_as=pa.string())
        if pa.types.is_timestamp(field.type) and pa.types.is_date(operand.type):
            return replace(column, compared_as=operand.type)
        if common_type(field.type, operand.type) == operand.type:
            return replace(column, compared_as=operand.type)
        shown = to_sql(IsNull(operand)).removesuffix(" IS NULL")
        reason = f"a column of type {type_name(field.type)} is not cast to {type_name(operand.type)} here"
        raise InvalidPredicateError(f"{shown} is not understood: {reason}", predicate=shown, reason=reason)

    def comparison(self, subject: "_Subject", op: Op, value: pa.Scalar) -> Predicate:
        return self.compared(subject, op, value, self.common(subject, [value])) if value.is_valid else nodes.UNKNOWN

    def null_safe_equal(self, subject: "_Subject", value: pa.Scalar) -> Predicate:
        if not value.is_valid:
            return IsNull(subject.operand)
        match self.comparison(subject, Op.EQ, value):
            case Comparison(operand, Op.EQ, exact):
                return NullSafeEqual(operand, exact)
            case equal:
                return conjunction(equal, Not(IsNull(subject.operand)))

    def membership(self, subject: "_Subject", values: Sequence[pa.Scalar]) -> Predicate:
        """One common type for the column and all values, as Spark has it; a null among them leaves misses unknown."""
        present = [value for value in values if value.is_valid]
        if not values:
            return nodes.FALSE
        if not present:
            return nodes.UNKNOWN
        common = self.common(subject, present)
        listed = self.texts_read(subject.field, present, common)
        equal = _any_equal([self.compared(subject, Op.EQ, value, common) for value in listed])
        return equal if len(present) == len(values) else disjunction(equal, nodes.UNKNOWN)

    def texts_read(self, field: pa.Field, values: Sequence[pa.Scalar], common: pa.DataType) -> Sequence[pa.Scalar]:
        """A list of texts as values, all in one pass: such lists may be long."""
        if pa.types.is_string(common) or not all(pa.types.is_string(value.type) for value in values):
            return values
        try:
            return list(cast_array(pa.array(values), common, time_zone=self.time_zone))
        except CastInvalidInputError as error:
            raise self.mismatch(field, pa.scalar(error.value), error.reason) from None

    def compared(self, subject: "_Subject", op: Op, value: pa.Scalar, common: pa.DataType) -> Predicate:
        field, operand = subject.field, subject.operand
        try:
            if subject.type == common:
                return Comparison(operand, op, self.convert(value, common))
            if pa.types.is_date(common) and pa.types.is_timestamp(subject.type):
                return _placed(operand, op, self.day(subject, self.convert(value, common)))
            if pa.types.is_string(subject.type) and isinstance(operand, Column):
                return Comparison(Cast(field.name, common, self.time_zone), op, self.convert(value, common))
            if subject.type == TIMESTAMP_NTZ and isinstance(operand, Column) and common == TIMESTAMP:
                return self.wall_clock(field.name, op, self.convert(value, common))
            if pa.types.is_timestamp(subject.type) or pa.types.is_string(subject.type):
                raise self.mismatch(field, value, "the result of a cast would have to be cast again")
            return _placed(operand, op, locate(subject.type, value, common, time_zone=self.time_zone))
        except CastInvalidInputError as error:
            raise self.mismatch(field, value, error.reason) from None

    def day(self, subject: "_Subject", day: pa.Scalar) -> ValuePosition:
        """The times of one day. Where clocks go back over midnight, a day is more than one stretch of time."""
        midnights = [cast_scalar(each, TIMESTAMP_NTZ) for each in (day, successor(day)) if each is not None]
        if subject.type == TIMESTAMP:
            midnights = [start_of_day(midnight, self.time_zone) for midnight in midnights]
        if len(midnights) != _BOTH_ENDS or None in midnights:
            reason = f"the day does not begin once and for all in {self.time_zone}"
            raise self.mismatch(subject.field, day, reason)
        first, following = midnights
        return ValuePosition(pa.scalar(-(2**63), pa.int64()).cast(subject.type), first, following, exact=None)

    def convert(self, value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
        if kind == TIMESTAMP_NTZ and pa.types.is_string(value.type):
            _warn_of_zone(value.as_py())
        return cast_scalar(value, kind, time_zone=self.time_zone)

    def wall_clock(self, column: str, op: Op, instant: pa.Scalar) -> Predicate:
        """An instant against wall-clock times: converted, as Spark does, unless clocks were put back over it."""
        local = self.convert(instant, TIMESTAMP_NTZ)
        if self.convert(local, instant.type) == instant:
            return Comparison(Column(column), op, local)
        return Comparison(Cast(column, instant.type, self.time_zone), op, instant)

    def common(self, subject: "_Subject", values: Sequence[pa.Scalar]) -> pa.DataType:
        # Spark folds texts first, so that `s IN (2.5, 'x')` compares what `s IN ('x', 2.5)` compares.
        own = subject.compared_as
        kinds = sorted((own, *(value.type for value in values)), key=lambda kind: not pa.types.is_string(kind))
        common = reduce(lambda one, other: one and common_type(one, other), kinds)
        if common is None:
            odd = next((value for value in values if common_type(own, value.type) is None), values[-1])
            raise self.mismatch(subject.field, odd, "Spark compares these types with neither cast to the other")
        return common

    def text_operand(self, operand: Operand) -> Operand:
        subject = self.subject(operand)
        if pa.types.is_string(subject.type):
            return subject.operand
        if not isinstance(operand, Cast) and _is_spelled_alike(subject.type):
            return Cast(subject.field.name, pa.string())
        reason = "a text pattern needs a column of texts, whole numbers or dates"
        raise self.mismatch(subject.field, pa.scalar(""), reason)

    def mismatch(self, field: pa.Field, value: pa.Scalar, reason: str) -> TypeMismatchError:
        expected, shown = type_name(field.type), value_sql(value)
        return TypeMismatchError(
            f"column {field.name!r} of type {expected} cannot be compared with {shown}: {reason}",
            predicate=shown,
            reason=reason,
            column=field.name,
            expected_type=expected,
            actual_type=type_name(value.type),
        )


@lru_cache(maxsize=256)
def _warn_of_zone(text: str) -> None:
    """Warns once that a time zone is ignored."""
    if names_zone(text):
        logger.warning(
            "the time zone in %r is ignored, as in Spark: the column is a timestamp without a time zone", text
        )


def _is_spelled_alike(kind: pa.DataType) -> bool:
    """Whether Arrow and Spark write values of the type in the same way."""
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind))


def _gathered(terms: Sequence[Predicate]) -> Sequence[Predicate]:
    """Terms of an OR, in which many equalities of one column are one IN: `x = 1 OR x = 2 OR ...`, as programs write it."""
    equal: dict[Operand, list[Predicate]] = {}
    for term in terms:
        if isinstance(term, Comparison) and term.op is Op.EQ and not pa.types.is_floating(term.value.type):
            equal.setdefault(term.operand, []).append(term)
    many = {operand: same for operand, same in equal.items() if len(same) >= _MANY_EQUALITIES}
    if not many:
        return terms
    gathered = {id(term) for same in many.values() for term in same}
    return [*(_any_equal(same) for same in many.values()), *(term for term in terms if id(term) not in gathered)]


def _any_equal(parts: Sequence[Predicate]) -> Predicate:
    """`x = 1 OR x = 2 OR ...` with the equalities gathered into one IN."""
    exact = [part for part in parts if isinstance(part, Comparison)]
    others = [part for part in dict.fromkeys(parts) if not isinstance(part, Comparison)]
    if len(exact) <= 1:
        return disjunction(*exact, *others)
    values = dict.fromkeys(part.value for part in exact)
    return disjunction(In(exact[0].operand, tuple(values)), *others)


def _placed(column: Operand, op: Op, at: ValuePosition) -> Predicate:
    """A comparison with a literal of another type, as one with values of the column's own."""
    if at.exact is not None:
        return Comparison(column, op, at.exact)
    match op:
        case Op.GE:
            return _at_least(column, at.first_reaching, at.lowest)
        case Op.GT:
            return _at_least(column, at.first_above, at.lowest)
        case Op.EQ if at.first_reaching == at.first_above:
            return _never(column)
        case Op.EQ:
            return conjunction(_placed(column, Op.GE, at), _placed(column, Op.LE, at))
        case Op.LT | Op.LE | Op.NE:
            return push_negations(Not(_placed(column, op.negated, at)))
        case _:
            assert_never(op)


def _at_least(column: Operand, first: pa.Scalar | None, lowest: pa.Scalar) -> Predicate:
    if first is None:
        return _never(column)
    return Comparison(column, Op.GE, first) if first != lowest else push_negations(Not(_never(column)))


def _never(column: Operand) -> Predicate:
    """False for every value, and unknown where there is none."""
    return conjunction(IsNull(column), nodes.UNKNOWN)
