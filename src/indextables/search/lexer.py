r"""The tokens of a query: those of Lucene's classic query parser, with the comparisons of Elasticsearch (`status:>=500`).

>>> [token.kind for token in tokens('!"disk full"&&(level:ERROR^2)')]
['NOT', 'QUOTED', 'AND', '(', 'WORD', ':', 'WORD', '^', ')']

Lucene takes the longest token that fits, so `AND` and `&&` are operators only where no other character of a word follows.
Input that Lucene reads in an unexpected way is refused here: `a&&b` is one word there, `! a` searches for `!`, and
`a^2b` is `a^2 b`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from indextables.errors import SearchQueryError

MAX_LENGTH = 250_000
MAX_TOKENS = 16_000
_SHOWN, _PLACE = 200, 20
_OPERATORS = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT"}
_TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:\d\d)?"
_START = r"""(?:\\.|[^\s\\+\-!():^\[\]"{}~/])"""
_WORD = rf"(?:{_TIMESTAMP}|{_START})(?:{_START}|[+\-/])*"
_OPERATOR = rf"(?:AND|OR|NOT|&&|\|\|)(?!{_START}|[+\-])"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_BARE_END = r"""(?:[^\s\]}"\\]|\\.)+"""
_TOKEN = re.compile(
    rf"""
      (?P<SPACE>\s+)
    | (?P<QUOTED>{_QUOTED})
    | (?P<REGEX>/(?:[^/\\]|\\.)*/)
    | (?P<RANGE>[\[{{]\s*
        (?:(?P<low_text>{_QUOTED})\s*|(?P<low>{_BARE_END})\s+) TO (?:\s*(?P<high_text>{_QUOTED})|\s+(?P<high>{_BARE_END}))
        \s*[\]}}])
    | (?P<BOOST>\^(?P<factor>\d+(?:\.\d+)?)?)
    | (?P<DISTANCE>~(?P<distance>\d+(?:\.\d+)?)?)
    | (?P<COMPARISON>[<>]=?(?={_QUOTED}|[+\-]?{_START}))
    | (?P<OPERATOR>{_OPERATOR})
    | (?P<WORD>{_WORD})
    | (?P<SIGN>[+\-!():])
    """,
    re.VERBOSE | re.DOTALL,
)
_NEXT_WORD = re.compile(rf"(?!{_OPERATOR})(?:/|{_WORD})", re.DOTALL)
_JOINED = re.compile(r"(?:\\.|[^\\])*?(?P<sign>&&|\|\|).*", re.DOTALL)
_SQL_EQUALS = re.compile(r"(?P<sign>==?)\Z|\w+(?P<equals>==?)'")
_WITHOUT_SPACE = re.compile(r"""[^\s()"^~]+""")
_WILDCARD = re.compile(r"(?<!\\)[*?]")
_BARE_SLASH = re.compile(r"(?<!\\)/")
_UNFINISHED = {
    '"': 'the quote is not closed; write \\" for a quote that is part of the text',
    "[": "a range is written [a TO b], {a TO b} or [a TO *]",
    "{": "a range is written [a TO b], {a TO b} or [a TO *]",
    "\\": "a backslash takes the meaning from the character after it, and there is none",
}


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is what was written. Parts of it: the number after `^` or `~`, the two ends of a range."""

    kind: str
    text: str
    position: int
    parts: tuple[str | None, ...] = ()

    @property
    def end(self) -> int:
        return self.position + len(self.text)


def tokens(text: str) -> list[Token]:
    """The tokens of a text, or a SearchQueryError that names the place that is not understood."""
    found: list[Token] = []
    for token in _scan(text):
        if len(found) == MAX_TOKENS:
            raise syntax_error(text, f"it has more than {MAX_TOKENS:,} words and signs")
        found.append(token)
    return found


def syntax_error(text: str, reason: str, position: int | None = None) -> SearchQueryError:
    """The error that shows a search, the place in it and what is wrong there."""
    shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + " ...")
    return SearchQueryError(
        f"the search {shown} cannot be read{_place(text, position)}: {reason}",
        query=text,
        reason=reason,
        position=position,
        end=None if position is None else _end_of_token(text, position),
    )


def _end_of_token(text: str, position: int) -> int:
    """The end of what stands at a position: a token, or one character that begins none.

    >>> _end_of_token("a levle:x", 2), _end_of_token('a "b', 2), _end_of_token("(a", 2)
    (7, 3, 2)
    """
    token = _TOKEN.match(text, position)
    return min(len(text), position + 1) if token is None else token.end()


def _place(text: str, position: int | None) -> str:
    if position is None:
        return ""
    rest = text[position : position + _PLACE]
    return f" at position {position}, at {rest!r}" if rest else f" at position {position}, its end"


def _scan(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            character = text[position]
            if character == "/":
                raise syntax_error(
                    text, f"the regular expression is not closed; {_slashes_hint(text, position)}", position
                )
            raise syntax_error(text, _UNFINISHED.get(character, f"{character!r} is not expected here"), position)
        if found.lastgroup != "SPACE":
            yield _check(text, found)
        position = found.end()


def _check(text: str, found: re.Match[str]) -> Token:
    kind, written, position = found.lastgroup or "", found[0], found.start()
    match kind:
        case "WORD":
            return _word(text, written, position)
        case "OPERATOR":
            return Token(_OPERATORS[written], written, position)
        case "SIGN":
            return _sign(text, written, position)
        case "RANGE":
            return Token(
                kind, written, position, (found["low_text"] or found["low"], found["high_text"] or found["high"])
            )
        case "BOOST" | "DISTANCE":
            return _number(text, found)
        case "REGEX":
            hint = _slashes_hint(text, position)
            _refuse_word_after(text, found.end(), f"a regular expression ends before it; {hint}")
    return Token(kind, written, position)


def _slashes_hint(text: str, position: int) -> str:
    r"""How to search for a text with slashes: in quotes, if there are no `*` and `?`, which would mean themselves there.

    >>> print(_slashes_hint("path:/admin/*", 5))
    to search for a text with slashes, write \/admin\/*
    >>> _slashes_hint("/var/log", 0)
    'put a text with slashes in quotes'
    """
    word = _WITHOUT_SPACE.match(text, position)
    if word is None or not _WILDCARD.search(word[0]):
        return "put a text with slashes in quotes"
    escaped = _BARE_SLASH.sub(r"\/", word[0])
    return f"to search for a text with slashes, write {escaped}"


def _word(text: str, written: str, position: int) -> Token:
    if joined := _JOINED.fullmatch(written):
        sign, place = joined["sign"], position + joined.start("sign")
        raise syntax_error(text, f"put spaces around {sign}, or quotes around the text that it is part of", place)
    if sql := _SQL_EQUALS.match(written):
        reason = "a search is written field:value, and a condition in SQL is given as where"
        raise syntax_error(
            text, f"{reason}; write \\= for the character itself", position + sql.start(sql.lastgroup or 0)
        )
    if written.startswith("'"):
        raise syntax_error(
            text, "a text is put in double quotes, not in single ones; write \\' for the character itself", position
        )
    if written.startswith(("<", ">")):
        raise syntax_error(
            text,
            f"a value follows {written[0]!r} without a space, as in >=5; write \\{written[0]} for the character itself",
            position,
        )
    if written.endswith("=") and text.startswith('"', position + len(written)):
        raise syntax_error(
            text,
            'write field:"value" to search a column, and put quotes around the whole text to search for it',
            position,
        )
    return Token("WORD", written, position)


def _sign(text: str, written: str, position: int) -> Token:
    after = text[position + 1 : position + 2]
    if written in "+-!" and after.isspace():
        raise syntax_error(
            text,
            f"{written!r} stands alone; write {written}word without a space, or \\{written} for the character",
            position,
        )
    if written == "!" and after == "=":
        raise syntax_error(text, "there is no !=; write NOT field:value", position)
    return Token("NOT" if written == "!" else written, written, position)


def _number(text: str, found: re.Match[str]) -> Token:
    sign, number = found[0][0], found["factor"] or found["distance"]
    expected = "a boost is a number above zero, as in word^2" if sign == "^" else "a distance is a number, as in word~1"
    if sign == "^" and not number:
        raise syntax_error(text, expected, found.start())
    _refuse_word_after(text, found.end(), f"{expected}; put a space after it")
    return Token(sign, found[0], found.start(), (number,))


def _refuse_word_after(text: str, end: int, reason: str) -> None:
    if _NEXT_WORD.match(text, end):
        raise syntax_error(text, reason, end)
