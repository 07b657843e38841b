"""Casts of string columns in the conditions of Spark's plans, proved safe by the log.

In Spark, `month = 1` on a string column is `CAST(month AS BIGINT) = 1`, and a row whose month is not a number is an error.
Pruning and metadata counts must not hide that error. So a cast is pushed down only where the log has all values and each of
them can be converted: partition values, or columns with a single value in each split. Such a cast becomes a TRY_CAST.
Without ANSI mode, where an invalid string is null, the same proof is required, because `1.5` is 1 there.
"""

import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from indextables.log.snapshot import Snapshot
from indextables.log.split_bounds import bounds_of_splits
from indextables.predicate import (
    And,
    Bounds,
    Cast,
    CastMode,
    ColumnBounds,
    IndexQuery,
    Literal,
    Not,
    Or,
    Predicate,
    Verdict,
    casts,
    conjunction,
    disjunction,
)
from indextables.predicate.cast import try_cast_array
from indextables.predicate.verdict import only_values
from indextables.read.prune import judge_splits

_TRUE = Literal(value=True)


def prove_casts(predicate: Predicate, snapshot: Snapshot, *, where: Predicate = _TRUE) -> Predicate | None:
    """The predicate with TRY_CAST for CAST, if that is the same for all rows that may satisfy `where`; else None."""
    unsure = {cast for cast in casts(predicate) if _is_unsure(cast, snapshot)}
    if unsure:
        split_verdicts = judge_splits(where, snapshot)
        left = split_verdicts.parts.table.filter(pc.not_equal(split_verdicts.part_verdicts, int(Verdict.NEVER)))
        bounds = bounds_of_splits({cast.name for cast in unsure}, left, snapshot.metadata)
        if not all(_is_proved(cast, bounds) for cast in unsure):
            return None
    return _with_try_casts(predicate, unsure)


def provable_terms(predicate: Predicate, snapshot: Snapshot, *, where: Predicate = _TRUE) -> Predicate:
    """The part of the predicate that can be proved; it may be true for more rows. Terms are evaluated left to right."""
    if not casts(predicate):
        return predicate
    match predicate:
        case And(terms):
            kept: list[Predicate] = []
            for term in terms:
                kept.append(provable_terms(term, snapshot, where=conjunction(where, *kept)))
            return conjunction(*(term for term in kept if term != _TRUE))
        case Or(terms):
            weaker = [provable_terms(term, snapshot, where=where) for term in terms]
            return _TRUE if _TRUE in weaker else disjunction(*weaker)
        case _:
            safe = prove_casts(predicate, snapshot, where=where)
            return _TRUE if safe is None else safe


def _is_unsure(cast: Cast, snapshot: Snapshot) -> bool:
    if not pa.types.is_string(snapshot.metadata.arrow_schema().field(cast.name).type):
        return False
    return cast.mode is not CastMode.TRY or not _is_exact(cast.type)


def _is_exact(kind: pa.DataType) -> bool:
    """Whether TRY_CAST accepts exactly the strings that Spark casts to the type."""
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _is_proved(cast: Cast, bounds: Bounds) -> bool:
    """Whether the bounds give the single value of each file, and Spark casts these values as TRY_CAST does."""
    unknown = pa.repeat(pa.scalar(value=True), bounds.files)
    for fact in bounds.facts(cast.name):
        if isinstance(fact, ColumnBounds):
            values, is_known = only_values(fact, bounds.files)
            unknown = pc.and_(unknown, pc.invert(pc.and_(is_known, _is_same_as_try_cast(values, cast))))
    return not pc.any(unknown).as_py()


def _is_same_as_try_cast(values: pa.Array, cast: Cast) -> pa.BooleanArray:
    """Whether TRY_CAST gives what Spark's cast of this mode gives; each distinct value is cast once."""
    encoded = values.dictionary_encode()
    texts = encoded.dictionary
    same = pc.is_valid(try_cast_array(texts, cast.type, time_zone=cast.time_zone))
    if cast.mode is not CastMode.ANSI and _is_exact(cast.type):
        fraction = pc.match_substring(texts, ".")
        same = pc.or_(same, pc.invert(fraction))
    return pc.fill_null(same.take(encoded.indices), fill_value=True)  # null is null in every mode


def _with_try_casts(predicate: Predicate, casts_to_try: set[Cast]) -> Predicate:
    match predicate:
        case And(terms) | Or(terms):
            return replace(predicate, terms=tuple(_with_try_casts(term, casts_to_try) for term in terms))
        case Not(term):
            return Not(_with_try_casts(term, casts_to_try))
        case IndexQuery() | Literal():
            return predicate
        case _ if predicate.operand in casts_to_try:
            return replace(predicate, operand=replace(predicate.operand, mode=CastMode.TRY))
        case _:
            return predicate
