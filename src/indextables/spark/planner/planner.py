"""The planner: what a query becomes when it runs.

```
plan ─▶ aggregates in metadata become rows ─▶ small sides of joins become rows that prune the other side
     ─▶ pushdown: conditions, required columns and limits per relation ─▶ scans
```

A query is one or more plans: the query itself and its subqueries. Every step gives a plan with the same rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.metadata_aggregates import aggregate_rows
from indextables.spark.planner.plan import (
    Aggregate,
    Filter,
    Limit,
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
from indextables.spark.planner.pushdown import ScanRequest, push_down
from indextables.spark.planner.relation_pruning import prune
from indextables.spark.planner.runtime_filters import Evaluate, HasSplits, with_runtime_filters
from indextables.spark.planner.scan_builder import PlannedScan, build_scan
from indextables.spark.planner.table_relation import TableRelation

_MIN_SPLITS = 4  # that are worth a runtime filter


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """`rows` replace nodes, by the numbers of the nodes; `scans` replace relations, by the numbers of the tables.

    `drops_limit` if the one scan limits itself, and the limit at the top of the query need not be run.
    """

    scans: Mapping[int, PlannedScan]
    rows: Mapping[int, Rows]
    drops_limit: bool = False


def plan_query(
    plans: Sequence[Plan],
    tables: Mapping[int, TableRelation],
    *,
    evaluate: Evaluate | None = None,
    is_counted: bool = False,
) -> QueryPlan:
    """The query whose first plan is at the top; `evaluate` runs a part ahead of the rest. Its rows may only be counted."""
    top = with_metadata_rows(plans[0], tables)
    if evaluate is not None:
        top = with_runtime_filters(top, _has_splits(top, tables), evaluate)
    requests: dict[int, list[ScanRequest]] = {}
    for plan in (top, *plans[1:]):
        for table, found in push_down(plan, is_counted=is_counted and plan is top).items():
            requests.setdefault(table, []).extend(found)
    scans = {table: build_scan(tables[table], found) for table, found in requests.items()}
    rows = {node.number: node for node in walk(top) if isinstance(node, Rows)}
    return QueryPlan(scans, rows, _drops_limit(top, scans))


def with_metadata_rows(plan: Plan, tables: Mapping[int, TableRelation]) -> Plan:
    """The plan, in which aggregates that metadata has are rows."""
    if isinstance(plan, Aggregate):
        rows = aggregate_rows(plan, tables)
        if rows is not None:
            return Rows(plan.number, plan.columns, Origin.METADATA, _named(rows, plan.columns))
    return with_children(plan, tuple(with_metadata_rows(child, tables) for child in children_of(plan)))


def _has_splits(top: Plan, tables: Mapping[int, TableRelation]) -> HasSplits:
    """Whether filters leave several splits of a table."""

    def has_splits(table: int) -> bool:
        branches = [request.conditions for request in push_down(top)[table]]
        return prune(tables[table], branches).plan.num_tasks >= _MIN_SPLITS

    return has_splits


def _drops_limit(top: Plan, scans: Mapping[int, PlannedScan]) -> bool:
    """Whether the rows of the one scan, read by one task, are those that the limit at the top lets through."""
    if not (isinstance(top, Limit) and top.is_global and isinstance(top.child, Limit)):
        return False
    node = top.child.child
    while isinstance(node, Project | Filter) or (isinstance(node, Pass) and node.passes_limit):
        node = node.child
    if not isinstance(node, Relation):
        return False
    scan = scans[node.table]
    return scan.limit == top.rows and scan.is_one_task


def _named(rows: pa.Table, columns: Sequence[int]) -> pa.Table:
    return rows.rename_columns([name_of(column) for column in columns])
