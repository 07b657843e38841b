"""Pushdown: which rows and columns of each relation a query can see.

One pass from the top of a plan to its relations. It carries the conditions that hold for every row that anything above can
see, the columns that anything above reads, and a limit. A scan may apply what arrives at its relation: the filters of the
plan stay where they are, so that a scan may return more rows than its request names, and never fewer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from indextables.predicate import Predicate
from indextables.spark.planner.column_names import on_columns
from indextables.spark.planner.null_rows import rejects_nulls
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Join,
    JoinType,
    Limit,
    Opaque,
    Pass,
    Plan,
    Project,
    Relation,
    Rows,
    SetOperation,
    SetOperator,
)


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What a query reads of a relation: rows that satisfy `conditions`, `required` columns, at most `limit` rows.

    `compared` are the columns that filters and joins look at. The limit is None unless every condition between it and the
    relation is a predicate.
    """

    conditions: tuple[Predicate, ...] = ()
    required: frozenset[int] = frozenset()
    compared: frozenset[int] = frozenset()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Demand:
    """What the nodes above want of a node."""

    conditions: tuple[Condition, ...]
    required: frozenset[int]
    compared: frozenset[int]
    limit: int | None = None

    def of(self, plan: Plan) -> "_Demand":
        """The part that concerns the columns of a child."""
        own = frozenset(plan.columns)
        return replace(self, required=self.required & own, compared=self.compared & own)


def push_down(plan: Plan, *, is_counted: bool = False) -> dict[int, list[ScanRequest]]:
    """The requests of a plan by the number of the table; a table that is used several times has several.

    The output of the plan is read as a whole, or not at all where its rows are only counted.
    """
    found: dict[int, list[ScanRequest]] = {}
    for node, demand in _demands(plan, _top(plan, is_counted=is_counted)):
        if isinstance(node, Relation):
            predicates = tuple(c.predicate for c in demand.conditions if c.predicate is not None)
            request = ScanRequest(predicates, demand.required, demand.compared, demand.limit)
            found.setdefault(node.table, []).append(request)
    return found


def required_columns(plan: Plan) -> dict[int, frozenset[int]]:
    """The columns of each node, by its number, that anything above it reads."""
    found = _demands(plan, _top(plan, is_counted=False))
    return {node.number: demand.required for node, demand in found}


def conditions_above(plan: Plan) -> dict[int, tuple[Condition, ...]]:
    """The conditions that hold for every row of a node that anything above it sees, by the number of the node."""
    found = _demands(plan, _top(plan, is_counted=False))
    return {node.number: demand.conditions for node, demand in found}


def _top(plan: Plan, *, is_counted: bool) -> _Demand:
    return _Demand((), frozenset() if is_counted else frozenset(plan.columns), frozenset())


def _demands(plan: Plan, demand: _Demand) -> Iterator[tuple[Plan, _Demand]]:
    """Every node with what the nodes above want of it."""
    yield plan, demand
    for child, wanted in _below(plan, demand):
        yield from _demands(child, wanted)


def _below(plan: Plan, demand: _Demand) -> Iterator[tuple[Plan, _Demand]]:  # noqa: C901 - one case for each kind of node
    match plan:
        case Relation() | Rows():
            return
        case Filter():
            yield plan.child, _below_filter(plan, demand)
        case Project():
            yield plan.child, _below_project(plan, demand)
        case Aggregate():
            yield plan.child, _below_aggregate(plan, demand)
        case Limit():
            yield plan.child, _below_limit(plan, demand)
        case Join():
            left, right = _below_join(plan, demand)
            yield plan.left, left
            yield plan.right, right
        case SetOperation():
            for position, branch in enumerate(plan.branches):
                yield branch, _below_set_operation(plan, position, demand)
        case Pass():
            yield plan.child, _below_pass(plan, demand)
            yield from map(_whole, plan.subqueries)
        case Opaque():
            yield from map(_whole, plan.children)
        case _:
            assert_never(plan)


def _whole(plan: Plan) -> tuple[Plan, _Demand]:
    """A node of which all columns of all rows may matter."""
    everything = frozenset(plan.columns)
    return plan, _Demand((), everything, everything)


