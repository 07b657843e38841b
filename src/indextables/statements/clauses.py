"""The table of a command and the clauses after it, in any order, each at most once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot.tokenizer_core import TokenType

from indextables.errors import StatementError
from indextables.statements.command_values import Table, TableName, TablePath
from indextables.statements.tokens import CLOSES, OPENS, STRINGS, Span, Tokens, is_name, word

_T = TypeVar("_T")
_SOURCE = "INDEXTABLES"


@dataclass(frozen=True, slots=True)
class Clauses:
    """The table of a command and its clauses: the tokens of each clause, without its keywords."""

    table: Table
    found: Mapping[str, Span]

    def flag(self, clause: str) -> bool:
        """Whether a clause without a value is present."""
        span = self.found.get(clause)
        if span:
            raise span.invalid_at(span.own[0].start, f"nothing is expected after {clause} but other clauses")
        return span is not None

    def value(self, clause: str, parse: Callable[[str], _T]) -> _T | None:
        """The value of a clause, in quotes or not, as `parse` reads it; a ValueError says what is expected."""
        span = self._given(clause)
        if span is None:
            return None
        try:
            return parse(span.sql() if len(span) > 1 else span.own[0].text)
        except ValueError as error:
            raise span.invalid_at(span.own[0].start, f"after {clause} {error} is expected") from None

    def condition(self, clause: str) -> str | None:
        """The text of a condition."""
        span = self._given(clause)
        return None if span is None else span.sql()

    def terms(self, clause: str) -> str | None:
        """The text between the parentheses after a clause."""
        inner = self._inner(clause)
        return None if inner is None else inner.sql()

    def names(self, clause: str) -> tuple[str, ...]:
        """The columns between the parentheses after a clause; none without the clause."""
        inner = self._inner(clause)
        parts = [] if inner is None else inner.split(",")
        if any(len(part) != 1 or not is_name(part.own[0]) for part in parts):
            raise self._expected(clause, "names of columns, with commas between them, are")
        return tuple(part.own[0].text for part in parts)

    def column(self, clause: str, *between: str) -> tuple[str, str]:
        """The name of a column and, after the words in `between`, its type."""
        span, kind = self.found[clause], self.found[clause].skip(1 + len(between))
        if not kind or not is_name(span.own[0]) or span.skip(1).words(len(between)) != list(between):
            raise self._expected(clause, f"{' '.join(['a column', *between, 'type'])} is")
        return span.own[0].text, kind.sql()

    def column_names(self, clause: str, *between: str) -> tuple[str, ...]:
        """The name of a column and, after the words in `between`, if there are any, that of another."""
        span, wanted = self.found[clause], ["a column", *between, "another name"] if between else ["a column"]
        names = [*span.own[:1], *span.own[1 + len(between) :]]
        is_between = span.skip(1).words(len(between)) == list(between)
        if len(span) != len(wanted) or not is_between or not all(map(is_name, names)):
            raise self._expected(clause, f"{' '.join(wanted)} is")
        return tuple(token.text for token in names)

    def assignments(self, clause: str) -> tuple[tuple[str, str], ...]:
        """Pairs of a column and a word or text, `a = text, b = 'string'`, with or without parentheses around them."""
        span = self.found[clause]
        found: dict[str, str] = {}
        for part in (span.inner or span).split(","):
            name, value = part.partition("=")
            if len(name) != 1 or not is_name(name.own[0]) or not value:
                raise self._expected(clause, "column = value, with commas between them, is")
            column = name.own[0].text
            if column.lower() in map(str.lower, found):
                raise span.invalid(f"after {clause} a column is there twice")
            found[column] = value.own[0].text if len(value) == 1 else value.sql()
        return tuple(found.items())

    def _given(self, clause: str) -> Span | None:
        """What is after a clause, which is not empty."""
        span = self.found.get(clause)
        if span is not None and not span:
            raise span.invalid(f"there is nothing after {clause}")
        return span

    def _inner(self, clause: str) -> Span | None:
        """What is in the parentheses after a clause."""
        span = self.found.get(clause)
        if span is not None and span.inner is None:
            raise self._expected(clause, "a list in parentheses is")
        return None if span is None else span.inner

    def _expected(self, clause: str, what: str) -> StatementError:
        return self.found[clause].invalid(f"after {clause} {what} expected")


def parse_clauses(span: Span, place: int, clauses: Sequence[str] = ()) -> Clauses:
    """The table at a place, and the clauses after it, which must be among those given."""
    at = table_at(span.own, place, clauses, names_in_backquotes=False)
    if at is None:
        raise span.skip(place).invalid("the path of a table, in quotes, or its name is expected")
    return _clauses(span, at, clauses, {})


def parse_clauses_of_ours(
    span: Span,
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
    at = table_at(span.own, place, (*clauses, *(refused or {})), names_in_backquotes=True)
    return _clauses(span, at, clauses, refused or {}) if at is not None and is_ours(at[0]) else None


def _clauses(span: Span, at: tuple[Table, int], clauses: Sequence[str], refused: Mapping[str, str]) -> Clauses:
    (table, after), tokens, every = at, span.own, (*clauses, *refused)
    found: dict[str, Span] = {}
    while after < len(tokens):
        (clause, begin), position = _clause_at(tokens, after, every), tokens[after].start
        if clause in refused:
            raise span.invalid_at(position, refused[clause])
        if not clause:
            expected = f"one of {', '.join(clauses)} is" if clauses else "nothing is"
            raise span.invalid_at(position, f"{expected} expected after the table")
        if clause in found:
            raise span.invalid_at(position, f"{clause} is there already")
        after = _end(tokens, begin, every)
        found[clause] = replace(span, start=span.start + begin, end=span.start + after)
    return Clauses(table, found)


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
