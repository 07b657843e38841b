"""The pruning of a scan in figures, for the log line of a query."""

import logging
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.events import log_event
from indextables.predicate import Verdict, to_sql
from indextables.read.scan_plan import ScanPlan
from indextables.values import canonical

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PruningSummary:
    """Partitions and splits before and after pruning.

    Partitions that share a split are counted one by one if the log lists them, else together as one. A partition is left if
    one of its splits may have a matching row. A table without partitions has one.
    """

    total_partitions: int
    partitions_after_pruning: int
    total_splits: int
    splits_after_pruning: int

    @property
    def partitions_pruned(self) -> int:
        return self.total_partitions - self.partitions_after_pruning

    @property
    def partitions_pruned_percent(self) -> float:
        return round(100 * self.partitions_pruned / self.total_partitions, 1) if self.total_partitions else 0.0


def pruning_summary(plan: ScanPlan) -> PruningSummary:
    split_verdicts = plan.split_verdicts
    partitions = _partitions(split_verdicts.parts.table)
    left = partitions.filter(pc.not_equal(split_verdicts.part_verdicts, int(Verdict.NEVER)))
    total = len(split_verdicts.splits)
    return PruningSummary(_distinct(partitions), _distinct(left), total, total - split_verdicts.count(Verdict.NEVER))


def log_pruning(plan: ScanPlan, *, table: str, splits_to_scan: int, read_by: str | None = None) -> None:
    """Logs what is left of a table for a query that is about to run; nothing is computed where INFO is off."""
    if not logger.isEnabledFor(logging.INFO):
        return
    summary = pruning_summary(plan)
    log_event(
        logger,
        "Partition pruning summary",
        table=table,
        version=plan.snapshot.version,
        filters=to_sql(plan.scan_spec.predicate),
        total_partitions=summary.total_partitions,
        partitions_after_pruning=summary.partitions_after_pruning,
        partitions_pruned=summary.partitions_pruned,
        partitions_pruned_percent=summary.partitions_pruned_percent,
        total_splits=summary.total_splits,
        splits_after_pruning=summary.splits_after_pruning,
        splits_to_scan=splits_to_scan,
        read_by=read_by,
    )


def _partitions(parts: pa.Table) -> pa.Table:
    """The partition of each part of a split, in columns that can be compared."""
    columns = [parts["spec_id"]]
    if "partition" in parts.schema.names:
        for term in parts["partition"].combine_chunks().flatten():
            value, malformed = term.flatten()
            columns += [term.is_valid(), canonical(value), malformed]
    return pa.table(columns, names=[f"key_{number}" for number in range(len(columns))])


def _distinct(partitions: pa.Table) -> int:
    return len(partitions.group_by(partitions.column_names, use_threads=False).aggregate([]))
