r"""LIKE patterns, and the simplest equivalent test.

>>> from indextables.predicate.nodes import Column
>>> simplify_like(Column("name"), "ab%", "\\")
StartsWith(operand=Column(name='name'), text='ab')
>>> fixed_prefix("a!%b_c", "!")
'a%b'
"""

import re
from collections.abc import Iterator
from enum import Enum

import pyarrow as pa

from indextables.errors import InvalidPredicateError
from indextables.predicate.nodes import (
    Comparison,
    Contains,
    EndsWith,
    Like,
    Op,
    Operand,
    Predicate,
    StartsWith,
)


class _Wild(Enum):
    ONE = "."
    ANY = ".*"


_WILD = {"_": _Wild.ONE, "%": _Wild.ANY}


def simplify_like(operand: Operand, pattern: str, escape: str) -> Predicate:  # noqa: PLR0911  (one per shape)
    """The predicate that a LIKE means: an equality or a test of one end where the pattern is as simple as that."""
    match _parts(pattern, escape):
        case []:
            return Comparison(operand, Op.EQ, pa.scalar(""))
        case [str() as text]:
            return Comparison(operand, Op.EQ, pa.scalar(text))
        case [_Wild.ANY]:
            return StartsWith(operand, "")
        case [str() as text, _Wild.ANY]:
            return StartsWith(operand, text)
        case [_Wild.ANY, str() as text]:
            return EndsWith(operand, text)
        case [_Wild.ANY, str() as text, _Wild.ANY]:
            return Contains(operand, text)
        case _:
            return Like(operand, pattern, escape)


def fixed_prefix(pattern: str, escape: str) -> str:
    """The fixed prefix of a pattern."""
    match _parts(pattern, escape):
        case [str() as text, *_]:
            return text
        case _:
            return ""


def like_regex(pattern: str, escape: str) -> str:
    r"""The same pattern for RE2.

    >>> like_regex("a.c%", "\\")
    '(?s)^a\\.c.*$'
    """
    parts = (re.escape(part) if isinstance(part, str) else part.value for part in _parts(pattern, escape))
    return f"(?s)^{''.join(parts)}$"


def _parts(pattern: str, escape: str) -> list[str | _Wild]:
    """Runs of plain text and wildcards, in their order."""
    parts: list[str | _Wild] = []
    for piece in _pieces(pattern, escape):
        match parts, piece:
            case [*_, str() as before], str():
                parts[-1] = before + piece
            case [*_, _Wild.ANY], _Wild.ANY:
                pass
            case _:
                parts.append(piece)
    return parts


def _pieces(pattern: str, escape: str) -> Iterator[str | _Wild]:
    characters = iter(pattern)
    for character in characters:
        if character != escape:
            yield _WILD.get(character, character)
            continue
        escaped = next(characters, "")
        if escaped not in {"_", "%", escape}:
            reason = f"in the pattern {pattern!r} the escape {escape!r} stands before neither _ nor % nor itself"
            raise InvalidPredicateError(f"{reason}; write it twice to mean itself", predicate=pattern, reason=reason)
        yield escaped
