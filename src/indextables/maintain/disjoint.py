"""Proves that two predicates are disjoint: no row satisfies both.

A predicate is taken apart into alternatives, each a list of leaves that hold together and so bound their columns. If the
other predicate can be true within none of these bounds, no row satisfies both.

>>> from indextables.predicate import parse_condition
>>> schema = pa.schema({"day": pa.string(), "n": pa.int32()})
>>> are_disjoint(parse_condition("n > 3", schema), parse_condition("n IN (1, 3)", schema))
True
>>> are_disjoint(parse_condition("n > 3", schema), parse_condition("day = 'mon'", schema))
False
"""

from collections.abc import Sequence
from itertools import combinations, product

import pyarrow as pa
from msgspec.structs import replace

from indextables.errors import OverlappingPredicatesError
from indextables.maintain.partition_predicate import Condition
from indextables.predicate import (
    And,
    Bounds,
    Cast,
    Column,
    ColumnBounds,
    Comparison,
    In,
    IndexQuery,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    Op,
    Or,
    Predicate,
    Verdict,
    judge,
    push_negations,
)

_MAX_ALTERNATIVES = 2_000
_Alternative = tuple[Predicate, ...]


def refuse_overlaps(conditions: Sequence[Condition]) -> None:
    """An error unless no row can satisfy two of the conditions."""
    for one, other in combinations(conditions, 2):
        if not are_disjoint(one.predicate, other.predicate):
            reason = "a row may satisfy both"
            raise OverlappingPredicatesError(
                f"{one.text!r} and {other.text!r} are replaced in one commit, and {reason}; "
                "make them exclude each other, or replace them one after the other",
                predicate=one.text,
                reason=reason,
                other=other.text,
            )


def are_disjoint(one: Predicate, other: Predicate) -> bool:
    """True where it is certain that no row satisfies both; false where it is not, or would take too long to prove."""
    one, other = _on_columns(push_negations(one)), _on_columns(push_negations(other))
    return _never_within(one, other) or _never_within(other, one)


def _never_within(inner: Predicate, outer: Predicate) -> bool:
    alternatives = _alternatives(outer)
    return alternatives is not None and all(
        judge(inner, _bounds(alternative)).to_pylist() == [Verdict.NEVER] for alternative in alternatives
    )


def _on_columns(predicate: Predicate) -> Predicate:
    """Casts as columns of their own: the same cast of a column has the same value on both sides."""
    match predicate:
        case And(terms) | Or(terms):
            return replace(predicate, terms=tuple(map(_on_columns, terms)))
        case Not(term):
            return Not(_on_columns(term))
        case IndexQuery() | Literal():
            return predicate
        case _:
            operand = predicate.operand
            named = Column(repr(operand)) if isinstance(operand, Cast) else operand
            return replace(predicate, operand=named)


def _alternatives(predicate: Predicate) -> list[_Alternative] | None:
    """The predicate as an OR of ANDs; None where there are too many."""
    match predicate:
        case Or(terms):
            found = [_alternatives(term) for term in terms]
            return None if None in found else _few([a for some in found for a in some or ()])
        case And(terms):
            found = [_alternatives(term) for term in terms]
            return None if None in found else _multiply([some or [] for some in found])
        case In(operand, values):
            return _few([(Comparison(operand, Op.EQ, value),) for value in values])
        case _:
            return [(predicate,)]


def _multiply(factors: list[list[_Alternative]]) -> list[_Alternative] | None:
    size = 1
    for factor in factors:
        size *= len(factor)
    if size > _MAX_ALTERNATIVES:
        return None
    return [tuple(leaf for part in parts for leaf in part) for parts in product(*factors)]


def _few(alternatives: list[_Alternative]) -> list[_Alternative] | None:
    return alternatives if len(alternatives) <= _MAX_ALTERNATIVES else None


def _bounds(alternative: _Alternative) -> Bounds:
    """The bounds of the columns of a row that satisfies all of these leaves."""
    facts: dict[str, tuple[ColumnBounds, ...]] = {}
    for leaf in alternative:
        column, fact = _fact(leaf)
        if fact is not None:
            facts[column] = (*facts.get(column, ()), fact)
    return Bounds(1, facts)


def _fact(leaf: Predicate) -> tuple[str, ColumnBounds | None]:
    match leaf:
        case Comparison(Column(name), op, value):
            return name, _range(op, value)
        case NullSafeEqual(Column(name), value):
            return name, _range(Op.EQ, value)
        case IsNull(Column(name)):
            nothing = pa.nulls(1, pa.int32())
            return name, ColumnBounds(lower=nothing, upper=nothing, may_be_value=False, may_be_nan=False)
        case _:
            return "", None


def _range(op: Op, value: pa.Scalar) -> ColumnBounds:
    """The range of a comparison; a bound that is NaN is unknown."""
    this, none = pa.array([value], value.type), pa.nulls(1, value.type)
    lower = this if op in {Op.EQ, Op.GT, Op.GE} else none
    upper = this if op in {Op.EQ, Op.LT, Op.LE} else none
    above_all = op in {Op.GT, Op.GE, Op.NE} or _is_nan(value)
    return ColumnBounds(
        lower=lower, upper=upper, upper_inclusive=op is not Op.LT, may_be_null=False, may_be_nan=above_all
    )


def _is_nan(value: pa.Scalar) -> bool:
    return bool(value.as_py() != value.as_py())
