"""The tokens of SQL text, with their places in it. Comments are skipped, and a literal is one token."""

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from indextables.predicate.dialect import Dialect

Tokens: TypeAlias = Sequence[Token]
STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
OPENS = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSES = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


def tokens_of(text: str) -> list[Token]:
    """No tokens for a text that cannot be tokenized: Spark reports the error."""
    try:
        return list(Dialect().tokenize(text))
    except TokenError:
        return []


def word(token: Token) -> str:
    """A word in upper case; empty for literals and names in backquotes."""
    literal = token.token_type in STRINGS or token.token_type == TokenType.IDENTIFIER
    return "" if literal else token.text.upper()


def is_name(token: Token) -> bool:
    if token.token_type in {TokenType.IDENTIFIER, TokenType.NUMBER}:
        return token.token_type == TokenType.IDENTIFIER
    return word(token).replace("_", "a").isalnum()


def end_of(token: Token) -> int:
    return token.end + 1


def qualify_columns(text: str, names: frozenset[str], qualifier: str) -> str:
    """The expression with a qualifier before those of its columns that have one of the names (in lower case) and no other.

    >>> qualify_columns("id + t.id + length(id)", frozenset({"id"}), "`s`")
    '`s`.id + t.id + length(`s`.id)'
    """
    tokens = tokens_of(text)
    if any(word(token) in {"SELECT", "->"} for token in tokens):
        return text  # names inside may be those of other tables, or of parameters
    for place in reversed(range(len(tokens))):
        token, before, after = tokens[place], _kind(tokens, place - 1), _kind(tokens, place + 1)
        is_plain = before != TokenType.DOT and after not in {TokenType.L_PAREN, TokenType.DOT}
        if is_plain and is_name(token) and token.text.lower() in names:
            text = f"{text[: token.start]}{qualifier}.{text[token.start :]}"
    return text


def without_qualifier(text: str, qualifier: str) -> str:
    """The condition with `name` in the place of `qualifier.name`.

    >>> without_qualifier("T.id = 7 AND x.t.a = 1", "t")
    'id = 7 AND x.t.a = 1'
    """
    tokens = tokens_of(text)
    for place in reversed(range(len(tokens) - 2)):
        token, is_first = tokens[place], _kind(tokens, place - 1) != TokenType.DOT
        is_same = is_name(token) and token.text.lower() == qualifier.lower()
        if is_first and is_same and _kind(tokens, place + 1) == TokenType.DOT:
            text = text[: token.start] + text[tokens[place + 2].start :]
    return text


def _kind(tokens: Tokens, place: int) -> TokenType | None:
    return tokens[place].token_type if 0 <= place < len(tokens) else None
