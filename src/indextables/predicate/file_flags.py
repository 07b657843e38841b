"""Booleans for files: one for all files, or an array with one for each."""

from collections.abc import Iterable
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Flag: TypeAlias = bool | pa.BooleanArray


def filled(mask: pa.BooleanArray, *, unknown: bool) -> pa.BooleanArray:
    return pc.fill_null(mask, fill_value=unknown) if mask.null_count else mask


def maybe(flag: Flag) -> Flag:
    """A flag in which unknown means true."""
    return flag if isinstance(flag, bool) else filled(flat(flag), unknown=True)


def spread(flag: Flag, files: int) -> pa.BooleanArray:
    return pa.repeat(flag, files) if isinstance(flag, bool) else flag


def not_(flag: Flag) -> Flag:
    return not flag if isinstance(flag, bool) else pc.invert(flag)


def and_(one: Flag, other: Flag) -> Flag:
    if isinstance(one, bool):
        return other if one else False
    if isinstance(other, bool):
        return one if other else False
    return pc.and_(one, other)


def or_(one: Flag, other: Flag) -> Flag:
    if isinstance(one, bool):
        return True if one else other
    if isinstance(other, bool):
        return True if other else one
    return pc.or_(one, other)


def all_of(flags: Iterable[Flag]) -> Flag:
    return reduce(and_, flags, True)


def any_of(flags: Iterable[Flag]) -> Flag:
    return reduce(or_, flags, False)


def flat(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
