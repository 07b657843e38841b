"""Runtime filters: a small, filtered side of a join is evaluated first, and its keys prune the other side.

The rows of the small side take its place in the plan, so that it is evaluated once: the join sees the very rows whose
keys pruned the other side. Spark prunes partitions so for its own tables (dynamic partition pruning).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import Column, Comparison, In, Literal, Op, Predicate, conjunction
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import (
    ADDED,
    Aggregate,
    Condition,
    Filter,
    Join,
    JoinType,
    Limit,
    Opaque,
    Origin,
    Pass,
    Plan,
    Project,
    Relation,
    Rows,
    children_of,
    walk,
    with_children,
)
from indextables.spark.planner.pushdown import conditions_above, required_columns, seen_from_above

Evaluate = Callable[[Plan, frozenset[int]], pa.Table | None]
"""Runs a part of the plan and gives the columns named, as `#<number>`; None where that would take long."""

HasSplits = Callable[[int], bool]

_MAX_VALUES = 1_000  # in one condition; more keys are a range
_PRUNES_LEFT = {JoinType.INNER, JoinType.LEFT_SEMI, JoinType.RIGHT_OUTER}
_PRUNES_RIGHT = {JoinType.INNER, JoinType.LEFT_SEMI, JoinType.LEFT_OUTER, JoinType.LEFT_ANTI}


def with_runtime_filters(plan: Plan, has_splits: HasSplits, evaluate: Evaluate) -> Plan:
    """The plan, in which small sides of joins are rows, and a filter by their keys stands over the other sides.

    A table is worth pruning if it `has_splits` that a filter could leave out.
    """
    if not any(isinstance(node, Join) for node in walk(plan)):
        return plan
    return _RuntimeFilters(has_splits, evaluate, required_columns(plan), conditions_above(plan)).rewritten(plan)


@dataclass(frozen=True, slots=True)
class _RuntimeFilters:
    has_splits: HasSplits
    evaluate: Evaluate
    required: Mapping[int, frozenset[int]]
    conditions: Mapping[int, tuple[Condition, ...]]

    def rewritten(self, plan: Plan) -> Plan:
        if isinstance(plan, Join):
            plan = self.pruned(plan)
        return with_children(plan, tuple(self.rewritten(child) for child in children_of(plan)))

    def pruned(self, plan: Join) -> Join:
        join = seen_from_above(plan, self.conditions[plan.number])
        to_left, to_right = {right: left for left, right in join.equalities}, dict(join.equalities)
        small = self.small_side(plan.right, plan.left, to_left) if join.type in _PRUNES_LEFT else None
        if small is not None:
            return replace(plan, left=_filtered(plan.left, to_left, small), right=small)
        small = self.small_side(plan.left, plan.right, to_right) if join.type in _PRUNES_RIGHT else None
        if small is not None:
            return replace(plan, left=small, right=_filtered(plan.right, to_right, small))
        return plan

    def small_side(self, side: Plan, large: Plan, keys: Mapping[int, int]) -> Rows | None:
        """The rows of a side, if they prune the other one; `keys` are its columns that those of the other side equal."""
        if isinstance(side, Rows):
            return side if self.is_worthwhile(large, keys.values()) else None
        few = self.under_conditions(side)
        if isinstance(side, Join) or not _is_filtered(few) or not self.is_worthwhile(large, keys.values()):
            return None
        rows = self.evaluate(few, self.required[side.number] | keys.keys())
        return None if rows is None else Rows(side.number, side.columns, Origin.JOIN_SIDE, rows)

    def under_conditions(self, side: Plan) -> Plan:
        """The rows of a side that conditions above the join let through: `FROM a JOIN b ... WHERE b.name = 'x'`."""
        conditions = tuple(one for one in self.conditions[side.number] if one.expression is not None)
        return Filter(ADDED, conditions, side) if conditions else side

    def is_worthwhile(self, large: Plan, keys: Iterable[int]) -> bool:
        """Whether a key is a column of a table of which several splits are left."""
        return any(map(self.has_splits, {table for key in keys if (table := table_of(large, key)) is not None}))


def _is_filtered(plan: Plan) -> bool:
    """Whether a plan is one that can be run ahead at its price: it filters rows and multiplies none."""
    nodes = list(walk(plan))
    if not all(map(_is_simple, nodes)):
        return False
    return any(isinstance(node, Filter | Limit | Aggregate | Rows) or _is_local(node) for node in nodes)


def _is_simple(node: Plan) -> bool:
    match node:
        case Pass():
            return not node.added
        case Opaque():
            return not node.children
        case Join():
            return node.type in {JoinType.LEFT_SEMI, JoinType.LEFT_ANTI}
    return True


def _is_local(node: Plan) -> bool:
    return isinstance(node, Opaque) and node.is_local


def _filtered(plan: Plan, keys: Mapping[int, int], small: Rows) -> Filter:
    """The large side under a filter by the keys of the small one."""
    found = {own: _among(name_of(own), small.rows[name_of(other)]) for other, own in keys.items()}
    conditions = [Condition(frozenset({own}), predicate) for own, predicate in found.items() if predicate is not None]
    return Filter(ADDED, tuple(conditions), plan)


def _among(name: str, values: pa.ChunkedArray) -> Predicate | None:
    """The condition that a column has one of the values: rows with others, or none, match nothing."""
    try:
        distinct = pc.drop_null(values.unique()).sort()
    except pa.ArrowNotImplementedError:
        return None
    if not len(distinct):
        return Literal(value=False)
    if len(distinct) <= _MAX_VALUES:
        return In(Column(name), tuple(distinct))
    least, greatest = pc.min_max(distinct).values()
    return conjunction(Comparison(Column(name), Op.GE, least), Comparison(Column(name), Op.LE, greatest))


def table_of(plan: Plan, column: int) -> int | None:
    """The table of which a column of a plan is a column, where a condition on it may reach that table."""
    match plan:
        case Relation():
            return plan.table
        case Filter():
            return table_of(plan.child, column)
        case Project():
            item = next((item for item in plan.items if item.column == column), None)
            return None if item is None or item.source is None else table_of(plan.child, item.source)
        case Pass() if column in plan.child.columns and (plan.movable is None or column in plan.movable):
            return table_of(plan.child, column)
        case Join():
            side = plan.left if column in plan.left.columns else plan.right
            return table_of(side, column)
    return None
