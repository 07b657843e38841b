"""The nodes of a parsed search query: plain values without behaviour.

A query is bound: its fields are columns of the table, its words have been through the tokenizer of their field, and its
values are of the type of their column. It can be compared, printed (`to_text`), pickled to executors, and compiled there.

A row satisfies a query or it does not. A column that is null has no words and no value, so a row in which it is null
satisfies `NOT column:x`.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec
import pyarrow as pa


class MatchAll(msgspec.Struct, frozen=True):
    """Every row: `*:*`."""


class MatchNone(msgspec.Struct, frozen=True):
    """No row: a text without any word in it."""


class Exists(msgspec.Struct, frozen=True):
    """Rows in which the column is not null: `field:*`."""

    field: str


class Term(msgspec.Struct, frozen=True):
    """Rows that have this word, or in a `string` field this value."""

    field: str
    text: str


class Phrase(msgspec.Struct, frozen=True):
    """Rows that have these words (two at least) one after the other.

    With a slop, words may be elsewhere: the distances by which they are out of place differ by no more than the slop.
    """

    field: str
    words: tuple[str, ...]
    slop: int = 0


class Prefix(msgspec.Struct, frozen=True):
    field: str
    text: str


class Wildcard(msgspec.Struct, frozen=True):
    r"""`*` is any text, `?` one character, and `\` takes the meaning from the character after it."""

    field: str
    pattern: str


class Regex(msgspec.Struct, frozen=True):
    """A pattern for a whole word or value, in the syntax of Rust's `regex`, without anchors."""

    field: str
    pattern: str


class Fuzzy(msgspec.Struct, frozen=True):
    """Words within an edit distance: insertions, deletions, substitutions and transpositions."""

    field: str
    text: str
    distance: int


class Range(msgspec.Struct, frozen=True):
    """Values between two ends in the order of the column's type (NaN last); None is open. Equality is a range too.

    In a `text` field it is words that are between the ends. Words and strings are in the order of their code points.
    """

    field: str
    lower: pa.Scalar | None
    upper: pa.Scalar | None
    includes_lower: bool = True
    includes_upper: bool = True


class And(msgspec.Struct, frozen=True):
    terms: tuple["Query", ...]


class Or(msgspec.Struct, frozen=True):
    terms: tuple["Query", ...]


class Not(msgspec.Struct, frozen=True):
    term: "Query"


class Prefer(msgspec.Struct, frozen=True):
    """The rows of `term`; those that also satisfy some of the wishes have a higher score: `+term wish wish`."""

    term: "Query"
    should: tuple["Query", ...]


class Boost(msgspec.Struct, frozen=True):
    """The rows of `term`, with their scores multiplied."""

    term: "Query"
    factor: float


Leaf = MatchAll | MatchNone | Exists | Term | Phrase | Prefix | Wildcard | Regex | Fuzzy | Range
Query = Leaf | And | Or | Not | Prefer | Boost


def conjunction(terms: Iterable[Query]) -> Query:
    """All of the terms, without nesting.

    >>> conjunction([Exists("a"), And((Exists("b"), Exists("c")))])
    And(terms=(Exists(field='a'), Exists(field='b'), Exists(field='c')))
    """
    flat = tuple(chain.from_iterable(term.terms if isinstance(term, And) else (term,) for term in terms))
    return And(flat) if len(flat) != 1 else flat[0]


def disjunction(terms: Iterable[Query]) -> Query:
    """Any of the terms, without nesting."""
    flat = tuple(chain.from_iterable(term.terms if isinstance(term, Or) else (term,) for term in terms))
    return Or(flat) if len(flat) != 1 else flat[0]


def leaves(query: Query) -> Iterator[Leaf]:
    """Every leaf, from left to right."""
    match query:
        case And(terms) | Or(terms):
            yield from chain.from_iterable(map(leaves, terms))
        case Not(term) | Boost(term):
            yield from leaves(term)
        case Prefer(term, should):
            yield from chain.from_iterable(map(leaves, (term, *should)))
        case _:
            yield query


def fields(query: Query) -> set[str]:
    """The columns that a query looks at.

    >>> sorted(fields(And((Exists("b"), Not(Term("a", "x")), MatchAll()))))
    ['a', 'b']
    """
    return {leaf.field for leaf in leaves(query) if not isinstance(leaf, MatchAll | MatchNone)}
