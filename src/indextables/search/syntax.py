"""A query's text as luqum's tree.

Loading luqum takes a while: reach this module through `indextables.search.parse`, which loads it on first use.

luqum knows neither `&&`, `||` and `!` nor a negative number after `<`, so its tokens are mended before they are parsed. Its
time grows with the square of a query's clauses, so tokens are counted first; nesting is bounded for the sake of Python's
stack. Whatever luqum raises becomes a SearchQueryError at one place, `syntax_tree`.
"""

import re
from collections import deque
from collections.abc import Iterator
from copy import copy
from itertools import accumulate, groupby

from luqum import parser, tree
from luqum.exceptions import ParseError
from luqum.head_tail import TokenValue
from ply.lex import LexToken

from indextables.errors import SearchQueryError

MAX_LENGTH = 250_000
MAX_TOKENS = 16_000
MAX_DEPTH = 50
_OPERATORS = {"&&": ("AND_OP", "AND"), "||": ("OR_OP", "OR")}
_STACKED = {"NOT", "PLUS", "MINUS", "BOOST", "COLUMN"}
_POSITION = re.compile(r"at position (\d+)")
_UNEXPECTED = re.compile(r"unexpected  '(.*)' at position", re.DOTALL)


def syntax_tree(text: str) -> tree.Item:
    """The tree of a text, or a SearchQueryError."""
    if not isinstance(text, str):
        raise unreadable(repr(text), "it is not a text")
    if len(text) > MAX_LENGTH:
        raise unreadable(text, f"it has {len(text):,} characters, and {MAX_LENGTH:,} are allowed")
    if not text.strip():
        raise unreadable(text, "it is empty; *:* means every row")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise unreadable(text, "it has half a character (a surrogate) in it")
    try:
        return parser.parser.parse(None, lexer=_Tokens(text))
    except SearchQueryError:
        raise
    except ParseError as error:
        raise _complaint(text, str(error)) from None
    except RecursionError:
        raise unreadable(text, "it is nested too deep") from None
    except Exception as error:  # whatever odd text makes of luqum, it is the text that is at fault
        raise unreadable(text, "it is not in the query language") from error


def unreadable(text: str, reason: str, position: int | None = None) -> SearchQueryError:
    where = "" if position is None else f" at position {position}"
    shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + " ...")
    return SearchQueryError(
        f"the search {shown} cannot be read{where}: {reason}", query=text, reason=reason, position=position
    )


_SHOWN = 200


class _Tokens:
    """A lexer, as PLY's parser wants it, over tokens that have been looked at."""

    def __init__(self, text: str) -> None:
        tokens = list(_mended(_lexed(text)))
        _check_depth(text, tokens)
        self._tokens = deque(tokens)

    def token(self) -> LexToken | None:
        return self._tokens.popleft() if self._tokens else None


def _lexed(text: str) -> Iterator[LexToken]:
    lexer = parser.lexer.clone()  # PLY's lexers have a state, and threads must not share it
    lexer.input(text)
    for count, token in enumerate(iter(lexer.token, None)):
        if count == MAX_TOKENS:
            raise unreadable(text, f"it has more than {MAX_TOKENS:,} words and signs")
        yield token


def _mended(tokens: Iterator[LexToken]) -> Iterator[LexToken]:
    for token in tokens:
        if token.type == "TERM" and token.value.value in _OPERATORS:
            yield _sign(token, *_OPERATORS[token.value.value])
        elif token.type == "TERM" and token.value.value.startswith("!"):
            yield from _negated(token)
        elif token.type in ("LESSTHAN", "GREATERTHAN"):
            yield token
            yield from _signed(tokens)
        else:
            yield token


def _negated(token: LexToken) -> Iterator[LexToken]:
    """`!word` as NOT word."""
    rest = token.value.value.lstrip("!")
    yield from (_sign(token, "NOT", "NOT") for _ in range(len(token.value.value) - len(rest)))
    if rest:
        yield _word(token, rest)


def _signed(tokens: Iterator[LexToken]) -> Iterator[LexToken]:
    """What follows a comparison; a minus belongs to the number after it."""
    first = next(tokens, None)
    if first is None or first.type != "MINUS":
        yield from [first] if first else []
        return
    second = next(tokens, None)
    if second is not None and second.type == "TERM":
        yield _word(second, "-" + second.value.value)
    else:
        yield from [first, second] if second else [first]


def _sign(token: LexToken, kind: str, text: str) -> LexToken:
    return _replaced(token, kind, TokenValue(text))


def _word(token: LexToken, text: str) -> LexToken:
    return _replaced(token, "TERM", tree.Word(text))


def _replaced(token: LexToken, kind: str, value: TokenValue | tree.Word) -> LexToken:
    new = copy(token)
    new.type, new.value = kind, value
    value.pos, value.size, value.head, value.tail = (
        token.value.pos,
        token.value.size,
        token.value.head,
        token.value.tail,
    )
    return new


def _check_depth(text: str, tokens: list[LexToken]) -> None:
    nested = max(accumulate((t.type == "LPAREN") - (t.type == "RPAREN") for t in tokens), default=0)
    runs = (len(list(run)) for stacked, run in groupby(tokens, lambda t: t.type in _STACKED) if stacked)
    if max(nested, max(runs, default=0)) > MAX_DEPTH:
        raise unreadable(text, f"it is nested more than {MAX_DEPTH} deep")


def _complaint(text: str, said: str) -> SearchQueryError:
    """What luqum complains of, in our words."""
    position = int(found[1]) if (found := _POSITION.search(said)) else None
    if said.startswith("Illegal"):
        return unreadable(text, r"a quote, a regular expression or an escape is not closed", position)
    if unexpected := _UNEXPECTED.search(said):
        return unreadable(text, f"{unexpected[1]!r} is not expected here", position)
    return unreadable(text, "something is missing at its end, such as a word or a parenthesis", len(text))
