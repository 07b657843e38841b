"""Whether any row can match a query, given which terms may be there."""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from indextables.predicate.file_flags import Flag, all_of, any_of
from indextables.search.queries import And, Boost, MatchNone, Or, Phrase, Prefer, Query, Range, Term

MayContain: TypeAlias = Callable[[str, str], Flag]
"""False where a split does not have a term of a column: a word, the value of a string, or the digits of an integer."""


def may_match(query: Query, may_contain: MayContain) -> Flag:  # noqa: PLR0911 - one for each kind
    """False where no row of a split matches. Whatever needs more than terms may match.

    >>> may_contain = lambda column, text: text != "absent"
    >>> absent, present = Term("message", "absent"), Term("message", "present")
    >>> may_match(And((absent, present)), may_contain), may_match(Or((absent, present)), may_contain)
    (False, True)
    """
    match query:
        case MatchNone():
            return False
        case Term(column, text):
            return may_contain(column, text)
        case Phrase(column, words):
            return all_of(may_contain(column, word) for word in words)
        case Range(column, lower, upper, True, True) if lower == upper and lower is not None:
            return may_contain(column, str(lower.as_py())) if pa.types.is_integer(lower.type) else True
        case And(terms):
            return all_of(may_match(term, may_contain) for term in terms)
        case Or(terms):
            return any_of(may_match(term, may_contain) for term in terms)
        case Prefer(term) | Boost(term):
            return may_match(term, may_contain)
        case _:
            return True
