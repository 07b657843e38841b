"""Log lines of a query that is about to run: one for each table."""

import logging
from collections.abc import Mapping

from indextables.events import log_event
from indextables.read.pruning_summary import log_pruning
from indextables.spark.planner.plan import Origin, Plan, relations_of, walk
from indextables.spark.planner.planner import QueryPlan
from indextables.spark.planner.table_relation import TableRelation

logger = logging.getLogger(__name__)


def log_query(query: QueryPlan, plan: Plan, tables: Mapping[int, TableRelation]) -> None:
    """Logs what the scans of a query read, and which of its aggregates come from metadata; `plan` is its top."""
    for scan in query.scans.values():
        path, splits = scan.relation.options.path, len(scan.tasks)
        log_pruning(scan.plan, table=path, splits_to_scan=splits, read_by=scan.reader.value)
    if not logger.isEnabledFor(logging.INFO):
        return
    for node in walk(plan):
        rows = query.rows.get(node.number)
        if rows is not None and rows.origin is Origin.METADATA:
            log_metadata_rows(node, tables, rows=len(rows.rows))


def log_metadata_rows(plan: Plan, tables: Mapping[int, TableRelation], *, rows: int) -> None:
    """Logs that no split is read for the rows of a plan, or for their number."""
    if not logger.isEnabledFor(logging.INFO):
        return
    for number in dict.fromkeys(relation.table for relation in relations_of(plan)):
        options = tables[number].options
        log_event(logger, "Metadata aggregate", table=options.path, version=options.version, rows=rows)
