"""DELETE FROM, UPDATE and MERGE INTO in SQL: the text is split at its keywords, and becomes a value of `row_changes`.

Conditions, values and sources stay text, because Spark evaluates more than other parsers read. That is why the keywords are
found among the tokens, and not in a syntax tree of sqlglot: there, expressions have no places, and those of Spark's that
sqlglot does not know are errors. Other table formats have these statements too: whoever runs one looks whose the table is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from indextables.errors import StatementError, UnsupportedOperatorError, UnsupportedStatementError
from indextables.redaction import redacted
from indextables.statements.clauses import invalid, table_at
from indextables.statements.command_values import Table, TableName
from indextables.statements.row_changes import (
    Action,
    Assignment,
    Clause,
    Delete,
    Merge,
    RowChange,
    Update,
    When,
    unconditional_too_early,
)
from indextables.statements.tokens import CLOSES, OPENS, Tokens, end_of, is_name, tokens_of, word

_VERBS = re.compile(r"\b(DELETE|UPDATE|MERGE)\b", re.IGNORECASE)
_PREPOSITIONS = {"DELETE": "FROM", "UPDATE": "UPDATE", "MERGE": "INTO"}
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"})
_NON_DETERMINISTIC = frozenset(
    """RAND RANDOM RANDN RANDSTR UNIFORM UUID SHUFFLE MONOTONICALLY_INCREASING_ID SPARK_PARTITION_ID INPUT_FILE_NAME
    INPUT_FILE_BLOCK_START INPUT_FILE_BLOCK_LENGTH""".split()  # noqa: SIM905
)
_ACTIONS = {
    When.MATCHED: "UPDATE SET, UPDATE SET * or DELETE",
    When.NOT_MATCHED: "INSERT (columns) VALUES (values) or INSERT *",
    When.NOT_MATCHED_BY_SOURCE: "UPDATE SET or DELETE",
}


@dataclass(frozen=True, slots=True)
class RowLevelStatement:
    """A change of rows in SQL.

    `source` is that of a MERGE, a table or a query as it stands after USING, with its alias. `with_clause` is the text of
    the common table expressions before the statement, or empty.
    """

    table: Table
    change: RowChange
    source: str = ""
    with_clause: str = ""


@dataclass(frozen=True, slots=True)
class RowLevelText:
    """The text of such a statement: `before` and `after` are what stands around FROM, UPDATE or INTO.

    >>> RowLevelText.of("DELETE FROM logs AS l WHERE l.level = 'DEBUG'").parse()
    ... # doctest: +NORMALIZE_WHITESPACE
    RowLevelStatement(table=TableName(parts=('logs',)),
                      change=Delete(where="l.level = 'DEBUG'", query=None, alias='l'), source='', with_clause='')
    >>> RowLevelText.of("SELECT 1")
    """

    verb: str
    before: "_Span"
    after: "_Span | None"
    with_clause: str

    @classmethod
    def of(cls, text: str) -> "RowLevelText | None":
        """None for other statements."""
        span = _Span.of(text if _VERBS.search(text) else "")
        if span.words(1) == ["WITH"]:
            verbs = (place for place in span.outside() if word(span.tokens[place]) in _PREPOSITIONS)
            span = replace(span, start=next(verbs, 0))
        match span.words(2):
            case ["DELETE", "FROM"] | ["UPDATE", _] | ["MERGE", "INTO" | "WITH"]:
                verb = span.words(1)[0]
                return cls(verb, *span.partition(_PREPOSITIONS[verb]), text[: span.tokens[span.start].start])
            case _:
                return None

    @property
    def table(self) -> Table | None:
        """The table that the statement changes, whether the rest of it can be read or not."""
        found = None if self.after is None else self.after.table_at_start()
        return None if found is None else found[0]

    def parse(self, *, case_sensitive: bool = False) -> RowLevelStatement:
        """The statement; an error says what is wrong with it."""
        if self.after is None:
            raise self.before.invalid("INTO is expected")
        if (found := self.after.table_at_start()) is None:
            raise self.after.invalid("the name of a table, or indextables.`path`, is expected")
        table, rest = found
        match self.verb:
            case "DELETE":
                alias, where = rest.partition("WHERE")
                condition = "true" if where is None else where.condition("a condition after WHERE")
                columns = _TargetColumns.of(table, alias.alias(), Delete.name, case_sensitive=case_sensitive)
                return RowLevelStatement(table, Delete(where=condition, alias=columns.alias), "", self.with_clause)
            case "UPDATE":
                alias, rest = rest.divide("SET")
                assignments, where = rest.partition("WHERE")
                columns = _TargetColumns.of(table, alias.alias(), Update.name, case_sensitive=case_sensitive)
                update = Update(
                    assignments=columns.assignments(assignments),
                    where=None if where is None else where.condition("a condition after WHERE"),
                    alias=columns.alias,
                )
                return RowLevelStatement(table, update, "", self.with_clause)
            case _:
                if self.before.words(5) not in (["MERGE"], ["MERGE", "WITH", "SCHEMA", "EVOLUTION"]):
                    raise self.before.invalid("MERGE INTO or MERGE WITH SCHEMA EVOLUTION INTO is expected")
                alias, rest = rest.divide("USING")
                source, rest = rest.divide("ON")
                columns = _TargetColumns.of(table, alias.alias(), Merge.name, case_sensitive=case_sensitive)
                merge = replace(
                    _merge(rest, columns), source_alias=source.alias_at_end(), merge_schema=len(self.before) > 1
                )
                text = source.sql("a table or a query after USING")
                return RowLevelStatement(table, merge, text, self.with_clause)


def _merge(rest: "_Span", columns: "_TargetColumns") -> Merge:
    """The merge after ON."""
    on, *whens = rest.split("WHEN")
    if not whens:
        raise rest.skip(len(rest)).invalid("WHEN MATCHED or WHEN NOT MATCHED is expected")
    clauses = tuple(_clause(when, columns) for when in whens)
    if (number := unconditional_too_early(clauses)) is not None:
        raise whens[number].invalid(f"only the last {clauses[number].when} clause may be without a condition")
    return Merge(on=on.condition("a condition after ON"), clauses=clauses, alias=columns.alias)


def _clause(span: "_Span", columns: "_TargetColumns") -> Clause:
    """The clause after WHEN."""
    match span.words(4):
        case ["MATCHED", *_]:
            when, rest = When.MATCHED, span.skip(1)
        case ["NOT", "MATCHED", "BY", "SOURCE"]:
            when, rest = When.NOT_MATCHED_BY_SOURCE, span.skip(4)
        case ["NOT", "MATCHED", "BY", "TARGET"]:
            when, rest = When.NOT_MATCHED, span.skip(4)
        case ["NOT", "MATCHED", *_]:
            when, rest = When.NOT_MATCHED, span.skip(2)
        case _:
            raise span.invalid("MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE is expected after WHEN")
    condition, action = rest.divide("THEN")
    if condition.words(1) not in ([], ["AND"]):
        raise condition.invalid(f"AND or THEN is expected after {when}")
    predicate = condition.skip(1).condition("a condition after AND") if len(condition) else None
    return replace(_action(when, action, columns), predicate=predicate)


def _action(when: When, span: "_Span", columns: "_TargetColumns") -> Clause:
    """The clause with what is after THEN."""
    inserts = when is When.NOT_MATCHED
    match span.words(4):
        case ["DELETE"] if not inserts:
            return Clause(when, Action.DELETE)
        case ["UPDATE", "SET", "*"] if when is When.MATCHED:
            return Clause(when, Action.UPDATE)
        case ["UPDATE", "SET", _, *_] if not inserts:
            return Clause(when, Action.UPDATE, assignments=columns.assignments(span.skip(2)))
        case ["INSERT", "*"] if inserts:
            return Clause(when, Action.INSERT)
        case ["INSERT", *_] if inserts:
            return Clause(when, Action.INSERT, assignments=columns.values(span.skip(1)))
        case _:
            raise span.invalid(f"{_ACTIONS[when]} is expected after {when} ... THEN")


@dataclass(frozen=True, slots=True)
class _TargetColumns:
    """The columns that a statement sets: those of a table, before which its `alias` may stand, or the parts of its name."""

    table: Table
    alias: str | None
    qualifiers: frozenset[tuple[str, ...]]
    statement: str
    case_sensitive: bool

    @classmethod
    def of(cls, table: Table, alias: str | None, statement: str, *, case_sensitive: bool) -> "_TargetColumns":
        parts = table.parts if isinstance(table, TableName) and alias is None else ()
        names = [parts[first:] for first in range(len(parts))] or ([(alias,)] if alias else [])
        qualifiers = frozenset(tuple(map(str.lower, name)) for name in names)
        return cls(table, names[-1][-1] if names else None, qualifiers, statement, case_sensitive)

    def assignments(self, span: "_Span") -> tuple[Assignment, ...]:
        """The assignments after SET."""
        pairs = [part.divide("=", expected="column = value") for part in span.split(",")]
        columns = [self.column(name) for name, _ in pairs]
        if (twice := self.repeated(columns)) is not None:
            raise span.invalid(f"column {twice} is set twice")
        return tuple(map(Assignment, columns, [value.value("a value after =") for _, value in pairs]))

    def values(self, span: "_Span") -> tuple[Assignment, ...]:
        """The columns and values after INSERT."""
        names, rest = span.divide("VALUES")
        values = [part.value("a value") for part in rest.parts()]
        columns = [self.column(name) for name in names.parts()] if len(names) else []
        if columns and len(columns) != len(values):
            raise rest.invalid(f"there are {len(columns)} columns and {len(values)} values")
        if self.repeated(columns) is not None:
            raise span.invalid("INSERT names a column twice")
        named: list[str | None] = [*columns] or [None for _ in values]
        return tuple(Assignment(column, value) for column, value in zip(named, values, strict=True))

    def column(self, span: "_Span") -> str:
        """The name of a column, which is set as a whole."""
        *qualifier, name = span.name()
        if qualifier and tuple(map(str.lower, qualifier)) not in self.qualifiers:
            raise UnsupportedStatementError(
                f"{self.statement} cannot set {'.'.join([*qualifier, name])}: it sets columns as a whole, by the names that "
                "the table has",
                table=".".join(self.table.parts) if isinstance(self.table, TableName) else self.table.path,
                statement=self.statement,
            )
        return name

    def repeated(self, columns: list[str]) -> str | None:
        """The first name that is there again."""
        keys = [column if self.case_sensitive else column.lower() for column in columns]
        return next((columns[place] for place, key in enumerate(keys) if key in keys[place + 1 :]), None)


@dataclass(frozen=True, slots=True)
class _Span:
    """The tokens of a text from `start` to before `end`."""

    text: str
    tokens: Tokens
    start: int
    end: int

    @classmethod
    def of(cls, text: str) -> "_Span":
        tokens = tokens_of(text)
        is_closed = bool(tokens) and tokens[-1].token_type == TokenType.SEMICOLON
        return cls(text, tokens, 0, len(tokens) - is_closed)

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def own(self) -> Tokens:
        return self.tokens[self.start : self.end]

    def words(self, count: int) -> list[str]:
        """The first words."""
        return [word(token) for token in self.own[:count]]

    def skip(self, count: int) -> "_Span":
        return replace(self, start=min(self.start + count, self.end))

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
        """The word at a place; empty for a field, whatever it is called."""
        is_field = place > 0 and self.tokens[place - 1].token_type == TokenType.DOT
        return "" if is_field else word(self.tokens[place])

    def split(self, separator: str) -> list["_Span"]:
        """What stands before, between and after the separators."""
        found = [place for place in self.outside() if self.keyword(place) == separator]
        return [replace(self, start=one + 1, end=next_) for one, next_ in pairwise([self.start - 1, *found, self.end])]

    def partition(self, separator: str) -> tuple["_Span", "_Span | None"]:
        """What stands before and after the first separator."""
        first, *_ = self.split(separator)
        return first, None if first.end == self.end else replace(self, start=first.end + 1)

    def divide(self, separator: str, *, expected: str | None = None) -> tuple["_Span", "_Span"]:
        """The same, or an error."""
        before, after = self.partition(separator)
        if after is None:
            raise self.invalid(f"{expected or separator} is expected")
        return before, after

    def sql(self, expected: str) -> str:
        """The text."""
        if not self.own:
            raise self.invalid(f"{expected} is expected")
        return self.text[self.own[0].start : end_of(self.own[-1])]

    def value(self, expected: str) -> str:
        """The text of a value; columns have no defaults."""
        return "NULL" if self.words(2) == ["DEFAULT"] else self.sql(expected)

    def condition(self, expected: str) -> str:
        """The text of a condition, which must have the same value when it is evaluated again."""
        text = self.sql(expected)
        for token, after in pairwise(self.own):
            if word(token) in _NON_DETERMINISTIC and after.token_type == TokenType.L_PAREN:
                name, shown = token.text.lower(), redacted(text)
                reason = f"{name}() has another value each time that it is evaluated"
                raise UnsupportedOperatorError(
                    f"the condition {shown!r} cannot be used, because {reason}; compute it before, and compare a column",
                    predicate=shown,
                    reason=reason,
                    operator=name,
                    position=token.start - self.own[0].start,
                )
        return text

    def parts(self) -> list["_Span"]:
        """The parts of a list in parentheses."""
        kinds = [token.token_type for token in self.own]
        if len(kinds) < 3 or kinds[0] != TokenType.L_PAREN or kinds[-1] != TokenType.R_PAREN:  # noqa: PLR2004
            raise self.invalid("a list in parentheses is expected")
        return replace(self, start=self.start + 1, end=self.end - 1).split(",")

    def name(self) -> tuple[str, ...]:
        """The parts of the name of a column."""
        names, dots = self.own[::2], self.own[1::2]
        if (
            len(names) == len(dots)
            or {dot.token_type for dot in dots} - {TokenType.DOT}
            or not all(map(is_name, names))
        ):
            raise self.invalid("the name of a column is expected")
        return tuple(token.text for token in names)

    def table_at_start(self) -> tuple[Table, "_Span"] | None:
        """The table that stands first, and the rest."""
        found = table_at(self.tokens, self.start, (), names_in_backquotes=True)
        return None if found is None else (found[0], replace(self, start=min(found[1], self.end)))

    def alias(self) -> str | None:
        """The alias of the table, if there is one: nothing else may stand there."""
        names = self.skip(1).own if self.words(1) == ["AS"] else self.own
        if self.own and (len(names) != 1 or not is_name(names[0])):
            raise self.invalid("nothing but an alias is expected after the table")
        return names[0].text if names else None

    def alias_at_end(self) -> str | None:
        """How the columns of a source are qualified: by its alias, or else by the name of the table."""
        outside = [self.tokens[place] for place in self.outside()]
        if outside:
            return outside[-1].text if is_name(outside[-1]) else None
        inner = replace(self, start=self.start + 1, end=self.end - 1)
        return inner.alias_at_end() if inner.own and inner.words(1)[0] not in _QUERIES else None

    def invalid(self, reason: str) -> StatementError:
        """The error at the end of the token before."""
        return invalid(self.text, reason, end_of(self.tokens[max(0, self.start - 1)]))
