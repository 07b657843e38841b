"""Which splits a predicate concerns, as the log alone can tell."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.facts import facts_about
from indextables.log.parts import Parts, parts_of
from indextables.log.snapshot import Snapshot
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
    splits, metadata = snapshot.splits, snapshot.metadata
    parts = parts_of(splits, metadata)
    verdicts = judge(predicate, facts_about(columns(predicate), parts.table, metadata, statistics=statistics))
    of_splits = verdicts if parts.table is splits else _of_splits(verdicts, parts, len(splits))
    return Judged(splits, of_splits, parts, verdicts)


def _of_splits(verdicts: pa.Array, parts: Parts, length: int) -> pa.UInt8Array:
    """NEVER if no part is concerned, ALWAYS if every part is wholly, else SOMETIMES."""
    by_split = (
        pa.table({"split": parts.split, "verdict": verdicts})
        .group_by("split")
        .aggregate([("verdict", "min"), ("verdict", "max")])
        .sort_by("split")
    )
    low, high = by_split["verdict_min"].combine_chunks(), by_split["verdict_max"].combine_chunks()
    if len(by_split) != length:
        raise AssertionError("every split has at least one part")
    return pc.if_else(pc.equal(low, high), low, pa.scalar(int(Verdict.SOMETIMES), pa.uint8()))
