"""The tokens of a statement, with their places in the text. Comments are skipped, and a literal is one token."""

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from indextables.predicate.dialect import Dialect

Tokens: TypeAlias = Sequence[Token]
STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})


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


def end_of(token: Token) -> int:
    return token.end + 1
