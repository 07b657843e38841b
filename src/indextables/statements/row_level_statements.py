"""DELETE FROM, UPDATE and MERGE INTO, split into their parts by tokens; conditions and expressions stay text.

They are statements of Spark's SQL, and of several table formats: whoever runs them decides whether the table is ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import StatementError, UnsupportedOperatorError
from indextables.redaction import redacted
from indextables.statements.clauses import invalid, is_name, table_at
from indextables.statements.command_values import Table
from indextables.statements.tokens import Tokens, end_of, tokens_of, word

_OPENS = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSES = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"})
_NON_DETERMINISTIC = frozenset(
    """RAND RANDOM RANDN RANDSTR UNIFORM UUID SHUFFLE MONOTONICALLY_INCREASING_ID SPARK_PARTITION_ID INPUT_FILE_NAME
    INPUT_FILE_BLOCK_START INPUT_FILE_BLOCK_LENGTH""".split()  # noqa: SIM905
)


class When(Enum):
    """Which rows a clause of MERGE INTO is about."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; the column as the parts of its name, the value as text."""

    column: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class UpdateSet:
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class UpdateAll:
    """UPDATE SET *."""


@dataclass(frozen=True, slots=True)
class DeleteRow:
    """DELETE."""


@dataclass(frozen=True, slots=True)
class InsertRow:
    """`INSERT (columns) VALUES (values)`; without columns, the values are for all columns of the table in their order."""

    columns: tuple[tuple[str, ...], ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InsertAll:
    """INSERT *."""


Action: TypeAlias = UpdateSet | UpdateAll | DeleteRow | InsertRow | InsertAll


@dataclass(frozen=True, slots=True)
class MergeClause:
    when: When
    condition: str | None
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFrom:
    """`with_clause` is the text of the common table expressions before the statement, or empty."""

    table: Table
    alias: str | None = None
    where: str | None = None
    with_clause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTable:
    table: Table
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: str | None = None
    with_clause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeInto:
    """`source` is a table or a query as it stands after FROM, with its alias; `source_alias` qualifies its columns."""

    table: Table
    source: str
    on: str
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    schema_evolution: bool = False
    with_clause: str = ""


RowLevelStatement: TypeAlias = DeleteFrom | UpdateTable | MergeInto


def parse_row_level(text: str) -> RowLevelStatement | None:
    """The statement in a text; None if it is another one.

    >>> parse_row_level("DELETE FROM logs AS l WHERE l.level = 'DEBUG'")
    ... # doctest: +NORMALIZE_WHITESPACE
    DeleteFrom(table=TableName(parts=('logs',)), alias='l', where="l.level = 'DEBUG'", with_clause='')
    >>> parse_row_level("SELECT 1")
    """
    parser = _Parser.of(text)
    first = parser.after_with_clause()
    match parser.verb(first):
        case ["DELETE", "FROM"]:
            return parser.delete(first)
        case ["UPDATE", _]:
            return parser.update(first)
        case ["MERGE", "INTO" | "WITH"]:
            return parser.merge(first)
        case _:
            return None


def changed_table(text: str) -> Table | None:
    """The table that a statement changes, whether the rest of it can be read or not; None for other statements."""
    parser = _Parser.of(text)
    first = parser.after_with_clause()
    match parser.verb(first):
        case ["DELETE", "FROM"]:
            place: int | None = first + 2
        case ["UPDATE", _]:
            place = first + 1
        case ["MERGE", "INTO" | "WITH"]:
            into = parser.find("INTO", first)
            place = None if into is None else into + 1
        case _:
            return None
    found = None if place is None else table_at(parser.tokens, place, (), names_in_backquotes=True)
    return None if found is None else found[0]


def refuse_non_deterministic(*conditions: str | None) -> None:
    """Refuses a condition whose value may be another one when it is evaluated again."""
    for condition in conditions:
        tokens = tokens_of(condition or "")
        for token, after in pairwise(tokens):
            if word(token) in _NON_DETERMINISTIC and after.token_type == TokenType.L_PAREN:
                name, text = token.text.lower(), redacted(condition or "")
                reason = f"{name}() has another value each time that it is evaluated"
                raise UnsupportedOperatorError(
                    f"the condition {text!r} cannot be used, because {reason}; compute it before, and compare a column",
                    predicate=text,
                    reason=reason,
                    operator=name,
                    position=token.start,
                )


def qualify_columns(text: str, names: frozenset[str], qualifier: str) -> str:
    """The expression with a qualifier before those of its columns that have one of the names (in lower case) and no other.

    >>> qualify_columns("id + t.id + length(id)", frozenset({"id"}), "`s`")
    '`s`.id + t.id + length(`s`.id)'
    """
    tokens = tokens_of(text)
    if any(word(token) in {"SELECT", "->"} for token in tokens):
        return text  # names inside may be those of other tables, or of parameters
    found = [place for place, token in enumerate(tokens) if _is_plain_column(tokens, place, token, names)]
    for place in reversed(found):
        start = tokens[place].start
        text = f"{text[:start]}{qualifier}.{text[start:]}"
    return text


def without_qualifier(text: str, qualifier: str) -> str:
    """The condition with `name` in the place of `qualifier.name`.

    >>> without_qualifier("T.id = 7 AND x.t.a = 1", "t")
    'id = 7 AND x.t.a = 1'
    """
    tokens = tokens_of(text)
    for place in range(len(tokens) - 2, -1, -1):
        is_first = place == 0 or tokens[place - 1].token_type != TokenType.DOT
        if is_first and is_name(tokens[place]) and tokens[place].text.lower() == qualifier.lower():
            after = tokens[place + 1]
            if after.token_type == TokenType.DOT and place + 2 < len(tokens):
                text = text[: tokens[place].start] + text[tokens[place + 2].start :]
    return text


def _is_plain_column(tokens: Tokens, place: int, token: Token, names: frozenset[str]) -> bool:
    if not is_name(token) or token.text.lower() not in names:
        return False
    before = tokens[place - 1].token_type if place else None
    after = tokens[place + 1].token_type if place + 1 < len(tokens) else None
    return before != TokenType.DOT and after not in {TokenType.L_PAREN, TokenType.DOT}


@dataclass(frozen=True, slots=True)
class _Parser:
    text: str
    tokens: Tokens

    @classmethod
    def of(cls, text: str) -> "_Parser":
        tokens = tokens_of(text)
        if tokens and tokens[-1].token_type == TokenType.SEMICOLON:
            tokens.pop()
        return cls(text, tokens)

    def verb(self, first: int) -> list[str]:
        return [word(token) for token in self.tokens[first : first + 2]]

    def delete(self, first: int) -> DeleteFrom:
        table, after = self.table(first + 2)
        where = self.find("WHERE", after)
        alias = self.alias(after, len(self.tokens) if where is None else where)
        condition = None if where is None else self.between(where + 1, len(self.tokens), "a condition after WHERE")
        return DeleteFrom(table=table, alias=alias, where=condition, with_clause=self.before(first))

    def update(self, first: int) -> UpdateTable:
        table, after = self.table(first + 1)
        set_ = self.expect("SET", after)
        where = self.find("WHERE", set_ + 1)
        last = len(self.tokens) if where is None else where
        return UpdateTable(
            table=table,
            assignments=self.assignments(set_ + 1, last),
            alias=self.alias(after, set_),
            where=None if where is None else self.between(where + 1, len(self.tokens), "a condition after WHERE"),
            with_clause=self.before(first),
        )

    def merge(self, first: int) -> MergeInto:
        into = self.expect("INTO", first)
        evolves = [word(token) for token in self.tokens[first + 1 : into]]
        if " ".join(evolves) not in {"", "WITH SCHEMA EVOLUTION"}:
            raise self.invalid("MERGE INTO or MERGE WITH SCHEMA EVOLUTION INTO is expected", first)
        table, after = self.table(into + 1)
        using = self.expect("USING", after)
        on = self.expect("ON", using + 1)
        whens = [place for place in self.outside(on + 1, len(self.tokens)) if self.word(place) == "WHEN"]
        if not whens:
            raise self.invalid("WHEN MATCHED or WHEN NOT MATCHED is expected", len(self.tokens) - 1)
        ends = [*whens[1:], len(self.tokens)]
        clauses = tuple(self.clause(start, end) for start, end in zip(whens, ends, strict=True))
        self.refuse_unreachable(clauses, whens)
        return MergeInto(
            table=table,
            source=self.between(using + 1, on, "a table or a query after USING"),
            on=self.between(on + 1, whens[0], "a condition after ON"),
            clauses=clauses,
            alias=self.alias(after, using),
            source_alias=self.source_alias(using + 1, on),
            schema_evolution=bool(evolves),
            with_clause=self.before(first),
        )

    def clause(self, start: int, end: int) -> MergeClause:
        when, after = self.when(start)
        then = self.expect("THEN", after, end)
        condition = None
        if after < then:
            if self.word(after) != "AND":
                raise self.invalid(f"AND or THEN is expected after {when.value}", after)
            condition = self.between(after + 1, then, "a condition after AND")
        return MergeClause(when, condition, self.action(when, then + 1, end))

    def when(self, start: int) -> tuple[When, int]:
        """What a clause is about, and the place after it."""
        match [self.word(place) for place in range(start + 1, start + 5)]:
            case ["MATCHED", *_]:
                return When.MATCHED, start + 2
            case ["NOT", "MATCHED", "BY", "SOURCE"]:
                return When.NOT_MATCHED_BY_SOURCE, start + 5
            case ["NOT", "MATCHED", "BY", "TARGET"]:
                return When.NOT_MATCHED, start + 5
            case ["NOT", "MATCHED", *_]:
                return When.NOT_MATCHED, start + 3
        raise self.invalid("MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE is expected after WHEN", start)

    def action(self, when: When, start: int, end: int) -> Action:
        inserts = when is When.NOT_MATCHED
        match [self.word(place) for place in range(start, min(start + 3, end))]:
            case ["DELETE"] if not inserts and end == start + 1:
                return DeleteRow()
            case ["UPDATE", "SET", "*"] if when is When.MATCHED and end == start + 3:
                return UpdateAll()
            case ["UPDATE", "SET", _] if not inserts:
                return UpdateSet(self.assignments(start + 2, end))
            case ["INSERT", "*"] if inserts:
                return InsertAll()
            case ["INSERT", *_] if inserts:
                return self.insert(start, end)
        expected = {
            When.MATCHED: "UPDATE SET, UPDATE SET * or DELETE",
            When.NOT_MATCHED: "INSERT (columns) VALUES (values) or INSERT *",
            When.NOT_MATCHED_BY_SOURCE: "UPDATE SET or DELETE",
        }[when]
        raise self.invalid(f"{expected} is expected after {when.value} ... THEN", start - 1)

    def insert(self, start: int, end: int) -> InsertRow:
        values = self.expect("VALUES", start, end)
        columns = tuple(self.name(*part) for part in self.listed(start + 1, values)) if values > start + 1 else ()
        texts = tuple(self.between(*part, "a value") for part in self.listed(values + 1, end))
        if columns and len(columns) != len(texts):
            raise self.invalid(f"there are {len(columns)} columns and {len(texts)} values", values)
        return InsertRow(columns, texts)

    def assignments(self, start: int, end: int) -> tuple[Assignment, ...]:
        found = []
        for first, last in self.parts(start, end):
            equals = next((place for place in self.outside(first, last) if self.kind(place) == TokenType.EQ), None)
            if equals is None:
                raise self.invalid("column = value is expected after SET", first - 1)
            found.append(Assignment(self.name(first, equals), self.between(equals + 1, last, "a value after =")))
        return tuple(found)

    def name(self, start: int, end: int) -> tuple[str, ...]:
        """The parts of the name of a column."""
        tokens = self.tokens[start:end]
        dots = all((t.token_type == TokenType.DOT) == (place % 2 == 1) for place, t in enumerate(tokens))
        if len(tokens) % 2 == 0 or not dots or not all(is_name(token) for token in tokens[::2]):
            raise self.invalid("the name of a column is expected", start - 1)
        return tuple(token.text for token in tokens[::2])

    def listed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of a list in parentheses."""
        if self.kind(start) != TokenType.L_PAREN or self.kind(end - 1) != TokenType.R_PAREN or end - start < 3:  # noqa: PLR2004
            raise self.invalid("a list in parentheses is expected", start - 1)
        return self.parts(start + 1, end - 1)

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """What stands between commas."""
        commas = [place for place in self.outside(start, end) if self.kind(place) == TokenType.COMMA]
        return zip([start, *(comma + 1 for comma in commas)], [*commas, end], strict=True)

    def table(self, place: int) -> tuple[Table, int]:
        found = table_at(self.tokens, place, (), names_in_backquotes=True)
        if found is None:
            raise self.invalid("the name of a table, or indextables.`path`, is expected", place - 1)
        return found

    def alias(self, start: int, end: int) -> str | None:
        """The alias of the table, if there is one: nothing else may stand there."""
        place = start + (self.word(start) == "AS" and start < end)
        if place == start == end:
            return None
        if place + 1 != end or not is_name(self.tokens[place]):
            raise self.invalid("nothing but an alias is expected after the table", start - 1)
        return self.tokens[place].text

    def source_alias(self, start: int, end: int) -> str | None:
        """How the columns of the source are qualified: by its alias, or else by the name of the table."""
        last = end - 1
        if self.kind(last) == TokenType.R_PAREN:
            opening = self.opening(last)
            if opening == start:
                is_query = self.word(start + 1) in _QUERIES
                return None if is_query else self.source_alias(start + 1, last)
            last = opening - 1  # AS s (a, b)
        return self.tokens[last].text if last >= start and is_name(self.tokens[last]) else None

    def opening(self, place: int) -> int:
        depth = 0
        for at in range(place, -1, -1):
            depth += (self.kind(at) in _CLOSES) - (self.kind(at) in _OPENS)
            if depth == 0:
                return at
        raise self.invalid("this parenthesis is not opened", place)

    def refuse_unreachable(self, clauses: Sequence[MergeClause], places: Sequence[int]) -> None:
        """Only the last clause of its kind may be without a condition: those after it would never apply."""
        for number, clause in enumerate(clauses):
            if clause.condition is None and any(later.when is clause.when for later in clauses[number + 1 :]):
                reason = f"only the last {clause.when.value} clause may be without a condition"
                raise self.invalid(reason, places[number])

    def after_with_clause(self) -> int:
        """The place after the common table expressions that a statement may begin with."""
        if not self.tokens or self.word(0) != "WITH":
            return 0
        verbs = {"DELETE", "UPDATE", "MERGE"}
        return next((place for place in self.outside(1, len(self.tokens)) if self.word(place) in verbs), 0)

    def before(self, place: int) -> str:
        return self.text[: self.tokens[place].start]

    def expect(self, name: str, start: int, end: int | None = None) -> int:
        place = self.find(name, start, end)
        if place is None:
            raise self.invalid(f"{name} is expected", min(start, len(self.tokens)) - 1)
        return place

    def find(self, name: str, start: int, end: int | None = None) -> int | None:
        """The place of a keyword outside of parentheses and CASE ... END."""
        found = self.outside(start, len(self.tokens) if end is None else end)
        return next((place for place in found if self.word(place) == name), None)

    def outside(self, start: int, end: int) -> Iterator[int]:
        """The places outside of parentheses and CASE ... END."""
        depth = 0
        for place in range(start, end):
            opens, closes = self.nesting(place)
            depth -= closes
            if depth == 0 and not opens and not closes:
                yield place
            depth += opens

    def nesting(self, place: int) -> tuple[bool, bool]:
        kind, is_field = self.kind(place), place > 0 and self.kind(place - 1) == TokenType.DOT
        opens = kind in _OPENS or (self.word(place) == "CASE" and not is_field)
        return opens, kind in _CLOSES or (self.word(place) == "END" and not is_field)

    def between(self, start: int, end: int, expected: str) -> str:
        if start >= end:
            raise self.invalid(f"{expected} is expected", start - 1)
        return self.text[self.tokens[start].start : end_of(self.tokens[end - 1])]

    def word(self, place: int) -> str:
        return word(self.tokens[place]) if place < len(self.tokens) else ""

    def kind(self, place: int) -> TokenType | None:
        return self.tokens[place].token_type if place < len(self.tokens) else None

    def invalid(self, reason: str, place: int) -> StatementError:
        """The error after a token."""
        return invalid(self.text, reason, end_of(self.tokens[max(0, min(place, len(self.tokens) - 1))]))
