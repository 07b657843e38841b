"""Which files still hold rows that are not in the table any more, so that it can be shown that such rows are gone.

Rows that were deleted stay on disk until three things have happened: their splits are written again without them
(`merge_splits(deleted_rows=True)`), a vacuum deletes the old files (`purge`), and the old files of the log, which have
bounds of columns and the conditions of deletions, are cleaned up (`purge(log_retention=...)`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow.compute as pc

from indextables.display.text_output import text_output
from indextables.inspect.findings import format_bytes
from indextables.inspect.recommended_steps import Step, StepFormat
from indextables.kernels import sum_of
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import ReplaceWhere
from indextables.log.checkpoint import read_checkpoint
from indextables.log.log_files import LogFiles, list_log
from indextables.log.ownership import Ownership, files_of_table, is_vectors
from indextables.log.splits import num_deleted
from indextables.log.transaction import ROW_LEVEL
from indextables.log.version_file import Version
from indextables.plural import pluralize
from indextables.storage import Entry

_SHOWN = 20  # files of a kind
_CONDITIONS = frozenset({"predicate", "query"})


class Held(StrEnum):
    """Why a file may hold rows that are not in the table."""

    DELETED_ROWS = "deleted-rows"
    REMOVED = "removed"
    UNCOMMITTED = "uncommitted"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """A file that holds, or may hold, rows that are not in the table; of deletion vectors, only the numbers of such rows.

    `deleted_rows` are those of a split that is in the table. The file is needed by the versions from `first_version` to
    `last_version`, as far as the log still says; None is unknown, or the newest version where the table needs it still.
    """

    path: str
    kind: Held
    size: int
    deleted_rows: int | None = None
    first_version: int | None = None
    last_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTrace:
    """A file of the log that tells of rows which are not in the table.

    `splits` is how many splits it describes that have deleted rows or were removed: bounds, terms and partition values.
    `conditions` is how many conditions of deletions and replacements it has, as they were written.
    """

    path: str
    size: int
    splits: int = 0
    conditions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """Files with rows that are not in the table at `version`; empty once nothing is left of them. It prints as a report."""

    table: str
    version: int
    files: tuple[HeldFile, ...] = ()
    log_files: tuple[LogTrace, ...] = ()

    @property
    def erased(self) -> bool:
        """Whether no data file holds such rows any more; the log may still tell of them."""
        return not self.files

    @property
    def empty(self) -> bool:
        """Whether the log does not tell of them, either."""
        return not self.files and not self.log_files

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is left to do, in order."""
        kinds = {file.kind for file in self.files}
        merge = Step("merge_splits", options={"deleted_rows": True})
        purge = Step("purge", options={"older_than": "0 days", "force": True})
        with_log = Step("purge", options={"older_than": "0 days", "log_retention": "0 days", "force": True})
        first = (merge,) if Held.DELETED_ROWS in kinds else ()
        return (*first, with_log) if self.log_files else (*first, purge) if kinds else ()

    def __str__(self) -> str:
        return self.render()

    _repr_html_ = text_output

    def render(self, format_step: StepFormat = str) -> str:
        lines = [f"{self.table} at version {self.version}", *self._file_lines(), *self._log_lines()]
        if self.empty:
            return "\n".join([*lines, "no file holds rows that are not in the table"])
        return "\n".join([*lines, *(f"-> {format_step(step)}" for step in self.steps)])

    def _file_lines(self) -> Iterator[str]:
        for kind in Held:
            files = [file for file in self.files if file.kind is kind]
            if files:
                size = format_bytes(sum(file.size for file in files))
                yield f"  {kind:<13} {pluralize(len(files), 'file')} with {size}{_deleted(files)}"
                yield from (f"    {file.path}{_needed_by(file)}" for file in files[:_SHOWN])
                yield from _more(files)

    def _log_lines(self) -> Iterator[str]:
        if self.log_files:
            size = format_bytes(sum(file.size for file in self.log_files))
            yield f"  {'log':<13} {pluralize(len(self.log_files), 'file')} with {size}"
            for file in self.log_files[:_SHOWN]:
                yield f"    {file.path}: {pluralize(file.splits, 'split')}, {pluralize(file.conditions, 'condition')}"
            yield from _more(self.log_files)


