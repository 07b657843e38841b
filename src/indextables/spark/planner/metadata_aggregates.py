"""Metadata aggregates: counts, groups, minima and maxima from the transaction log, and counts from cached indexes.

An aggregate is computed here if its rows are those of one relation under filters that are predicates, its keys and arguments
are plain columns, and no split has to be opened for it. No task is run then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.predicate import Predicate
from indextables.read.local_indexes import count_by_cached_indexes
from indextables.read.log_aggregates import (
    count_from_metadata,
    extremes_from_metadata,
    group_counts_from_metadata,
    merged_extreme,
    non_null_count_from_metadata,
    summed,
)
from indextables.read.scan_plan import ScanPlan
from indextables.schema import column_named
from indextables.spark.planner.column_names import on_columns
from indextables.spark.planner.plan import (
    Aggregate,
    Filter,
    Function,
    Limit,
    Output,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    SetOperator,
)
from indextables.spark.planner.relation_pruning import exact_plan
from indextables.spark.planner.snapshots import scan_of
from indextables.spark.planner.table_relation import TableRelation

Tables = Mapping[int, TableRelation]


@dataclass(frozen=True, slots=True)
class FilteredRelation:
    """The rows of a relation that satisfy conditions; `sources` are its columns by their numbers in the node above."""

    table: int
    conditions: tuple[Predicate, ...]
    sources: Mapping[int, int]


def count_rows(plan: Plan, tables: Tables) -> int | None:
    """The number of rows of a plan, where the log or cached indexes have it."""
    match plan:
        case Limit(rows=int() as most, is_global=True, child=Limit(child=child)):
            rows = count_rows(child, tables)
            return None if rows is None else min(rows, most)
        case Project() | Pass(added=(), passes_limit=True):
            return count_rows(plan.child, tables)
        case SetOperation(operator=SetOperator.UNION):
            counts = [count_rows(branch, tables) for branch in plan.branches]
            return None if None in counts else sum(count for count in counts if count is not None)
    found = filtered_relation(plan)
    table = None if found is None else _MetadataTable.of(found, tables)
    return None if table is None else table.row_count()


def aggregate_rows(plan: Aggregate, tables: Tables) -> pa.Table | None:
    """The rows of an aggregate, a column for each of its outputs; None if splits would have to be opened for them."""
    found = filtered_relation(plan.child)
    if found is None or plan.keys is None or any(o.function is Function.OTHER for o in plan.outputs):
        return None
    arguments = {output.argument for output in plan.outputs if output.argument is not None}
    if not arguments.union(plan.keys) <= found.sources.keys():
        return None
    table = _MetadataTable.of(found, tables)
    if table is None or not table.has({found.sources[column] for column in arguments.union(plan.keys)}):
        return None
    keys = [table.column(key) for key in dict.fromkeys(plan.keys)]
    columns = table.groups(keys, plan.outputs) if keys else table.totals(plan.outputs)
    if columns is None:
        return None
    nullable = {Function.KEY, Function.MIN, Function.MAX}
    fields = [
        pa.field(f"c{number}", column.type, nullable=output.function in nullable)
        for number, (output, column) in enumerate(zip(plan.outputs, columns, strict=True))
    ]
    return pa.table(columns, schema=pa.schema(fields))


def filtered_relation(plan: Plan) -> FilteredRelation | None:  # noqa: PLR0911 - one for each kind of node
    """Filters, plain projections and aliases over one relation; None for anything else."""
    match plan:
        case Relation():
            return FilteredRelation(plan.table, (), {column: column for column in plan.columns})
        case Pass(added=(), passes_limit=True):
            return filtered_relation(plan.child)
        case Project():
            below = filtered_relation(plan.child)
            if below is None or not all(item.is_deterministic for item in plan.items):
                return None
            plain = {
                item.column: below.sources[item.source]
                for item in plan.items
                if item.source is not None and item.source in below.sources
            }
            return FilteredRelation(below.table, below.conditions, plain)
        case Filter():
            below = filtered_relation(plan.child)
            predicates = [condition.predicate for condition in plan.conditions if condition.is_deterministic]
            known = [predicate for predicate in predicates if predicate is not None]
            references = frozenset().union(*(condition.references for condition in plan.conditions))
            if below is None or len(known) < len(plan.conditions) or not references <= below.sources.keys():
                return None
            moved = tuple(on_columns(predicate, below.sources) for predicate in known)
            return FilteredRelation(below.table, (*below.conditions, *moved), below.sources)
    return None


@dataclass(frozen=True, slots=True)
class _MetadataTable:
    relation: TableRelation
    plan: ScanPlan
    sources: Mapping[int, int]

    @classmethod
    def of(cls, found: FilteredRelation, tables: Tables) -> "_MetadataTable | None":
        relation = tables[found.table]
        plan = exact_plan(relation, found.conditions)
        return None if plan is None else cls(relation, plan, found.sources)

    def has(self, columns: set[int]) -> bool:
        """Whether all of these are columns of the table, and none of them the result of a search."""
        return columns <= self.relation.names.keys()

    def column(self, number: int) -> str:
        """The table's own name: a frame may spell it in other letters."""
        return column_named(self.plan.scan_spec.schema, self.relation.names[self.sources[number]])

    def row_count(self) -> int | None:
        count = count_from_metadata(self.plan)
        if not count.unknown:
            return count.rows
        found = count_by_cached_indexes(scan_of(self.relation.options, self.plan), count.unknown)
        return None if found is None else count.rows + found

    def groups(self, keys: list[str], outputs: Sequence[Output]) -> list[pa.ChunkedArray] | None:
        """No groups without rows."""
        if any(output.function not in {Function.KEY, Function.COUNT_ROWS} for output in outputs):
            return None
        stored, count = group_counts_from_metadata(self.plan, keys, self.plan.snapshot.metadata)
        if count.unknown:
            return None
        rows = summed(stored, keys, self.plan.scan_spec.schema)
        places = [len(keys) if o.argument is None else keys.index(self.column(o.argument)) for o in outputs]
        return [rows.column(place) for place in places]

    def totals(self, outputs: Sequence[Output]) -> list[pa.Array] | None:
        """One row, of no rows too."""
        found = []
        for output in outputs:
            value = self.total(output)
            if value is None:
                return None
            found.append(value)
        return found

    def total(self, output: Output) -> pa.Array | None:
        if output.function is Function.COUNT_ROWS:
            return None if (rows := self.row_count()) is None else pa.array([rows], pa.int64())
        if output.argument is None:
            return None
        name = self.column(output.argument)
        if output.function is Function.COUNT_VALUES:
            values = non_null_count_from_metadata(self.plan, name)
            return None if values is None else pa.array([values], pa.int64())
        ends, unknown = extremes_from_metadata(self.plan, name, self.plan.snapshot.metadata)
        kind = self.plan.scan_spec.schema.field(name).type
        return None if unknown else pa.array([merged_extreme(ends, output.function.value)], kind)
