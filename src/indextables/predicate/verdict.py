"""Which files a predicate concerns: none of their rows, some of them, all of them.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import IntEnum
from functools import reduce
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import PredicateError
from indextables.predicate.bounds import Bounds, ColumnBounds, ColumnImage, Fact, Flag
from indextables.predicate.cast import cast_array
from indextables.predicate.evaluate import evaluate_leaf
from indextables.predicate.nodes import (
    And,
    Cast,
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
from indextables.predicate.normal import push_negations
from indextables.predicate.patterns import fixed_prefix


class Verdict(IntEnum):
    """What a predicate says of the rows of a file: true for none, for some or it is not known, for all."""

    NEVER = 0
    SOMETIMES = 1
    ALWAYS = 2


def judge(predicate: Predicate, bounds: Bounds) -> pa.UInt8Array:
    """A verdict per file for a bound predicate. What is not known is SOMETIMES; odd facts never raise."""
    bits = _judge(push_negations(predicate), bounds)
    possible, certain = _array(bits.possible, bounds.files), _array(bits.certain, bounds.files)
    return pc.add(possible.cast(pa.uint8()), certain.cast(pa.uint8()))


@dataclass(frozen=True, slots=True)
class _Bits:
    possible: Flag
    certain: Flag

    @property
    def negated(self) -> "_Bits":
        return _Bits(_not(self.certain), _not(self.possible))


_FEW = 8  # up to so many values, comparing with each is as quick as searching
_LAST_CHARACTER = chr(0x10FFFF)
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000
_STEPS = {pa.date32(): pa.int32()}

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
    return _Bits(_and(one.possible, other.possible), _and(one.certain, other.certain))


def _either(one: _Bits, other: _Bits) -> _Bits:
    return _Bits(_or(one.possible, other.possible), _or(one.certain, other.certain))


def _judge_leaf(leaf: ColumnLeaf, bounds: Bounds, *, negated: bool) -> _Bits:
    facts = bounds.facts(leaf.operand.name)
    may_be_null, may_be_value = _all_of(map(_may_be_null, facts)), _all_of(map(_may_be_value, facts))
    match leaf:
        case IsNull():
            bits = _Bits(may_be_null, _not(may_be_value))
            return bits.negated if negated else bits
        case NullSafeEqual(operand, value):  # never unknown: false for null rows, and so true when negated
            equal = _judge_values(Comparison(operand, Op.EQ, value), facts)
            bits = _Bits(_and(equal.possible, may_be_value), _and(equal.certain, _not(may_be_null)))
            return bits.negated if negated else bits
        case _:  # unknown for null rows, negated or not
            bits = _judge_values(leaf, facts)
            bits = bits.negated if negated else bits
            return _Bits(_and(bits.possible, may_be_value), _and(bits.certain, _not(may_be_null)))


def _may_be_null(fact: Fact) -> Flag:
    match fact:
        case ColumnBounds():
            return _known(fact.may_be_null)
        case ColumnImage():
            return _or(_flat(pc.is_null(fact.values)), _not(_image_known(fact)))
        case _:
            assert_never(fact)


def _may_be_value(fact: Fact) -> Flag:
    match fact:
        case ColumnBounds():
            return _known(fact.may_be_value)
        case ColumnImage():
            return _or(_flat(pc.is_valid(fact.values)), _not(_image_known(fact)))
        case _:
            assert_never(fact)


def _judge_values(leaf: ColumnLeaf, facts: Sequence[Fact]) -> _Bits:
    """The verdict on the rows that are not null, from all facts together."""
    verdicts = [_judge_fact(leaf, fact) for fact in facts]
    bits = _Bits(_all_of(bits.possible for bits in verdicts), _any_of(bits.certain for bits in verdicts))
    match leaf:
        case Comparison(value=value) | In(values=(value, *_)) if pa.types.is_floating(value.type):
            holds = evaluate_leaf(leaf, pa.array([math.nan], value.type))[0].as_py()
            return _with_nan(bits, _all_of(map(_may_be_nan, facts)), holds=holds)
        case _:
            return bits


def _with_nan(bits: _Bits, may_be_nan: Flag, *, holds: bool) -> _Bits:
    if holds:
        return _either(bits, _Bits(may_be_nan, certain=False))
    return _both(bits, _Bits(possible=True, certain=_not(may_be_nan)))


def _may_be_nan(fact: Fact) -> Flag:
    return _known(fact.may_be_nan) if isinstance(fact, ColumnBounds) else True


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
        return _SOMETIMES  # a fact of another type than the column, or a text that a cast cannot read: it tells nothing


def _judge_image(leaf: ColumnLeaf, fact: ColumnImage) -> _Bits:
    match leaf:
        case Comparison(operand, Op.EQ | Op.NE, value) if not isinstance(operand, Cast):
            bits = _among_images([value], fact)
            return bits.negated if leaf.op is Op.NE else bits
        case In(operand, values) if not isinstance(operand, Cast):
            return _among_images(values, fact)
        case _:
            return _SOMETIMES


def _among_images(values: Sequence[pa.Scalar], fact: ColumnImage) -> _Bits:
    images = fact.apply(pa.array(list(values), values[0].type))
    shared = _flat(pc.is_in(fact.values, images.cast(fact.values.type)))
    return _Bits(possible=_or(shared, _not(_image_known(fact))), certain=False)


def _image_known(fact: ColumnImage) -> Flag:
    return fact.known if isinstance(fact.known, bool) else pc.fill_null(fact.known, fill_value=False)


def _judge_range(leaf: ColumnLeaf, fact: ColumnBounds) -> _Bits:
    if isinstance(leaf.operand, Cast):
        return _judge_single(leaf, fact)
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
    if _is_nan(value):  # the same answer for all values that are not NaN
        return _ALWAYS if op in {Op.LT, Op.LE, Op.NE} else _NEVER
    match op:
        case Op.LT:
            return _below(value, fact)
        case Op.LE:
            return _up_to(value, fact)
        case Op.EQ if fact.lower is fact.upper and fact.upper_inclusive is True:
            equal = _each(fact.lower, lambda bound: pc.equal(bound, value))
            return _Bits(_filled(equal, unknown=True), _filled(equal, unknown=False))
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
        certain = _or(certain, _and(_exclusive(fact), reaching))
    return _Bits(_test(fact.lower, pc.less, value, unknown=True), certain)


def _up_to(value: pa.Scalar, fact: ColumnBounds) -> _Bits:
    """`x <= value`: with an upper bound that is out, also where no value fits between the two."""
    certain = _test(fact.upper, pc.less_equal, value, unknown=False)
    following = successor(value)
    if fact.upper_inclusive is not True and following is not None:
        adjacent = _test(fact.upper, pc.less_equal, following, unknown=False)
        certain = _or(certain, _and(_exclusive(fact), adjacent))
    return _Bits(_test(fact.lower, pc.less_equal, value, unknown=True), certain)


def _judge_prefix(text: str, fact: ColumnBounds) -> _Bits:
    at_least = _below(pa.scalar(text), fact).negated
    following = after_prefix(text)
    return at_least if following is None else _both(at_least, _below(pa.scalar(following), fact))


def _judge_in(leaf: In, fact: ColumnBounds) -> _Bits:
    if fact.lower is fact.upper and fact.upper_inclusive is True:
        return _judge_single(leaf, fact)
    values = [value for value in leaf.values if not _is_nan(value)]
    if len(values) <= _FEW:
        return reduce(_either, (_judge_comparison(Op.EQ, value, fact) for value in values), _NEVER)
    return _either(
        _judge_single(leaf, fact), _Bits(_within_reach(pa.array(values, values[0].type), fact), certain=False)
    )


def _within_reach(values: pa.Array, fact: ColumnBounds) -> Flag:
    """Whether the least of the values that is not below the lower bound is within the upper bound."""
    ordered = values.take(pc.array_sort_indices(values))
    if pa.types.is_decimal(values.type):  # search_sorted does not know decimals: take the values as one range
        low, high = ordered[0], ordered[-1]
        return _and(_below(low, fact).negated.possible, _up_to(high, fact).possible)
    lower, upper = _plain(fact.lower), _plain(fact.upper)
    positions = pc.search_sorted(ordered, lower)
    beyond_all = pc.equal(positions, len(ordered))
    nearest = ordered.take(
        pc.min_element_wise(positions, pa.scalar(len(ordered) - 1, positions.type), skip_nulls=False)
    )
    reached = pc.and_kleene(pc.less_equal(nearest, upper), pc.invert(beyond_all))
    return _filled(reached, unknown=True)


def _judge_single(leaf: ColumnLeaf, fact: ColumnBounds) -> _Bits:
    """Any test at all, in the files where all values are the same one."""
    values, single = _plain(fact.lower), _single(fact)
    if isinstance(leaf.operand, Cast):
        one_value = pc.if_else(single, values, None)
        values = cast_array(one_value, leaf.operand.type, time_zone=leaf.operand.time_zone)
    holds = _filled(_flat(evaluate_leaf(leaf, values)), unknown=False)
    return _Bits(possible=_or(holds, _not(single)), certain=_and(holds, single))


def _single(fact: ColumnBounds) -> Flag:
    if fact.lower is fact.upper:
        same = _flat(pc.is_valid(fact.lower))
    else:
        same = _filled(pc.equal(_plain(fact.lower), _plain(fact.upper)), unknown=False)
    return _and(same, _not(_exclusive(fact)))


def successor(value: pa.Scalar) -> pa.Scalar | None:
    r"""The next value of the same type, or None where there is none or it is not worth knowing.

    >>> successor(pa.scalar(7)), successor(pa.scalar("a")), successor(pa.scalar(1.5))
    (<pyarrow.Int64Scalar: 8>, <pyarrow.StringScalar: 'a\x00'>, None)
    """
    kind = value.type
    try:
        if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
            steps = _STEPS.get(kind, pa.int64())
            return pa.scalar(value.cast(steps).as_py() + 1, steps).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.scalar(value.as_py() + Decimal((0, (1,), -kind.scale)), kind)
    except (pa.ArrowException, OverflowError):  # the last value of its type
        return None
    if pa.types.is_string(kind):
        return pa.scalar(value.as_py() + "\0")
    return pa.scalar(value.as_py() + b"\0") if pa.types.is_binary(kind) else None


def after_prefix(text: str) -> str | None:
    """The least text above all that start with this one; None where there is none.

    >>> after_prefix("he"), after_prefix("a\U0010ffff"), after_prefix("")
    ('hf', 'b', None)
    """
    stem = text.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)


def _without_nan(fact: ColumnBounds) -> ColumnBounds:
    if not pa.types.is_floating(fact.lower.type):
        return fact
    lower = pc.if_else(pc.is_nan(fact.lower), None, fact.lower)
    upper = lower if fact.upper is fact.lower else pc.if_else(pc.is_nan(fact.upper), None, fact.upper)
    return replace(fact, lower=lower, upper=upper)


def _is_nan(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and math.isnan(value.as_py()))


def _exclusive(fact: ColumnBounds) -> Flag:
    return _not(fact.upper_inclusive if isinstance(fact.upper_inclusive, bool) else _known(fact.upper_inclusive))


_Kernel = Callable[[pa.Array, pa.Scalar], pa.Array]


def _test(bound: pa.Array | pa.ChunkedArray, kernel: _Kernel, value: pa.Scalar, *, unknown: bool) -> pa.BooleanArray:
    return _filled(_each(bound, lambda values: kernel(values, value)), unknown=unknown)


def _each(values: pa.Array | pa.ChunkedArray, test: Callable[[pa.Array], pa.Array]) -> pa.BooleanArray:
    """A test of every value; of a dictionary, each distinct value is tested once."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_each(chunk, test) for chunk in values.chunks], pa.bool_()).combine_chunks()
    if isinstance(values, pa.DictionaryArray):
        return test(values.dictionary).take(values.indices)
    return test(values)


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    flat = _flat(values)
    return flat.dictionary_decode() if isinstance(flat, pa.DictionaryArray) else flat


def _flat(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _filled(answers: pa.BooleanArray, *, unknown: bool) -> pa.BooleanArray:
    return pc.fill_null(answers, fill_value=unknown) if answers.null_count else answers


def _known(flag: Flag) -> Flag:
    """A flag that says "it may be" where nothing is said."""
    return flag if isinstance(flag, bool) else _filled(_flat(flag), unknown=True)


def _array(flag: Flag, files: int) -> pa.BooleanArray:
    return pa.repeat(flag, files) if isinstance(flag, bool) else flag


def _not(flag: Flag) -> Flag:
    return not flag if isinstance(flag, bool) else pc.invert(flag)


def _and(one: Flag, other: Flag) -> Flag:
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return pc.and_(one, other)


def _or(one: Flag, other: Flag) -> Flag:
    if isinstance(one, bool):
        return True if one else other
    if isinstance(other, bool):
        return True if other else one
    return pc.or_(one, other)


def _all_of(flags: Iterable[Flag]) -> Flag:
    return reduce(_and, flags, True)  # noqa: FBT003  (reduce takes it by position only)


def _any_of(flags: Iterable[Flag]) -> Flag:
    return reduce(_or, flags, False)  # noqa: FBT003
