"""Evaluates predicates on rows: true, false or unknown for each, as in Spark.

>>> from indextables.predicate import bind, col
>>> rows = pa.record_batch({"x": [1, 5, None]})
>>> evaluate(bind(col("x") > 2, rows.schema), rows).to_pylist()
[False, True, None]
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import UnsupportedOperatorError
from indextables.predicate.cast import cast_array, try_cast_array
from indextables.predicate.like import like_regex
from indextables.predicate.nodes import (
    And,
    Cast,
    CastMode,
    ColumnLeaf,
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
    Or,
    Predicate,
    StartsWith,
    casts,
)
from indextables.predicate.sql_text import to_sql

Rows: TypeAlias = pa.RecordBatch | pa.Table
Mask: TypeAlias = pa.BooleanArray | pa.ChunkedArray

_KERNELS: dict[Op, Callable[[pa.Array, pa.Scalar], Mask]] = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def evaluate(predicate: Predicate, rows: Rows, *, index_hits: Mapping[IndexQuery, Mask] | None = None) -> Mask:
    """One boolean per row of a batch or table, for a predicate that is bound to its schema.

    `index_hits` has the result of each index query of the predicate. Terms are evaluated from left to right
    and, as in Spark, a string is cast only where the terms before it have not decided the result.
    """
    return _evaluate(predicate, rows, index_hits or {}, None)


def _evaluate(predicate: Predicate, rows: Rows, hits: Mapping[IndexQuery, Mask], needed: Mask | None) -> Mask:
    """The mask, valid where it is `needed`."""
    match predicate:
        case And(terms):
            return _in_turn(terms, rows, hits, needed, combine=pc.and_kleene, decisive=False)
        case Or(terms):
            return _in_turn(terms, rows, hits, needed, combine=pc.or_kleene, decisive=True)
        case Not(term):
            return pc.invert(_evaluate(term, rows, hits, needed))
        case Literal(value):
            return pa.repeat(pa.scalar(value, pa.bool_()), rows.num_rows)
        case IndexQuery():
            return _hits(predicate, hits)
        case _:
            return evaluate_leaf(predicate, _values(predicate.operand, rows, needed))


def _in_turn(
    terms: Sequence[Predicate],
    rows: Rows,
    hits: Mapping[IndexQuery, Mask],
    needed: Mask | None,
    *,
    combine: Callable[[Mask, Mask], Mask],
    decisive: bool,
) -> Mask:
    mask = _evaluate(terms[0], rows, hits, needed)
    for term in terms[1:]:
        open_ = needed
        if casts(term):
            undecided = pc.fill_null(pc.not_equal(mask, pa.scalar(decisive)), fill_value=True)
            open_ = undecided if needed is None else pc.and_(needed, undecided)
        mask = combine(mask, _evaluate(term, rows, hits, open_))
    return mask


def evaluate_leaf(leaf: ColumnLeaf, values: pa.Array | pa.ChunkedArray) -> Mask:  # noqa: PLR0911  (one per leaf)
    """The mask of one leaf for the values of its operand."""
    match leaf:
        case Comparison(_, op, value):
            return _compare(values, op, value)
        case NullSafeEqual(_, value):
            return pc.fill_null(_compare(values, Op.EQ, value), fill_value=False)
        case In():
            return _is_among(values, leaf.array.cast(values.type))
        case IsNull():
            return pc.is_null(values)
        case StartsWith(_, text):
            return pc.starts_with(values, text)
        case EndsWith(_, text):
            return pc.ends_with(values, text)
        case Contains(_, text):
            return pc.match_substring(values, text)
        case Like(_, pattern, escape):
            return pc.match_substring_regex(values, like_regex(pattern, escape))
        case _:
            assert_never(leaf)


def _values(operand: Operand, rows: Rows, needed: Mask | None) -> pa.Array | pa.ChunkedArray:
    values = rows.column(operand.name)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not isinstance(operand, Cast):
        return values
    if needed is not None:
        values = pc.if_else(needed, values, None)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return converted(values, operand)


def converted(values: pa.Array, cast: Cast) -> pa.Array:
    """The values of a column in the type of a cast."""
    if cast.mode is CastMode.LEGACY:
        raise AssertionError("a cast without ANSI rules is evaluated only where the log proves it equal to TRY_CAST")
    convert = try_cast_array if cast.mode is CastMode.TRY else cast_array
    return convert(values, cast.type, time_zone=cast.time_zone)


def _compare(values: pa.Array, op: Op, value: pa.Scalar) -> Mask:
    mask = _KERNELS[op](values, value)
    return _with_nan(mask, values, op, value) if pa.types.is_floating(values.type) else mask


def _with_nan(mask: Mask, values: pa.Array, op: Op, value: pa.Scalar) -> Mask:
    """Spark's order, where NaN equals itself and is above everything; Arrow compares it as IEEE does."""
    if math.isnan(value.as_py()):
        return _KERNELS[op](pc.is_nan(values), pa.scalar(value=True))
    return pc.or_kleene(mask, pc.is_nan(values)) if op in {Op.GT, Op.GE} else mask


def _is_among(values: pa.Array, listed: pa.Array) -> Mask:
    if pa.types.is_floating(values.type):  # is_in distinguishes -0.0 from 0.0, which are equal
        zero = pa.scalar(0, values.type)
        values, listed = pc.add(values, zero), pc.add(listed, zero)
    found = pc.is_in(values, listed)
    return pc.if_else(pc.is_valid(values), found, None) if values.null_count else found


def _hits(query: IndexQuery, index_hits: Mapping[IndexQuery, Mask]) -> Mask:
    if query in index_hits:
        return index_hits[query]
    reason = "only a search index can evaluate it, and there is no result of one"
    raise UnsupportedOperatorError(
        f"{to_sql(query)} cannot be decided from the rows alone: {reason}; use it as a filter of a table scan",
        predicate=to_sql(query),
        reason=reason,
        operator="INDEXQUERY",
    )
