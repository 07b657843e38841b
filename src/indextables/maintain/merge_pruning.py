"""Which rows of the table a MERGE may match: a predicate from its ON condition and the keys of its source.

`t.id = s.id AND t.day = 'mon'` becomes `id IN (keys of the source) AND day = 'mon'`, so that partitions, statistics, term
filters and exact indexes leave out what cannot match. The condition itself is evaluated on the rows that are left.
"""

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from indextables.errors import PredicateError
from indextables.expressions import Evaluator, Expression
from indextables.expressions.expression import conjuncts
from indextables.maintain.merge_clauses import SOURCE, TARGET
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

MAX_KEYS = 100_000
"""With more keys than that, their least and their greatest value select rows."""


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
