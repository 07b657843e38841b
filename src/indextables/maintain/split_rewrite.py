"""Rows taken out of a table: splits that go as a whole, and splits that are written again without some of their rows."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log import Snapshot
from indextables.log.actions import Metadata, Remove
from indextables.log.clock import now
from indextables.log.splits import removes_for
from indextables.log.transaction import MayMatch
from indextables.maintain.copy_rows import refs_to, rows_of
from indextables.maintain.row_selection import Selection
from indextables.predicate import Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.write.write_plan import WritePlan, sharing_as

_AT_ONCE = 8


@dataclass(frozen=True, slots=True, eq=False)
class TakeOut:
    """What leaves a table with a selection of rows, decided; nothing is written yet.

    No row of the `whole` splits stays, and some of the `shared` ones do: `copied` of them, while `deleted` rows go.
    """

    snapshot: Snapshot
    selection: Selection
    whole: pa.Table
    shared: pa.Table
    deleted: int
    copied: int

    def rows(self, opener: SplitOpener) -> Iterator[pa.RecordBatch]:
        """The rows of the shared splits that stay."""
        schema = self.snapshot.metadata.arrow_schema()
        return rows_of(opener, refs_to(self.shared), schema, unless=self.selection.holds)

    def copying(self, plan: WritePlan) -> WritePlan:
        """How these rows are written: partitions that shared splits do so again, whatever the settings of the moment."""
        return sharing_as(self.shared, plan)

    @property
    def removes(self) -> list[Remove]:
        going = pa.concat_tables([self.whole, self.shared])
        return removes_for(going, self.snapshot.metadata, deletion_timestamp=now())

    @property
    def rewritten(self) -> frozenset[str]:
        return frozenset(self.shared["path"].to_pylist())

    @property
    def reads(self) -> MayMatch:
        return may_match(self.selection, self.snapshot.metadata)

    @property
    def metrics(self) -> dict[str, int]:
        return {
            "numRemovedSplits": len(self.whole) + len(self.shared),
            "numRewrittenSplits": len(self.shared),
            "numDeletedRows": self.deleted,
            "numCopiedRows": self.copied,
        }


def take_out(snapshot: Snapshot, selection: Selection, opener: SplitOpener) -> TakeOut:
    """What has to go, and what has to be copied, so that exactly the selected rows leave the table.

    A split of which the log does not know enough is opened; one that turns out to hold no such row is left alone.
    """
    splits = snapshot.splits
    verdicts = selection.verdicts(splits, snapshot.metadata)
    certain = splits.filter(pc.equal(verdicts, int(Verdict.ALWAYS)))
    unsure = splits.filter(pc.equal(verdicts, int(Verdict.SOMETIMES)))
    counts = _counts(unsure, selection, snapshot.metadata, opener)
    selected, rows = counts["selected"], counts["rows"]
    all_of_them = pc.equal(selected, rows)
    some = pc.and_(pc.greater(selected, 0), pc.invert(all_of_them))
    whole = pa.concat_tables([certain, unsure.filter(pc.and_(all_of_them, pc.greater(rows, 0)))])
    return TakeOut(
        snapshot,
        selection,
        whole=whole,
        shared=unsure.filter(some),
        deleted=_rows_in(certain, opener) + _sum(selected),
        copied=_sum(rows.filter(some)) - _sum(selected.filter(some)),
    )


def may_match(selection: Selection, metadata: Metadata) -> MayMatch:
    """Whether a split that another writer added may hold a row of the selection."""

    def may(splits: pa.Table) -> bool:
        return bool(pc.any(pc.not_equal(selection.verdicts(splits, metadata), int(Verdict.NEVER))).as_py())

    return may


def _counts(splits: pa.Table, selection: Selection, metadata: Metadata, opener: SplitOpener) -> pa.Table:
    """How many rows of each split are selected, of how many: only the columns that decide are read."""
    schema = metadata.arrow_schema()
    decisive = pa.schema([schema.field(name) for name in selection.columns])

    def counted(split: SplitRef) -> dict[str, int]:
        selected = rows = 0
        for batch in rows_of(opener, [split], decisive):
            selected += _sum(selection.holds(batch))
            rows += batch.num_rows
        return {"selected": selected, "rows": rows}

    found = _at_once(counted, refs_to(splits))
    return pa.Table.from_pylist(found, pa.schema({"selected": pa.int64(), "rows": pa.int64()}))


def _at_once(work: Callable[[SplitRef], dict[str, int]], splits: Sequence[SplitRef]) -> list[dict[str, int]]:
    if len(splits) <= 1:
        return list(map(work, splits))
    with ThreadPoolExecutor(min(_AT_ONCE, len(splits))) as pool:
        return list(pool.map(work, splits))


def _rows_in(splits: pa.Table, opener: SplitOpener) -> int:
    """The number of rows in splits; a split of which the log does not say is asked."""
    untold = splits.filter(splits["num_records"].is_null())
    return _sum(splits["num_records"]) + sum(opener.open(split).num_rows for split in refs_to(untold))


def _sum(values: pa.Array | pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)
