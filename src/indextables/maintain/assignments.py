"""Assignments of UPDATE and MERGE INTO: columns, and the expressions that give them their new values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.expressions import CompiledExpression, Evaluator, Expression, Scope
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
    """The columns of new rows: computed by an expression, kept from the old row, or else null."""

    schema: pa.Schema
    computed: Mapping[str, CompiledExpression]

    def assembled(self, values: Sequence[pa.ChunkedArray], old: pa.Table | None, count: int) -> pa.Table:
        """The new rows, from the values that were computed and the old rows, if there are any."""
        new = dict(zip(self.computed, values, strict=True))
        kept = {} if old is None else {name: old[name] for name in old.schema.names}
        columns = [new.get(field.name, kept.get(field.name, _NULL)) for field in self.schema]
        return pa.table(
            [pa.nulls(count, f.type) if c is _NULL else c for c, f in zip(columns, self.schema, strict=True)],
            names=self.schema.names,
        )


_NULL = pa.chunked_array([], pa.null())


def compiled(assignments: Iterable[Assignment], schema: pa.Schema, evaluator: Evaluator) -> Projection:
    """The assignments, cast to the types of the table; an ExpressionError where one cannot be."""
    by_name = {one.column: evaluator.compile(one.expression, schema.field(one.column).type) for one in assignments}
    return Projection(schema, by_name)
