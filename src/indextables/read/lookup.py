"""Rows looked up by their values: `id = 7` and `id IN (7, 8)` need not read a column where the index can tell.

The index only says where to look, and the rows that it names are judged by the whole condition. So it may name too many. It
must not leave one out, and where it might, it is not asked.
"""

from collections.abc import Sequence

import pyarrow as pa

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of
from indextables.search.queries import Query, Range, Term, conjunction, disjunction
from indextables.search.terms import LONGEST_TEXT, Shape, shape
from indextables.split import SplitReader

_MOST_VALUES = 100
_FEWEST = 64  # one row in so many, or fewer: then looking up is worth more than reading them all
_LONGEST_TERM = LONGEST_TEXT - 4  # what is cut may end a character earlier


def lookup(reader: SplitReader, predicate: Predicate) -> Query | None:
    """What the index of a split can say of a condition; None if nothing."""
    asked = [query for term in terms_of(predicate) if (query := _query(term, reader)) is not None]
    return conjunction(asked) if asked else None


def lookup_of_few(
    reader: SplitReader, predicate: Predicate, columns: Sequence[str], row_groups: Sequence[int]
) -> Query | None:
    """The same, where it is less work than reading these columns of these row groups."""
    query = lookup(reader, predicate)
    if query is None or not reader.index_costs_less(columns, row_groups):
        return None
    return query if _FEWEST * reader.count(query) <= reader.num_rows else None


def _query(term: Predicate, reader: SplitReader) -> Query | None:
    match term:
        case Comparison(Column(name), Op.EQ, value):
            return _one_of(name, [value], reader)
        case In(Column(name), values):
            return _one_of(name, [value for value in values if value.is_valid], reader)
    return None


def _one_of(name: str, values: list[pa.Scalar], reader: SplitReader) -> Query | None:
    if name not in reader.schema.names or not 0 < len(values) <= _MOST_VALUES:
        return None
    kind = reader.schema.field(name).type
    match shape(kind, reader.rules[name]):
        case Shape.ORDINAL if all(_is_told_by(value, kind) for value in values):
            return disjunction([Range(name, value, value) for value in values])
        case Shape.TERM if all(_is_term(value) for value in values):
            return disjunction([Term(name, value.as_py()) for value in values])
    return None


def _is_told_by(value: pa.Scalar, kind: pa.DataType) -> bool:
    """Whether the integer that stands for a value is the same for a column of this type, which may be a narrower one."""
    return bool(value.is_valid and (value.type == kind or (_is_integer(value.type) and _is_integer(kind))))


def _is_term(value: pa.Scalar) -> bool:
    return pa.types.is_string(value.type) and value.is_valid and len(value.as_buffer()) <= _LONGEST_TERM


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))