def _below_filter(plan: Filter, demand: _Demand) -> _Demand:
    references = _references(plan.conditions)
    if not all(condition.is_deterministic for condition in plan.conditions):
        return _Demand((), demand.required | references, demand.compared | references)
    is_exact = all(condition.predicate is not None for condition in plan.conditions)
    return _Demand(
        (*demand.conditions, *plan.conditions),
        demand.required | references,
        demand.compared | references,
        demand.limit if is_exact else None,
    )


def _below_project(plan: Project, demand: _Demand) -> _Demand:
    sources = {item.column: item.source for item in plan.items if item.source is not None}
    needed = [item for item in plan.items if item.column in demand.required]
    compared = [item for item in plan.items if item.column in demand.compared]
    is_deterministic = all(item.is_deterministic for item in plan.items)
    return _Demand(
        tuple(_moved(demand.conditions, sources)) if is_deterministic else (),
        frozenset().union(*(item.references for item in needed)),
        frozenset().union(*(item.references for item in compared)),
        demand.limit if is_deterministic else None,
    )


def _below_aggregate(plan: Aggregate, demand: _Demand) -> _Demand:
    """Groups that a filter above leaves out need no rows: conditions on keys move down, if there is a key."""
    keys = {output.column: output.argument for output in plan.outputs if output.function is Function.KEY}
    named = {column: key for column, key in keys.items() if key is not None and key in (plan.keys or ())}
    conditions = tuple(_moved(_predicates(demand.conditions), named)) if plan.is_deterministic else ()
    outputs = [output.references for output in plan.outputs if output.column in demand.required]
    compared = [output.references for output in plan.outputs if output.column in demand.compared]
    return _Demand(conditions, plan.references.union(*outputs), frozenset().union(*compared))


def _below_limit(plan: Limit, demand: _Demand) -> _Demand:
    """Which rows a limit lets through depends on all of them: no condition from above moves below it."""
    if not plan.is_global:
        return replace(demand, conditions=())
    limits = [rows for rows in (plan.rows, demand.limit) if rows is not None]
    return replace(demand, conditions=(), limit=min(limits, default=None) if plan.rows is not None else None)


def _below_pass(plan: Pass, demand: _Demand) -> _Demand:
    own = frozenset(plan.child.columns)
    if plan.movable is None:
        movable = (condition for condition in demand.conditions if condition.references <= own)
    else:
        movable = (condition for condition in _predicates(demand.conditions) if condition.references <= plan.movable)
    return _Demand(
        tuple(movable),
        (demand.required & own) | plan.references,
        demand.compared & own,
        demand.limit if plan.passes_limit else None,
    )


def _below_set_operation(plan: SetOperation, position: int, demand: _Demand) -> _Demand:
    """Columns correspond by position. Rows are compared as a whole, except by UNION ALL."""
    branch = plan.branches[position]
    own = dict(zip(plan.columns, branch.columns, strict=True))
    is_union = plan.operator is SetOperator.UNION
    if not is_union:
        conditions = tuple(_moved(_predicates(demand.conditions), own)) if position == 0 else ()
        everything = frozenset(branch.columns)
        return _Demand(conditions, everything, everything)
    conditions = tuple(_moved(demand.conditions, own))
    required, compared = (frozenset(own[column] for column in ids) for ids in (demand.required, demand.compared))
    return _Demand(conditions, required, compared, demand.limit)


