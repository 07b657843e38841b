"""Calls of the search functions and of `score()` in a SQL text whose operators are functions already (`rewriting`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from indextables.errors import StatementError
from indextables.predicate.sql_text import quoted
from indextables.statements.tokens import STRINGS, Tokens, end_of, tokens_of, word

_SCORE = "SCORE"
_OPERATORS = frozenset({"INDEXQUERY", "TEXTSEARCH"})
_FUNCTIONS = frozenset({"INDEXQUERY", "TEXTSEARCH", "INDEXQUERYALL"})


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A search from `start` to `end` in a text, of a column or, where `column` is None, of all columns of a table."""

    start: int
    end: int
    qualifier: str | None
    column: str | None
    query: str


def search_calls(text: str) -> list[SearchCall]:
    """The calls in a text that search plain columns, in their order. Spark evaluates others.

    >>> search_calls("a = 1 AND indexquery(l.message, 'disk') OR indexqueryall('x')")
    ... # doctest: +NORMALIZE_WHITESPACE
    [SearchCall(start=10, end=39, qualifier='l', column='message', query='disk'),
     SearchCall(start=43, end=61, qualifier=None, column=None, query='x')]
    """
    tokens = tokens_of(text)
    return [call for place in range(len(tokens)) for call in _call_at(place, tokens, text)]


def replace_calls(text: str, names: Mapping[SearchCall, str]) -> str:
    """The text with other expressions in the places of the calls."""
    for call in sorted(names, key=lambda call: -call.start):
        text = text[: call.start] + names[call] + text[call.end :]
    return text


def bind_queries(text: str, named: Mapping[str, str], positional: Sequence[str | None]) -> tuple[str, list[int]]:
    """The text with literals in the places of parameters that are the queries of searches, operators or functions.

    Gives the numbers of the positional ones that are gone, too. A parameter without a text here stays.

    >>> bind_queries("SELECT :q FROM t WHERE m INDEXQUERY :q AND n = ? OR indexquery(m, ?)", {"q": "disk"}, [None, "x y"])
    ("SELECT :q FROM t WHERE m INDEXQUERY 'disk' AND n = ? OR indexquery(m, 'x y')", [1])
    """
    tokens, calls, count = tokens_of(text), [False], 0
    bound, edits = list[int](), list[tuple[int, int, str]]()
    for place, token in enumerate(tokens):
        before = word(tokens[place - 1]) if place else ""
        if token.token_type == TokenType.L_PAREN:
            calls.append(before in _FUNCTIONS)
        elif token.token_type == TokenType.R_PAREN:
            calls = calls[:-1] or [False]
        is_positional = token.token_type == TokenType.PLACEHOLDER
        end = place + (not is_positional)
        if is_positional:
            count += 1
        elif token.token_type != TokenType.COLON or end == len(tokens):
            continue
        closes = tokens[end + 1].token_type == TokenType.R_PAREN if end + 1 < len(tokens) else False
        value = positional[count - 1] if is_positional and count <= len(positional) else named.get(tokens[end].text)
        if value is not None and (before in _OPERATORS or (calls[-1] and closes)):
            edits.append((token.start, end_of(tokens[end]), quoted(value)))
            bound += [count - 1] if is_positional else []
    for start, stop, literal in reversed(edits):
        text = f"{text[:start]}{literal}{text[stop:]}"
    return text, bound


def score_calls(text: str) -> list[tuple[int, int]]:
    """Where `score()` stands in a text, from the start to the end of each call.

    >>> score_calls("SELECT score() AS s, score, 'score()' FROM t ORDER BY SCORE ( )")
    [(7, 14), (54, 63)]
    """
    tokens, parentheses = tokens_of(text), [TokenType.L_PAREN, TokenType.R_PAREN]
    places = [place for place, token in enumerate(tokens) if word(token) == _SCORE]
    calls = [place for place in places if [token.token_type for token in tokens[place + 1 : place + 3]] == parentheses]
    return [
        (tokens[place].start, end_of(tokens[place + 2]))
        for place in calls
        if not place or tokens[place - 1].token_type != TokenType.DOT
    ]


def conditions_in(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The terms of a condition, all of which must be true."""
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from (term for side in (inner.left, inner.right) for term in conditions_in(side))
    else:
        yield inner


def _call_at(place: int, tokens: Tokens, text: str) -> Iterator[SearchCall]:
    """The call that begins at a token, if it searches plain columns for a text that is known."""
    is_call = place + 1 < len(tokens) and tokens[place + 1].token_type == TokenType.L_PAREN
    last = _closing(place + 1, tokens) if word(tokens[place]) in _FUNCTIONS and is_call else None
    if last is None:
        return
    inside = tokens[place + 2 : last]
    comma = next((at for at, token in enumerate(inside) if token.token_type == TokenType.COMMA), None)
    column, query = ((), inside) if comma is None else (inside[:comma], inside[comma + 1 :])
    if not query or any(token.token_type not in STRINGS for token in query):
        return
    if comma is None and word(tokens[place]) != "INDEXQUERYALL":
        raise _unreadable(text, tokens[place].start, "a search takes a column and a query")
    if any((token.token_type == TokenType.DOT) != at % 2 for at, token in enumerate(column)):
        return
    parts = [token.text for token in column if token.token_type != TokenType.DOT]
    is_star = not column or column[-1].token_type == TokenType.STAR
    yield SearchCall(
        tokens[place].start,
        end_of(tokens[last]),
        qualifier=parts[-2] if len(parts) > 1 else None,
        column=None if is_star else parts[-1],
        query="".join(token.text for token in query),
    )


def _closing(opening: int, tokens: Tokens) -> int | None:
    """The parenthesis that closes another one."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].token_type == TokenType.L_PAREN) - (tokens[at].token_type == TokenType.R_PAREN)
        if not depth:
            return at
    return None


def _unreadable(text: str, position: int, reason: str) -> StatementError:
    return StatementError(
        f"the search in {text!r} cannot be read at position {position}: {reason}",
        statement=text,
        reason=reason,
        position=position,
    )
