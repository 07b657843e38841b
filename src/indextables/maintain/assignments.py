"""Assignments of UPDATE and MERGE INTO: columns, and the expressions that give them their new values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.expressions import Evaluator, Expression, Failing, Scope
from indextables.schema import column_named


@dataclass(frozen=True, slots=True)
class Assignment:
    column: str
    expression: Expression


def assignments_of(
    updates: Mapping[str, str], schema: pa.Schema, scope: Scope, *, alias: str | None = None
) -> tuple[Assignment, ...]:
    """The assignments to columns of a table, checked; `alias` may come before the name of a column.

    >>> from indextables.expressions import Relation
    >>> schema = pa.schema({"n": pa.int64()})
    >>> assignments_of({"n": "1", "N": "2"}, schema, Scope((Relation("t", "t", schema),)))
    Traceback (most recent call last):
    indextables.errors.SchemaError: the column 'n' is assigned twice; leave one of the assignments out
    """
    if not isinstance(updates, Mapping) or not updates:
        raise SchemaError(f"updates are a dict of columns and SQL expressions, and not {updates!r:.60}", column=None)
    found: dict[str, Assignment] = {}
    for name, text in updates.items():
        column = assigned_column(name, schema, alias=alias, case_sensitive=scope.case_sensitive)
        if column in found:
            raise SchemaError(
                f"the column {column!r} is assigned twice; leave one of the assignments out", column=column
            )
        found[column] = Assignment(column, scope.expression(text))
    return tuple(found.values())


def assigned_column(name: str, schema: pa.Schema, *, alias: str | None, case_sensitive: bool) -> str:
    """The table's own spelling of a column that is assigned; a column may itself have a dot in its name."""
    prefix = "" if alias is None else f"{alias}."
    if isinstance(name, str) and prefix and name.lower().startswith(prefix.lower()) and name not in schema.names:
        name = name[len(prefix) :]
    return column_named(schema, name, case_sensitive=case_sensitive)


@dataclass(frozen=True, slots=True)
class Projection:
    """The columns of new rows: computed by an expression, taken from the old row, or else null."""

    schema: pa.Schema
    computed: Mapping[str, Failing]

    def apply(self, evaluator: Evaluator, relation: str, rows: pa.Table, old: Mapping[str, str]) -> pa.Table:
        """The new rows; `old` has the column of `rows` that is kept for each column which is not computed."""
        values = evaluator.project(list(self.computed.values()), {relation: rows})
        new = dict(zip(self.computed, values, strict=True))
        columns = [
            new[field.name]
            if field.name in new
            else rows[old[field.name]]
            if field.name in old
            else pa.nulls(len(rows), field.type)
            for field in self.schema
        ]
        return pa.table(columns, names=self.schema.names)


def compiled(
    assignments: Iterable[Assignment], schema: pa.Schema, evaluator: Evaluator, *, columns: Sequence[str] | None = None
) -> Projection:
    """The assignments, cast to the types of the table; an ExpressionError where one cannot be."""
    by_name = {one.column: evaluator.compile(one.expression, schema.field(one.column).type) for one in assignments}
    return Projection(schema if columns is None else pa.schema([schema.field(name) for name in columns]), by_name)
