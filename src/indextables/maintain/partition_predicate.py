"""Conditions that choose partitions, to be replaced, dropped or merged: on partition columns, and with nothing uncertain.

A scan may keep a split that it understands too little of. What deletes rows may not, so here every part of a condition is
understood or refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import (
    CorruptLogError,
    InvalidPredicateError,
    NonPartitionedTableError,
    PartitionColumnNotFoundError,
    TypeMismatchError,
    UnsupportedOperatorError,
)
from indextables.log.actions import Metadata
from indextables.log.splits import partition_terms
from indextables.predicate import (
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    NullSafeEqual,
    Op,
    Predicate,
    bind,
    columns,
    parse,
    to_sql,
)
from indextables.predicate.bind import is_never_equal
from indextables.predicate.literals import literal
from indextables.predicate.nodes import leaves
from indextables.predicate.sql_text import value_sql
from indextables.schema import type_name

_UNDERSTOOD = (Comparison, In, IsNull, Literal, NullSafeEqual)
_OPERATORS = "=, <>, <, <=, >, >=, <=>, IN, BETWEEN, IS [NOT] NULL, AND, OR and NOT"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as its author wrote it, and what it means for the table."""

    text: str
    predicate: Predicate


def conditions_in(text: str) -> list[str]:
    """The conditions that a setting holds: one, or several in a JSON array.

    >>> conditions_in("day = 'mon'"), conditions_in('["day = 1", "day = 2"]')
    (["day = 'mon'"], ['day = 1', 'day = 2'])
    """
    if not text.lstrip().startswith("["):
        return [text]
    try:
        several = msgspec.json.decode(text, type=list[str])
    except msgspec.MsgspecError as error:
        reason = f"it is not a JSON array of conditions: {error}"
        raise InvalidPredicateError(
            f"{text!r} cannot be read: {reason}; write one condition, or several as "
            """["day = 'mon'", "day = 'tue'"]""",
            predicate=text,
            reason=reason,
        ) from None
    return several or [""]


