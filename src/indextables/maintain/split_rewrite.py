"""Rows deleted from a table: splits that are removed, and splits that are rewritten without some of their rows."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log import Snapshot
from indextables.log.actions import Metadata, Remove
from indextables.log.clock import now
from indextables.log.splits import live_rows, removes_for
from indextables.log.transaction import MayMatch
from indextables.maintain.copy_rows import refs_to, rows_of
from indextables.maintain.row_selection import Selection
from indextables.predicate import Verdict
from indextables.read.opener import SplitOpener, SplitRef
from indextables.write.write_plan import WritePlan, coalesced_like

_PARALLELISM = 8


@dataclass(frozen=True, slots=True, eq=False)
class SplitRewrite:
    """How a selection of rows is deleted; nothing is written yet.

    All rows of the `removed` splits are deleted. Of the `rewritten` splits, some rows are kept: `copied` of them in all.
    `deleted` is the number of rows that are deleted.
    """

    snapshot: Snapshot
    selection: Selection
    removed: pa.Table
    rewritten: pa.Table
    deleted: int
    copied: int

    def rows(self, opener: SplitOpener) -> Iterator[pa.RecordBatch]:
        """The rows of the rewritten splits that are kept."""
        schema = self.snapshot.metadata.arrow_schema()
        return rows_of(opener, self.rewritten_refs, schema, unless=self.selection.holds)

    @property
    def rewritten_refs(self) -> list[SplitRef]:
        return refs_to(self.rewritten, self.snapshot.metadata)

    def copy_plan(self, plan: WritePlan) -> WritePlan:
        """How these rows are written: partitions that shared splits share them again, whatever the settings are now."""
        return coalesced_like(self.rewritten, plan)

    @property
    def removes(self) -> list[Remove]:
        splits = pa.concat_tables([self.removed, self.rewritten])
        return removes_for(splits, self.snapshot.metadata, deletion_timestamp=now())

    @property
    def rewritten_paths(self) -> frozenset[str]:
        return frozenset(self.rewritten["path"].to_pylist())

    @property
    def reads(self) -> MayMatch:
        return may_match(self.selection, self.snapshot.metadata)

    @property
    def metrics(self) -> dict[str, int]:
        return {
            "numRemovedSplits": len(self.removed) + len(self.rewritten),
            "numRewrittenSplits": len(self.rewritten),
            "numDeletedRows": self.deleted,
            "numCopiedRows": self.copied,
        }


def plan_rewrite(snapshot: Snapshot, selection: Selection, opener: SplitOpener) -> SplitRewrite:
    """Which splits are removed or rewritten so that exactly the selected rows are deleted.

    A split is opened where the log does not decide; one that turns out to have no selected row is left as it is.
    """
    splits = snapshot.splits
    verdicts = selection.verdicts(splits, snapshot.metadata)
    certain = splits.filter(pc.equal(verdicts, int(Verdict.ALWAYS)))
    unsure = splits.filter(pc.equal(verdicts, int(Verdict.SOMETIMES)))
    counts = _counts(unsure, selection, snapshot.metadata, opener)
    selected, rows = counts["selected"], counts["rows"]
    all_of_them = pc.equal(selected, rows)
    some = pc.and_(pc.greater(selected, 0), pc.invert(all_of_them))
    removed = pa.concat_tables([certain, unsure.filter(pc.and_(all_of_them, pc.greater(rows, 0)))])
    return SplitRewrite(
        snapshot,
        selection,
        removed=removed,
        rewritten=unsure.filter(some),
        deleted=_rows_in(certain, snapshot.metadata, opener) + _sum(selected),
        copied=_sum(rows.filter(some)) - _sum(selected.filter(some)),
    )


def may_match(selection: Selection, metadata: Metadata) -> MayMatch:
    """Whether a split that another writer added may hold a row of the selection."""

    def may(splits: pa.Table) -> bool:
        return bool(pc.any(pc.not_equal(selection.verdicts(splits, metadata), int(Verdict.NEVER))).as_py())

    return may


def _counts(splits: pa.Table, selection: Selection, metadata: Metadata, opener: SplitOpener) -> pa.Table:
    """The number of selected rows and of all rows in each split; only the columns of the selection are read."""
    schema = metadata.arrow_schema()
    columns = pa.schema([schema.field(name) for name in selection.columns])

    def counted(split: SplitRef) -> dict[str, int]:
        selected = rows = 0
        for batch in rows_of(opener, [split], columns):
            selected += _sum(selection.holds(batch))
            rows += batch.num_rows
        return {"selected": selected, "rows": rows}

    found = _in_parallel(counted, refs_to(splits, metadata))
    return pa.Table.from_pylist(found, pa.schema({"selected": pa.int64(), "rows": pa.int64()}))


def _in_parallel(work: Callable[[SplitRef], dict[str, int]], splits: Sequence[SplitRef]) -> list[dict[str, int]]:
    if len(splits) <= 1:
        return list(map(work, splits))
    with ThreadPoolExecutor(min(_PARALLELISM, len(splits))) as pool:
        return list(pool.map(work, splits))


def _rows_in(splits: pa.Table, metadata: Metadata, opener: SplitOpener) -> int:
    """The number of rows in splits; a split is opened where the log does not have it."""
    unknown = splits.filter(splits["num_records"].is_null())
    uncounted = (opener.open(split).num_rows - split.num_deleted for split in refs_to(unknown, metadata))
    return _sum(live_rows(splits)) + sum(uncounted)


def _sum(values: pa.Array | pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)
