"""Scan builder: a relation and what a query reads of it become a planned scan, and the choice of who reads it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from pathlib import Path

import pyarrow as pa

from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.predicate import index_queries
from indextables.read.index_lookup import look_up_few
from indextables.read.local_indexes import finds_few_rows
from indextables.read.scan import Scan
from indextables.read.scan_plan import ScanPlan, SplitTask
from indextables.read.scan_spec import Score
from indextables.schema import column_named
from indextables.spark.planner.pushdown import ScanRequest
from indextables.spark.planner.relation_pruning import prune
from indextables.spark.planner.snapshots import scan_of
from indextables.spark.planner.table_relation import TableRelation
from indextables.spark.planner.task_packing import enough
from indextables.storage.location import Location

_FEW_SPLITS = 16
_FEW_ROWS = 10_000


class ScanReader(Enum):
    """Who reads the rows of a scan."""

    NONE = "none: no split can match"
    DRIVER = "the driver, by cached indexes"
    SPARK_PARQUET = "Spark, as Parquet"
    EXECUTORS = "executors, with indexes"


@dataclass(frozen=True)
class PlannedScan:
    """A scan of one relation. `columns` are the names of those that are read, also of those that are not the table's."""

    relation: TableRelation
    plan: ScanPlan
    columns: tuple[str, ...]
    limit: int | None
    filtered: tuple[str, ...]  # the columns that filters and joins look at

    @cached_property
    def tasks(self) -> list[SplitTask]:
        return self.plan.tasks if self.limit is None else enough(self.plan.tasks, self.limit)

    @cached_property
    def is_parquet_scan(self) -> bool:
        """Whether Spark's Parquet reader reads the splits; to decide it, one of them may be opened."""
        return _is_parquet_scan(self.relation, self.plan, self.filtered)

    @property
    def bytes(self) -> int:
        """The bytes of the splits to read."""
        return self.plan.bytes if self.limit is None else sum(task.split.size for task in self.tasks)

    @property
    def label(self) -> str:
        """The scan in plans that Spark shows: `3 of 12 splits of logs, version 7`."""
        name, total = Path(self.relation.options.path).name, len(self.plan.split_verdicts.splits)
        return f"{len(self.tasks)} of {total} splits of {name}, version {self.plan.snapshot.version}"

    @property
    def is_one_task(self) -> bool:
        """Whether few enough splits may have the rows wanted that one task reads them one after the other."""
        few = self.limit is not None and self.limit <= _FEW_ROWS and len(self.tasks) <= _FEW_SPLITS
        return few and not self.is_parquet_scan

    @cached_property
    def config(self) -> Config:
        return self.relation.options.config(self.plan.snapshot.metadata.properties)

    @cached_property
    def reader(self) -> ScanReader:
        if not self.tasks:
            return ScanReader.NONE
        if self.is_parquet_scan:
            return ScanReader.SPARK_PARQUET
        most = self.config.read.driver_rows
        return ScanReader.DRIVER if finds_few_rows(self._driver_scan, most) else ScanReader.EXECUTORS

    def rows(self) -> pa.Table:
        """The rows, read by this process, with all columns of the relation: null where they are not required."""
        read = self._driver_scan.to_arrow() if self.tasks else self.plan.scan_spec.output_schema.empty_table()
        named = dict(zip(self.columns, read.columns, strict=True))
        names = list(self.relation.columns.values())
        columns = [named[name] if name in named else self._unread(name, len(read)) for name in names]
        return pa.table(columns, names=names)

    @cached_property
    def _driver_scan(self) -> Scan:
        return scan_of(self.relation.options, self.plan, limit=self.limit)

    def _unread(self, name: str, rows: int) -> pa.Array:
        """A column that is not required; that of a search must not be null."""
        result = self.relation.options.search_columns.get(name)
        if result is not None:
            return (
                pa.nulls(rows, pa.float32()) if isinstance(result, Score) else pa.repeat(pa.scalar(value=False), rows)
            )
        schema = self.plan.scan_spec.schema
        return pa.nulls(rows, schema.field(column_named(schema, name)).type)


def build_scan(relation: TableRelation, requests: Sequence[ScanRequest]) -> PlannedScan:
    """The scan that gives every row and column that one of the requests can see."""
    options, pruned = relation.options, prune(relation, [request.conditions for request in requests])
    required = relation.address.union(*(request.required for request in requests))
    compared = frozenset().union(*(request.compared for request in requests))
    names = list(relation.columns.values())
    columns = [name for number, name in relation.columns.items() if number in required] or names[:1]
    searches = {name: search for name, search in options.search_columns.items() if name in columns}
    spec = options.scan_spec(pruned.plan.snapshot, [name for name in columns if name not in options.added_columns])
    plan = pruned.plan.with_output(replace(spec, search_results=searches))
    limit = requests[0].limit if len(requests) == 1 and pruned.is_exact else None
    filtered = tuple(name for number, name in relation.columns.items() if number in compared)
    return PlannedScan(relation, plan, tuple(columns), limit, filtered)


def _is_parquet_scan(relation: TableRelation, plan: ScanPlan, filtered: Sequence[str]) -> bool:
    """Whether Spark's Parquet reader gives the rows of a scan, and soonest; `filtered` are the columns that filters look at.

    The plan's filters have to say all that the scan asks for, because that reader knows no more. It looks for columns by
    the letter case of the session that runs the query, so they have to be spelled as the table spells them. Bounds of
    floating-point columns know nothing of NaN, which Spark takes for the greatest number: it would leave out rows. Nor does
    it know of deletion vectors. It reads the names of the files, so no column of a split may have been renamed, and none may
    have the name of a dropped one.
    """
    options, spec = relation.options, plan.scan_spec
    if options.search_columns or index_queries(spec.predicate) or relation.has_own_condition:
        return False
    if not set(spec.schema.names).issuperset(relation.columns.values()):
        return False
    if any(task.split.num_deleted for task in plan.tasks):
        return False
    floating = {field.name for field in spec.schema if pa.types.is_floating(field.type)}
    if Location.parse(options.path).scheme != "file" or not floating.isdisjoint(filtered):
        return False
    if any(task.split.renamed for task in plan.tasks):
        return False
    return not _is_lookup(relation, plan)


def _is_lookup(relation: TableRelation, plan: ScanPlan) -> bool:
    """Whether the index finds the few rows that are wanted, as far as the largest of the splits can tell."""
    spec, unsure = plan.scan_spec, [task for task in plan.tasks if not task.all_rows_match]
    if not unsure:
        return False
    largest = max(unsure, key=lambda task: task.split.size)
    reader = scan_of(relation.options, plan).open(largest)
    try:
        have = [name for name in spec.required_columns if name in reader.schema.names]
        cheap = partial(reader.index_costs_less, columns=have, rows=reader.num_rows)
        return look_up_few(reader, spec.point_conditions, usable=cheap) is not None
    except IndexTablesError:
        return True  # our own reader says best what is wrong with a split
