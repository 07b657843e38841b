"""Queries rendered as text: `parse(to_text(query)) == query` for the results of `parse`."""

import re
from decimal import Decimal
from typing import assert_never

import pyarrow as pa

from indextables.search import queries as nodes
from indextables.search.queries import Leaf, Query
from indextables.values import encode

_SPECIAL = re.compile(r"""([\s\\+\-!(){}\[\]^"'~*?:/<>=&|])""")
_WORDS_WITH_MEANING = {"AND", "OR", "NOT", "TO"}


def to_text(query: Query) -> str:
    """A query in the query language, every word with its field.

    >>> to_text(nodes.And((nodes.Phrase("message", ("connection", "reset")), nodes.Not(nodes.Term("level", "INFO")))))
    'message:"connection reset" AND NOT level:INFO'
    """
    match query:
        case nodes.And(terms):
            return " AND ".join(map(_operand, terms))
        case nodes.Or(terms):
            return " OR ".join(map(_operand, terms))
        case nodes.Not(term):
            return f"NOT {_grouped(term)}"
        case nodes.Prefer(term, should):
            return " ".join([f"+{_grouped(term)}", *map(_grouped, should)])
        case nodes.Boost(term, factor):
            inner = f"({to_text(term)})" if isinstance(term, nodes.Boost) else _grouped(term)
            return f"{inner}^{Decimal(repr(factor)):f}"
        case _:
            return _leaf(query)


def _leaf(leaf: Leaf) -> str:  # noqa: C901, PLR0911 - one for each kind
    match leaf:
        case nodes.MatchAll():
            return "*:*"
        case nodes.MatchNone():
            return "NOT *:*"
        case nodes.Exists(field):
            return f"{as_word(field)}:*"
        case nodes.Term(field, text):
            return f"{as_word(field)}:{as_word(text)}"
        case nodes.Phrase(field, words, slop):
            return f"{as_word(field)}:{quoted(' '.join(words))}{f'~{slop}' if slop else ''}"
        case nodes.Prefix(field, text):
            return f"{as_word(field)}:{as_word(text)}*"
        case nodes.Wildcard(field, pattern):
            return f"{as_word(field)}:{_pattern(pattern)}"
        case nodes.Regex(field, pattern):
            return f"{as_word(field)}:/{pattern.replace('/', chr(92) + '/')}/"
        case nodes.Fuzzy(field, text, distance):
            return f"{as_word(field)}:{as_word(text)}~{distance}"
        case nodes.Range():
            return f"{as_word(leaf.field)}:{_range(leaf)}"
        case _:
            assert_never(leaf)


def _range(range_: nodes.Range) -> str:
    lower, upper = range_.lower, range_.upper
    both = range_.includes_lower and range_.includes_upper
    if both and lower is not None and lower == upper and not pa.types.is_string(lower.type):
        return _value(lower)
    opening, closing = "{["[range_.includes_lower], "}]"[range_.includes_upper]
    return f"{opening}{_value(range_.lower)} TO {_value(range_.upper)}{closing}"


def _value(end: pa.Scalar | None) -> str:
    return "*" if end is None else quoted(encode(pa.array([end], end.type))[0].as_py())


def _operand(term: Query) -> str:
    return to_text(term) if isinstance(term, nodes.Not) else _grouped(term)


def _grouped(term: Query) -> str:
    return (
        f"({to_text(term)})"
        if isinstance(term, nodes.And | nodes.Or | nodes.Not | nodes.Prefer | nodes.MatchNone)
        else to_text(term)
    )


def as_word(text: str) -> str:
    r"""A value or the name of a field, as a search writes it.

    >>> print(as_word("Comment Text"))
    Comment\ Text
    """
    if not text:
        return '""'
    return "\\" + text if text in _WORDS_WITH_MEANING else _SPECIAL.sub(r"\\\1", text)


def _pattern(pattern: str) -> str:
    r"""A wildcard pattern, in which `*` and `?` keep their meaning and are escaped where they have none."""
    pieces = re.finditer(r"\\(.)|([*?])|([^\\*?]+)", pattern, re.DOTALL)
    return "".join(piece[2] or _SPECIAL.sub(r"\\\1", piece[1] or piece[3]) for piece in pieces)


def quoted(text: str) -> str:
    """A text in quotes, as a search writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
