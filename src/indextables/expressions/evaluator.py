"""DuckDB in memory, over Arrow tables: it sees the relations that it is given, and neither files nor the network.

The texts of users reach it as trees that were checked: what is left of them in its SQL are quoted names, and literals.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from indextables.errors import ExpressionError
from indextables.expressions.closed_connection import closed_connection
from indextables.expressions.expression import Expression, Scope, unusable
from indextables.expressions.spark_semantics import cast_sql, duckdb_type, to_duckdb


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """An expression in DuckDB's SQL, and the text that its author wrote, which errors show."""

    sql: str
    text: str


class Evaluator:
    """Evaluates expressions of a scope over the rows of its relations.

    It has a connection of its own, and is used by one thread at a time.

    >>> from indextables.expressions import Relation
    >>> rows = pa.table({"n": [1, 2], "name": ["a", None]})
    >>> scope = Scope((Relation("t", "t", rows.schema),))
    >>> with Evaluator(scope) as evaluator:
    ...     sql = evaluator.compile(scope.expression("n / 2"), pa.float64())
    ...     evaluator.project([sql], {"t": rows})[0].to_pylist()
    [0.5, 1.0]
    """

    def __init__(self, scope: Scope, *, threads: int = 1, time_zone: str = "UTC") -> None:
        import duckdb  # noqa: PLC0415 - 90 ms that only changes of rows need

        self._errors: Any = duckdb.Error
        self._scope = scope
        self._connection = closed_connection(threads=threads, time_zone=time_zone)
        for relation in scope.relations:
            self._connection.register(relation.name, relation.schema.empty_table())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def compile(self, expression: Expression, kind: pa.DataType | None = None) -> CompiledExpression:
        """The expression in DuckDB's SQL, cast to a type if one is given; an ExpressionError where its types do not fit."""
        with self._blamed(expression.text):
            sql = to_duckdb(expression.tree, self._type_of)
            given = self._type_of(sql)
            if kind is not None:
                sql = cast_sql(sql, given, duckdb_type(kind))
                self._type_of(sql)
        return CompiledExpression(sql, expression.text)

    def condition(self, expression: Expression) -> CompiledExpression:
        """The same for a condition, which is true, false or unknown."""
        compiled = self.compile(expression)
        given = self._type_of(compiled.sql)
        if given not in ("BOOLEAN", '"NULL"'):
            raise unusable(expression.text, f"it is no condition: its type is {given}", ())
        return compiled

    def project(
        self, columns: Sequence[CompiledExpression], rows: Mapping[str, pa.Table], *, relations: str | None = None
    ) -> list[pa.ChunkedArray]:
        """The values of expressions for each row, in the order of the rows; `relations` says how several are combined."""
        if not columns:
            return []
        selected = ", ".join(f"{column.sql} AS c{number}" for number, column in enumerate(columns))
        return list(self.query(selected, relations or next(iter(rows)), rows, parts=columns).itercolumns())

    def query(
        self, selected: str, relations: str, rows: Mapping[str, pa.Table], *, parts: Sequence[CompiledExpression] = ()
    ) -> pa.Table:
        """The result of SELECT ... FROM over relations. A failure names the first of its `parts` that fails by itself."""
        for name, table in rows.items():
            self._connection.register(name, table)
        try:
            return self._connection.sql(f"SELECT {selected} FROM {relations}").to_arrow_table()  # noqa: S608
        except self._errors as error:
            raise self._failure(error, relations, parts) from error

    def _failure(self, error: Exception, relations: str, parts: Sequence[CompiledExpression]) -> ExpressionError:
        for part in parts if len(parts) > 1 else ():
            try:
                self._connection.sql(f"SELECT count({part.sql}) FROM {relations}").fetchall()  # noqa: S608
            except self._errors as own:
                return _failed(part.text, own)
        return _failed("; ".join(part.text for part in parts), error)

    def _type_of(self, sql: str) -> str:
        tables = ", ".join(relation.name for relation in self._scope.relations)
        return str(self._connection.sql(f"SELECT {sql} FROM {tables}").types[0])  # noqa: S608

    @contextmanager
    def _blamed(self, text: str) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise _failed(text, error) from error


def _failed(text: str, error: Exception) -> ExpressionError:
    """DuckDB's error in one line: without its kind, its hints and its picture of the query."""
    first = str(error).split("\n\n", 1)[0].split("\n", 1)[0]
    reason = first.split(": ", 1)[-1].split(". Use TRY(", 1)[0].strip().rstrip("!")
    return unusable(text, reason[:1].lower() + reason[1:], ())