def read_condition(
    where: str | Predicate,
    metadata: Metadata,
    *,
    table: str,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> Condition:
    """Parses and binds a condition on partition columns, or raises a PredicateError.

    The columns from which any of the table's layouts computes partition values may be named, hidden ones too.
    """
    _refuse_empty(where)
    text = where if isinstance(where, str) else to_sql(where)
    _refuse_unpartitioned(text, metadata, table)
    written = parse(where, time_zone=time_zone, operators=_OPERATORS) if isinstance(where, str) else where
    _refuse_operators(text, written)
    _refuse_columns(text, written, metadata, case_sensitive=case_sensitive)
    bound = bind(written, metadata.arrow_schema(), time_zone=time_zone, case_sensitive=case_sensitive)
    _refuse_other_types(text, written, metadata.arrow_schema(), time_zone)
    return Condition(text, bound)


def partition_columns(metadata: Metadata) -> list[str]:
    """The columns that partition values are computed from, in any layout that the table has had."""
    return list(dict.fromkeys(field.source for field in partition_terms(metadata).values()))


def refuse_unreadable(predicate: Predicate, splits: pa.Table, metadata: Metadata, *, table: str, version: int) -> None:
    """An error where the log gives one of these splits a partition value that is none of its column's type."""
    decisive = columns(predicate)
    for term, field in partition_terms(metadata).items():
        if field.source in decisive:
            malformed = pc.struct_field(splits["partition"], [term, "malformed"])
            bad = splits.select(["path"]).append_column("value", malformed).filter(malformed.is_valid())
            if len(bad):
                path, value = bad["path"][0].as_py(), bad["value"][0].as_py()
                raise CorruptLogError(
                    f"the log of {table} has {value!r} as the partition value of {field.name} for {path}, which is not of "
                    f"the type of {field.source}; it is unknown whether its rows match",
                    table=table,
                    version=version,
                )


def _refuse_empty(where: str | Predicate | None) -> None:
    if where is None or (isinstance(where, str) and not where.strip()):
        reason = "there is none"
        raise InvalidPredicateError(
            f"a condition that chooses partitions is needed, and {reason}; use TRUE for all of them",
            predicate=where or "",
            reason=reason,
        )


def _refuse_unpartitioned(text: str, metadata: Metadata, table: str) -> None:
    if not partition_columns(metadata):
        reason = "the table is not partitioned"
        raise NonPartitionedTableError(
            f"{text!r} cannot choose partitions of {table}: {reason}; do without the condition, on the whole table",
            predicate=text,
            reason=reason,
            table=table,
        )


def _refuse_operators(text: str, written: Predicate) -> None:
    for leaf in leaves(written):
        if not isinstance(leaf, _UNDERSTOOD):
            operator = type(leaf).__name__.upper()
            reason = f"{operator} is not for conditions that choose partitions"
            raise UnsupportedOperatorError(
                f"{text!r} cannot be used: {reason}; use {_OPERATORS}",
                predicate=text,
                reason=reason,
                operator=operator,
            )


def _refuse_columns(text: str, written: Predicate, metadata: Metadata, *, case_sensitive: bool) -> None:
    partitions, all_columns = partition_columns(metadata), metadata.arrow_schema().names
    for column in sorted(columns(written)):
        if _among(column, partitions, case_sensitive=case_sensitive):
            continue
        known = ", ".join(partitions)
        if _among(column, all_columns, case_sensitive=case_sensitive):
            reason = f"{column!r} is not a partition column"
            raise InvalidPredicateError(
                f"{text!r} cannot be used: {reason}; the table is partitioned by {known}. "
                "Conditions on other columns are for DELETE, UPDATE and MERGE INTO",
                predicate=text,
                reason=reason,
                columns=partitions,
            )
        reason = f"there is no column {column!r}"
        raise PartitionColumnNotFoundError(
            f"{text!r} cannot be used: {reason}; the table is partitioned by {known}",
            predicate=text,
            reason=reason,
            columns=partitions,
            column=column,
            available_columns=partitions,
        )


def _refuse_other_types(text: str, written: Predicate, schema: pa.Schema, time_zone: str) -> None:
    """Refuses values that no value of their column can be, before a row is written: `day = TRUE`, `year = 2023.5`."""
    by_name = {field.name.lower(): field for field in schema}
    for leaf in leaves(written):
        match leaf:
            case Comparison(Column(name), _, value) | NullSafeEqual(Column(name), value):
                values: Sequence[pa.Scalar] = [value]
            case In(Column(name), values):
                pass
            case _:
                continue
        is_range = isinstance(leaf, Comparison) and leaf.op not in {Op.EQ, Op.NE}
        field = by_name[name.lower()]
        for value in (known for known in map(literal, values) if known.is_valid):
            if pa.types.is_string(field.type) and not _is_text_or_number(value.type):
                _refuse_value(text, field, value, "a column of texts is compared with texts and numbers")
            elif not is_range and is_never_equal(field, value, time_zone=time_zone):
                _refuse_value(text, field, value, "no value of the column is equal to it")


def _refuse_value(text: str, field: pa.Field, value: pa.Scalar, reason: str) -> NoReturn:
    expected, shown = type_name(field.type), value_sql(value)
    raise TypeMismatchError(
        f"{text!r} cannot be used: column {field.name!r} has type {expected}, and {shown} is of type "
        f"{type_name(value.type)}: {reason}; write a value of type {expected}",
        predicate=text,
        reason=reason,
        column=field.name,
        expected_type=expected,
        actual_type=type_name(value.type),
    )


def _is_text_or_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind)
    )


def _among(column: str, names: Sequence[str], *, case_sensitive: bool) -> bool:
    return column in names if case_sensitive else column.lower() in {name.lower() for name in names}
