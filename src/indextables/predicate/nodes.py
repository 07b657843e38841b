"""The nodes of predicates: plain values without behaviour.

A predicate is written (`col`, `parse`) in the words of its author, then *bound* to a schema: names become the table's
own, and literals become values of the column's type. Written and bound predicates are made of the same nodes. A row
satisfies a predicate, or not, or it is unknown (SQL's null): every function of this package keeps the three apart.

>>> Comparison(Column("year"), Op.EQ, pa.scalar(2024)) == Comparison(Column("year"), Op.EQ, pa.scalar(2024))
True
"""

from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import cast

import msgspec
import pyarrow as pa


class Op(Enum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> "Op":
        """The operator that is true where this one is false: `<` and `>=`."""
        return _NEGATED[self]

    @property
    def flipped(self) -> "Op":
        """The operator with its sides exchanged: `5 < x` is `x > 5`."""
        return _FLIPPED[self]


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


class Column(msgspec.Struct, frozen=True, tag=True, tag_field="node"):
    name: str


class CastMode(Enum):
    """What a cast does with an invalid string: an error, or null.

    LEGACY is Spark's CAST with `spark.sql.ansi.enabled=false`: null as well, but `1.5` is the integer 1. Only plans of
    Spark have it, and it is not evaluated: see `read.casts`.
    """

    ANSI = "CAST"
    TRY = "TRY_CAST"
    LEGACY = "CAST (not ANSI)"


class Cast(msgspec.Struct, frozen=True, tag=True, tag_field="node"):
    """A column converted row by row: `CAST(name AS INT) = 1`, and `name = 1` on strings, where Spark converts the column."""

    name: str
    type: pa.DataType
    time_zone: str = "UTC"
    mode: CastMode = CastMode.ANSI


Operand = Column | Cast


class _Combining(msgspec.Struct, frozen=True, tag=True, tag_field="node"):
    """`&`, `|` and `~`, as on Spark's columns."""

    def __and__(self, other: "Predicate") -> "Predicate":
        return conjunction(cast("Predicate", self), other)

    def __or__(self, other: "Predicate") -> "Predicate":
        return disjunction(cast("Predicate", self), other)

    def __invert__(self) -> "Predicate":
        return Not(cast("Predicate", self))

    def __bool__(self) -> bool:
        raise TypeError("a predicate has no truth value of its own; combine predicates with & | ~, not with and or not")


class Comparison(_Combining, frozen=True):
    operand: Operand
    op: Op
    value: pa.Scalar


class NullSafeEqual(_Combining, frozen=True):
    """`<=>`: null equals null, and the result is never unknown."""

    operand: Operand
    value: pa.Scalar


class In(_Combining, frozen=True, dict=True):
    operand: Operand
    values: tuple[pa.Scalar, ...]

    @cached_property
    def array(self) -> pa.Array:
        """The values as one array, made once: there may be many of them, and many splits to compare with them."""
        return pa.array(self.values, self.values[0].type)


class IsNull(_Combining, frozen=True):
    operand: Operand


class StartsWith(_Combining, frozen=True):
    operand: Operand
    text: str


class EndsWith(_Combining, frozen=True):
    operand: Operand
    text: str


class Contains(_Combining, frozen=True):
    operand: Operand
    text: str


class Like(_Combining, frozen=True):
    """`%` is any text, `_` one character, and `escape` takes the meaning from the character after it."""

    operand: Operand
    pattern: str
    escape: str = "\\"


class IndexQuery(_Combining, frozen=True):
    """A full-text query on one field, or on all of them where `field` is None. Only a search index can evaluate it."""

    field: str | None
    query: str


class Literal(_Combining, frozen=True):
    """The same result for every row: true, false or unknown (None)."""

    value: bool | None


class And(_Combining, frozen=True):
    terms: tuple["Predicate", ...]


class Or(_Combining, frozen=True):
    terms: tuple["Predicate", ...]


class Not(_Combining, frozen=True):
    term: "Predicate"


ColumnLeaf = Comparison | NullSafeEqual | In | IsNull | StartsWith | EndsWith | Contains | Like
Leaf = ColumnLeaf | IndexQuery | Literal
Predicate = Leaf | And | Or | Not

TRUE, FALSE, UNKNOWN = Literal(True), Literal(False), Literal(None)


def conjunction(*terms: Predicate) -> Predicate:
    """All of the terms, without nesting: the AND of nothing is true.

    >>> conjunction(TRUE, conjunction(FALSE, UNKNOWN)) == And((TRUE, FALSE, UNKNOWN))
    True
    """
    return _flat(And, terms, empty=TRUE)


def terms_of(predicate: Predicate) -> tuple[Predicate, ...]:
    """The predicates that all have to be true.

    >>> terms_of(conjunction(TRUE, UNKNOWN)) == (TRUE, UNKNOWN), terms_of(FALSE) == (FALSE,)
    (True, True)
    """
    return predicate.terms if isinstance(predicate, And) else (predicate,)


def distinct_conjunction(*terms: Predicate) -> Predicate:
    """All of the terms, each once, without those that are simply true.

    >>> distinct_conjunction(TRUE, conjunction(UNKNOWN, FALSE), UNKNOWN) == And((UNKNOWN, FALSE))
    True
    """
    once = {repr(term): term for term in terms_of(conjunction(*terms))}
    return conjunction(*(term for term in once.values() if term != TRUE))


def disjunction(*terms: Predicate) -> Predicate:
    """Any of the terms, without nesting: the OR of nothing is false."""
    return _flat(Or, terms, empty=FALSE)


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Every leaf, from left to right."""
    match predicate:
        case And(terms) | Or(terms):
            yield from chain.from_iterable(map(leaves, terms))
        case Not(term):
            yield from leaves(term)
        case _:
            yield predicate


def columns(predicate: Predicate) -> set[str]:
    """The columns whose values decide; the field of an index query is not among them.

    >>> sorted(columns(And((IsNull(Column("a")), StartsWith(Column("b"), "x"), IndexQuery("c", "y")))))
    ['a', 'b']
    """
    return {leaf.operand.name for leaf in leaves(predicate) if not isinstance(leaf, IndexQuery | Literal)}


def casts(predicate: Predicate) -> set[Cast]:
    """The columns that are converted.

    >>> casts(IsNull(Cast("a", pa.int32()))) == {Cast("a", pa.int32())}
    True
    """
    found = (leaf.operand for leaf in leaves(predicate) if not isinstance(leaf, IndexQuery | Literal))
    return {operand for operand in found if isinstance(operand, Cast)}


def index_queries(predicate: Predicate) -> list[IndexQuery]:
    """The index queries, each once, from left to right."""
    return list(dict.fromkeys(leaf for leaf in leaves(predicate) if isinstance(leaf, IndexQuery)))


def _flat(family: type[And] | type[Or], terms: tuple[Predicate, ...], *, empty: Literal) -> Predicate:
    flat = tuple(chain.from_iterable(term.terms if isinstance(term, family) else (term,) for term in terms))
    match flat:
        case ():
            return empty
        case (only,):
            return only
        case _:
            return family(flat)
