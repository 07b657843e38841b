"""The table of a command and the clauses after it, in any order, each at most once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import StatementError
from indextables.redaction import redacted
from indextables.statements.command_values import Table, TableName, TablePath
from indextables.statements.tokens import CLOSES, OPENS, STRINGS, Tokens, end_of, is_name, word

_T = TypeVar("_T")
_SOURCE = "INDEXTABLES"


@dataclass(frozen=True, slots=True)
class Clauses:
    """The table of a command and its clauses: the tokens of each clause, without its keywords."""

    text: str
    table: Table
    found: Mapping[str, Tokens]
    starts: Mapping[str, int]

    def flag(self, clause: str) -> bool:
        """Whether a clause without a value is present."""
        tokens = self.found.get(clause)
        if tokens:
            raise self.invalid(f"nothing is expected after {clause} but other clauses", tokens[0].start)
        return tokens is not None

    def value(self, clause: str, parse: Callable[[str], _T]) -> _T | None:
        """The value of a clause, in quotes or not, as `parse` reads it; a ValueError says what is expected."""
        tokens = self.found.get(clause)
        if tokens is None:
            return None
        start = self._first(clause, tokens).start
        try:
            return parse(self.written(tokens) if len(tokens) > 1 else tokens[0].text)
        except ValueError as error:
            raise self.invalid(f"after {clause} {error} is expected", start) from None

    def condition(self, clause: str) -> str | None:
        """The text of a condition."""
        tokens = self.found.get(clause)
        return None if tokens is None else self.written([self._first(clause, tokens), *tokens])

    def terms(self, clause: str) -> str | None:
        """The text between the parentheses after a clause."""
        tokens = self.found.get(clause)
        if tokens is None:
            return None
        kinds = [token.token_type for token in tokens]
        if kinds[:1] != [TokenType.L_PAREN] or kinds[-1] != TokenType.R_PAREN:
            raise self.invalid(f"after {clause} a list in parentheses is expected", self.starts[clause])
        return self.text[end_of(tokens[0]) : tokens[-1].start].strip()

    def names(self, clause: str) -> tuple[str, ...]:
        """The columns between the parentheses after a clause; none without the clause."""
        if self.terms(clause) is None:
            return ()
        inner = self.found[clause][1:-1]
        commas = all((t.token_type == TokenType.COMMA) == (place % 2 == 1) for place, t in enumerate(inner))
        names = inner[::2]
        if len(inner) % 2 == 0 or not commas or not all(is_name(token) for token in names):
            raise self.invalid(
                f"after {clause} names of columns, with commas between them, are expected", self.starts[clause]
            )
        return tuple(token.text for token in names)

    def column(self, clause: str, *between: str) -> tuple[str, str]:
        """The name of a column and, after the words in `between`, its type."""
        tokens = self.found[clause]
        words, first = [word(token) for token in tokens], 1 + len(between)
        if len(tokens) <= first or not is_name(tokens[0]) or words[1:first] != list(between):
            expected = " ".join(["a column", *between, "type"])
            raise self.invalid(f"after {clause} {expected} is expected", self.starts[clause])
        return tokens[0].text, self.written(tokens[first:])

    def column_names(self, clause: str, *between: str) -> tuple[str, ...]:
        """The name of a column and, after the words in `between`, if there are any, that of another."""
        tokens, names = self.found[clause], 2 if between else 1
        words = [word(token) for token in tokens]
        if len(tokens) != names + len(between) or not is_name(tokens[0]) or not is_name(tokens[-1]):
            raise self.invalid(self._columns_expected(clause, between), self.starts[clause])
        if words[1 : 1 + len(between)] != list(between):
            raise self.invalid(self._columns_expected(clause, between), self.starts[clause])
        return tuple(token.text for token in (tokens[0], tokens[-1])[:names])

    def _columns_expected(self, clause: str, between: Sequence[str]) -> str:
        expected = " ".join(["a column", *between, "another name"] if between else ["a column"])
        return f"after {clause} {expected} is expected"

    def assignments(self, clause: str) -> tuple[tuple[str, str], ...]:
        """Pairs of a column and a word or text, `a = text, b = 'string'`, with or without parentheses around them."""
        tokens = self.found[clause]
        if tokens and tokens[0].token_type == TokenType.L_PAREN and tokens[-1].token_type == TokenType.R_PAREN:
            tokens = tokens[1:-1]
        pairs = [self._assignment(part) for part in _separated(tokens)]
        found = tuple(pair for pair in pairs if pair is not None)
        if len({column.lower() for column, _ in found}) != len(found):
            raise self.invalid(f"after {clause} a column is there twice", self.starts[clause])
        if len(found) != len(pairs):
            raise self.invalid(
                f"after {clause} column = value, with commas between them, is expected", self.starts[clause]
            )
        return found

    def _assignment(self, tokens: Tokens) -> tuple[str, str] | None:
        if len(tokens) < 3 or not is_name(tokens[0]) or tokens[1].token_type != TokenType.EQ:  # noqa: PLR2004
            return None
        value = tokens[2:]
        return tokens[0].text, value[0].text if len(value) == 1 else self.written(value)

    def written(self, tokens: Tokens) -> str:
        return self.text[tokens[0].start : end_of(tokens[-1])]

    def invalid(self, reason: str, position: int) -> StatementError:
        return invalid(self.text, reason, position)

    def _first(self, clause: str, tokens: Tokens) -> Token:
        if not tokens:
            raise self.invalid(f"there is nothing after {clause}", self.starts[clause])
        return tokens[0]


def parse_clauses(text: str, tokens: Tokens, place: int, clauses: Sequence[str] = ()) -> Clauses:
    """The table at a place, and the clauses after it, which must be among those given."""
    at = table_at(tokens, place, clauses, names_in_backquotes=False)
    if at is None:
        reason = "the path of a table, in quotes, or its name is expected"
        raise invalid(text, reason, end_of(tokens[place - 1]))
    return _clauses(text, tokens, at, clauses, {})


def parse_clauses_of_ours(
    text: str,
    tokens: Tokens,
    place: int,
    clauses: Sequence[str],
    is_ours: Callable[[Table], bool],
    *,
    refused: Mapping[str, str] | None = None,
) -> Clauses | None:
    """The same for a command that other formats have too; None if the table is not ours.

    A single name in backquotes is a name here, as in Spark, and not a path. `refused` are clauses of other formats, with
    the alternatives.
    """
    at = table_at(tokens, place, (*clauses, *(refused or {})), names_in_backquotes=True)
    return _clauses(text, tokens, at, clauses, refused or {}) if at is not None and is_ours(at[0]) else None


def _clauses(
    text: str, tokens: Tokens, at: tuple[Table, int], clauses: Sequence[str], refused: Mapping[str, str]
) -> Clauses:
    (table, after), every = at, (*clauses, *refused)
    found: dict[str, Tokens] = {}
    starts: dict[str, int] = {}
    while after < len(tokens):
        clause, begin = _clause_at(tokens, after, every)
        if clause in refused:
            raise invalid(text, refused[clause], tokens[after].start)
        if not clause:
            expected = f"one of {', '.join(clauses)} is" if clauses else "nothing is"
            raise invalid(text, f"{expected} expected after the table", tokens[after].start)
        if clause in found:
            raise invalid(text, f"{clause} is there already", tokens[after].start)
        after = _end(tokens, begin, every)
        found[clause], starts[clause] = tokens[begin:after], end_of(tokens[begin - 1])
    return Clauses(text, table, found, starts)


def invalid(text: str, reason: str, position: int) -> StatementError:
    position, text = len(redacted(text[:position])), redacted(text)
    return StatementError(
        f"the command {text!r} cannot be read at position {position}: {reason}",
        statement=text,
        reason=reason,
        position=position,
    )


def table_at(
    tokens: Tokens, place: int, clauses: Sequence[str], *, names_in_backquotes: bool
) -> tuple[Table, int] | None:
    """A table by its path, which is in quotes, or by its name, and the place after it; None if there is neither."""
    if place < len(tokens) and tokens[place].token_type in STRINGS:
        return TablePath(tokens[place].text), place + 1
    if place >= len(tokens) or not is_name(tokens[place]) or _clause_at(tokens, place, clauses)[0]:
        return None
    last = place
    while last + 2 < len(tokens) and tokens[last + 1].token_type == TokenType.DOT and is_name(tokens[last + 2]):
        last += 2
    match tokens[place : last + 1 : 2]:
        case [path] if path.token_type == TokenType.IDENTIFIER and not names_in_backquotes:
            return TablePath(path.text), last + 1
        case [source, path] if word(source) == _SOURCE and path.token_type == TokenType.IDENTIFIER:
            return TablePath(path.text), last + 1
        case parts:
            return TableName(tuple(part.text for part in parts)), last + 1


def _separated(tokens: Tokens) -> list[Tokens]:
    """The tokens between commas."""
    commas = [place for place, token in enumerate(tokens) if token.token_type == TokenType.COMMA]
    return [tokens[first + 1 : last] for first, last in pairwise([-1, *commas, len(tokens)])]


def _end(tokens: Tokens, place: int, clauses: Sequence[str]) -> int:
    """The end of the clause whose keywords end here: the next clause outside of parentheses."""
    depth = 0
    for at in range(place, len(tokens)):
        if depth == 0 and _clause_at(tokens, at, clauses)[0]:
            return at
        depth += (tokens[at].token_type in OPENS) - (tokens[at].token_type in CLOSES)
    return len(tokens)


def _clause_at(tokens: Tokens, place: int, clauses: Sequence[str]) -> tuple[str, int]:
    """The clause that starts here, or "", and the place after its keywords."""
    for clause in clauses:
        for after in range(place + 1, min(place + 1 + len(clause.split()), len(tokens) + 1)):
            if " ".join(word(token) for token in tokens[place:after]) == clause and not _is_call(tokens, clause, after):
                return clause, after
    return "", place


def _is_call(tokens: Tokens, clause: str, after: int) -> bool:
    """COALESCE is also a function, which has arguments."""
    return clause == "COALESCE" and after < len(tokens) and tokens[after].token_type == TokenType.L_PAREN
