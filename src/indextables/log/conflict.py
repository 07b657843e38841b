"""Conflict rules: what happens to a transaction when another one was committed first.

`resolve(transaction, winner)` looks at one winning version. The rules, in order:

1. a protocol change, or another table in the same place: conflict
2. the same application's progress: the winner did the same work, or two instances of it are running
3. an operation without input data (a drop, a restore) is planned again on what is there now
4. a metadata change: tolerated or not, by operation
5. the winner added rows that the transaction would have had to see: conflict
6. the winner deleted rows of splits that the transaction changes too: their deletion vectors are united, if both only
   delete rows and not the same ones; else conflict. Rows that a MERGE INTO may have matched are a conflict in any case
7. the winner removed splits that the transaction read, changes or removes: conflict, unless it only rearranged rows that the
   transaction removes as a whole anyway
8. otherwise the same actions are tried at the next version

A conflict of rules 5 to 7 of an operation on rows (DELETE, UPDATE, MERGE INTO) is no conflict where it can be planned again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from indextables.log.actions import Add, DocMapping, Metadata, Remove
from indextables.log.column_ids import other_columns
from indextables.log.snapshot import Snapshot
from indextables.log.splits import splits_table
from indextables.log.transaction import ROW_LEVEL, WITHOUT_INPUT, Operation, Transaction, everything, nothing
from indextables.log.version_file import Version


@dataclass(frozen=True, slots=True)
class Rebase:
    """Try again at the next version, with these actions."""

    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Replan:
    """Decide again on the new state of the table; where the caller cannot, it is a conflict."""

    reason: str


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """The winner has done this transaction's work."""


@dataclass(frozen=True, slots=True)
class Conflict:
    reason: str
    paths: Sequence[str] = ()


Resolution = Rebase | Replan | AlreadyDone | Conflict


class MetadataChange(Enum):
    PROPERTIES = auto()
    LAYOUT = auto()
    NEW_COLUMNS = auto()
    FIELD_TYPES = auto()
    SCHEMA = auto()


_HARMLESS = frozenset({MetadataChange.PROPERTIES, MetadataChange.LAYOUT, MetadataChange.NEW_COLUMNS})
_OF_NEW_SPLITS = _HARMLESS | {MetadataChange.FIELD_TYPES}  # a split refers to the field types that it was written under
_REARRANGES = frozenset({Operation.MERGE, Operation.REINDEX})
_TOLERATED: dict[Operation, frozenset[MetadataChange]] = {
    Operation.CREATE: frozenset(),
    Operation.APPEND: _OF_NEW_SPLITS,
    Operation.OVERWRITE: frozenset(),
    Operation.REPLACE_WHERE: frozenset({MetadataChange.PROPERTIES}),
    Operation.REPLACE_TABLE: frozenset(),
    Operation.MERGE: _OF_NEW_SPLITS,
    Operation.REINDEX: _OF_NEW_SPLITS,
    Operation.DROP: frozenset(MetadataChange),
    Operation.ALTER: frozenset(),
    Operation.DELETE: _HARMLESS,
    Operation.UPDATE: _HARMLESS,
    Operation.MERGE_INTO: _HARMLESS,
    Operation.RESTORE: frozenset(MetadataChange),
}


@dataclass(frozen=True, slots=True)
class _Race:
    """The transaction, moved on to the state after the winner; and the snapshot and the metadata that both started from."""

    mine: Transaction
    winner: Version
    read: Snapshot
    before: Metadata


def resolve(transaction: Transaction, winner: Version) -> Resolution:
    snapshot = transaction.snapshot
    if snapshot is None:
        return _same_application(transaction, winner) or _lost_creation(transaction)
    moved_on = replace(transaction, snapshot=snapshot.advanced([winner]))
    if not winner.belongs_to(snapshot.metadata.id):  # it was meant for a table that is gone, and changes nothing here
        return Rebase(moved_on)
    race = _Race(moved_on, winner, snapshot, snapshot.metadata)
    on_rows = (_unseen_rows, _lost_matches, _deleted_rows, _lost_splits)
    for rule in (_protocol, _application, _without_input, _metadata, *on_rows):
        resolution = rule(race)
        if isinstance(resolution, Rebase):
            race = replace(race, mine=resolution.transaction)
        elif isinstance(resolution, Conflict) and rule in on_rows and race.mine.operation in ROW_LEVEL:
            return Replan(resolution.reason)
        elif resolution is not None:
            return resolution
    return Rebase(race.mine)


def _lost_creation(transaction: Transaction) -> Resolution:
    if transaction.operation is Operation.APPEND:
        return Replan("the table was created by another writer")
    return Conflict("the table was created by another writer")


