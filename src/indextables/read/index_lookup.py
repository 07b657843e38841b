"""Point lookups: for `id = 7` and `id IN (7, 8)`, the index finds candidate rows, and the column is not read.

The whole condition is evaluated on the candidates, so the index may find too many. It must not miss one; where it might, it
is not used.
"""

from collections.abc import Sequence

import pyarrow as pa

from indextables.predicate import Column, Comparison, In, Op, Predicate, terms_of
from indextables.search.index_terms import LONGEST_TEXT, Shape, shape
from indextables.search.queries import Query, Range, Term, conjunction, disjunction
from indextables.split import SplitReader

_MAX_VALUES = 100
_SELECTIVITY = 64  # a lookup is cheaper than a read if it finds at most one row in 64
_LONGEST_TERM = LONGEST_TEXT - 4  # what is cut may end a character earlier


def lookup(reader: SplitReader, predicate: Predicate) -> Query | None:
    """The index query for the candidates of a condition; None if the index cannot be used."""
    queries = [query for term in terms_of(predicate) if (query := _query(term, reader)) is not None]
    return conjunction(queries) if queries else None


def lookup_of_few(
    reader: SplitReader, predicate: Predicate, columns: Sequence[str], row_groups: Sequence[int]
) -> Query | None:
    """The same, where it is cheaper than reading these columns of these row groups."""
    query = lookup(reader, predicate)
    if query is None or not reader.index_costs_less(columns, row_groups):
        return None
    return query if _SELECTIVITY * reader.count(query) <= reader.num_rows else None


def _query(term: Predicate, reader: SplitReader) -> Query | None:
    match term:
        case Comparison(Column(name), Op.EQ, value):
            return _one_of(name, [value], reader)
        case In(Column(name), values):
            return _one_of(name, [value for value in values if value.is_valid], reader)
    return None


def _one_of(name: str, values: list[pa.Scalar], reader: SplitReader) -> Query | None:
    if name not in reader.schema.names or not 0 < len(values) <= _MAX_VALUES:
        return None
    kind = reader.schema.field(name).type
    match shape(kind, reader.rules[name]):
        case Shape.ORDINAL if all(_has_ordinal(value, kind) for value in values):
            return disjunction([Range(name, value, value) for value in values])
        case Shape.TERM if all(_is_term(value) for value in values):
            return disjunction([Term(name, value.as_py()) for value in values])
    return None


def _has_ordinal(value: pa.Scalar, kind: pa.DataType) -> bool:
    """Whether the ordinal of a value is the same in a column of this type, which may be narrower than the value's."""
    return bool(value.is_valid and (value.type == kind or (_is_integer(value.type) and _is_integer(kind))))


def _is_term(value: pa.Scalar) -> bool:
    return pa.types.is_string(value.type) and value.is_valid and len(value.as_buffer()) <= _LONGEST_TERM


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))
