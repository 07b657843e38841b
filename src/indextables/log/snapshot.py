"""The table as it was after some version: a value, built by folding versions over an earlier one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import pyarrow as pa

from indextables.errors import CorruptLogError
from indextables.log.actions import Add, DeletionVector, Metadata, Protocol, Remove, Txn
from indextables.log.splits import (
    conform,
    in_few_chunks,
    splits_schema,
    splits_table,
    with_deletion_vectors,
    without_paths,
)
from indextables.log.version_file import Version

T = TypeVar("T")
_MOST_PENDING = 10_000  # changes that are copied from snapshot to snapshot, each several times as large as a row
TOMBSTONES = pa.schema({"path": pa.string(), "deletion_timestamp": pa.int64(), "size": pa.int64()})


@dataclass(frozen=True, slots=True)
class Rows:
    """The live splits, and the removed ones whose files may still be there.

    `named_by` is the doc mapping whose names the columns of the splits table have: the current one when it was built.
    """

    splits: pa.Table
    tombstones: pa.Table
    named_by: int | None


@dataclass(frozen=True)
class Snapshot:
    """The table after version `version`.

    `txn_id` is that of the version, to distinguish it from another version with the same number. `checksum` is that of its
    file, None where it has none.

    `rows` are built lazily: a writer that only appends never needs them, so its commits cost the same
    whatever the size of the table.
    """

    version: int
    timestamp: int
    protocol: Protocol
    metadata: Metadata
    txns: Mapping[str, Txn]
    base: Rows
    pending: Mapping[str, Add | Remove]
    txn_id: str | None = None
    checksum: str | None = None
    pending_vectors: Mapping[str, DeletionVector] = field(default_factory=dict)

    @cached_property
    def rows(self) -> Rows:
        return _merge(self.base, self.pending, self.pending_vectors, self.metadata)

    @property
    def splits(self) -> pa.Table:
        return self.rows.splits

    @property
    def tombstones(self) -> pa.Table:
        return self.rows.tombstones

    def has_batch(self, txn: Txn | None) -> bool:
        """Whether the table has a batch of an application, or a later one."""
        last = None if txn is None else self.txns.get(txn.app_id)
        return txn is not None and last is not None and last.version >= txn.version

    def advanced(self, versions: Sequence[Version]) -> "Snapshot":
        """This snapshot with later versions applied to it; those that were committed to another table change nothing."""
        if not versions:
            return self
        last, timestamp = versions[-1], later(self.timestamp, versions)
        versions = [version for version in versions if version.belongs_to(self.metadata.id)]
        built = "rows" in self.__dict__ or len(self.pending) + len(self.pending_vectors) > _MOST_PENDING
        changes, vectors = _changes(versions, {} if built else self.pending_vectors)
        return Snapshot(
            version=last.number,
            timestamp=timestamp,
            protocol=_last((version.protocol for version in versions), self.protocol),
            metadata=_last((version.metadata for version in versions), self.metadata),
            txns={**self.txns, **{txn.app_id: txn for version in versions for txn in version.txns}},
            base=self.rows if built else self.base,
            pending={**({} if built else self.pending), **changes},
            txn_id=last.info.txn_id,
            checksum=last.info.checksum,
            pending_vectors=vectors,
        )


def initial(table: str, versions: Sequence[Version]) -> Snapshot:
    """The snapshot of a log that starts with version 0."""
    first = versions[0]
    if first.protocol is None or first.metadata is None:
        missing = "protocol" if first.protocol is None else "metaData"
        raise CorruptLogError(f"version 0 of {table} has no {missing} action", table=table, version=0)
    named_by = first.metadata.current_doc_mapping_id
    nothing = Rows(splits_schema(first.metadata).empty_table(), TOMBSTONES.empty_table(), named_by)
    before = Snapshot(-1, -1, first.protocol, first.metadata, {}, nothing, {})
    return before.advanced(versions)


def later(timestamp: int, versions: Iterable[Version]) -> int:
    """The time of the last of some versions; a clock that ran backwards is moved on, one millisecond a version."""
    for version in versions:
        timestamp = max(version.timestamp, timestamp + 1)
    return timestamp


def _last(given: Iterable[T | None], otherwise: T) -> T:
    return next((value for value in reversed(list(given)) if value is not None), otherwise)


def _changes(
    versions: Iterable[Version], vectors: Mapping[str, DeletionVector]
) -> tuple[dict[str, Add | Remove], dict[str, DeletionVector]]:
    """The last add or remove of each path, and the deletion vectors since: a split that is added anew has none."""
    changes, latest = dict[str, Add | Remove](), dict(vectors)
    for version in versions:
        for action in version.actions:
            match action:
                case Add() | Remove():
                    changes[action.path] = action
                    latest.pop(action.path, None)
                case DeletionVector():
                    latest[action.path] = action
    return changes, latest


def _merge(
    base: Rows, changes: Mapping[str, Add | Remove], vectors: Mapping[str, DeletionVector], metadata: Metadata
) -> Rows:
    adds = [action for action in changes.values() if isinstance(action, Add)]
    removes = [action for action in changes.values() if isinstance(action, Remove)]
    splits, tombstones = base.splits, base.tombstones
    if changes:
        splits = without_paths(splits, changes)
        tombstones = without_paths(tombstones, changes)
    # after others are gone: after a restore, their bounds may not fit narrower types
    splits = conform(splits, metadata, named_by=base.named_by)
    if adds:
        splits = in_few_chunks(pa.concat_tables([splits, splits_table(adds, metadata)]))
    return Rows(
        with_deletion_vectors(splits, vectors),
        in_few_chunks(pa.concat_tables([tombstones, _tombstones(removes)])) if removes else tombstones,
        metadata.current_doc_mapping_id,
    )


def _tombstones(removes: Sequence[Remove]) -> pa.Table:
    return pa.table({name: [getattr(remove, name) for remove in removes] for name in TOMBSTONES.names}, TOMBSTONES)
