"""The source of a MERGE, in whatever form a user has its rows, as one Arrow table; and which rows of the table it may match.

`t.id = s.id AND t.day = 'mon'` becomes `id IN (keys of the source) AND day = 'mon'`, so that partitions, statistics, term
filters and exact indexes leave out what cannot match. The condition itself is evaluated on the rows that are left.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from indextables.errors import PredicateError, SchemaError
from indextables.expressions import Evaluator, Expression
from indextables.expressions.expression import conjuncts
from indextables.maintain.bound_clauses import SOURCE, TARGET
from indextables.predicate import (
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Op,
    Predicate,
    bind,
    conjunction,
    disjunction,
)
from indextables.predicate.parser import ConditionReader
from indextables.read.scan import Scan
from indextables.schema import normalize, type_name
from indextables.write.input_data import Data, batches_of, peeked

MAX_KEYS = 100_000
"""With more keys than that, their least and their greatest value select rows."""
MergeSource: TypeAlias = Data | Scan | Any
"""What a write takes, a scan of a table, or a DataFrame of Spark, which is collected."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """The source before its rows are read: their schema in table types, and the rows."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]

    def read(self) -> pa.Table:
        """All rows, in memory; a source can be read once."""
        tables = [pa.Table.from_batches([batch]) for batch in self.batches]
        return pa.concat_tables([self.schema.empty_table(), *(_cast(table, self.schema) for table in tables)])


def source_rows(source: MergeSource, target: pa.Schema, *, all_columns: bool = False) -> SourceRows:
    """The rows of a source; Python values get the types of the target.

    A column of a type that no table holds is left out where the target does not have it, or an error with `all_columns`.
    """
    if isinstance(source, Scan):
        return SourceRows(_storable(source.schema), source.to_batches())
    if hasattr(source, "toArrow"):  # Spark's stream of Arrow data fails on timestamps
        source = cast("Any", source).toArrow()
    rows = peeked(batches_of(source, target))
    if rows.schema is None:
        raise SchemaError("the source has neither rows nor columns; give a table or batches with a schema", column=None)
    own = {name.lower() for name in target.names}
    kept = [field for field in rows.schema if all_columns or field.name.lower() in own or _is_storable(field)]
    return SourceRows(_storable(pa.schema(kept)), rows.batches)


def _is_storable(field: pa.Field) -> bool:
    try:
        _storable(pa.schema([field]))
    except SchemaError:
        return False
    return True


def _storable(schema: pa.Schema) -> pa.Schema:
    """The columns in table types; one of nulls only is compared as text."""
    typed = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema]
    return pa.schema([field.with_nullable(nullable=True) for field in normalize(pa.schema(typed))])


def _cast(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.table([_cast_column(rows, field) for field in schema], schema=schema)


def _cast_column(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    try:
        return rows[field.name].cast(field.type)
    except pa.ArrowInvalid as error:
        message = f"column {field.name!r} of the source does not fit {type_name(field.type)}: {error}"
        raise SchemaError(message, column=field.name) from error


def target_predicate(
    on: Expression, source: pa.Table, schema: pa.Schema, evaluator: Evaluator, *, time_zone: str
) -> Predicate:
    """A predicate, bound to the schema of the table, that each row satisfies which a row of the source matches."""
    terms = []
    for condition in conjuncts(on.tree):
        used = {node.table for node in condition.find_all(exp.Column)}
        if used == {TARGET}:
            terms.append(_own_condition(condition, schema, time_zone=time_zone))
        elif used == {TARGET, SOURCE} and isinstance(condition, exp.EQ | exp.NullSafeEQ):
            terms.append(_key_condition(condition, source, schema, evaluator))
    return conjunction(*(term for term in terms if term is not None))


def _own_condition(condition: exp.Expr, schema: pa.Schema, *, time_zone: str) -> Predicate | None:
    """A condition on the table alone, if the language of predicates has it."""
    reader = ConditionReader("", time_zone, find_column=lambda column: Column(column.name))
    try:
        return bind(reader.predicate(condition), schema, time_zone=time_zone, case_sensitive=True)
    except PredicateError:
        return None


def _key_condition(
    condition: exp.EQ | exp.NullSafeEQ, source: pa.Table, schema: pa.Schema, evaluator: Evaluator
) -> Predicate | None:
    """`column = expression of the source`, as a condition on the column."""
    sides = [condition.this, condition.args["expression"]]
    own = next((node for node in sides if isinstance(node, exp.Column) and node.table == TARGET), None)
    if own is None:
        return None
    other = sides[1 - sides.index(own)]
    if {node.table for node in other.find_all(exp.Column)} != {SOURCE}:
        return None
    field = schema.field(own.name)
    compiled = evaluator.compile(Expression(other.sql(dialect="spark"), other, frozenset()))
    found = evaluator.query(f"DISTINCT {compiled.sql} AS k", SOURCE, {SOURCE: source}, parts=[compiled])
    keys = found["k"].combine_chunks()
    comparable = _in_type(keys.drop_null(), field.type)
    if comparable is None:
        return None
    selected = _among(Column(field.name), comparable)
    if isinstance(condition, exp.NullSafeEQ) and keys.null_count:
        return disjunction(selected, IsNull(Column(field.name)))
    return selected


def _among(column: Column, keys: pa.Array) -> Predicate:
    if len(keys) <= MAX_KEYS:
        return In(column, tuple(keys)) if len(keys) else Literal(value=False)
    extremes = pc.min_max(keys)
    return conjunction(
        Comparison(column, Op.GE, extremes["min"]),
        Comparison(column, Op.LE, extremes["max"]),
    )


def _in_type(keys: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The keys that a column of a type can have; None where they are not compared in this type."""
    if pa.types.is_floating(kind):  # 0.0 and -0.0 are equal, and two values
        return None
    if keys.type == kind:
        return keys
    if pa.types.is_timestamp(keys.type) and pa.types.is_timestamp(kind) and keys.type.tz and kind.tz:
        return keys.cast(kind)  # the same instants, shown in another zone
    if pa.types.is_integer(keys.type) and pa.types.is_integer(kind):
        low, high = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
        wide = keys.cast(pa.int64())
        return wide.filter(pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high))).cast(kind)
    return None
