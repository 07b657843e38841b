"""Operations on a table: `run` is the production code, `expected` is what it means for the naive model.

`certain`: one that succeeds has made exactly one version; others may have found nothing to do. `yields`: it may lose
against another writer.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
from msgspec import structs

from indextables.errors import ConflictError, IndexTablesError, NotFoundError, VersionNotFoundError
from indextables.layout import Layout
from indextables.log import Operation as LogOperation
from indextables.log import Snapshot, Transaction, TransactionLog
from indextables.log.splits import live_rows
from indextables.maintain.alter import alter, with_column, with_properties
from indextables.maintain.compact import Work, merge
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.maintain.compaction_request import merge_request
from indextables.maintain.copy_rows import refs_to
from indextables.maintain.drop_partitions import drop_partitions
from indextables.maintain.replace_where import resolve_overwrite
from indextables.maintain.row_deletion import plan_deletion, write_deletion
from indextables.maintain.vacuum import purge
from indextables.read.opener import SplitOpener
from indextables.split.deletion_bitmap import RowNumbers
from indextables.write.job_planning import create_table, plan_job, plan_on
from indextables.write.overwrite import OverwriteResolver, full_overwrite_only
from indextables.write.uncommitted_files import commit_or_discard
from indextables.write.write_job import Mode, commit_job
from tests.simulation.model import Table
from tests.simulation.process import SCHEMA, Process
from tests.simulation.scheduler import PLACE


class Operation(Protocol):
    certain: ClassVar[bool]
    yields: ClassVar[bool]

    def run(self, process: Process) -> None: ...

    def expected(self, table: Table, label: str) -> Table: ...


@dataclass(frozen=True)
class Create:
    """A new, empty table, where there is none."""

    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        process.close()
        process.known = create_table(process.log(), SCHEMA, layout=Layout.parse("region"), fields={}, properties={})

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002 - the same for all
        return Table()


@dataclass(frozen=True)
class Recreate(Create):
    """The table is deleted, and another one made in its place, with a row of its own."""

    def run(self, process: Process) -> None:
        process.store.wipe()
        super().run(process)


@dataclass(frozen=True)
class Append:
    region: str = "eu"
    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = False

    def run(self, process: Process) -> None:
        _write(process, Mode.APPEND, (process.label, self.region))

    def expected(self, table: Table, label: str) -> Table:
        return table.plus((label, self.region))


@dataclass(frozen=True)
class SparkAppend(Append):
    """An append as Spark does it: planned by path, the table opened again for the commit; it may create the table."""

    def run(self, process: Process) -> None:
        job = plan_job(str(PLACE), SCHEMA, mode=Mode.APPEND, sources=[{**process.settings, "partitionBy": "region"}])
        process.close()
        process.known = commit_job(job, [process.write(job.plan, (process.label, self.region))])


@dataclass(frozen=True)
class Overwrite:
    region: str = "eu"
    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        _write(process, Mode.OVERWRITE, (process.label, self.region))

    def expected(self, table: Table, label: str) -> Table:
        return replace(table, rows={(label, self.region): 1})


@dataclass(frozen=True)
class ReplaceRegion:
    """A replaceWhere that depends on what it replaces: its row says how many rows there were."""

    region: str = "eu"
    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        _, snapshot = process.open()
        splits = zip(snapshot.splits["path"].to_pylist(), live_rows(snapshot.splits).to_pylist(), strict=True)
        count = sum(rows for path, rows in splits if path.startswith(f"region={self.region}/"))
        row = (f"{process.label}:{count}", self.region)
        _write(process, Mode.OVERWRITE, row, resolve_overwrite, replaceWhere=f"region = '{self.region}'")

    def expected(self, table: Table, label: str) -> Table:
        return table.without(self.region).plus((f"{label}:{table.count(self.region)}", self.region))


@dataclass(frozen=True)
class Batch:
    """A numbered batch of a stream: whatever happens, it is tried until it is known to be in the table."""

    app: str
    version: int
    region: str = "eu"
    certain: ClassVar[bool] = False
    yields: ClassVar[bool] = False

    @property
    def row(self) -> tuple[str, str]:
        return (f"{self.app}#{self.version}", self.region)

    def run(self, process: Process) -> None:
        for left in (2, 1, 0):
            try:
                _write(process, Mode.APPEND, self.row, txnAppId=self.app, txnVersion=str(self.version))
            except IndexTablesError:
                process.close()
                if not left:
                    raise
            else:
                return

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002 - the same whoever writes it
        return replace(table.plus(self.row), batches={**table.batches, self.app: self.version})


@dataclass(frozen=True)
class Drop:
    region: str = "eu"
    certain: ClassVar[bool] = False
    yields: ClassVar[bool] = False

    def run(self, process: Process) -> None:
        log, snapshot = process.open()
        process.known, _ = drop_partitions(log, snapshot, f"region = '{self.region}'", process.config())

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002
        return table.without(self.region)


@dataclass(frozen=True)
class Delete:
    """Deletes the first row of a region, in the order of their ids: what it deletes depends on what is there."""

    region: str = "eu"
    certain: ClassVar[bool] = False
    yields: ClassVar[bool] = False

    def run(self, process: Process) -> None:
        log, snapshot = process.open()
        config = process.config(**{"deletionVectors.maxDeletedShare": "1"})

        def transaction(current: Snapshot) -> Transaction:
            opener = SplitOpener.of(log.store, config)
            deletion = plan_deletion(current, self._first_row(process, current), config, opener)
            removed = write_deletion(log, deletion, config, reads=lambda _: True)
            return Transaction(
                operation=LogOperation.DELETE,
                snapshot=current,
                removes=removed.removes,
                vectors=removed.vectors,
                unite=removed.unite,
                reads=removed.reads,
            )

        process.known = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot

    def _first_row(self, process: Process, current: Snapshot) -> dict[str, RowNumbers | None]:
        splits = refs_to(current.splits.sort_by("path"), current.metadata)
        mine = [split for split in splits if split.path.startswith(f"region={self.region}/")]
        rows = [(row, split) for split in mine for row in process.rows_of([split])]
        if not rows:
            return {}
        first, split = min(rows, key=lambda found: (found[0], found[1].path))
        numbers = [number for number, row in enumerate(process.all_rows_of(split)) if row == first]
        return {split.path: np.array(numbers[:1])}

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002
        first = min((row for row in table.rows if row[1] == self.region), default=None)
        return table if first is None else replace(table, rows=dict(Counter(table.rows) - Counter([first])))


@dataclass(frozen=True)
class Merge:
    certain: ClassVar[bool] = False
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        log, snapshot = process.open()

        def in_small_files(_: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
            for group in groups:
                adds = process.write(group.plan, *process.rows_of(group.splits)).adds
                yield WrittenGroup(
                    group, [structs.replace(add, data_change=False, num_merge_ops=group.merges) for add in adds]
                )

        request = merge_request(snapshot, process.config(), table=log.table)
        process.known, result = merge(log, snapshot, request, process.config(), run=in_small_files)
        if result.conflicts and not result.merged:
            raise ConflictError(
                result.conflicts[0], table=log.table, version=result.version, operation="", reason="", paths=()
            )

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002
        return table


@dataclass(frozen=True)
class SetProperty:
    key: str = "owner"
    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        log, snapshot = process.open()
        process.known = alter(log, snapshot, lambda old: with_properties(old, {self.key: process.label}), {})

    def expected(self, table: Table, label: str) -> Table:
        return replace(table, properties={**table.properties, self.key: label})


@dataclass(frozen=True)
class AddColumn:
    certain: ClassVar[bool] = True
    yields: ClassVar[bool] = True

    def run(self, process: Process) -> None:
        log, snapshot = process.open()
        name = _column(process.label)
        process.known = alter(log, snapshot, lambda old: with_column(old, name, pa.int64(), None), {})

    def expected(self, table: Table, label: str) -> Table:
        return replace(table, columns=(*table.columns, _column(label)))


@dataclass(frozen=True)
class Read:
    """All rows of the newest version, or of an older one if it is still there."""

    version: int | None = None
    certain: ClassVar[bool] = False
    yields: ClassVar[bool] = False

    def run(self, process: Process) -> None:
        log, _ = process.open()
        with suppress(*(() if self.version is None else (VersionNotFoundError, NotFoundError))):
            self._read(process, log)

    def _read(self, process: Process, log: TransactionLog) -> None:
        snapshot = log.snapshot(self.version)
        rows = process.rows_of(refs_to(snapshot.splits.sort_by("path"), snapshot.metadata))
        process.read = snapshot.version, snapshot.txn_id, dict(Counter(rows))

    def expected(self, table: Table, label: str) -> Table:  # noqa: ARG002
        return table


@dataclass(frozen=True)
class OpenAt(Read):
    """A handle that is as old as a version: the writes after it start there."""

    version: int = 0

    def run(self, process: Process) -> None:
        log, _ = process.open()
        with suppress(VersionNotFoundError):
            process.known = log.snapshot(self.version)


@dataclass(frozen=True)
class Checkpoint(Read):
    def run(self, process: Process) -> None:
        process.open()[0].checkpoint()


@dataclass(frozen=True)
class CleanUp(Read):
    def run(self, process: Process) -> None:
        process.open()[0].clean_up()


@dataclass(frozen=True)
class Vacuum(Read):
    def run(self, process: Process) -> None:
        purge(process.open()[0], process.config())


def _write(
    process: Process,
    mode: Mode,
    row: tuple[str, str],
    overwrite: OverwriteResolver = full_overwrite_only,
    **options: str,
) -> None:
    """A write of one row as `IndexTable` does it, with a small file in place of a split."""
    log, snapshot = process.open()
    job = plan_on(log, snapshot, SCHEMA, process.config(**options), mode=mode, overwrite=overwrite)
    if not job.already_committed:
        process.known = commit_job(job, [process.write(job.plan, row)], log=log, snapshot=snapshot)


def _column(label: str) -> str:
    return f"c_{label.replace('.', '_')}"
