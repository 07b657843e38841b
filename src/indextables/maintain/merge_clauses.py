"""The clauses of a MERGE, as their author wrote them, and bound to the columns of both sides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
from sqlglot import exp

from indextables.errors import MergeError, SchemaError
from indextables.expressions import Expression, Relation, Scope
from indextables.maintain.assignments import Assignment, assignments_of
from indextables.schema import available_columns_hint, column_named

TARGET, SOURCE = "t", "s"
"""What both sides are called when expressions are evaluated, whatever their aliases are."""


class When(StrEnum):
    MATCHED = "WHEN MATCHED"
    NOT_MATCHED = "WHEN NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE"


class Action(StrEnum):
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


_SIDES = {When.MATCHED: (TARGET, SOURCE), When.NOT_MATCHED: (SOURCE,), When.NOT_MATCHED_BY_SOURCE: (TARGET,)}


@dataclass(frozen=True, slots=True)
class Clause:
    """What happens to some rows; `updates` is None where all columns are taken from the source, but `except_cols`."""

    when: When
    action: Action
    updates: Mapping[str, str] | None = None
    predicate: str | None = None
    except_cols: tuple[str, ...] = ()

    @property
    def takes_all(self) -> bool:
        return self.action is not Action.DELETE and self.updates is None

    def __str__(self) -> str:
        condition = "" if self.predicate is None else f" AND {self.predicate}"
        return f"{self.when}{condition} THEN {self.action}{self._values()}"

    def _values(self) -> str:
        if self.action is Action.DELETE:
            return ""
        if self.updates is None:
            return " *" if not self.except_cols else f" * EXCEPT ({', '.join(self.except_cols)})"
        return " " + ", ".join(f"{column} = {text}" for column, text in self.updates.items())


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause whose names were found; an UPDATE or INSERT has an expression for each column that it assigns."""

    clause: Clause
    predicate: Expression | None
    assignments: tuple[Assignment, ...]

    @property
    def expressions(self) -> list[Expression]:
        condition = [] if self.predicate is None else [self.predicate]
        return [*condition, *(one.expression for one in self.assignments)]


def refuse_clauses(clauses: Sequence[Clause]) -> None:
    """Raises a MergeError where there is no clause, or one that can never apply."""
    if not clauses:
        raise _contradiction("the merge has no clause", "add one, such as when_matched_update_all()")
    for when in When:
        same = [clause for clause in clauses if clause.when is when]
        early = next((clause for clause in same[:-1] if clause.predicate is None), None)
        if early is not None:
            raise _contradiction(
                f"the clause {str(early)!r} has no condition, so that no later clause {when} can apply",
                "put it last, or give it a condition",
            )


def new_columns(clauses: Sequence[Clause], target: pa.Schema, source: pa.Schema, *, target_alias: str) -> pa.Schema:
    """The columns of the source that the table does not have, and that a clause would assign."""
    own = {name.lower() for name in target.names}
    new = [field for field in source if field.name.lower() not in own]
    return pa.schema([field for field in new if any(_assigns(clause, field.name, target_alias) for clause in clauses)])


def bind_clauses(
    clauses: Sequence[Clause], scope: Scope, after: pa.Schema, *, merge_schema: bool
) -> tuple[BoundClause, ...]:
    """The clauses with the columns of both sides; `after` is the schema of the table after the merge."""
    return tuple(_bound(clause, scope, after, merge_schema=merge_schema) for clause in clauses)


def side(scope: Scope, name: str) -> Relation:
    return next(relation for relation in scope.relations if relation.name == name)


def _bound(clause: Clause, scope: Scope, after: pa.Schema, *, merge_schema: bool) -> BoundClause:
    seen = scope.only(*_SIDES[clause.when])
    predicate = None if clause.predicate is None else seen.expression(clause.predicate)
    if clause.action is Action.DELETE:
        return BoundClause(clause, predicate, ())
    if clause.updates is None:
        assignments = _all_columns(clause, seen, after, merge_schema=merge_schema)
    else:
        assignments = assignments_of(clause.updates, after, seen, alias=side(scope, TARGET).alias)
    if clause.action is Action.INSERT:
        _refuse_missing(assignments, after)
    return BoundClause(clause, predicate, assignments)


def _all_columns(clause: Clause, scope: Scope, after: pa.Schema, *, merge_schema: bool) -> tuple[Assignment, ...]:
    """Each column of the table by the column of the source with its name."""
    source = side(scope, SOURCE)
    known = pa.schema(list({field.name.lower(): field for field in [*after, *source.schema]}.values()))
    excluded = {column_named(known, name).lower() for name in clause.except_cols}
    own = {name.lower(): name for name in source.schema.names}
    wanted = [name for name in after.names if name.lower() not in excluded]
    missing = [name for name in wanted if name.lower() not in own]
    if missing and not merge_schema:
        raise SchemaError(
            f"the source has no column {', '.join(map(repr, missing))}, which {clause.when} THEN {clause.action} * needs; "
            f"{available_columns_hint(missing[0], source.schema.names).replace('table', 'source')}; "
            "add it to the source, name it in except_cols, or set merge_schema",
            column=missing[0],
        )
    return tuple(Assignment(name, _source_column(scope, own[name.lower()])) for name in wanted if name.lower() in own)


def _source_column(scope: Scope, name: str) -> Expression:
    alias = side(scope, SOURCE).alias
    return scope.bound(exp.column(name, table=alias, quoted=True), f"{alias}.{name}")


def _assigns(clause: Clause, column: str, target_alias: str) -> bool:
    if clause.takes_all:
        return column.lower() not in {name.lower() for name in clause.except_cols}
    names = {name.lower() for name in clause.updates or {}}
    return not names.isdisjoint({column.lower(), f"{target_alias}.{column}".lower()})


def _refuse_missing(assignments: Iterable[Assignment], after: pa.Schema) -> None:
    assigned = {one.column for one in assignments}
    required = [field.name for field in after if not field.nullable and field.name not in assigned]
    if required:
        raise SchemaError(
            f"column {required[0]!r} may not be null, and WHEN NOT MATCHED THEN INSERT does not assign it",
            column=required[0],
        )


def _contradiction(what: str, remedy: str) -> MergeError:
    return MergeError(f"{what}; {remedy}", reason=what)
