"""What a search asks for: one small closed family, where nodes only *are* and all doing is elsewhere.

A query is bound: its fields are columns of the table, its words have been through the tokenizer of their field, and its
values are of the type of their column. It can be compared, printed (`to_text`), pickled to executors, and compiled there.

A row satisfies a query or it does not. A column that is null has no words and no value, so a row in which it is null
satisfies `NOT column:x`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Every row: `*:*`."""


@dataclass(frozen=True, slots=True)
class MatchNone:
    """No row: a text without any word in it."""


@dataclass(frozen=True, slots=True)
class Exists:
    """Rows in which the column is not null: `field:*`."""

    field: str


@dataclass(frozen=True, slots=True)
class Term:
    """Rows that have this word, or in a `string` field this value."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Rows that have these words (two at least) one after the other.

    With a slop, words may be elsewhere: the distances by which they are out of place differ by no more than the slop.
    """

    field: str
    words: tuple[str, ...]
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Prefix:
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    r"""`*` is any text, `?` one character, and `\` takes the meaning from the character after it."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern for a whole word or value, in the syntax of Rust's `regex`, without anchors."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """Words that become this one by at most so many changes: a character more, less or another, or two exchanged."""

    field: str
    text: str
    distance: int


@dataclass(frozen=True, slots=True)
class Range:
    """Values between two ends in the order of the column's type (NaN last); None is open. Equality is a range too.

    In a `text` field it is words that are between the ends. Words and strings are in the order of their code points.
    """

    field: str
    lower: pa.Scalar | None
    upper: pa.Scalar | None
    includes_lower: bool = True
    includes_upper: bool = True


@dataclass(frozen=True, slots=True)
class And:
    terms: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class Or:
    terms: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class Not:
    term: "Query"


@dataclass(frozen=True, slots=True)
class Prefer:
    """The rows of `term`; those that also satisfy some of the wishes have a higher score: `+term wish wish`."""

    term: "Query"
    wishes: tuple["Query", ...]


@dataclass(frozen=True, slots=True)
class Boost:
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
        case Prefer(term, wishes):
            yield from chain.from_iterable(map(leaves, (term, *wishes)))
        case _:
            yield query


def fields(query: Query) -> set[str]:
    """The columns that a query looks at.

    >>> sorted(fields(And((Exists("b"), Not(Term("a", "x")), MatchAll()))))
    ['a', 'b']
    """
    return {leaf.field for leaf in leaves(query) if not isinstance(leaf, MatchAll | MatchNone)}