def _protocol(race: _Race) -> Resolution | None:
    if race.winner.protocol is not None:
        return Conflict("it changed the protocol of the table")
    if race.winner.metadata is not None and race.winner.metadata.id != race.before.id:
        return Conflict("it replaced the table by another one")
    return None


def _application(race: _Race) -> Resolution | None:
    return _same_application(race.mine, race.winner)


def _same_application(transaction: Transaction, winner: Version) -> Resolution | None:
    mine = transaction.txn
    theirs = next((txn for txn in winner.txns if mine and txn.app_id == mine.app_id), None)
    if mine is None or theirs is None:
        return None
    if theirs.version >= mine.version:
        return AlreadyDone()
    return Conflict(
        f"it wrote batch {theirs.version} of application {mine.app_id!r}, whose batch {mine.version} this is; "
        "two instances of the application are running"
    )


def _metadata(race: _Race) -> Resolution | None:
    mine = _changes_by(race.mine.metadata, race.before)
    theirs = _changes_by(race.winner.metadata, race.before)
    if mine and theirs:
        return _both_changed(race, mine | theirs)
    refused = theirs - _TOLERATED[race.mine.operation]
    if refused:
        return Conflict(f"it changed the table's {_describe(refused)}")
    if mine - _HARMLESS and any(add.data_change for add in race.winner.adds):
        return Replan(f"it added rows that the change of {_describe(mine - _HARMLESS)} has not been checked against")
    return None


def _both_changed(race: _Race, changes: frozenset[MetadataChange]) -> Resolution:
    mine, theirs = race.mine.metadata, race.winner.metadata
    if mine is None or theirs is None or changes != {MetadataChange.PROPERTIES}:
        return Conflict(f"both change the table's {_describe(changes)}")
    set_here = _changed_properties(race.before.properties, mine.properties)
    set_there = _changed_properties(race.before.properties, theirs.properties)
    if set_here.keys() & set_there.keys():
        return Conflict(f"both set {', '.join(sorted(set_here.keys() & set_there.keys()))}")
    properties = {key: value for key, value in {**theirs.properties, **set_here}.items() if value is not None}
    return Rebase(replace(race.mine, metadata=structs.replace(theirs, properties=properties)))


def _without_input(race: _Race) -> Resolution | None:
    return Replan("the table has changed") if race.mine.operation in WITHOUT_INPUT else None


def _unseen_rows(race: _Race) -> Resolution | None:
    added = [add for add in race.winner.adds if add.data_change]
    if race.mine.reads is nothing or race.mine.snapshot is None:
        return None
    if race.winner.info.operation == Operation.RESTORE:  # rows may be back in splits that stay
        return Conflict("it restored an older version of the table")
    if not added:
        return None
    if not race.mine.reads(splits_table(added, race.mine.snapshot.metadata)):
        return None
    return Conflict("it added rows that this one would have had to see", [add.path for add in added])


def _lost_matches(race: _Race) -> Resolution | None:
    """A MERGE INTO depends on rows that it does not change, too: what has a match is not inserted."""
    if race.mine.operation is not Operation.MERGE_INTO:
        return None
    gone = [remove.path for remove in race.winner.removes if remove.data_change]
    paths = [*(vector.path for vector in race.winner.deletion_vectors), *gone]
    splits = race.read.splits
    touched = splits.filter(pc.is_in(splits["path"], pa.array(paths, pa.string()))) if paths else None
    if touched is None or not len(touched) or not race.mine.reads(touched):
        return None
    return Conflict("it deleted rows that this one may have matched", paths)


def _deleted_rows(race: _Race) -> Resolution | None:
    theirs = {vector.path: vector for vector in race.winner.deletion_vectors}
    if not theirs:
        return None
    if race.mine.reads is everything:
        return Conflict("it deleted rows of splits that this one read", sorted(theirs))
    removed = theirs.keys() & {remove.path for remove in race.mine.removes}
    if removed:
        return Conflict("it deleted rows of splits that this one removes or rewrites", sorted(removed))
    shared = {vector.path: theirs[vector.path] for vector in race.mine.vectors if vector.path in theirs}
    if not shared:
        return None
    united = race.mine.unite(shared) if race.mine.unite is not None else None
    if united is None:
        return Conflict("both changed the same rows", sorted(shared))
    by_path = {vector.path: vector for vector in united}
    return Rebase(replace(race.mine, vectors=[by_path.get(vector.path, vector) for vector in race.mine.vectors]))


