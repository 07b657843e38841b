"""Evaluates predicates on the bounds of files: none, some or all of their rows match.

>>> from indextables.predicate import bind, col
>>> bounds = Bounds(3, {"x": (ColumnBounds(pa.array([1, 4, 9]), pa.array([3, 6, 9]), may_be_null=False),)})
>>> predicate = bind((col("x") >= 5), pa.schema({"x": pa.int64()}))
>>> [Verdict(v).name for v in judge(predicate, bounds).to_pylist()]
['NEVER', 'SOMETIMES', 'ALWAYS']

A verdict is kept as two bits per file while it is worked out: *possible*, a row may satisfy the predicate, and
*certain*, every row does. AND and OR then work on each bit as they are, which is the minimum and the maximum of
verdicts, and costs next to nothing on bitmaps.

Of one column, several facts may be known. Each one narrows what is possible, so the ANDs of all are possible, and each
one may be certain on its own. Bounds are not intersected: it would be one more pass over each pair of arrays, to gain
only where two facts are needed together for a single leaf.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import reduce
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.arrow_features import HAS_SEARCH_SORTED
from indextables.errors import PredicateError
from indextables.predicate import file_flags as flags
from indextables.predicate.bounds import Bounds, ColumnBounds, ColumnImage, Fact
from indextables.predicate.cast import try_cast_array
from indextables.predicate.evaluate import evaluate_leaf
from indextables.predicate.file_flags import Flag
from indextables.predicate.like import fixed_prefix
from indextables.predicate.negation_normal_form import push_negations
from indextables.predicate.nodes import (
    And,
    Cast,
    CastMode,
    ColumnLeaf,
    Comparison,
    In,
    IndexQuery,
    IsNull,
    Like,
    Literal,
    Not,
    NullSafeEqual,
    Op,
    Or,
    Predicate,
    StartsWith,
)
from indextables.predicate.successors import after_prefix, successor


class Verdict(IntEnum):
    """Which rows of a file satisfy a predicate: none (NEVER), possibly some (SOMETIMES), all (ALWAYS)."""

    NEVER = 0
    SOMETIMES = 1
    ALWAYS = 2


def judge(predicate: Predicate, bounds: Bounds) -> pa.UInt8Array:
    """A verdict per file for a bound predicate. What is not known is SOMETIMES; odd facts never raise."""
    bits = _judge(push_negations(predicate), bounds)
    possible, certain = flags.spread(bits.possible, bounds.files), flags.spread(bits.certain, bounds.files)
    return pc.add(possible.cast(pa.uint8()), certain.cast(pa.uint8()))


@dataclass(frozen=True, slots=True)
class _Bits:
    """`fallible`: to evaluate the predicate on some row may be an error, as casting a text may be."""

    possible: Flag
    certain: Flag
    fallible: Flag = False

    @property
    def negated(self) -> "_Bits":
        return _Bits(flags.not_(self.certain), flags.not_(self.possible), self.fallible)


_FEW = 8  # up to 8 values, comparing with each is as fast as a binary search

_SOMETIMES = _Bits(possible=True, certain=False)
_NEVER = _Bits(possible=False, certain=False)
_ALWAYS = _Bits(possible=True, certain=True)


def _judge(predicate: Predicate, bounds: Bounds) -> _Bits:
    match predicate:
        case And(terms):
            return reduce(_both, (_judge(term, bounds) for term in terms))
        case Or(terms):
            return reduce(_either, (_judge(term, bounds) for term in terms))
        case Literal(value):
            return _ALWAYS if value else _NEVER
        case IndexQuery() | Not(IndexQuery()):
            return _SOMETIMES
        case Not(term) if isinstance(term, ColumnLeaf):
            return _judge_leaf(term, bounds, negated=True)
        case Not():
            raise AssertionError("the negations were not pushed to the leaves")
        case _:
            return _judge_leaf(predicate, bounds, negated=False)


def _both(one: _Bits, other: _Bits) -> _Bits:
    return _Bits(
        flags.and_(one.possible, other.possible),
        flags.and_(one.certain, other.certain),
        flags.or_(one.fallible, flags.and_(one.possible, other.fallible)),
    )


def _either(one: _Bits, other: _Bits) -> _Bits:
    """Certain by the second alone only where the first, which is evaluated before it, is no error."""
    return _Bits(
        flags.or_(one.possible, other.possible),
        flags.or_(one.certain, flags.and_(other.certain, flags.not_(one.fallible))),
        flags.or_(one.fallible, flags.and_(flags.not_(one.certain), other.fallible)),
    )


def _judge_leaf(leaf: ColumnLeaf, bounds: Bounds, *, negated: bool) -> _Bits:
    facts = bounds.facts(leaf.operand.name)
    may_be_null, may_be_value = flags.all_of(map(_may_be_null, facts)), flags.all_of(map(_may_be_value, facts))
    if isinstance(leaf.operand, Cast):
        return _judge_cast(leaf, leaf.operand, facts, may_be_null, may_be_value, wanted=not negated)
    match leaf:
        case IsNull():
            bits = _Bits(may_be_null, flags.not_(may_be_value))
            return bits.negated if negated else bits
        case NullSafeEqual(operand, value):  # never unknown: false for null rows, and so true when negated
            equal = _judge_values(Comparison(operand, Op.EQ, value), facts)
            bits = _Bits(flags.and_(equal.possible, may_be_value), flags.and_(equal.certain, flags.not_(may_be_null)))
            return bits.negated if negated else bits
        case _:  # unknown for null rows, negated or not
            bits = _judge_values(leaf, facts)
            bits = bits.negated if negated else bits
            return _Bits(flags.and_(bits.possible, may_be_value), flags.and_(bits.certain, flags.not_(may_be_null)))


def _judge_cast(
    leaf: ColumnLeaf, cast: Cast, facts: Sequence[Fact], may_be_null: Flag, may_be_value: Flag, *, wanted: bool
) -> _Bits:
    """A test of a converted column: known where all values of a file are one and the same, and that can be converted.

    The order of strings is not that of the values that they spell, so only equal bounds can be used.
    """
    of_null = evaluate_leaf(leaf, pa.nulls(1, cast.type))[0].as_py() is wanted
    possible: Flag = True
    certain: Flag = False
    converted: Flag = False
    for fact in facts:
        is_known, holds = _single_converted(leaf, cast, fact, wanted=wanted)
        possible = flags.and_(possible, flags.or_(holds, flags.not_(is_known)))
        certain = flags.or_(certain, flags.and_(holds, is_known))
        converted = flags.or_(converted, is_known)
    return _Bits(
        flags.or_(flags.and_(may_be_value, possible), flags.and_(may_be_null, of_null)),
        flags.and_(
            flags.or_(flags.not_(may_be_value), certain),
            flags.or_(flags.not_(may_be_null), of_null),
        ),
        fallible=flags.and_(may_be_value, flags.not_(converted)) if _is_fallible(cast) else False,
    )


def _is_fallible(cast: Cast) -> bool:
    return cast.mode is CastMode.ANSI and not pa.types.is_string(cast.type)


def _single_converted(leaf: ColumnLeaf, cast: Cast, fact: Fact, *, wanted: bool) -> tuple[Flag, Flag]:
    """Where the only value of a file is known with its conversion, and where the test then has the wanted result."""
    if isinstance(fact, ColumnImage) or cast.mode is CastMode.LEGACY:
        return False, False
    try:
        known = _single(fact)
        distinct = pc.if_else(known, _plain(fact.lower), None).dictionary_encode()
        converted = try_cast_array(distinct.dictionary, cast.type, time_zone=cast.time_zone)
        results = pc.fill_null(pc.equal(evaluate_leaf(leaf, converted), pa.scalar(wanted)), fill_value=False)
    except (pa.ArrowException, PredicateError):
        return False, False  # a fact of another type than the column
    readable = flags.flat(pc.fill_null(pc.is_valid(converted).take(distinct.indices), fill_value=False))
    holds = flags.flat(pc.fill_null(results.take(distinct.indices), fill_value=False))
    return flags.and_(known, readable if cast.mode is CastMode.ANSI else True), holds


def only_values(fact: ColumnBounds, files: int) -> tuple[pa.Array, pa.BooleanArray]:
    """The value of each file that has only one, null where all are null, and for which files this is known."""
    single = flags.spread(_single(fact), files)
    values = pc.if_else(single, _plain(fact.lower), None)
    return values, pc.or_(single, flags.spread(flags.not_(_may_be_value(fact)), files))


def _may_be_null(fact: Fact) -> Flag:
    match fact:
        case ColumnBounds():
            return flags.maybe(fact.may_be_null)
        case ColumnImage():
            return flags.or_(flags.flat(pc.is_null(fact.values)), flags.not_(_image_known(fact)))
        case _:
            assert_never(fact)


def _may_be_value(fact: Fact) -> Flag:
    match fact:
        case ColumnBounds():
            return flags.maybe(fact.may_be_value)
        case ColumnImage():
            return flags.or_(flags.flat(pc.is_valid(fact.values)), flags.not_(_image_known(fact)))
        case _:
            assert_never(fact)


def _judge_values(leaf: ColumnLeaf, facts: Sequence[Fact]) -> _Bits:
    """The verdict on the rows that are not null, from all facts together."""
    verdicts = [_judge_fact(leaf, fact) for fact in facts]
    bits = _Bits(flags.all_of(bits.possible for bits in verdicts), flags.any_of(bits.certain for bits in verdicts))
    match leaf:
        case Comparison(value=value) | In(values=(value, *_)) if pa.types.is_floating(value.type):
            holds = evaluate_leaf(leaf, pa.array([math.nan], value.type))[0].as_py()
            return _with_nan(bits, flags.all_of(map(_may_be_nan, facts)), holds=holds)
        case _:
            return bits


def _with_nan(bits: _Bits, may_be_nan: Flag, *, holds: bool) -> _Bits:
    if holds:
        return _either(bits, _Bits(may_be_nan, certain=False))
    return _both(bits, _Bits(possible=True, certain=flags.not_(may_be_nan)))


def _may_be_nan(fact: Fact) -> Flag:
    return flags.maybe(fact.may_be_nan) if isinstance(fact, ColumnBounds) else True


def _judge_fact(leaf: ColumnLeaf, fact: Fact) -> _Bits:
    try:
        match fact:
            case ColumnBounds():
                return _judge_range(leaf, _without_nan(fact))
            case ColumnImage():
                return _judge_image(leaf, fact)
            case _:
                assert_never(fact)
    except (pa.ArrowException, PredicateError):
        return _SOMETIMES  # bounds of another type than the column cannot be used


def _judge_image(leaf: ColumnLeaf, fact: ColumnImage) -> _Bits:
    match leaf:
        case Comparison(_, Op.EQ | Op.NE, value):
            bits = _among_images([value], fact)
            return bits.negated if leaf.op is Op.NE else bits
        case In(_, values):
            return _among_images(values, fact)
        case _:
            return _SOMETIMES


def _among_images(values: Sequence[pa.Scalar], fact: ColumnImage) -> _Bits:
    images = fact.apply(pa.array(list(values), values[0].type))
    shared = flags.flat(pc.is_in(fact.values, images.cast(fact.values.type)))
    return _Bits(possible=flags.or_(shared, flags.not_(_image_known(fact))), certain=False)


def _image_known(fact: ColumnImage) -> Flag:
    return fact.known if isinstance(fact.known, bool) else pc.fill_null(fact.known, fill_value=False)


def _judge_range(leaf: ColumnLeaf, fact: ColumnBounds) -> _Bits:
    match leaf:
        case Comparison(_, op, value):
            return _judge_comparison(op, value, fact)
        case In():
            return _judge_in(leaf, fact)
        case StartsWith(_, text):
            return _judge_prefix(text, fact)
        case Like(_, pattern, escape):
            prefixed = _judge_prefix(fixed_prefix(pattern, escape), fact)
            return _both(_judge_single(leaf, fact), _Bits(prefixed.possible, certain=True))
        case _:
            return _judge_single(leaf, fact)


def _judge_comparison(op: Op, value: pa.Scalar, fact: ColumnBounds) -> _Bits:
    if _is_nan(value):  # the same result for all values that are not NaN
        return _ALWAYS if op in {Op.LT, Op.LE, Op.NE} else _NEVER
    match op:
        case Op.LT:
            return _below(value, fact)
        case Op.LE:
            return _up_to(value, fact)
        case Op.EQ if fact.lower is fact.upper and fact.upper_inclusive is True:
            equal = _each(fact.lower, lambda bound: pc.equal(bound, value))
            return _Bits(flags.filled(equal, unknown=True), flags.filled(equal, unknown=False))
        case Op.EQ:
            return _both(_judge_comparison(Op.GE, value, fact), _judge_comparison(Op.LE, value, fact))
        case Op.GT | Op.GE | Op.NE:
            return _judge_comparison(op.negated, value, fact).negated
        case _:
            assert_never(op)


def _below(value: pa.Scalar, fact: ColumnBounds) -> _Bits:
    """`x < value`."""
    certain = _test(fact.upper, pc.less, value, unknown=False)
    if fact.upper_inclusive is not True:
        reaching = _test(fact.upper, pc.less_equal, value, unknown=False)
        certain = flags.or_(certain, flags.and_(_exclusive(fact), reaching))
    return _Bits(_test(fact.lower, pc.less, value, unknown=True), certain)


def _up_to(value: pa.Scalar, fact: ColumnBounds) -> _Bits:
    """`x <= value`: with an upper bound that is out, also where no value fits between the two."""
    certain = _test(fact.upper, pc.less_equal, value, unknown=False)
    following = successor(value)
    if fact.upper_inclusive is not True and following is not None:
        adjacent = _test(fact.upper, pc.less_equal, following, unknown=False)
        certain = flags.or_(certain, flags.and_(_exclusive(fact), adjacent))
    return _Bits(_test(fact.lower, pc.less_equal, value, unknown=True), certain)


def _judge_prefix(text: str, fact: ColumnBounds) -> _Bits:
    at_least = _below(pa.scalar(text), fact).negated
    following = after_prefix(text)
    return at_least if following is None else _both(at_least, _below(pa.scalar(following), fact))


def _judge_in(leaf: In, fact: ColumnBounds) -> _Bits:
    if fact.lower is fact.upper and fact.upper_inclusive is True:
        return _judge_single(leaf, fact)
    values = leaf.array
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    if len(values) <= _FEW:
        return reduce(_either, (_judge_comparison(Op.EQ, value, fact) for value in values), _NEVER)
    reachable = _within_reach(values, fact)
    return _Bits(reachable, _judge_single(leaf, fact).certain)


def _within_reach(values: pa.Array, fact: ColumnBounds) -> Flag:
    """Whether the least of the values that is not below the lower bound is within the upper bound."""
    ordered = values.take(pc.array_sort_indices(values))
    if not HAS_SEARCH_SORTED or pa.types.is_decimal(values.type):  # not supported: take the values as one range
        low, high = ordered[0], ordered[-1]
        return flags.and_(_below(low, fact).negated.possible, _up_to(high, fact).possible)
    lower, upper = _plain(fact.lower), _plain(fact.upper)
    positions = pc.search_sorted(ordered, lower)
    beyond_all = pc.equal(positions, len(ordered))
    nearest = ordered.take(
        pc.min_element_wise(positions, pa.scalar(len(ordered) - 1, positions.type), skip_nulls=False)
    )
    reached = pc.and_kleene(pc.less_equal(nearest, upper), pc.invert(beyond_all))
    return flags.filled(reached, unknown=True)


def _judge_single(leaf: ColumnLeaf, fact: ColumnBounds) -> _Bits:
    """Any test at all, in the files where all values are the same one."""
    values, single = _plain(fact.lower), _single(fact)
    holds = flags.filled(flags.flat(evaluate_leaf(leaf, values)), unknown=False)
    return _Bits(possible=flags.or_(holds, flags.not_(single)), certain=flags.and_(holds, single))


def _single(fact: ColumnBounds) -> Flag:
    if fact.lower is fact.upper:
        same = flags.flat(pc.is_valid(fact.lower))
    else:
        same = flags.filled(pc.equal(_plain(fact.lower), _plain(fact.upper)), unknown=False)
    return flags.and_(same, flags.not_(_exclusive(fact)))


def _without_nan(fact: ColumnBounds) -> ColumnBounds:
    if not pa.types.is_floating(fact.lower.type):
        return fact
    lower = pc.if_else(pc.is_nan(fact.lower), None, fact.lower)
    upper = lower if fact.upper is fact.lower else pc.if_else(pc.is_nan(fact.upper), None, fact.upper)
    return replace(fact, lower=lower, upper=upper)


def _is_nan(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and math.isnan(value.as_py()))


def _exclusive(fact: ColumnBounds) -> Flag:
    return flags.not_(
        fact.upper_inclusive if isinstance(fact.upper_inclusive, bool) else flags.maybe(fact.upper_inclusive)
    )


_Kernel = Callable[[pa.Array, pa.Scalar], pa.Array]


def _test(bound: pa.Array | pa.ChunkedArray, kernel: _Kernel, value: pa.Scalar, *, unknown: bool) -> pa.BooleanArray:
    return flags.filled(_each(bound, lambda values: kernel(values, value)), unknown=unknown)


def _each(values: pa.Array | pa.ChunkedArray, test: Callable[[pa.Array], pa.Array]) -> pa.BooleanArray:
    """A test of every value; of a dictionary, each distinct value is tested once."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_each(chunk, test) for chunk in values.chunks], pa.bool_()).combine_chunks()
    if isinstance(values, pa.DictionaryArray):
        return test(values.dictionary).take(values.indices)
    return test(values)


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    flat = flags.flat(values)
    return flat.dictionary_decode() if isinstance(flat, pa.DictionaryArray) else flat
