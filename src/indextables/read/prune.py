"""Which splits a predicate concerns, as the log alone can tell."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.logical_partitions import Parts, parts_of
from indextables.log.snapshot import Snapshot
from indextables.log.split_bounds import facts_about
from indextables.predicate import Predicate, Verdict, columns, judge


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A verdict for every split of a snapshot, and for every part of it."""

    splits: pa.Table
    verdicts: pa.UInt8Array
    parts: Parts
    part_verdicts: pa.UInt8Array

    def having(self, verdict: Verdict) -> pa.Table:
        return self.splits.filter(pc.equal(self.verdicts, int(verdict)))

    def count(self, verdict: Verdict) -> int:
        return int(pc.sum(pc.equal(self.verdicts, int(verdict))).as_py() or 0)


def judge_splits(predicate: Predicate, snapshot: Snapshot, *, statistics: bool = True) -> Judged:
    """NEVER, SOMETIMES or ALWAYS for each live split, each under the spec that it was written under.

    Without statistics, partition values alone decide.
    """
    return judge_table(predicate, snapshot.splits, snapshot.metadata, statistics=statistics)


def judge_table(predicate: Predicate, splits: pa.Table, metadata: Metadata, *, statistics: bool = True) -> Judged:
    """The same for any splits: those that a commit adds, for example."""
    parts = parts_of(splits, metadata)
    verdicts = judge(predicate, facts_about(columns(predicate), parts.table, metadata, statistics=statistics))
    return Judged(splits, verdicts_of_splits(verdicts, parts, splits), parts, verdicts)


def verdicts_of_splits(verdicts: pa.Array, parts: Parts, splits: pa.Table) -> pa.UInt8Array:
    """From those of parts: NEVER if no part is concerned, ALWAYS if every part is wholly, else SOMETIMES."""
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
