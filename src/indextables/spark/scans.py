"""Scans of our relations, planned by the driver: what is read of a table, and by whom."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from indextables.log import Snapshot
from indextables.predicate import Predicate, distinct_conjunction
from indextables.read.casts import proved
from indextables.read.driver_scan import has_few_rows
from indextables.read.scan import Scan
from indextables.read.scan_plan import ScanPlan, SplitTask, plan_scan
from indextables.read.scan_spec import ScanSpec
from indextables.schema import column_named
from indextables.spark.catalyst import arrow_scan, parquet_scan
from indextables.spark.catalyst.expressions import Conditions, NotUnderstoodError, TableQuery, bound, conjuncts
from indextables.spark.catalyst.java import Java
from indextables.spark.catalyst.local_relation import local_node
from indextables.spark.catalyst.relation import Relation
from indextables.spark.needs import Above, Needs
from indextables.spark.source.snapshots import scan_of, settled
from indextables.spark.source.task_packing import enough

_FEW_SPLITS = 16
_FEW_ROWS = 10_000
_NOTHING_KNOWN = Above((), None)


@dataclass(frozen=True)
class TableScan:
    """A scan of one relation, planned; `columns` are those of the relation that are read, searches too.

    `is_native` if Spark's own reader reads the splits.
    """

    relation: Relation
    plan: ScanPlan
    columns: tuple[str, ...]
    limit: int | None
    is_native: bool

    @classmethod
    def of(cls, relation: Relation, needed: Needs) -> "TableScan":
        asked, columns = relation.asked, relation.columns
        snapshot, names = settled(asked), list(columns.values())
        above = needed.above.get(tuple(columns), _NOTHING_KNOWN)
        wanted = [name for number, name in columns.items() if number in needed.columns] or names[:1]
        searches = {name: search for name, search in asked.searched.items() if name in wanted}
        scan_spec = asked.scan_spec(snapshot, [name for name in wanted if name not in asked.searched])
        terms, whole = _understood(relation, scan_spec, above, snapshot)
        scan_spec = replace(
            scan_spec, predicate=distinct_conjunction(scan_spec.predicate, *terms), search_flags=searches
        )
        filter_columns = [name for number, name in columns.items() if number in needed.judged]
        plan, limit = plan_scan(snapshot, scan_spec), above.limit if whole else None
        return cls(relation, plan, tuple(wanted), limit, parquet_scan.is_native(relation, plan, filter_columns))

    @cached_property
    def tasks(self) -> list[SplitTask]:
        return self.plan.tasks if self.limit is None else enough(self.plan.tasks, self.limit)

    @property
    def is_one_task(self) -> bool:
        """Whether so few splits may have the rows wanted that they are best read one after the other."""
        few = self.limit is not None and self.limit <= _FEW_ROWS and len(self.tasks) <= _FEW_SPLITS
        return few and not self.is_native

    @cached_property
    def is_at_hand(self) -> bool:
        """Whether the driver reads the rows itself."""
        most = self.relation.asked.config(self.plan.snapshot.metadata.properties).read.driver_rows
        return not self.is_native and has_few_rows(self._here, most)

    @property
    def reader(self) -> str:
        """Who reads."""
        if self.is_native:
            return "Spark, as Parquet"
        return "the driver, by indexes at hand" if self.is_at_hand else "executors, with indexes"

    def node(self, spark: Any) -> Java:
        """The node of Spark's plan, with the columns (to Spark) of the relation; those that are not read are null."""
        path, output = self.relation.asked.path, self.relation.java.output()
        if not self.tasks:
            return local_node(spark, self._with_unread(self.plan.scan_spec.output_schema.empty_table()), output)
        if self.is_native:
            return parquet_scan.node(spark, path, [task.split for task in self.tasks], output)
        if self.is_at_hand:
            return local_node(spark, self._with_unread(self._here.to_arrow()), output)
        read = arrow_scan.planned_read(
            self.relation.asked, self.plan, self.tasks, self.limit, one_task=self.is_one_task
        )
        return arrow_scan.node(spark, read, self.relation, self.columns)

    @cached_property
    def _here(self) -> Scan:
        return scan_of(self.relation.asked, self.plan, limit=self.limit)

    def _with_unread(self, rows: pa.Table) -> pa.Table:
        """Rows with all columns of the relation."""
        read = dict(zip(self.columns, rows.columns, strict=True))
        names = list(self.relation.columns.values())
        return pa.table([read.get(name, self._unread(name, len(rows))) for name in names], names=names)

    def _unread(self, name: str, rows: int) -> pa.Array:
        """A column that nobody looks at; Spark wants that of a search not to be null."""
        if name in self.relation.asked.searched:
            return pa.repeat(pa.scalar(value=False), rows)
        schema = self.plan.scan_spec.schema
        return pa.nulls(rows, schema.field(column_named(schema, name)).type)


def _understood(
    relation: Relation, scan_spec: ScanSpec, above: Above, snapshot: Snapshot
) -> tuple[list[Predicate], bool]:
    """The conditions that a scan can judge, bound to the table, and whether these are all of them."""
    terms = [term for condition in above.conditions for term in conjuncts(condition)]
    query, found = TableQuery.of(relation), list[Predicate]()
    for term in terms:
        try:
            written = bound(replace(query, predicate=Conditions(query).predicate(term)), scan_spec.schema)
        except NotUnderstoodError:
            continue
        safe = proved(written, snapshot, where=distinct_conjunction(scan_spec.predicate, *found))
        if safe is not None:
            found.append(safe)
    return found, len(found) == len(terms)
