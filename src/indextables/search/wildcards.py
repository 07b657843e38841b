r"""Prefixes, wildcards and ranges of text as regular expressions, which tantivy runs over the dictionary of a field.

>>> wildcard("te?t*")
'\\x{74}\\x{65}(?s:.)\\x{74}(?s:.)*'

tantivy's automata have up to 1,000 states, and a character outside ASCII costs several: what can be shared is shared.
"""

import re
import sys
from collections.abc import Iterator
from itertools import takewhile

_ONE, _ANY = "(?s:.)", "(?s:.)*"
PIECE = re.compile(r"\\(?P<escaped>.)|(?P<wild>[*?])|(?P<plain>[^\\*?]+)", re.DOTALL)
_WILD = {"*": _ANY, "?": _ONE}
_FIRST, _LAST = "\0", chr(sys.maxunicode)
_LAST_ASCII, _AFTER_ASCII = "\x7f", "\x80"


def literal(text: str) -> str:
    """A pattern that matches just this text."""
    return "".join(map(_character, text))


def prefix(text: str) -> str:
    return literal(text) + _ANY


def wildcard(pattern: str) -> str:
    pieces = PIECE.finditer(pattern)
    return "".join(_WILD[p["wild"]] if p["wild"] else literal(p["escaped"] or p["plain"]) for p in pieces)


def between(lower: str | None, upper: str | None, *, includes_lower: bool, includes_upper: bool) -> str | None:
    r"""A pattern for the texts between two ends, by code points; None where there are none.

    >>> between("b", "be", includes_lower=True, includes_upper=True)
    '\\x{62}|\\x{62}\\x{65}|(?:\\x{62}[\\x{0}-\\x{64}])(?s:.)*'
    """
    lower, includes_lower = ("", True) if lower is None else (lower, includes_lower)
    if upper is not None and lower >= upper:
        return literal(lower) if lower == upper and includes_lower and includes_upper else None
    beginnings = [] if upper is None else [upper[:i] for i in range(_shared(lower, upper) + 1, len(upper))]
    whole = [*([lower] if includes_lower else []), *beginnings, *([upper] if upper and includes_upper else [])]
    parting = [f"(?:{'|'.join(ways)}){_ANY}"] if (ways := _parting(lower, upper)) else []
    return "|".join([*map(literal, whole), *parting])


def _parting(lower: str, upper: str | None) -> list[str]:
    """Patterns for the starts of all other texts between two ends: up to the character that decides."""
    starts = [
        (stem, first, last)
        for stem, first, last in _starts(lower, upper)
        if first is not None and last is not None and first <= last
    ]
    wide = [stem for stem, first, last in starts if first <= _AFTER_ASCII and last == _LAST]
    narrow = [(stem, first, _LAST_ASCII if stem in wide and last == _LAST else last) for stem, first, last in starts]
    beyond = [f"(?:{'|'.join(map(literal, wide))}){_class(_AFTER_ASCII, _LAST)}"] if wide else []
    return [*(literal(stem) + _class(first, last) for stem, first, last in narrow if first <= last), *beyond]


def _starts(lower: str, upper: str | None) -> Iterator[tuple[str, str | None, str | None]]:
    """A stem, and the first and last character that may follow it."""
    shared = -1 if upper is None else _shared(lower, upper)
    yield from ((lower[:i], _successor(lower[i]), _LAST) for i in range(shared + 1, len(lower)))
    if shared < len(lower):
        yield lower, _FIRST, _LAST
    if upper is not None:
        yield upper[:shared], _successor(lower[shared]) if shared < len(lower) else _FIRST, _predecessor(upper[shared])
        yield from ((upper[:i], _FIRST, _predecessor(upper[i])) for i in range(shared + 1, len(upper)))


def _shared(lower: str, upper: str) -> int:
    """How many characters two texts have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lower, upper, strict=False)))


def _class(first: str, last: str) -> str:
    return f"[{_character(first)}-{_character(last)}]"


def _character(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"


def _successor(character: str) -> str | None:
    """The next character; between D7FF and E000 are surrogates, which are none."""
    if character == _LAST:
        return None
    return "\ue000" if character == "\ud7ff" else chr(ord(character) + 1)


def _predecessor(character: str) -> str | None:
    if character == _FIRST:
        return None
    return "\ud7ff" if character == "\ue000" else chr(ord(character) - 1)
