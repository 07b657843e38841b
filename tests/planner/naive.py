"""What a plan of the planner's language means, row by row, without Spark: the model that rewritten plans are held to."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pyarrow as pa

from indextables.predicate import bind, evaluate
from indextables.spark.planner.column_names import name_of
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
    Rows,
    SetOperation,
    SetOperator,
)

Row = dict[int, int | None]
Tables = Mapping[int, list[Row]]
UNREAD = 77
_LEFT, _RIGHT = -1, -2  # the numbers of the rows of a pair


def rows_of(plan: Plan, tables: Tables) -> list[Row]:  # noqa: PLR0911 - one case for each kind of node
    match plan:
        case Relation():
            return [{column: row[column] for column in plan.columns} for row in tables[plan.table]]
        case Rows():
            rows = plan.rows.to_pylist()  # without the columns that nothing reads, which have any value then
            return [{column: row.get(name_of(column), UNREAD) for column in plan.columns} for row in rows]
        case Filter():
            return satisfying(plan.conditions, rows_of(plan.child, tables))
        case Project():
            return [{item.column: _value(item, row) for item in plan.items} for row in rows_of(plan.child, tables)]
        case Aggregate():
            return _grouped(plan, rows_of(plan.child, tables))
        case Join():
            return _joined(plan, rows_of(plan.left, tables), rows_of(plan.right, tables))
        case SetOperation():
            return _combined(plan, [rows_of(branch, tables) for branch in plan.branches])
        case Pass():
            return rows_of(plan.child, tables)
        case Opaque():
            (child,) = plan.children
            return rows_of(child, tables)
    raise AssertionError(plan)


def same(one: Iterable[Row], other: Iterable[Row]) -> bool:
    """Whether the rows are the same, in any order."""
    return _counted(one) == _counted(other)


def _counted(rows: Iterable[Row]) -> Counter[Any]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def satisfying(conditions: Iterable[Condition], rows: list[Row]) -> list[Row]:
    """The rows for which all conditions are true."""
    for condition in conditions:
        rows = [row for row, is_true in zip(rows, _truths(condition, rows), strict=True) if is_true]
    return rows


class EqualColumns(Condition):
    """That two columns are equal, which no predicate says."""

    __slots__ = ()

    @classmethod
    def of(cls, pair: tuple[int, int]) -> Condition:
        return cls(frozenset(pair), None)


def _truths(condition: Condition, rows: list[Row]) -> list[bool]:
    if not rows:
        return []
    if isinstance(condition, EqualColumns):
        first, second = condition.references
        return [row[first] is not None and row[first] == row[second] for row in rows]
    if condition.equality is not None:
        first, second = condition.equality
        return [row[first] is not None and row[first] == row[second] for row in rows]
    if condition.predicate is None:  # one that only Spark can evaluate: any function of its columns
        columns = [c for _, c in condition.expression.columns] if condition.expression else condition.references
        return [sum(row[column] or 0 for column in columns) % 3 != 0 for row in rows]
    names = {name_of(column): [row[column] for row in rows] for column in rows[0]}
    table = pa.table({name: pa.array(values, pa.int64()) for name, values in names.items()})
    return [value is True for value in evaluate(bind(condition.predicate, table.schema), table).to_pylist()]


def _value(item: Item, row: Row) -> int | None:
    if item.source is not None:
        return row[item.source]
    return sum(row[column] or 0 for column in item.references) + 1


def _grouped(plan: Aggregate, rows: list[Row]) -> list[Row]:
    keys = plan.keys or ()
    groups: dict[tuple[int | None, ...], list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [{output.column: _aggregated(output, group) for output in plan.outputs} for group in groups.values()]


def _aggregated(output: Output, group: list[Row]) -> int | None:
    if output.argument is None:
        return len(group)
    values = [row[output.argument] for row in group]
    known = [value for value in values if value is not None]
    match output.function:
        case Function.KEY:
            return values[0]
        case Function.COUNT_VALUES:
            return len(known)
        case Function.MIN:
            return min(known, default=None)
        case Function.MAX:
            return max(known, default=None)
    raise AssertionError(output)


def _joined(plan: Join, left: list[Row], right: list[Row]) -> list[Row]:
    pairs = [(i, j) for i, j in product(range(len(left)), range(len(right)))]
    numbered: list[Row] = [{**left[i], **right[j], _LEFT: i, _RIGHT: j} for i, j in pairs]
    matches = satisfying(plan.conditions, numbered)
    lefts, rights = {row[_LEFT] for row in matches}, {row[_RIGHT] for row in matches}
    if plan.type is JoinType.LEFT_SEMI:
        return [row for i, row in enumerate(left) if i in lefts]
    if plan.type is JoinType.LEFT_ANTI:
        return [row for i, row in enumerate(left) if i not in lefts]
    found: list[Row] = [{c: v for c, v in row.items() if c not in {_LEFT, _RIGHT}} for row in matches]
    if plan.type in {JoinType.LEFT_OUTER, JoinType.FULL_OUTER}:
        nulls: Row = dict.fromkeys(plan.right.columns)
        found += [{**row, **nulls} for i, row in enumerate(left) if i not in lefts]
    if plan.type in {JoinType.RIGHT_OUTER, JoinType.FULL_OUTER}:
        nulls = dict.fromkeys(plan.left.columns)
        found += [{**nulls, **row} for j, row in enumerate(right) if j not in rights]
    return found


def _combined(plan: SetOperation, branches: list[list[Row]]) -> list[Row]:
    tuples = [
        [tuple(row[column] for column in child.columns) for row in rows]
        for child, rows in zip(plan.branches, branches, strict=True)
    ]
    match plan.operator:
        case SetOperator.UNION:
            found = [values for branch in tuples for values in branch]
        case SetOperator.INTERSECT:
            found = sorted(set(tuples[0]) & set(tuples[1]), key=str)
        case SetOperator.EXCEPT:
            found = sorted(set(tuples[0]) - set(tuples[1]), key=str)
    return [dict(zip(plan.columns, values, strict=True)) for values in found]
