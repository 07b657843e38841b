"""Split pruning: a verdict on every split, from partition values and statistics in the log."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import sum_of
from indextables.log.actions import Metadata
from indextables.log.logical_partitions import PartitionSlices, explode_logical_partitions
from indextables.log.snapshot import Snapshot
from indextables.log.split_bounds import bounds_of_splits
from indextables.log.splits import without_term_filters
from indextables.predicate import Predicate, Verdict, columns, judge


@dataclass(frozen=True, slots=True, eq=False)
class SplitVerdicts:
    """A verdict for every split, and for every logical partition of a coalesced one (`parts`).

    `splits` are without their term filters.
    """

    splits: pa.Table
    verdicts: pa.UInt8Array
    parts: PartitionSlices
    part_verdicts: pa.UInt8Array

    @property
    def possible(self) -> pa.BooleanArray:
        """Whether each split may hold a matching row."""
        return pc.not_equal(self.verdicts, int(Verdict.NEVER))

    def having(self, verdict: Verdict) -> pa.Table:
        return self.splits.filter(pc.equal(self.verdicts, int(verdict)))

    def count(self, verdict: Verdict) -> int:
        return sum_of(pc.equal(self.verdicts, int(verdict)))


def judge_splits(predicate: Predicate, snapshot: Snapshot, *, statistics: bool = True) -> SplitVerdicts:
    """NEVER, SOMETIMES or ALWAYS for each live split, under the partition spec that it was written with.

    Without `statistics`, only partition values count.
    """
    return judge_table(predicate, snapshot.splits, snapshot.metadata, statistics=statistics)


def judge_table(
    predicate: Predicate, splits: pa.Table, metadata: Metadata, *, statistics: bool = True
) -> SplitVerdicts:
    """The same for any table of splits, such as those that a commit adds."""
    splits = without_term_filters(splits)
    parts = explode_logical_partitions(splits, metadata)
    verdicts = judge(predicate, bounds_of_splits(columns(predicate), parts.table, metadata, statistics=statistics))
    return SplitVerdicts(splits, verdicts_of_splits(verdicts, parts, splits), parts, verdicts)


def verdicts_of_splits(verdicts: pa.Array, parts: PartitionSlices, splits: pa.Table) -> pa.UInt8Array:
    """From those of the parts: NEVER if all are NEVER, ALWAYS if all are ALWAYS, else SOMETIMES."""
    if parts.table is splits:
        return verdicts
    by_split = (
        pa.table({"split": parts.split, "verdict": verdicts})
        .group_by("split")
        .aggregate([("verdict", "min"), ("verdict", "max")])
        .sort_by("split")
    )
    low, high = by_split["verdict_min"].combine_chunks(), by_split["verdict_max"].combine_chunks()
    if len(by_split) != len(splits):
        raise AssertionError("every split has at least one part")
    return pc.if_else(pc.equal(low, high), low, pa.scalar(int(Verdict.SOMETIMES), pa.uint8()))
