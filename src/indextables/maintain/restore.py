"""RESTORE: a table becomes what it was at an older version. That is a new version, so it can be undone by another restore.

Splits that are not in the table any more are added again, later ones are removed, and deletion vectors are as they were.
No file is written but the version, so the files of the old version must still be there. Progress of applications (`txn`)
stays: a restore does not make a stream write its batches again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from indextables.display.text_output import text_output
from indextables.errors import RestoreError
from indextables.layout import Layout, Void
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import DeletionVector, DocMapping, Metadata, PartitionSpec
from indextables.log.clock import now
from indextables.log.column_ids import column_ids
from indextables.log.split_adds import adds_of
from indextables.log.splits import deletion_vectors_of, live_rows, removes_for
from indextables.plural import pluralize
from indextables.write.write_plan import current_rules, partition_spec, with_mapping

_NAMED = 3  # files that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """What a restore did, or in a dry run would do: the table is as it was at version `restored`.

    `version` is that of the table afterwards: the same as before where it was so already. Rows are counted by split, as far
    as their number is known.
    """

    version: int
    restored: int
    dry_run: bool = False
    splits_restored: int = 0
    splits_removed: int = 0
    rows_restored: int = 0
    rows_removed: int = 0
    bytes_restored: int = 0
    vectors: int = 0
    metadata_changed: bool = False

    def __str__(self) -> str:
        if not (self.splits_restored or self.splits_removed or self.vectors or self.metadata_changed):
            return f"nothing to restore: the table is as it was at version {self.restored} (version {self.version})"
        verb = "would be restored" if self.dry_run else "restored"
        described = "; columns, layout or properties change" if self.metadata_changed else ""
        return (
            f"version {self.restored} {verb} (version {self.version}): "
            f"{pluralize(self.splits_restored, 'split')} added again, {self.splits_removed:,} removed, "
            f"{pluralize(self.vectors, 'deletion vector')} changed; "
            f"{pluralize(self.rows_restored, 'row')} restored, {self.rows_removed:,} removed{described}"
        )

    _repr_html_ = text_output


@dataclass(frozen=True, slots=True, eq=False)
class Restore:
    """What makes `snapshot` the same as `target`; nothing is written yet.

    Where columns come back, splits that stay are `described_again`: the log has forgotten their bounds in these columns.
    """

    snapshot: Snapshot
    target: Snapshot
    metadata: Metadata | None
    added: pa.Table
    described_again: pa.Table
    removed: pa.Table
    vectors: Sequence[DeletionVector]
    rows_restored: int
    rows_removed: int

    @property
    def changes_anything(self) -> bool:
        return bool(self.metadata or len(self.added) or len(self.removed) or self.vectors)

    @property
    def files(self) -> list[str]:
        """The files that the table needs again."""
        vector_files = dict.fromkeys(vector.file for vector in self.vectors if vector.file is not None)
        return [*self.added["path"].to_pylist(), *vector_files]

    @property
    def metrics(self) -> dict[str, int]:
        return {
            "numRestoredSplits": len(self.added),
            "numRestoredRows": self.rows_restored,
            "numRestoredBytes": pc.sum(self.added["size"]).as_py() or 0,
            "numRemovedSplits": len(self.removed),
            "numRemovedRows": self.rows_removed,
            "numDeletionVectors": len(self.vectors),
        }


def plan_restore(snapshot: Snapshot, target: Snapshot) -> Restore:
    """The difference between the table as it is and as it was."""
    there, then = snapshot.splits, target.splits
    added, removed = _only_in(then, there), _only_in(there, then)
    metadata = restored_metadata(snapshot.metadata, target.metadata)
    stay = _only_in(then, added) if columns_come_back(snapshot.metadata, target.metadata) else then.slice(0, 0)
    changed = _row_changes(there, then)
    return Restore(
        snapshot,
        target,
        None if metadata == snapshot.metadata else metadata,
        added,
        stay,
        removed,
        _restored_vectors(_only_in(there, stay), then),
        _total(live_rows(added)) + _total(changed.filter(pc.greater(changed, 0))),
        _total(live_rows(removed)) - _total(changed.filter(pc.less(changed, 0))),
    )


def restore(
    log: TransactionLog, *, version: int | None = None, timestamp: datetime | None = None, dry_run: bool = False
) -> tuple[Snapshot, RestoreResult]:
    """Makes the table what it was at a version or at a time; gives the table afterwards, and what was done.

    It is planned again where another writer commits first: then it undoes that commit, too. A RestoreError names the files
    that are gone, before anything is changed.
    """
    current, target = log.snapshot(), log.snapshot(version, timestamp=timestamp)
    planned: list[Restore] = []
    parameters = {"version": str(target.version)}
    if timestamp is not None:
        parameters["timestamp"] = timestamp.isoformat()

    def transaction(read: Snapshot) -> Transaction:
        planned.append(plan_restore(read, target))
        return _transaction(planned[-1], parameters)

    if dry_run:
        plan = plan_restore(current, target)
        _refuse_missing(log, plan)
        return current, _result(plan, current.version + plan.changes_anything, dry_run=True)
    done = log.commit(transaction(current), replan=transaction, check=lambda _: _refuse_missing(log, planned[-1]))
    return done.snapshot, _result(planned[-1], done.version, dry_run=False)


def _transaction(plan: Restore, parameters: dict[str, str]) -> Transaction:
    adds = adds_of(pa.concat_tables([plan.added, plan.described_again]), plan.target.metadata)
    return Transaction(
        operation=Operation.RESTORE,
        snapshot=plan.snapshot,
        adds=[msgspec.structs.replace(add, data_change=True) for add in adds],
        removes=removes_for(plan.removed, plan.snapshot.metadata, deletion_timestamp=now()),
        vectors=plan.vectors,
        metadata=plan.metadata,
        parameters=parameters,
        metrics=plan.metrics,
    )


def _refuse_missing(log: TransactionLog, plan: Restore) -> None:
    files = plan.files
    missing = log.store.missing(files)
    if missing:
        named = ", ".join(missing[:_NAMED]) + (" and others" if len(missing) > _NAMED else "")
        raise RestoreError(
            f"version {plan.target.version} of {log.table} cannot be restored: {len(missing)} of the {len(files)} files "
            f"that the table would need again are gone ({named}), most likely deleted by a vacuum (PURGE); nothing was "
            "changed. Restore a later version, or bring the files back from a copy",
            table=log.table,
            version=plan.target.version,
            paths=tuple(missing),
        )


def _restored_vectors(there: pa.Table, then: pa.Table) -> list[DeletionVector]:
    """The deletion vectors that differ: as they were, without rows where a split had none."""
    before, after = _vectors(there), _vectors(then)
    stay = {*then["path"].filter(pc.is_in(then["path"], pa.array(before, pa.string()))).to_pylist()}
    undone = [DeletionVector(path=path, cardinality=0) for path in before if path in stay and path not in after]
    return [*(vector for path, vector in after.items() if before.get(path) != vector), *undone]


def _vectors(splits: pa.Table) -> dict[str, DeletionVector]:
    found = deletion_vectors_of(splits.select(["path", "deletion_vector"]).filter(splits["deletion_vector"].is_valid()))
    return {vector.path: vector for vector in found if vector is not None}


def _row_changes(there: pa.Table, then: pa.Table) -> pa.Array:
    """For the splits of both, how many rows more each had then."""
    place = pc.index_in(then["path"], value_set=there["path"].combine_chunks()).combine_chunks()
    rows_now = live_rows(there).combine_chunks().take(place)
    return pc.fill_null(pc.subtract(live_rows(then).combine_chunks(), rows_now), 0)


def _only_in(splits: pa.Table, others: pa.Table) -> pa.Table:
    return splits.filter(pc.invert(pc.is_in(splits["path"], others["path"].combine_chunks())))


def _total(rows: pa.Array | pa.ChunkedArray) -> int:
    return pc.sum(rows).as_py() or 0


def _result(plan: Restore, version: int, *, dry_run: bool) -> RestoreResult:
    return RestoreResult(
        version=version,
        restored=plan.target.version,
        dry_run=dry_run,
        splits_restored=len(plan.added),
        splits_removed=len(plan.removed),
        rows_restored=plan.rows_restored,
        rows_removed=plan.rows_removed,
        bytes_restored=plan.metrics["numRestoredBytes"],
        vectors=len(plan.vectors),
        metadata_changed=plan.metadata is not None,
    )


def restored_metadata(current: Metadata, then: Metadata) -> Metadata:
    """The metadata of a table that is at `current`, and becomes what it was at `then`."""
    restored = structs.replace(
        current,
        schema=then.schema,
        partition_specs=_specs(current, then),
        current_spec_id=then.current_spec_id,
        current_doc_mapping_id=then.current_doc_mapping_id,
        properties=then.properties,
    )
    names = then.arrow_schema().names
    if current.max_column_id is None or column_ids(restored).keys() == set(names):
        return restored
    return _with_mapping_of(restored, names)


def columns_come_back(current: Metadata, then: Metadata) -> bool:
    """Whether there were columns that the table does not have: the log has forgotten what splits say of these."""
    names = _current_names(current, then)
    return any(name not in names.values() for name in then.arrow_schema().names)


def _with_mapping_of(restored: Metadata, names: list[str]) -> Metadata:
    """The metadata with a mapping of exactly its columns; the one of that time may be that of splits with any column."""
    known, highest = column_ids(restored), restored.max_column_id or 0
    new = [name for name in names if name not in known]
    ids = {**known, **{name: highest + number for number, name in enumerate(new, 1)}}
    rules = current_rules(restored)
    after = structs.replace(restored, max_column_id=highest + len(new))
    return with_mapping(after, {name: rules[name] for name in names}, {name: ids[name] for name in names})


def _specs(current: Metadata, then: Metadata) -> list[PartitionSpec]:
    """The specs as they were, and later ones over the columns of that time: a field of another column is void."""
    were, names = {spec.spec_id: spec for spec in then.partition_specs}, _current_names(current, then)
    return [
        were.get(number) or partition_spec(_over_columns(layout, names), number)
        for number, layout in current.layouts.items()
    ]


def _over_columns(layout: Layout, names: Mapping[str, str]) -> Layout:
    fields = (
        replace(field, source=names[field.source]) if field.source in names else replace(field, transform=Void())
        for field in layout.fields
    )
    return Layout(tuple(fields))


def _current_names(current: Metadata, then: Metadata) -> dict[str, str]:
    """The columns that the table has and had, by the names that they have: the names that they had."""
    columns = then.arrow_schema().names
    ids_now, ids_then = column_ids(current), _ids_of(then.current_doc_mapping_id, current)
    if not ids_now:
        have = set(current.arrow_schema().names)
        return {name: name for name in columns if name in have}
    had = {ids_then[name]: name for name in columns if name in ids_then}
    return {name: had[number] for name, number in ids_now.items() if number in had}


def _ids_of(number: int | None, metadata: Metadata) -> Mapping[str, int]:
    mapping = next((m for m in metadata.doc_mappings if m.doc_mapping_id == number), DocMapping(doc_mapping_id=0))
    return mapping.column_ids
