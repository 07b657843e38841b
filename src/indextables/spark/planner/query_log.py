"""Log lines of a query that is about to run: of its scans, and of its aggregates that come from metadata."""

import logging
from collections.abc import Iterator, Mapping

from indextables.events import log_event
from indextables.read.log_aggregates import count_from_metadata
from indextables.read.pruning_summary import log_pruning
from indextables.spark.planner.metadata_aggregates import FilteredRelation, filtered_relation
from indextables.spark.planner.plan import Origin, Plan, children_of, walk
from indextables.spark.planner.planner import QueryPlan
from indextables.spark.planner.relation_pruning import exact_plan
from indextables.spark.planner.search_warnings import warn_of_missed_words
from indextables.spark.planner.table_relation import TableRelation

logger = logging.getLogger(__name__)


def log_query(query: QueryPlan, plan: Plan, tables: Mapping[int, TableRelation]) -> None:
    """Logs what the scans of a query read, and which of its aggregates come from metadata; `plan` is its top."""
    for scan in query.scans.values():
        path, splits = scan.relation.options.path, len(scan.tasks)
        log_pruning(scan.plan, table=path, splits_to_scan=splits, read_by=scan.reader.value)
        warn_of_missed_words(scan.plan, scan.relation.options)
    for node in walk(plan):
        rows = query.rows.get(node.number)
        if rows is not None and rows.origin is Origin.METADATA:
            log_metadata_rows(node, tables)


def log_metadata_rows(plan: Plan, tables: Mapping[int, TableRelation]) -> None:
    """Logs, for each table of a plan, that no split is read, what is left after pruning, and how many rows match."""
    for found in _filtered_relations(plan):
        relation = tables[found.table]
        pruned = exact_plan(relation, found.conditions)
        if pruned is None:
            continue
        warn_of_missed_words(pruned, relation.options)
        if not logger.isEnabledFor(logging.INFO):
            continue
        path, version = relation.options.path, relation.options.version
        count = count_from_metadata(pruned)
        answer = "cached indexes" if count.unknown else "the transaction log"
        log_pruning(pruned, table=path, splits_to_scan=0, read_by=f"none: {answer} has the answer")
        rows = None if count.unknown else count.rows
        log_event(logger, "Metadata aggregate", table=path, version=version, rows=rows)


def _filtered_relations(plan: Plan) -> Iterator[FilteredRelation]:
    found = filtered_relation(plan)
    if found is not None:
        yield found
    else:
        for child in children_of(plan):
            yield from _filtered_relations(child)
