"""The tokens of SQL text, with their places in it. Comments are skipped, and a literal is one token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import StatementError
from indextables.predicate.dialect import Dialect
from indextables.redaction import redacted

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


@dataclass(frozen=True, slots=True)
class Span:
    """The tokens of a text from `start` to before `end`."""

    text: str
    tokens: Tokens
    start: int
    end: int

    @classmethod
    def of(cls, text: str) -> "Span":
        """All tokens, without a semicolon at the end."""
        tokens = tokens_of(text)
        is_closed = bool(tokens) and tokens[-1].token_type == TokenType.SEMICOLON
        return cls(text, tokens, 0, len(tokens) - is_closed)

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def own(self) -> Tokens:
        return self.tokens[self.start : self.end]

    @property
    def inner(self) -> "Span | None":
        """What is in the parentheses around it; None if there are none."""
        kinds = [token.token_type for token in self.own]
        is_list = kinds[:1] == [TokenType.L_PAREN] and kinds[-1] == TokenType.R_PAREN
        return replace(self, start=self.start + 1, end=self.end - 1) if is_list else None

    def words(self, count: int) -> list[str]:
        """The first words."""
        return [word(token) for token in self.own[:count]]

    def skip(self, count: int) -> "Span":
        return replace(self, start=min(self.start + count, self.end))

    def sql(self) -> str:
        """The text."""
        return self.text[self.own[0].start : end_of(self.own[-1])] if self.own else ""

    def outside(self) -> Iterator[int]:
        """The places outside of parentheses and CASE ... END."""
        depth = 0
        for place in range(self.start, self.end):
            kind, keyword = self.tokens[place].token_type, self.keyword(place)
            opens, closes = kind in OPENS or keyword == "CASE", kind in CLOSES or keyword == "END"
            depth -= closes
            if depth == 0 and not opens and not closes:
                yield place
            depth += opens

    def keyword(self, place: int) -> str:
        """The word at a place; empty for a field, whatever it is called. `==` is another way to write `=`."""
        token, is_field = self.tokens[place], place > 0 and self.tokens[place - 1].token_type == TokenType.DOT
        return "" if is_field else "=" if token.token_type == TokenType.EQ else word(token)

    def split(self, separator: str) -> list["Span"]:
        """What stands before, between and after the separators."""
        found = [place for place in self.outside() if self.keyword(place) == separator]
        return [replace(self, start=one + 1, end=next_) for one, next_ in pairwise([self.start - 1, *found, self.end])]

    def partition(self, separator: str) -> tuple["Span", "Span | None"]:
        """What stands before and after the first separator."""
        first, *_ = self.split(separator)
        return first, None if first.end == self.end else replace(self, start=first.end + 1)

    def divide(self, separator: str, *, expected: str | None = None) -> tuple["Span", "Span"]:
        """The same, or an error."""
        before, after = self.partition(separator)
        if after is None:
            raise self.invalid(f"{expected or separator} is expected")
        return before, after

    def invalid(self, reason: str) -> StatementError:
        """The error after the token before these."""
        return self.invalid_at(end_of(self.tokens[max(0, self.start - 1)]), reason)

    def incomplete(self, reason: str) -> StatementError:
        """The error after the last of these tokens."""
        return self.skip(len(self)).invalid(reason)

    def invalid_at(self, position: int, reason: str) -> StatementError:
        position, text = len(redacted(self.text[:position])), redacted(self.text)
        return StatementError(
            f"the command {text!r} cannot be read at position {position}: {reason}",
            statement=text,
            reason=reason,
            position=position,
        )


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
