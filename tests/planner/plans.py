"""Random plans over three tables of three columns."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pyarrow as pa
from hypothesis import strategies as st

from indextables.predicate import Column, Comparison, In, IsNull, Not, Op, Predicate, conjunction, disjunction
from indextables.spark.planner.column_names import columns_of, name_of
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Item,
    Join,
    JoinType,
    Opaque,
    Output,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    SetOperator,
    SparkExpression,
)
from tests.planner.naive import EqualColumns, Row

TABLES = {table: tuple(range(100 * (table + 1), 100 * (table + 1) + 3)) for table in range(3)}
values = st.one_of(st.none(), st.integers(0, 3))


def tables() -> st.SearchStrategy[dict[int, list[Row]]]:
    rows = {
        table: st.lists(st.fixed_dictionaries(dict.fromkeys(columns, values)), max_size=5)
        for table, columns in TABLES.items()
    }
    return st.fixed_dictionaries(rows)


@st.composite
def plans(draw: st.DrawFn, depth: int = 4) -> Plan:
    numbers, columns = count(), count(1_000)
    left = iter(draw(st.permutations(sorted(TABLES))))
    return _plan(draw, depth, numbers, columns, left)


def _plan(  # noqa: PLR0911 - one for each kind of node
    draw: st.DrawFn, depth: int, numbers: Iterator[int], fresh: Iterator[int], tables_left: Iterator[int]
) -> Plan:
    def below() -> Plan:
        return _plan(draw, depth - 1, numbers, fresh, tables_left)

    kinds = (
        ["filter", "filter", "project", "aggregate", "join", "join", "join", "set", "pass", "opaque"] if depth else []
    )
    kind = draw(st.sampled_from(["relation", *kinds]))
    if kind == "relation":
        table = next(tables_left, None)
        if table is not None:
            return Relation(next(numbers), TABLES[table], table)
        return _copied(draw, numbers, fresh)
    child = below()
    match kind:
        case "filter":
            return Filter(next(numbers), tuple(draw(_conditions(child.columns))), child)
        case "project":
            return _project(draw, child, numbers, fresh)
        case "aggregate":
            return _aggregate(draw, child, numbers, fresh)
        case "pass":
            columns_read = frozenset(draw(st.sets(st.sampled_from(child.columns))))
            movable = draw(st.none() | st.sets(st.sampled_from(child.columns)).map(frozenset))
            return Pass(next(numbers), columns_read, (), child, movable=movable)
        case "opaque":
            return Opaque(next(numbers), child.columns, (child,))
        case "set":
            return _set_operation(draw, child, below(), numbers, fresh)
    return _join(draw, child, below(), numbers)


def _copied(draw: st.DrawFn, numbers: Iterator[int], fresh: Iterator[int]) -> Plan:
    """A table that is used again, under other columns, as Spark has it on the other side of a join."""
    table = draw(st.sampled_from(sorted(TABLES)))
    relation = Relation(next(numbers), TABLES[table], table)
    items = tuple(Item(next(fresh), frozenset({column}), column) for column in relation.columns)
    return Project(next(numbers), items, relation)


def _predicates(columns: tuple[int, ...]) -> st.SearchStrategy[Predicate]:
    column = st.sampled_from(columns).map(lambda number: Column(name_of(number)))
    number = st.integers(0, 3).map(lambda value: pa.scalar(value, pa.int64()))
    leaves = st.one_of(
        st.builds(Comparison, column, st.sampled_from(Op), number),
        st.builds(In, column, st.lists(number, min_size=1, max_size=2).map(tuple)),
        st.builds(IsNull, column),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(Not),
            st.tuples(inner, inner).map(lambda pair: conjunction(*pair)),
            st.tuples(inner, inner).map(lambda pair: disjunction(*pair)),
        ),
        max_leaves=3,
    )


def _conditions(columns: tuple[int, ...]) -> st.SearchStrategy[list[Condition]]:
    """Conditions that are understood, that Spark alone can evaluate, or that only a reader of the plan has seen."""
    understood = _predicates(columns).map(lambda predicate: Condition(columns_of(predicate), predicate))
    column = st.sampled_from(columns)
    opaque = st.sets(column, min_size=1, max_size=2).map(lambda used: Condition(frozenset(used)))
    equal = st.tuples(column, column).map(lambda pair: Condition(frozenset(pair), equality=pair))
    condition = st.one_of(understood, understood, opaque, equal)
    return st.lists(st.one_of(condition, condition.map(_with_expression)), min_size=1, max_size=2)


def _with_expression(condition: Condition) -> Condition:
    return replace(condition, expression=SparkExpression(0, tuple((one, one) for one in sorted(condition.references))))


def _project(draw: st.DrawFn, child: Plan, numbers: Iterator[int], fresh: Iterator[int]) -> Plan:
    items = []
    for column in draw(st.lists(st.sampled_from(child.columns), min_size=1, max_size=3, unique=True)):
        form = draw(st.sampled_from(["same", "renamed", "computed"]))
        if form == "same":
            items.append(Item(column, frozenset({column}), column))
        else:
            items.append(Item(next(fresh), frozenset({column}), column if form == "renamed" else None))
    return Project(next(numbers), tuple(items), child)


def _aggregate(draw: st.DrawFn, child: Plan, numbers: Iterator[int], fresh: Iterator[int]) -> Plan:
    keys = tuple(draw(st.lists(st.sampled_from(child.columns), max_size=2, unique=True)))
    outputs = [Output(key, Function.KEY, frozenset({key}), key) for key in keys]
    outputs.append(Output(next(fresh), Function.COUNT_ROWS, frozenset()))
    argument = draw(st.sampled_from(child.columns))
    function = draw(st.sampled_from([Function.COUNT_VALUES, Function.MIN, Function.MAX]))
    outputs.append(Output(next(fresh), function, frozenset({argument}), argument))
    return Aggregate(next(numbers), keys, frozenset(keys), tuple(outputs), child)


def _set_operation(draw: st.DrawFn, left: Plan, right: Plan, numbers: Iterator[int], fresh: Iterator[int]) -> Plan:
    width = min(len(left.columns), len(right.columns))
    branches = tuple(
        Project(
            next(numbers), tuple(Item(column, frozenset({column}), column) for column in side.columns[:width]), side
        )
        for side in (left, right)
    )
    columns = tuple(next(fresh) for _ in range(width))
    return SetOperation(next(numbers), draw(st.sampled_from(SetOperator)), columns, branches)


def _join(draw: st.DrawFn, left: Plan, right: Plan, numbers: Iterator[int]) -> Plan:
    """Sides have no column in common: Spark gives one side new columns."""
    if set(left.columns) & set(right.columns):
        return left
    pair = (draw(st.sampled_from(left.columns)), draw(st.sampled_from(right.columns)))
    equality = Condition(frozenset(pair), None)
    others = draw(st.one_of(st.just([]), _conditions((*left.columns, *right.columns))))
    is_equality = draw(st.booleans())
    return Join(
        next(numbers),
        draw(st.sampled_from(JoinType)),
        (*others, EqualColumns.of(pair)) if is_equality else (*others, equality),
        (pair,) if is_equality else (),
        left,
        right,
    )
