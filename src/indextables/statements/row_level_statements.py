"""DELETE FROM, UPDATE and MERGE INTO in SQL: the text is split at its keywords, and becomes a value of `row_changes`.

Conditions, values and sources stay text, because Spark evaluates more than other parsers read. That is why the keywords are
found among the tokens, and not in a syntax tree of sqlglot: there, expressions have no places, and those of Spark's that
sqlglot does not know are errors. Other table formats have these statements too: whoever runs one looks whose the table is.
"""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlglot.tokenizer_core import TokenType

from indextables.errors import UnsupportedOperatorError, UnsupportedStatementError
from indextables.redaction import redacted
from indextables.statements.clauses import table_at
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
from indextables.statements.tokens import Span, is_name, word

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
    before: Span
    after: Span | None
    with_clause: str

    @classmethod
    def of(cls, text: str) -> "RowLevelText | None":
        """None for other statements."""
        span = Span.of(text if _VERBS.search(text) else "")
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
        found = None if self.after is None else _table_at_start(self.after)
        return None if found is None else found[0]

    def parse(self, *, case_sensitive: bool = False) -> RowLevelStatement:
        """The statement; an error says what is wrong with it."""
        if self.after is None:
            raise self.before.invalid("INTO is expected")
        if (found := _table_at_start(self.after)) is None:
            raise self.after.invalid("the name of a table, or indextables.`path`, is expected")
        (table, rest), source = found, ""
        match self.verb:
            case "DELETE":
                alias, where = rest.partition("WHERE")
                condition = "true" if where is None else _condition(where, "a condition after WHERE")
                columns = _TargetColumns.of(table, _alias(alias), Delete.name, case_sensitive=case_sensitive)
                change: RowChange = Delete(where=condition, alias=columns.alias)
            case "UPDATE":
                alias, rest = rest.divide("SET")
                assignments, where = rest.partition("WHERE")
                columns = _TargetColumns.of(table, _alias(alias), Update.name, case_sensitive=case_sensitive)
                change = Update(
                    assignments=columns.assignments(assignments),
                    where=None if where is None else _condition(where, "a condition after WHERE"),
                    alias=columns.alias,
                )
            case _:
                if self.before.words(5) not in (["MERGE"], ["MERGE", "WITH", "SCHEMA", "EVOLUTION"]):
                    raise self.before.invalid("MERGE INTO or MERGE WITH SCHEMA EVOLUTION INTO is expected")
                alias, rest = rest.divide("USING")
                using, rest = rest.divide("ON")
                columns = _TargetColumns.of(table, _alias(alias), Merge.name, case_sensitive=case_sensitive)
                source, evolves = _text(using, "a table or a query after USING"), len(self.before) > 1
                change = replace(_merge(rest, columns), source_alias=_source_alias(using), merge_schema=evolves)
        return RowLevelStatement(table, change, source, self.with_clause)


def _merge(rest: Span, columns: "_TargetColumns") -> Merge:
    """The merge after ON."""
    on, *whens = rest.split("WHEN")
    if not whens:
        raise rest.incomplete("WHEN MATCHED or WHEN NOT MATCHED is expected")
    clauses = tuple(_clause(when, columns) for when in whens)
    if (number := unconditional_too_early(clauses)) is not None:
        raise whens[number].invalid(f"only the last {clauses[number].when} clause may be without a condition")
    return Merge(on=_condition(on, "a condition after ON"), clauses=clauses, alias=columns.alias)


def _clause(span: Span, columns: "_TargetColumns") -> Clause:
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
    predicate = _condition(condition.skip(1), "a condition after AND") if len(condition) else None
    return replace(_action(when, action, columns), predicate=predicate)


def _action(when: When, span: Span, columns: "_TargetColumns") -> Clause:
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

    def assignments(self, span: Span) -> tuple[Assignment, ...]:
        """The assignments after SET."""
        pairs = [part.divide("=", expected="column = value") for part in span.split(",")]
        columns = [self.column(name) for name, _ in pairs]
        if (twice := self.repeated(columns)) is not None:
            raise span.invalid(f"column {twice} is set twice")
        return tuple(map(Assignment, columns, [_value(value, "a value after =") for _, value in pairs]))

    def values(self, span: Span) -> tuple[Assignment, ...]:
        """The columns and values after INSERT."""
        names, rest = span.divide("VALUES")
        values = [_value(part, "a value") for part in _parts(rest)]
        columns = [self.column(name) for name in _parts(names)] if len(names) else []
        if columns and len(columns) != len(values):
            raise rest.invalid(f"there are {len(columns)} columns and {len(values)} values")
        if self.repeated(columns) is not None:
            raise span.invalid("INSERT names a column twice")
        named: list[str | None] = [*columns] or [None for _ in values]
        return tuple(Assignment(column, value) for column, value in zip(named, values, strict=True))

    def column(self, span: Span) -> str:
        """The name of a column, which is set as a whole."""
        names, dots = span.own[::2], span.own[1::2]
        is_dotted = len(names) > len(dots) and all(dot.token_type == TokenType.DOT for dot in dots)
        if not is_dotted or not all(map(is_name, names)):
            raise span.invalid("the name of a column is expected")
        *qualifier, name = (token.text for token in names)
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


def _text(span: Span, expected: str) -> str:
    if not span:
        raise span.invalid(f"{expected} is expected")
    return span.sql()


def _value(span: Span, expected: str) -> str:
    """The text of a value; columns have no defaults."""
    return "NULL" if span.words(2) == ["DEFAULT"] else _text(span, expected)


def _condition(span: Span, expected: str) -> str:
    """The text of a condition, which must have the same value when it is evaluated again."""
    text = _text(span, expected)
    for token, after in pairwise(span.own):
        if word(token) in _NON_DETERMINISTIC and after.token_type == TokenType.L_PAREN:
            name, shown = token.text.lower(), redacted(text)
            reason = f"{name}() has another value each time that it is evaluated"
            raise UnsupportedOperatorError(
                f"the condition {shown!r} cannot be used, because {reason}; compute it before, and compare a column",
                predicate=shown,
                reason=reason,
                operator=name,
                position=token.start - span.own[0].start,
            )
    return text


def _parts(span: Span) -> list[Span]:
    """The parts of a list in parentheses."""
    if not span.inner:
        raise span.invalid("a list in parentheses is expected")
    return span.inner.split(",")


def _table_at_start(span: Span) -> tuple[Table, Span] | None:
    """The table that stands first, and the rest."""
    found = table_at(span.tokens, span.start, (), names_in_backquotes=True)
    return None if found is None else (found[0], replace(span, start=min(found[1], span.end)))


def _alias(span: Span) -> str | None:
    """The alias of the table, if there is one: nothing else may stand there."""
    names = span.skip(1).own if span.words(1) == ["AS"] else span.own
    if span and (len(names) != 1 or not is_name(names[0])):
        raise span.invalid("nothing but an alias is expected after the table")
    return names[0].text if names else None


def _source_alias(span: Span) -> str | None:
    """How the columns of the source are qualified: by its alias, or else by the name of the table."""
    outside = [span.tokens[place] for place in span.outside()]
    if outside:
        return outside[-1].text if is_name(outside[-1]) else None
    return _source_alias(span.inner) if span.inner and span.inner.words(1)[0] not in _QUERIES else None