def _below_join(plan: Join, demand: _Demand) -> tuple[_Demand, _Demand]:
    """Conditions from above hold for the rows of the side that the join preserves; those of ON for the rows that match.

    A row of the other side is only seen where it matches a row that is seen. So each side may be filtered by what holds for
    the rows that it has to match, through the columns that the join compares.
    """
    plan = seen_from_above(plan, demand.conditions)
    inferred_left: Iterable[Condition] = ()
    inferred_right: Iterable[Condition] = ()
    on = plan.conditions if all(condition.is_deterministic for condition in plan.conditions) else ()
    above = demand.conditions
    match plan.type:
        case JoinType.INNER | JoinType.LEFT_SEMI:
            on_left = on_right = (*above, *on)
        case JoinType.LEFT_OUTER | JoinType.LEFT_ANTI:
            on_left, on_right = above, on
        case JoinType.RIGHT_OUTER:
            on_left, on_right = on, above
        case JoinType.FULL_OUTER:
            on_left = on_right = ()
    left = tuple(_within(on_left, frozenset(plan.left.columns)))
    right = tuple(_within(on_right, frozenset(plan.right.columns)))
    if plan.type in {JoinType.INNER, JoinType.LEFT_SEMI, JoinType.RIGHT_OUTER}:
        inferred_left = _inferred(right, {right_: left_ for left_, right_ in plan.equalities})
    if plan.type not in {JoinType.RIGHT_OUTER, JoinType.FULL_OUTER}:
        inferred_right = _inferred(left, dict(plan.equalities))
    references = _references(plan.conditions)
    both = _Demand((), demand.required | references, demand.compared | references)
    return (
        replace(both.of(plan.left), conditions=(*left, *inferred_left)),
        replace(both.of(plan.right), conditions=(*right, *inferred_right)),
    )


def seen_from_above(plan: Join, conditions: Sequence[Condition]) -> Join:
    """The join as it is to conditions that hold above it: to an inner one they are as good as its own, as in `FROM a, b`."""
    plan = _without_outer(plan, conditions)
    if plan.type is not JoinType.INNER:
        return plan
    pairs = (condition.equal_columns(plan.left.columns, plan.right.columns) for condition in conditions)
    found = tuple(pair for pair in pairs if pair is not None)
    return replace(plan, equalities=(*plan.equalities, *found))


def _without_outer(plan: Join, conditions: Sequence[Condition]) -> Join:
    """The join as it is to a filter above it that no row of nulls passes: an inner one, where that is the same."""
    no_left = any(_rejects(condition, frozenset(plan.left.columns)) for condition in conditions)
    no_right = any(_rejects(condition, frozenset(plan.right.columns)) for condition in conditions)
    match plan.type:
        case JoinType.LEFT_OUTER if no_right:
            return replace(plan, type=JoinType.INNER)
        case JoinType.RIGHT_OUTER if no_left:
            return replace(plan, type=JoinType.INNER)
        case JoinType.FULL_OUTER if no_left and no_right:
            return replace(plan, type=JoinType.INNER)
        case JoinType.FULL_OUTER if no_left:
            return replace(plan, type=JoinType.LEFT_OUTER)
        case JoinType.FULL_OUTER if no_right:
            return replace(plan, type=JoinType.RIGHT_OUTER)
    return plan


def _rejects(condition: Condition, side: frozenset[int]) -> bool:
    """Whether a condition on one side is not true where that side is missing."""
    predicate = condition.predicate
    return (
        predicate is not None
        and bool(condition.references)
        and condition.references <= side
        and rejects_nulls(predicate)
    )


def _references(conditions: Iterable[Condition]) -> frozenset[int]:
    return frozenset().union(*(condition.references for condition in conditions))


def _within(conditions: Iterable[Condition], columns_: frozenset[int]) -> Iterator[Condition]:
    return (condition for condition in conditions if condition.references and condition.references <= columns_)


def _predicates(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """The conditions that no two equal rows tell apart: another function of 0.0 may differ from that of -0.0."""
    return (condition for condition in conditions if condition.predicate is not None)


def _moved(conditions: Iterable[Condition], sources: Mapping[int, int]) -> Iterator[Condition]:
    """The conditions on columns that are others under new numbers, on those others."""
    return (_on(condition, sources) for condition in conditions if condition.references <= sources.keys())


def _inferred(conditions: Iterable[Condition], partners: Mapping[int, int]) -> Iterator[Condition]:
    """What holds for a column holds for the column that equals it. It is known of the column, and nothing to be run."""
    known = (condition for condition in _predicates(conditions) if condition.references)
    return (replace(condition, expression=None) for condition in _moved(known, partners))


def _on(condition: Condition, sources: Mapping[int, int]) -> Condition:
    predicate, equality, expression = condition.predicate, condition.equality, condition.expression
    return replace(
        condition,
        references=frozenset(sources[column] for column in condition.references),
        predicate=None if predicate is None else on_columns(predicate, sources),
        equality=None if equality is None else (sources[equality[0]], sources[equality[1]]),
        expression=None if expression is None else expression.on(sources),
    )
