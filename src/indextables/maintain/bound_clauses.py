"""Assignments and clauses of UPDATE and MERGE INTO, bound to the columns of both sides, or refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from indextables.errors import MergeError, SchemaError
from indextables.expressions import CompiledExpression, Evaluator, Expression, Relation, Scope
from indextables.schema import available_columns_hint, column_named
from indextables.statements.row_changes import (
    Action,
    Assignment,
    Clause,
    When,
    assigned_by_name,
    unconditional_too_early,
)

TARGET, SOURCE = "t", "s"
"""What both sides are called when expressions are evaluated, whatever their aliases are."""
_SIDES = {When.MATCHED: (TARGET, SOURCE), When.NOT_MATCHED: (SOURCE,), When.NOT_MATCHED_BY_SOURCE: (TARGET,)}
_NULL = pa.chunked_array([], pa.null())


@dataclass(frozen=True, slots=True)
class BoundAssignment:
    """The table's own name of a column, and the expression that gives it its new value."""

    column: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause whose names were found; an UPDATE or INSERT has an expression for each column that it assigns."""

    clause: Clause
    predicate: Expression | None
    assignments: tuple[BoundAssignment, ...]

    @property
    def expressions(self) -> list[Expression]:
        condition = [] if self.predicate is None else [self.predicate]
        return [*condition, *(one.expression for one in self.assignments)]


@dataclass(frozen=True, slots=True)
class Projection:
    """The columns of new rows: computed by an expression, kept from the old row, or else null."""

    schema: pa.Schema
    computed: Mapping[str, CompiledExpression]

    @classmethod
    def of(cls, assignments: Iterable[BoundAssignment], schema: pa.Schema, evaluator: Evaluator) -> "Projection":
        """The assignments, cast to the types of the table; an ExpressionError where one cannot be."""
        return cls(
            schema, {a.column: evaluator.compile(a.expression, schema.field(a.column).type) for a in assignments}
        )

    def assembled(self, values: Sequence[pa.ChunkedArray], old: pa.Table | None, count: int) -> pa.Table:
        """The new rows, from the values that were computed and the old rows, if there are any."""
        new = dict(zip(self.computed, values, strict=True))
        kept = {} if old is None else {name: old[name] for name in old.schema.names}
        columns = [new.get(field.name, kept.get(field.name, _NULL)) for field in self.schema]
        return pa.table(
            [pa.nulls(count, f.type) if c is _NULL else c for c, f in zip(columns, self.schema, strict=True)],
            names=self.schema.names,
        )


def bind_assignments(
    assignments: Sequence[Assignment], schema: pa.Schema, scope: Scope, *, alias: str | None = None
) -> tuple[BoundAssignment, ...]:
    """The assignments to columns of a table, checked; `alias` may come before the name of a column.

    >>> schema = pa.schema({"n": pa.int64()})
    >>> bind_assignments([Assignment("n", "1"), Assignment("N", "2")], schema, Scope((Relation("t", "t", schema),)))
    Traceback (most recent call last):
    indextables.errors.SchemaError: the column 'n' is assigned twice; leave one of the assignments out
    """
    found: dict[str, BoundAssignment] = {}
    for name, value in assigned_by_name(assignments, schema.names):
        column = _assigned_column(name, schema, alias=alias, case_sensitive=scope.case_sensitive)
        if column in found:
            raise SchemaError(
                f"the column {column!r} is assigned twice; leave one of the assignments out", column=column
            )
        found[column] = BoundAssignment(column, scope.expression(value))
    return tuple(found.values())


def refuse_clauses(clauses: Sequence[Clause]) -> None:
    """Raises a MergeError where there is no clause, or one that can never apply."""
    if not clauses:
        raise _contradiction("the merge has no clause", "add one, such as when_matched_update_all()")
    early = unconditional_too_early(clauses)
    if early is not None:
        clause = clauses[early]
        raise _contradiction(
            f"the clause {str(clause)!r} has no condition, so that no later clause {clause.when} can apply",
            "put it last, or give it a condition",
        )


def new_columns(clauses: Sequence[Clause], target: pa.Schema, source: pa.Schema, *, alias: str | None) -> pa.Schema:
    """The columns of the source that the table does not have, and that a clause would assign."""
    own = {name.lower() for name in target.names}
    new = [field for field in source if field.name.lower() not in own]
    return pa.schema([field for field in new if any(clause.assigns(field.name, alias=alias) for clause in clauses)])


def bind_clauses(
    clauses: Sequence[Clause], scope: Scope, after: pa.Schema, *, merge_schema: bool
) -> tuple[BoundClause, ...]:
    """The clauses with the columns of both sides; `after` is the schema of the table after the merge."""
    return tuple(_bound(clause, scope, after, merge_schema=merge_schema) for clause in clauses)


def _bound(clause: Clause, scope: Scope, after: pa.Schema, *, merge_schema: bool) -> BoundClause:
    seen = scope.only(*_SIDES[clause.when])
    predicate = None if clause.predicate is None else seen.expression(clause.predicate)
    if clause.takes_all:
        assignments = _all_columns(clause, seen, after, merge_schema=merge_schema)
    else:
        assignments = bind_assignments(clause.assignments or (), after, seen, alias=_side(scope, TARGET).alias)
    if clause.action is Action.INSERT:
        _refuse_missing(assignments, after)
    return BoundClause(clause, predicate, assignments)


def _side(scope: Scope, name: str) -> Relation:
    return next(relation for relation in scope.relations if relation.name == name)


def _assigned_column(name: str, schema: pa.Schema, *, alias: str | None, case_sensitive: bool) -> str:
    """The table's own spelling of a column that is assigned; a column may itself have a dot in its name."""
    prefix = "" if alias is None else f"{alias}."
    if isinstance(name, str) and prefix and name.lower().startswith(prefix.lower()) and name not in schema.names:
        name = name[len(prefix) :]
    return column_named(schema, name, case_sensitive=case_sensitive)


def _all_columns(clause: Clause, scope: Scope, after: pa.Schema, *, merge_schema: bool) -> tuple[BoundAssignment, ...]:
    """Each column of the table by the column of the source with its name."""
    source = _side(scope, SOURCE)
    known = pa.schema(list({field.name.lower(): field for field in [*after, *source.schema]}.values()))
    excluded = {column_named(known, name).lower() for name in clause.excepted}
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
    columns = {name: own[name.lower()] for name in wanted if name.lower() in own}
    return tuple(BoundAssignment(name, _source_column(scope, of)) for name, of in columns.items())


def _source_column(scope: Scope, name: str) -> Expression:
    alias = _side(scope, SOURCE).alias
    return scope.bound(exp.column(name, table=alias, quoted=True), f"{alias}.{name}")


def _refuse_missing(assignments: Iterable[BoundAssignment], after: pa.Schema) -> None:
    assigned = {one.column for one in assignments}
    required = [field.name for field in after if not field.nullable and field.name not in assigned]
    if required:
        raise SchemaError(
            f"column {required[0]!r} may not be null, and WHEN NOT MATCHED THEN INSERT does not assign it",
            column=required[0],
        )


def _contradiction(what: str, remedy: str) -> MergeError:
    return MergeError(f"{what}; {remedy}", reason=what)
