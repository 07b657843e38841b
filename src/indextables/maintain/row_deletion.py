"""Rows deleted where they are: whole splits are removed, others get a deletion vector, or are rewritten without the rows.

```
rows found ─▶ all rows of the split       ─▶ remove
              few of its rows             ─▶ deletion vector, with the rows that were deleted before
              many of them, or no vectors ─▶ remove, and a copy of the rows that are left
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, DeletionVector, Metadata
from indextables.log.clock import now
from indextables.log.ownership import vectors_name
from indextables.log.splits import removes_for
from indextables.log.transaction import MayMatch
from indextables.maintain.copy_rows import plan_copy, refs_to, rows_of
from indextables.plural import pluralize
from indextables.read.deletion_vectors import deleted_rows
from indextables.read.opener import SplitOpener, SplitRef
from indextables.split.deletion_bitmap import RowNumbers, encode_bitmap
from indextables.storage import Store
from indextables.write.commit_metrics import copy_metrics
from indextables.write.overwrite import RemovedSplits
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import coalesced_like

_INLINE = 1024  # bytes of a bitmap that is kept in the log


@dataclass(frozen=True, slots=True, eq=False)
class RowDeletion:
    """How some rows of a table are deleted; nothing is written yet.

    `removed` and `rewritten` are splits. `deleted` has the rows of each split that are deleted now, but for whole splits;
    `vectors` are the splits that get a deletion vector, with all their deleted rows.
    """

    snapshot: Snapshot
    removed: pa.Table
    rewritten: Sequence[SplitRef]
    vectors: Mapping[str, RowNumbers]
    deleted: Mapping[str, RowNumbers]
    rows: int
    copied: int

    @property
    def metrics(self) -> dict[str, int]:
        return {
            "numDeletedRows": self.rows,
            "numCopiedRows": self.copied,
            "numRemovedSplits": len(self.removed) + len(self.rewritten),
            "numRewrittenSplits": len(self.rewritten),
            "numDeletionVectors": len(self.vectors),
        }

    @property
    def figures(self) -> dict[str, int]:
        """What happened to splits, as results have it."""
        return {
            "splits_removed": len(self.removed),
            "splits_rewritten": len(self.rewritten),
            "vectors": len(self.vectors),
            "copied": self.copied,
        }


def plan_deletion(
    snapshot: Snapshot, found: Mapping[str, RowNumbers | None], config: Config, opener: SplitOpener
) -> RowDeletion:
    """The deletion of rows of a snapshot, by split: their numbers, none of which is deleted already, or None for all."""
    paths = pa.array([path for path, rows in found.items() if rows is None or len(rows)], pa.string())
    touched = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], value_set=paths))
    removed, rewritten, vectors, deleted = (
        list[str](),
        list[SplitRef](),
        dict[str, RowNumbers](),
        dict[str, RowNumbers](),
    )
    rows = copied = 0
    for split in refs_to(touched, snapshot.metadata):  # each of them is about to be changed
        new, total = found[split.path], _num_rows(split, opener)
        count = total - split.num_deleted if new is None else len(new)
        rows += count
        if new is None or count + split.num_deleted == total:
            removed.append(split.path)
            continue
        dead = np.union1d(deleted_rows(split.deletion_vector, opener.store), new)
        deleted[split.path] = new
        if config.maintenance.deletion_vectors and len(dead) <= config.maintenance.max_deleted_share * total:
            vectors[split.path] = dead
        else:
            rewritten.append(replace(split, deletion_vector=_inline(split.path, dead)))
            copied += total - len(dead)
    whole = touched.filter(pc.is_in(touched["path"], value_set=pa.array(removed, pa.string())))
    return RowDeletion(snapshot, whole, tuple(rewritten), vectors, deleted, rows, copied)


def write_deletion(log: TransactionLog, deletion: RowDeletion, config: Config, *, reads: MayMatch) -> RemovedSplits:
    """Writes the rows that are left in rewritten splits, and the deletion vectors; gives what is to be committed."""
    snapshot, store = deletion.snapshot, log.store
    rewritten_paths = frozenset(split.path for split in deletion.rewritten)
    rewritten = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], pa.array(rewritten_paths, pa.string())))
    copies = _copies(log, deletion, rewritten, config)
    vectors = write_vectors(deletion.vectors, store, table_id=snapshot.metadata.id)
    gone = pa.concat_tables([deletion.removed, rewritten])

    def unite(theirs: Mapping[str, DeletionVector]) -> Sequence[DeletionVector] | None:
        shared = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], pa.array(theirs, pa.string())))
        rows_of_split = dict(zip(shared["path"].to_pylist(), shared["num_records"].to_pylist(), strict=True))
        united = []
        for path, vector in theirs.items():
            mine, others = deletion.deleted[path], deleted_rows(vector, store)
            dead = np.union1d(mine, others)
            if len(dead) < len(mine) + len(others) or len(dead) == rows_of_split[path]:
                return None
            united.append(_inline(path, dead))
        return united

    return RemovedSplits(
        removes=removes_for(gone, snapshot.metadata, deletion_timestamp=now()),
        copies=copies,
        rewritten=rewritten_paths,
        vectors=vectors,
        unite=unite,
        reads=reads,
        metrics={**copy_metrics(copies), **deletion.metrics},
    )


def deletion_transaction(
    operation: Operation,
    snapshot: Snapshot,
    removed: RemovedSplits,
    *,
    adds: Sequence[Add] = (),
    metadata: Metadata | None = None,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, int],
) -> Transaction:
    """The transaction of a deletion that was written, with new rows (`adds`) if there are any."""
    return Transaction(
        operation=operation,
        snapshot=snapshot,
        adds=[*adds, *removed.copies],
        removes=removed.removes,
        rewritten=removed.rewritten,
        vectors=removed.vectors,
        unite=removed.unite,
        reads=removed.reads,
        metadata=metadata,
        parameters=parameters,
        metrics=metrics,
    )


def write_vectors(rows: Mapping[str, RowNumbers], store: Store, *, table_id: str) -> list[DeletionVector]:
    """The deletion vectors of splits; bitmaps that are too large for the log are written to one file."""
    bitmaps = {path: encode_bitmap(numbers) for path, numbers in rows.items()}
    file, offset, large = vectors_name(table_id), 0, []
    vectors = []
    for path, bitmap in bitmaps.items():
        if len(bitmap) <= _INLINE:
            vectors.append(_vector(path, len(rows[path]), bitmap))
            continue
        vectors.append(
            DeletionVector(
                path=path,
                cardinality=len(rows[path]),
                file=file,
                offset=offset,
                length=len(bitmap),
                crc32=crc32(bitmap),
            )
        )
        large.append(bitmap)
        offset += len(bitmap)
    if large:
        store.put(file, b"".join(large))
    return vectors


def _copies(log: TransactionLog, deletion: RowDeletion, rewritten: pa.Table, config: Config) -> list[Add]:
    if not deletion.rewritten:
        return []
    plan = coalesced_like(rewritten, plan_copy(deletion.snapshot, config))
    schema = deletion.snapshot.metadata.arrow_schema()
    return write_rows(plan, rows_of(SplitOpener.of(log.store, config), deletion.rewritten, schema), log.store)


def _inline(path: str, rows: RowNumbers) -> DeletionVector:
    return _vector(path, len(rows), encode_bitmap(rows))


def _vector(path: str, cardinality: int, bitmap: bytes) -> DeletionVector:
    return DeletionVector(path=path, cardinality=cardinality, bitmap=bitmap, crc32=crc32(bitmap))


def _num_rows(split: SplitRef, opener: SplitOpener) -> int:
    return opener.open(split).num_rows if split.num_records is None else split.num_records


def split_changes(result: Mapping[str, int]) -> str:
    """The end of a sentence on a result, with a colon before it; empty if no split changed.

    >>> split_changes({"splits_removed": 1, "splits_rewritten": 2, "copied": 30, "vectors": 0})
    ': 1 split removed, 2 splits rewritten (30 rows copied)'
    >>> split_changes({"splits_removed": 0, "splits_rewritten": 0, "copied": 0, "vectors": 1, "splits_added": 1})
    ': 1 split added, 1 deletion vector'
    """
    removed, rewritten, vectors = (result[name] for name in ("splits_removed", "splits_rewritten", "vectors"))
    added, copied = result.get("splits_added", 0), pluralize(result["copied"], "row")
    changes = {
        f"{pluralize(removed, 'split')} removed": removed,
        f"{pluralize(rewritten, 'split')} rewritten ({copied} copied)": rewritten,
        f"{pluralize(added, 'split')} added": added,
        pluralize(vectors, "deletion vector"): vectors,
    }
    told = ", ".join(text for text, number in changes.items() if number)
    return f": {told}" if told else ""
