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
    """A verdict for every split of a snapshot, and for every part of it.

    `by_layout` are the splits that partition values alone rule out; statistics rule out the rest of the NEVERs.
    """

    splits: pa.Table
    verdicts: pa.UInt8Array
    parts: Parts
    part_verdicts: pa.UInt8Array
    by_layout: int

    def having(self, verdict: Verdict) -> pa.Table:
        return self.splits.filter(pc.equal(self.verdicts, int(verdict)))

    def count(self, verdict: Verdict) -> int:
        return int(pc.sum(pc.equal(self.verdicts, int(verdict))).as_py() or 0)


def judge_splits(predicate: Predicate, snapshot: Snapshot) -> Judged:
    """NEVER, SOMETIMES or ALWAYS for each live split, each under the spec that it was written under."""
    splits, metadata = snapshot.splits, snapshot.metadata
    used, parts = columns(predicate), parts_of(splits, metadata)
    by_layout = judge(predicate, facts_about(used, parts.table, metadata, statistics=False))
    by_all = judge(predicate, facts_about(used, parts.table, metadata))
    if parts.table is splits:
        ruled_out = by_layout
        verdicts = by_all
    else:
        ruled_out, verdicts = _of_splits(by_layout, parts, len(splits)), _of_splits(by_all, parts, len(splits))
    never = int(pc.sum(pc.equal(ruled_out, int(Verdict.NEVER))).as_py() or 0)
    return Judged(splits, verdicts, parts, by_all, never)


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
