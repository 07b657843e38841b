"""DELETE, UPDATE and MERGE as values: what statements of SQL are parsed to, and what the methods of a table make.

Conditions and values are the SQL text of their author: whoever runs a change evaluates them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from indextables.errors import SchemaError, StatementError
from indextables.predicate import Predicate


class When(StrEnum):
    """Which rows a clause of MERGE is about."""

    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


class Action(StrEnum):
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; the column is None in VALUES without a list of columns: it is the one at the same place."""

    column: str | None
    value: str

    def __str__(self) -> str:
        return self.value if self.column is None else f"{self.column} = {self.value}"


@dataclass(frozen=True, slots=True)
class Clause:
    """What happens to some rows. Without assignments, an UPDATE or INSERT takes all columns of the source but `excepted`."""

    when: When
    action: Action
    predicate: str | None = None
    assignments: tuple[Assignment, ...] | None = None
    excepted: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        return self.action is not Action.DELETE and self.assignments is None

    def assigns(self, column: str, *, alias: str | None = None) -> bool:
        """Whether a column gets a value, by its name with or without the alias of the table, in any letter case."""
        if self.takes_all:
            return column.lower() not in {name.lower() for name in self.excepted}
        names = {(one.column or "").lower() for one in self.assignments or ()}
        return not names.isdisjoint({column.lower(), f"{alias}.{column}".lower()})

    def __str__(self) -> str:
        condition = "" if self.predicate is None else f" AND {self.predicate}"
        return f"{self.when}{condition} THEN {self.action}{self._values()}"

    def _values(self) -> str:
        if self.takes_all:
            return " *" if not self.excepted else f" * EXCEPT ({', '.join(self.excepted)})"
        return " " + ", ".join(map(str, self.assignments)) if self.assignments else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Deletes the rows that satisfy a condition and a search. `alias` may stand before columns in the condition."""

    name: ClassVar[str] = "DELETE"
    where: str | Predicate | None = None
    query: str | None = None
    alias: str | None = None

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return (Clause(When.MATCHED, Action.DELETE),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Gives columns of the rows that satisfy a condition and a search, or of all rows, new values."""

    name: ClassVar[str] = "UPDATE"
    assignments: tuple[Assignment, ...]
    where: str | Predicate | None = None
    query: str | None = None
    alias: str | None = None

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return (Clause(When.MATCHED, Action.UPDATE, assignments=self.assignments),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Rows of a source update, delete and insert rows of a table. With `merge_schema`, columns of the source are added."""

    name: ClassVar[str] = "MERGE INTO"
    on: str
    clauses: tuple[Clause, ...] = ()
    alias: str | None = None
    source_alias: str | None = None
    merge_schema: bool = False


RowChange: TypeAlias = Delete | Update | Merge


def unqualified_condition(change: Delete | Update) -> str | Predicate | None:
    """The condition without the alias before its columns."""
    if change.alias is None or not isinstance(change.where, str):
        return change.where
    from indextables.statements.tokens import without_qualifier  # noqa: PLC0415 - the tokenizer is slow to import

    return without_qualifier(change.where, change.alias)


def assignments_of(updates: Mapping[str, str]) -> tuple[Assignment, ...]:
    """The assignments that a user of Python gives as a dict.

    >>> assignments_of({"n": "n + 1"})
    (Assignment(column='n', value='n + 1'),)
    """
    if not isinstance(updates, Mapping) or not updates:
        raise SchemaError(f"updates are a dict of columns and SQL expressions, and not {updates!r:.60}", column=None)
    return tuple(Assignment(column, value) for column, value in updates.items())


def assigned_by_name(assignments: Sequence[Assignment], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Columns and their values; `columns` are all that the table has, which VALUES without a list of columns is for."""
    if any(one.column is None for one in assignments) and len(assignments) != len(columns):
        reason = f"there are {len(assignments)} values for {len(columns)} columns: {', '.join(columns)}"
        values = ", ".join(one.value for one in assignments)
        raise StatementError(
            f"INSERT VALUES ({values}) cannot be run: {reason}", statement="INSERT", reason=reason, position=0
        )
    return [(columns[place] if one.column is None else one.column, one.value) for place, one in enumerate(assignments)]


def unconditional_too_early(clauses: Sequence[Clause]) -> int | None:
    """The number of the first clause without a condition before another one of its kind, which it leaves no rows."""
    for number, clause in enumerate(clauses):
        if clause.predicate is None and any(later.when is clause.when for later in clauses[number + 1 :]):
            return number
    return None


def affected_rows(change: RowChange, rows: Mapping[Action, int]) -> dict[str, int]:
    """The row that a statement returns in SQL, given how many rows were updated, deleted and inserted."""
    kinds = {"updated": Action.UPDATE, "deleted": Action.DELETE, "inserted": Action.INSERT}
    details = {f"num_{kind}_rows": rows.get(action, 0) for kind, action in kinds.items()}
    return {"num_affected_rows": sum(rows.values()), **(details if isinstance(change, Merge) else {})}