def _lost_splits(race: _Race) -> Resolution | None:
    removed, mine = {r.path for r in race.winner.removes}, {r.path for r in race.mine.removes}
    changed = removed & {vector.path for vector in race.mine.vectors}
    if changed:
        return Conflict("it removed splits of which this one changes rows", sorted(changed))
    rows_gone = [remove.path for remove in race.winner.removes if remove.data_change]
    if race.mine.reads is everything and rows_gone:
        return Conflict("it removed splits that this one read", rows_gone)
    if removed.isdisjoint(mine):
        return None
    touched = [group for group in _compaction_groups(race.winner) if not group.sources.isdisjoint(mine)]
    only_rearranged = not rows_gone and all(group.sources <= mine - race.mine.rewritten for group in touched)
    if only_rearranged and race.mine.operation not in _REARRANGES:
        return Rebase(replace(race.mine, removes=_substitute(race.mine.removes, touched)))
    return Conflict("it removed splits that this one removes or rewrites", sorted(removed & mine))


@dataclass(frozen=True, slots=True)
class _CompactionGroup:
    """Splits that a commit removed, and those that have their rows now."""

    sources: frozenset[str]
    adds: Sequence[Add]


def _compaction_groups(winner: Version) -> list[_CompactionGroup]:
    """The groups of a merge; where they are not marked, all splits are one group."""
    numbers = {remove.merge_group for remove in winner.removes} | {add.merge_group for add in winner.adds}
    if None in numbers:
        return [_CompactionGroup(frozenset(remove.path for remove in winner.removes), winner.adds)]
    sources: dict[int | None, set[str]] = {number: set() for number in numbers}
    adds: dict[int | None, list[Add]] = {number: [] for number in numbers}
    for remove in winner.removes:
        sources[remove.merge_group].add(remove.path)
    for add in winner.adds:
        adds[add.merge_group].append(add)
    return [_CompactionGroup(frozenset(sources[number]), adds[number]) for number in numbers]


def _substitute(removes: Sequence[Remove], merged: Sequence[_CompactionGroup]) -> list[Remove]:
    """The same rows removed, now that a merge has put them into other splits."""
    deletion_timestamp = removes[0].deletion_timestamp
    gone = frozenset[str]().union(*(group.sources for group in merged))
    return [remove for remove in removes if remove.path not in gone] + [
        Remove(
            path=add.path,
            deletion_timestamp=deletion_timestamp,
            partition_values=add.partition_values,
            spec_id=add.spec_id,
            size=add.size,
        )
        for group in merged
        for add in group.adds
    ]


def _changes_by(after: Metadata | None, before: Metadata) -> frozenset[MetadataChange]:
    return metadata_changes(before, after) if after else frozenset()


def metadata_changes(before: Metadata, after: Metadata) -> frozenset[MetadataChange]:
    """In which ways the description of a table changed."""
    changes = {
        MetadataChange.PROPERTIES: before.properties != after.properties,
        MetadataChange.LAYOUT: _layout(before) != _layout(after),
        MetadataChange.NEW_COLUMNS: _columns(before) != _columns(after) and _only_adds_columns(before, after),
        MetadataChange.SCHEMA: bool(other_columns(before, after))
        or (_columns(before) != _columns(after) and not _only_adds_columns(before, after)),
        MetadataChange.FIELD_TYPES: _other_rules(before, after),
    }
    return frozenset(change for change, happened in changes.items() if happened)


def _layout(metadata: Metadata) -> Any:
    return metadata.current_spec_id, list(metadata.partition_specs)


def _columns(metadata: Metadata) -> dict[str, Any]:
    return {field.name: (str(field.type), field.nullable) for field in metadata.arrow_schema()}


def _only_adds_columns(before: Metadata, after: Metadata) -> bool:
    old, new = _columns(before), _columns(after)
    return old.items() <= new.items() and all(new[name][1] for name in new.keys() - old.keys())


def _mapping(metadata: Metadata) -> dict[str, Any]:
    current = (m for m in metadata.doc_mappings if m.doc_mapping_id == metadata.current_doc_mapping_id)
    return dict(next(current, DocMapping(doc_mapping_id=0)).fields)


def _other_rules(before: Metadata, after: Metadata) -> bool:
    """Whether a column of both is indexed in another way."""
    old, new = _mapping(before), _mapping(after)
    return any(new.get(name, rule) != rule for name, rule in old.items())


def _changed_properties(before: Any, after: Any) -> dict[str, str | None]:
    """The properties that were set, and with None those that were unset."""
    return {key: after.get(key) for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _describe(changes: Iterable[MetadataChange]) -> str:
    return " and ".join(sorted(change.name.lower().replace("_", " ") for change in changes))