def erasure_report(log: TransactionLog) -> ErasureReport:
    """What is left of rows that are not in the table, as it is now. The table is listed, and its whole log read."""
    entries = files_of_table(log.store)  # before the log is read: what is committed in between is in the log
    snapshot, listing = log.snapshot(), list_log(log.store)
    numbers = sorted(number for number in listing.commits if number <= snapshot.version)
    versions = log.versions(numbers[0], numbers[-1]) if numbers else []
    held = _held_files(snapshot, entries, _lifetimes(versions))
    return ErasureReport(
        table=log.table,
        version=snapshot.version,
        files=tuple(sorted(held, key=lambda file: (list(Held).index(file.kind), file.path))),
        log_files=tuple(_traces(log, snapshot, versions, listing)),
    )


def _held_files(
    snapshot: Snapshot, entries: Sequence[Entry], lifetimes: Mapping[str, tuple[int | None, int | None]]
) -> Iterator[HeldFile]:
    having = snapshot.splits.filter(snapshot.splits["deletion_vector"].is_valid())
    for path, size, rows in zip(
        having["path"].to_pylist(), having["size"].to_pylist(), num_deleted(having).to_pylist(), strict=True
    ):
        first, _ = lifetimes.get(path, (None, None))
        yield HeldFile(path=path, kind=Held.DELETED_ROWS, size=size, deleted_rows=rows, first_version=first)
    own, live = Ownership.of(snapshot.metadata), {*snapshot.splits["path"].to_pylist()}
    removed = {*snapshot.tombstones["path"].to_pylist(), *lifetimes}
    for entry in entries:
        key = entry.key
        if key in live or not (key in removed or own.includes(key)):
            continue
        first, last = lifetimes.get(key, (None, None))
        kind = Held.VECTORS if is_vectors(key) else Held.REMOVED if key in removed else Held.UNCOMMITTED
        yield HeldFile(path=key, kind=kind, size=entry.size, first_version=first, last_version=last)


def _lifetimes(versions: Iterable[Version]) -> dict[str, tuple[int | None, int | None]]:
    """The first and the last version that had each file, as far as the log says; the last is None for those that it has."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for version in versions:
        for add in version.adds:
            found[add.path] = (found.get(add.path, (version.number, None))[0], None)
        for remove in version.removes:
            found[remove.path] = (found.get(remove.path, (None, None))[0], version.number - 1)
        for vector in version.deletion_vectors:
            if vector.file is not None:
                found.setdefault(vector.file, (version.number, None))
    return found


def _traces(
    log: TransactionLog, snapshot: Snapshot, versions: Sequence[Version], listing: LogFiles
) -> Iterator[LogTrace]:
    clean = snapshot.splits.filter(snapshot.splits["deletion_vector"].is_null())["path"].combine_chunks()
    clean_paths = {*clean.to_pylist()}
    for version in versions:
        entry = listing.commits[version.number]
        splits = sum(add.path not in clean_paths for add in version.adds)
        conditions = _conditions(version)
        if splits or conditions:
            yield LogTrace(path=entry.key, size=entry.size, splits=splits, conditions=conditions)
    for number, entry in sorted(listing.checkpoints.items()):
        paths = read_checkpoint(log.store, entry.key, number).splits["path"]
        splits = sum_of(pc.invert(pc.is_in(paths, clean)))
        if splits:
            yield LogTrace(path=entry.key, size=entry.size, splits=splits)


def _conditions(version: Version) -> int:
    """The conditions in a version, as they were written: they may name those whose rows were deleted."""
    given = version.info.operation_parameters
    on_rows = version.info.operation in ROW_LEVEL or version.info.operation == Operation.DROP
    told = bool(given) if on_rows else bool(_CONDITIONS & given.keys())
    return max(int(told), sum(isinstance(action, ReplaceWhere) for action in version.actions))


def _deleted(files: Sequence[HeldFile]) -> str:
    rows = sum(file.deleted_rows or 0 for file in files)
    return f" and {pluralize(rows, 'deleted row')}" if rows else ""


def _needed_by(file: HeldFile) -> str:
    rows = f": {pluralize(file.deleted_rows, 'deleted row')}" if file.deleted_rows else ""
    if file.last_version is None:
        return rows
    first = "" if file.first_version is None else f"from version {file.first_version} "
    return f": {first}to version {file.last_version}"


def _more(files: Sequence[object]) -> Iterator[str]:
    if len(files) > _SHOWN:
        yield f"    ... and {len(files) - _SHOWN:,} more"
