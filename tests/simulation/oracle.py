"""What must be true in every state: each version is what the serial execution of the commits makes of the table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from indextables.errors import IndexTablesError
from indextables.log import TransactionLog
from indextables.log.actions import CommitInfo
from indextables.log.log_files import DIRECTORY, UNLISTED
from indextables.log.version_file import Version, parse_version
from indextables.maintain.copy_rows import refs_to
from tests.simulation.files import StoredFile
from tests.simulation.model import Table
from tests.simulation.operations import Batch, Merge, OpenAt, Operation, Recreate
from tests.simulation.process import Report, live
from tests.simulation.scenario import LOG_RETENTION, RETENTION, Scenario
from tests.simulation.scheduler import direct_store
from tests.simulation.state import DAY, State

_MARGIN = DAY  # more than the clocks differ


class ViolationError(AssertionError):
    """Something that must never be."""


@dataclass(frozen=True, slots=True)
class Serial:
    """A version in the serial order: whose it is, and the table after it. A stray one is of another table.

    It was `put` at a true time. Its `time` is that, or an earlier one that it names, if the put took long.
    """

    number: int
    put: int
    time: int
    txn_id: str | None
    owner: tuple[int, int]
    operation: Operation
    stray: bool
    table: Table


@dataclass(frozen=True, slots=True)
class View:
    """A version as the production code reads it."""

    paths: tuple[str, ...]
    table: Table


@dataclass
class Oracle:
    """Checks the states of one scenario. What was seen of a log is kept: many states have the same log."""

    scenario: Scenario
    views: dict[frozenset[tuple[str, StoredFile]], dict[int, View | IndexTablesError]] = field(default_factory=dict)
    infos: dict[bytes, Version] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.scenario.actors, 1)}

    def check(self, state: State, reports: Sequence[Report], *, news: int, all_versions: bool = True) -> None:
        """Raises a ViolationError; the last `news` reports are new. Of the versions, all are read, or only the newest."""
        for report in reports[len(reports) - news :]:
            self._refuse_unexplained(report, state)
        if 0 not in state.versions:
            return  # the table is deleted, or not there yet
        versions = list(self.serial(state))
        self._check_versions(state, versions, read=versions if all_versions else versions[-1:])
        for report in reports:
            self._check_report(report, versions, self._table_id(state))
        for report in reports[len(reports) - news :]:
            self._check_read(report, versions, state)
        _refuse_doubled_batches(versions)

    def serial(self, state: State) -> Iterator[Serial]:
        """The versions of the table that is there, in order, folded by the naive model."""
        table, table_id = Table(), self._table_id(state)
        for number in sorted(state.versions):
            put = state.versions[number]
            info = self._info(number, put.content)
            if info.txn_id is None:
                raise ViolationError(f"version {number} has no txnId")
            owner = int(info.txn_id[:2], 16), int(info.txn_id[2:4], 16)
            label, operation = self.scenario.operation(*owner)
            stray = info.table_id != table_id
            table = table if stray else operation.expected(table, label)
            yield Serial(
                number, put.time, min(put.time, info.timestamp or 0), info.txn_id, owner, operation, stray, table
            )

    def _table_id(self, state: State) -> str | None:
        return self._info(0, state.versions[0].content).table_id

    def _info(self, number: int, content: bytes) -> CommitInfo:
        if content not in self.infos:
            store = direct_store(State)
            self.infos[content] = parse_version(store, number, content, files=UNLISTED)  # type: ignore[arg-type]
        return self.infos[content].info

    def _check_versions(self, state: State, versions: Sequence[Serial], *, read: Sequence[Serial]) -> None:
        gap = len(versions) != versions[-1].number + 1
        if gap and not any(version.stray for version in versions):
            raise ViolationError(f"the versions are {[version.number for version in versions]}")
        log = TransactionLog(direct_store(lambda: state))
        views = self.views.setdefault(_log_files(state), {})
        for version in read:
            view = views.get(version.number) or _view(log, version.number, state)
            views[version.number] = view
            if isinstance(view, View):
                if view.table != version.table:
                    raise ViolationError(f"version {version.number} is {view.table}\n  and should be {version.table}")
                if _within(version, versions, state.now, RETENTION):
                    self._check_files(view, version, versions, state)
            elif not (gap or state.rotten) and _within(version, versions, state.now, LOG_RETENTION):
                raise ViolationError(f"version {version.number} cannot be read: {view}") from view

    def _check_files(self, view: View, version: Serial, versions: Sequence[Serial], state: State) -> None:
        """A version within the retention has its files, unless a writer took too long between a file and its commit."""
        for path in view.paths:
            if path not in state.files and not self._too_slow(path, versions, state):
                raise ViolationError(f"{path} of version {version.number} is gone")

    def _too_slow(self, path: str, versions: Sequence[Serial], state: State) -> bool:
        """Whether a split was put so long before its commit that it was taken for an orphan."""
        put = state.splits[path].time
        added = next(version.put for version in versions if _adds(self, state, version, path))
        return added - put >= RETENTION - _MARGIN

    def _refuse_unexplained(self, report: Report, state: State) -> None:
        """Without a fault, a pause or another table, only the conflict with another writer makes an operation fail.

        Some never conflict, except that a clean-up takes away what a stale writer has read.
        """
        faulty = state.faults < self.scenario.fault_count and self.scenario.faults
        if faulty or self._has(Recreate) or state.pauses != self.scenario.pauses:
            return
        refused = report.outcome == "conflict" and not report.operation.yields and not self._has(OpenAt)
        if report.outcome == "failed" or refused:
            raise ViolationError(
                f"{report.actor}.{report.number} {report.operation} failed: {report.error!r}"
            ) from report.error

    def _has(self, kind: type) -> bool:
        return any(isinstance(one, kind) for program in self.scenario.actors.values() for one in program)

    def _check_report(self, report: Report, versions: Sequence[Serial], table_id: str | None) -> None:
        """A commit that was reported is there once; one that was refused is not there."""
        owner = (self.numbers[report.actor], report.number)
        mine = [version for version in versions if version.owner == owner and not version.stray]
        ids = {version.txn_id for version in mine}
        if len(mine) > len(ids) or (len(mine) > 1 and not isinstance(report.operation, Batch | Merge)):
            raise ViolationError(f"{report.actor}.{report.number} is there {len(mine)} times")
        if report.outcome == "conflict" and mine and not isinstance(report.operation, Batch):
            raise ViolationError(
                f"{report.actor}.{report.number} is version {mine[0].number}, but failed: {report.error}"
            )
        if report.outcome != "done":
            return
        if report.table_id != table_id:
            self._refuse_late_commit(report, versions)
            return
        if isinstance(report.operation, Batch):
            batch = report.operation
            if not any(version.table.batches.get(batch.app, -1) >= batch.version for version in versions):
                raise ViolationError(f"{batch} was reported, and is not there")
        elif report.operation.certain and not mine:
            raise ViolationError(f"{report.actor}.{report.number} was reported, and is not there")

    def _refuse_late_commit(self, report: Report, versions: Sequence[Serial]) -> None:
        """A commit to a table that is gone may go unnoticed, but not if another one was there before it began.

        After one that went unnoticed, the later ones of the same handle do so too.
        """
        earlier = [(self.numbers[report.actor], number) for number in range(report.number)]
        unnoticed = any(version.stray and version.owner in earlier for version in versions)
        if unnoticed or not report.operation.certain or report.began_on is None:
            return
        if self._info(0, report.began_on.content).table_id != report.table_id:
            raise ViolationError(f"{report.actor}.{report.number} was committed to a table that was gone before")

    def _check_read(self, report: Report, versions: Sequence[Serial], state: State) -> None:
        if report.read is None or report.table_id != self._table_id(state):
            return
        number, txn_id, rows = report.read
        version = next((version for version in versions if version.number == number), None)
        if version is None or version.txn_id != txn_id:
            raise ViolationError(f"{report.actor} read version {number} ({txn_id}), which is not there")
        if rows != version.table.rows:
            raise ViolationError(f"{report.actor} read {rows} of version {number}, which is {version.table.rows}")


def _log_files(state: State) -> frozenset[tuple[str, StoredFile]]:
    return frozenset(item for item in state.files.items() if item[0].startswith(DIRECTORY))


def _view(log: TransactionLog, number: int, state: State) -> View | IndexTablesError:
    try:
        snapshot = log.snapshot(number)
    except IndexTablesError as error:
        return error
    splits = refs_to(snapshot.splits, snapshot.metadata)
    paths = tuple(split.path for split in splits)
    table = Table(
        rows=dict(
            Counter(row for split in splits for row in live(state.splits[split.path].content, split.deletion_vector))
        ),
        properties=dict(snapshot.metadata.properties),
        columns=tuple(snapshot.metadata.arrow_schema().names),
        batches={app: txn.version for app, txn in snapshot.txns.items()},
    )
    return View(paths, table)


def _within(version: Serial, versions: Sequence[Serial], now: int, retention: int) -> bool:
    """Whether a version is the newest one, or was until a time within the retention."""
    later = [other.time for other in versions if other.number > version.number]
    return not later or later[0] > now - retention + _MARGIN


def _adds(oracle: Oracle, state: State, version: Serial, path: str) -> bool:
    return any(add.path == path for add in oracle.infos[state.versions[version.number].content].adds)


def _refuse_doubled_batches(versions: Sequence[Serial]) -> None:
    batches = Counter(
        (version.operation.app, version.operation.version)
        for version in versions
        if isinstance(version.operation, Batch) and not version.stray
    )
    doubled = [batch for batch, count in batches.items() if count > 1]
    if doubled:
        raise ViolationError(f"batches {doubled} are there more than once")
