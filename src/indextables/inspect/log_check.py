"""The check of a transaction log: every version and checkpoint is read, and what is wrong is listed.

A reader of the table stops at the first problem. A check goes on: after a version that is missing or damaged, the state of
the table is unknown until the next checkpoint.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import pairwise

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import (
    IndexTablesError,
    LogError,
    NotFoundError,
    StorageError,
    TableNotFoundError,
    UnsupportedProtocolError,
)
from indextables.inspect.check_findings import CheckFinding, Problem, finding
from indextables.kernels import sum_of
from indextables.log.actions import Add, CommitInfo, Remove
from indextables.log.checkpoint import read_checkpoint
from indextables.log.codec import BrokenLineError
from indextables.log.log_files import HINT_KEY, LogFiles, LogListing, checkpoint_key, commit_key, list_log_entries
from indextables.log.ownership import is_temporary
from indextables.log.snapshot import Rows, Snapshot, initial
from indextables.log.splits import conform, splits_table, vector_files, without_paths
from indextables.log.table_identity import owner_of, without_strays
from indextables.log.version_checksum import ChecksumError, verify_chain
from indextables.log.version_file import Version, parse_version
from indextables.storage import Entry, Store
from indextables.storage.cloud import PROBE_KEY

_AT_ONCE = 16
_WINDOW = 128  # version files that are in memory at a time
_STATISTICS = ("min", "max", "null_count")  # of which null is unknown
_UNBUILDABLE = (IndexTablesError, pa.ArrowException, ValueError, OverflowError)
_MOST_UNLISTED = 1000  # versions that are looked up where a listing does not have them
_LOSSES = {
    Problem.MISSING_VERSION,
    Problem.DAMAGED_VERSION,
    Problem.DUPLICATE_VERSION,
    Problem.BROKEN_CHAIN,
    Problem.UNREADABLE_FILE,
}

Progress = Callable[[int, int], object]
"""Called with how many are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class CheckedLog:
    """What a log says, as far as it can be read, and what is wrong with it.

    `snapshot` is the newest state that can be built, None where there is none; `newest` is when the newest version was put.
    `paths` are those of all splits and files of deletion vectors that any version or checkpoint names.
    """

    findings: list[CheckFinding]
    versions: int
    checkpoints: int
    bytes: int
    snapshot: Snapshot | None
    newest: datetime
    paths: set[str]
    bases: list[Rows]
    adds: dict[str, Add]

    @property
    def is_complete(self) -> bool:
        """Whether all versions could be read, so that a split that none of them names is of no version."""
        return not any(one.kind in _LOSSES for one in self.findings)

    def past_splits(self) -> pa.Table:
        """The splits of older versions that the newest one does not have."""
        if self.snapshot is None:
            raise AssertionError("there is no version of which splits could be known")
        metadata = self.snapshot.metadata
        current = self.snapshot.splits["path"].to_pylist()
        tables = [without_paths(splits_table(list(self.adds.values()), metadata), current)]
        for base in self.bases:
            known = [path for table in tables for path in table["path"].to_pylist()]
            past = conform(base.splits, metadata, named_by=base.named_by)
            tables.append(without_paths(past, [*current, *known]))
        return pa.concat_tables(tables)


def check_log(store: Store, *, keep_past: bool = False, progress: Progress = lambda *_: None) -> CheckedLog:
    """Reads the whole log of a table; a TableNotFoundError where there is none.

    With `keep_past`, the splits of older versions are kept for `past_splits`.
    """
    listing = list_log_entries(store)
    if not listing.commits and not listing.checkpoints:
        raise TableNotFoundError(
            f"there is no table at {store.location}: it has no _transaction_log with a version; check the path",
            table=str(store.location),
        )
    commits = _with_unlisted(store, LogFiles(_preferred(listing.commits), _preferred(listing.checkpoints), []))
    listed = LogFiles(commits, _preferred(listing.checkpoints), listing.others)
    files = without_strays(store, listed)
    replay = _Replay(store, files, keep_past, table_id=owner_of(store, files))
    replay.findings += [*_duplicates(listing), *_strays(listed, files), *_gaps(files), *_others(store, files)]
    numbers = sorted(files.commits.keys() | files.checkpoints.keys())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done, (number, content) in enumerate(_contents(pool, store, files, numbers), 1):
            if content is not None:
                replay.version(number, content)
            if number in files.checkpoints:
                replay.checkpoint(number)
            progress(done, len(numbers))
    snapshot = replay.newest_state()
    newest = files.commits.get(files.latest) or files.checkpoints[files.latest]
    return CheckedLog(
        findings=replay.findings,
        versions=len(files.commits),
        checkpoints=len(files.checkpoints),
        bytes=sum(entry.size for known in (files.commits, files.checkpoints) for entry in known.values()),
        snapshot=snapshot,
        newest=newest.modified,
        paths=replay.paths,
        bases=replay.bases,
        adds=replay.adds,
    )


@dataclass(slots=True)
class _Replay:
    """Folds versions, in order, as far as they can be read.

    `state` and the versions of `run` after it are what is known of the table; None after a version that cannot be read.
    `last` is the version that was read last: its number and its commitInfo.
    """

    store: Store
    files: LogFiles
    keeps_past: bool
    findings: list[CheckFinding] = field(default_factory=list)
    state: Snapshot | None = None
    run: list[Version] = field(default_factory=list)
    best: Snapshot | None = None
    last: tuple[int, CommitInfo] | None = None
    table_id: str | None = None
    paths: set[str] = field(default_factory=set)
    bases: list[Rows] = field(default_factory=list)
    adds: dict[str, Add] = field(default_factory=dict)
    needs_newer_release: bool = False

    def version(self, number: int, content: pa.Buffer | StorageError) -> None:
        version = self._parsed(number, content)
        if version is None or not self._is_in_order(version):
            self._interrupt()
            if version is None:
                self.last = None
                return
        self.last = number, version.info
        self.table_id = self.table_id or version.info.table_id
        if self._is_stray(version):
            self._report(
                Problem.STRAY_VERSION, number, f"it is of the table {version.info.table_id}, not of {self.table_id}"
            )
        else:
            if self.keeps_past:
                self.adds |= {add.path: add for add in version.adds}
            self.paths |= {action.path for action in version.actions if isinstance(action, Add | Remove)}
            self.paths |= {vector.file for vector in version.deletion_vectors if vector.file is not None}
        if self.state is not None and self._position == number - 1:
            self.run.append(version)
        else:
            self._interrupt()
            if number == 0 and not self._is_stray(version):
                self._begin(version)

    def checkpoint(self, number: int) -> None:
        folded = self._flush() if self._position == number else None
        if folded is None:
            self._interrupt()
        key = self.files.checkpoints[number].key
        try:
            stored = read_checkpoint(self.store, key, number)
            self.paths |= {*stored.splits["path"].to_pylist(), *stored.tombstones["path"].to_pylist()}
            self.paths |= {*vector_files(stored.splits)}
        except UnsupportedProtocolError as error:
            self._refuse_newer(key, error)
        except LogError as error:
            self.findings.append(finding(Problem.DAMAGED_CHECKPOINT, key, _reason(error)))
        except StorageError as error:
            if self._is_cleaned_up(number, error):
                return
            self.findings.append(finding(Problem.UNREADABLE_FILE, key, str(error)))
        except _UNBUILDABLE as error:
            self.findings.append(finding(Problem.DAMAGED_CHECKPOINT, key, str(error)))
        else:
            self._compare(key, stored, folded)

    def newest_state(self) -> Snapshot | None:
        """The newest state that can be built, with its rows."""
        self._interrupt()
        return None if self.needs_newer_release else self.best

    def _refuse_newer(self, key: str, error: UnsupportedProtocolError) -> None:
        what = f"the table needs protocol {error.required}, and this release supports {error.supported}"
        self.findings.append(finding(Problem.UNSUPPORTED_PROTOCOL, key, f"{what}: no split is checked"))
        self.needs_newer_release = True

    def _parsed(self, number: int, content: pa.Buffer | StorageError) -> Version | None:
        if isinstance(content, StorageError):
            if self._is_cleaned_up(number, content):
                return None
            self._report(Problem.UNREADABLE_FILE, number, str(content))
            return None
        try:
            return parse_version(self.store, number, content, files=self.files)
        except UnsupportedProtocolError as error:
            self._refuse_newer(self.files.commits[number].key, error)
        except LogError as error:
            line = error.__cause__.line if isinstance(error.__cause__, BrokenLineError) else None
            place = "" if line is None else f"line {line}"
            self._report(Problem.DAMAGED_VERSION, number, _reason(error), place=place)
        return None

    def _is_cleaned_up(self, number: int, error: StorageError) -> bool:
        """Whether a file that was listed has been deleted since, as those before a checkpoint may be."""
        return isinstance(error, NotFoundError) and number < max(self.files.checkpoints, default=-1)

    def _is_in_order(self, version: Version) -> bool:
        """Whether a version follows the one before it, where that could be read. One of another table follows others."""
        if self.last is None or self.last[0] != version.number - 1 or self._is_stray(version):
            return True
        try:
            verify_chain(self.last[1].checksum, version.info, version.number)
        except ChecksumError as error:
            self._report(Problem.BROKEN_CHAIN, version.number, str(error))
            return False
        return True

    def _is_stray(self, version: Version) -> bool:
        return self.table_id is not None and not version.belongs_to(self.table_id)

    @property
    def _position(self) -> int | None:
        """The version up to which the state is known."""
        if self.run:
            return self.run[-1].number
        return None if self.state is None else self.state.version

    def _begin(self, first: Version) -> None:
        try:
            self.state = initial(str(self.store.location), [first])
            self.table_id = self.state.metadata.id
        except _UNBUILDABLE as error:
            self._report(Problem.DAMAGED_VERSION, first.number, str(error))

    def _flush(self) -> Snapshot | None:
        """The state with all versions that were read after it; built, so that a failure is one of these versions."""
        if self.state is None:
            return None
        try:
            self._advance(self.state.advanced(self.run))
        except _UNBUILDABLE:
            self._find_unbuildable(self.state)
            self.state = None
        self.run = []
        return self.state

    def _advance(self, state: Snapshot) -> None:
        _ = state.rows
        self.table_id, self.best, self.state = state.metadata.id, state, state

    def _find_unbuildable(self, state: Snapshot) -> None:
        """Reports the first version after which the state cannot be built."""
        for version in self.run:
            try:
                state = state.advanced([version])
                self._advance(state)
            except _UNBUILDABLE as error:
                self._report(Problem.DAMAGED_VERSION, version.number, f"the state after it cannot be built: {error}")
                return

    def _interrupt(self) -> None:
        """From here on the state is unknown, until a checkpoint."""
        self._flush()
        self.state = None

    def _compare(self, key: str, stored: Snapshot, folded: Snapshot | None) -> None:
        """Compares a checkpoint with the state of its version; where that is unknown, it is the state from here on."""
        number = stored.version
        info = self.last[1] if self.last is not None and self.last[0] == number else CommitInfo()
        owner = folded.metadata.id if folded is not None else info.table_id
        if owner not in (None, stored.metadata.id):
            message = f"it is of the table {stored.metadata.id}, not of {owner}"
            self.findings.append(finding(Problem.STRAY_CHECKPOINT, key, message))
            return
        wrong = [] if folded is None else list(_differences(stored, folded))
        wrong += ["the checksum of its version"] if _differ(info.checksum, stored.checksum) else []
        wrong += ["txnId"] if _differ(info.txn_id, stored.txn_id) else []
        if wrong:
            message = f"it is not the state after version {number}: {', '.join(wrong)} differ"
            self.findings.append(finding(Problem.WRONG_CHECKPOINT, key, message))
        elif folded is None:
            self.state, self.table_id = stored, stored.metadata.id
            if self.keeps_past:
                self.bases.append(stored.rows)
            if number not in self.files.commits and stored.checksum is not None:
                self.last = number, CommitInfo(checksum=stored.checksum, table_id=stored.metadata.id)

    def _report(self, kind: Problem, number: int, message: str, *, place: str = "") -> None:
        entry = self.files.commits.get(number) or self.files.checkpoints.get(number)
        key = entry.key if entry else commit_key(number)
        self.findings.append(finding(kind, key, message, place=place))


def _contents(
    pool: ThreadPoolExecutor, store: Store, files: LogFiles, numbers: Sequence[int]
) -> Iterator[tuple[int, pa.Buffer | StorageError | None]]:
    """The contents of version files, in order; None for a checkpoint whose version file is not there."""
    for start in range(0, len(numbers), _WINDOW):
        some = numbers[start : start + _WINDOW]
        entries = [files.commits.get(number) for number in some]
        yield from zip(some, pool.map(partial(_content, store), entries), strict=True)


def _content(store: Store, entry: Entry | None) -> pa.Buffer | StorageError | None:
    try:
        return None if entry is None else store.read(entry.key)
    except StorageError as error:
        return error


def _with_unlisted(store: Store, files: LogFiles) -> dict[int, Entry]:
    """The version files, also those that a listing during writes has missed: they are looked up by their names."""
    unlisted = [number for gap in _missing(files) for number in gap[:_MOST_UNLISTED]]
    found = {number: entry for number in unlisted[:_MOST_UNLISTED] if (entry := store.find(commit_key(number)))}
    return {**files.commits, **found}


def _preferred(found: dict[int, list[Entry]]) -> dict[int, Entry]:
    """One file of each version; of several, that with the name that writers give."""
    names = {commit_key, checkpoint_key}
    return {
        number: min(entries, key=lambda entry: (entry.key not in {name(number) for name in names}, entry.key))
        for number, entries in found.items()
    }


def _duplicates(listing: LogListing) -> Iterator[CheckFinding]:
    for found in (listing.commits, listing.checkpoints):
        for number, entries in found.items():
            if len(entries) > 1:
                first, *others = sorted(entry.key for entry in entries)
                message = f"version {number} has another file, {', '.join(others)}: the table cannot be opened"
                yield finding(Problem.DUPLICATE_VERSION, first, message)


def _strays(listed: LogFiles, files: LogFiles) -> Iterator[CheckFinding]:
    """Files of another table that lie beyond a gap; others are recognized when they are read."""
    message = "it is of another table, and lies beyond the versions of this one"
    for kind, before, after in (
        (Problem.STRAY_VERSION, listed.commits, files.commits),
        (Problem.STRAY_CHECKPOINT, listed.checkpoints, files.checkpoints),
    ):
        yield from (finding(kind, before[number].key, message) for number in sorted(before.keys() - after.keys()))


def _gaps(files: LogFiles) -> Iterator[CheckFinding]:
    for gap in _missing(files):
        missing = f"versions {gap[0]} to {gap[-1]} are" if len(gap) > 1 else f"version {gap[0]} is"
        message = f"{missing} missing, though version {files.latest} is there"
        yield finding(Problem.MISSING_VERSION, commit_key(gap[0]), message)


def _missing(files: LogFiles) -> Iterator[range]:
    """The versions between the earliest and the latest one that have no file. A checkpoint stands for the earliest."""
    first = files.earliest if files.earliest in files.commits or not files.checkpoints else files.earliest + 1
    present = [first - 1, *sorted(number for number in files.commits if number >= first)]
    if files.latest not in present:
        present.append(files.latest + 1)
    for before, after in pairwise(present):
        if after > before + 1:
            yield range(before + 1, after)


def _others(store: Store, files: LogFiles) -> Iterator[CheckFinding]:
    for entry in sorted(files.others, key=lambda entry: entry.key):
        if entry.key == HINT_KEY:
            yield from _hint(store, files)
        elif is_temporary(entry.key):
            yield finding(Problem.TEMPORARY_FILE, entry.key, f"a temporary file of {entry.size:,} bytes")
        elif entry.key != PROBE_KEY:
            yield finding(Problem.FOREIGN_FILE, entry.key, "it is neither a version nor a checkpoint")


class _Named(msgspec.Struct):
    """The hint, as far as it is checked."""

    version: int


def _hint(store: Store, files: LogFiles) -> Iterator[CheckFinding]:
    try:
        version = msgspec.json.decode(store.read(HINT_KEY), type=_Named).version
    except StorageError as error:
        yield finding(Problem.UNREADABLE_FILE, HINT_KEY, str(error))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield finding(Problem.WRONG_HINT, HINT_KEY, f"it cannot be read: {error}")
    else:
        if version > files.latest:
            message = f"it names a checkpoint of version {version}, and the newest version in the log is {files.latest}"
            yield finding(Problem.LOST_VERSION, HINT_KEY, message)
        elif version not in files.checkpoints:
            yield finding(Problem.WRONG_HINT, HINT_KEY, f"there is no checkpoint of version {version}, which it names")


def _differences(stored: Snapshot, folded: Snapshot) -> Iterator[str]:
    """What a checkpoint says otherwise than the versions; it may leave out tombstones."""
    if stored.protocol != folded.protocol:
        yield "protocol"
    if stored.metadata != folded.metadata:
        yield "metaData"
        return
    if dict(stored.txns) != dict(folded.txns):
        yield "txns"
    ours, theirs = stored.splits.sort_by("path"), folded.splits.sort_by("path")
    if not ours["path"].equals(theirs["path"]):
        yield _difference_of_paths(ours["path"], theirs["path"])
        return
    yield from _different_columns(ours, theirs)


def _difference_of_paths(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> str:
    more, fewer = (sum_of(pc.invert(pc.is_in(a, b))) for a, b in ((ours, theirs), (theirs, ours)))
    return f"splits ({more} too many and {fewer} too few)"


def _different_columns(ours: pa.Table, theirs: pa.Table) -> Iterable[str]:
    for name in theirs.schema.names:
        given, expected = ours[name].combine_chunks(), theirs[name].combine_chunks()
        if name in _STATISTICS:
            fields = [column.name for column in expected.type]
            yield from (
                f"{name} of {column}"
                for column in fields
                if _contradict(pc.struct_field(given, [column]), pc.struct_field(expected, [column]))
            )
        elif name == "partition":  # no value for any term may be written in two ways
            terms = [field.name for field in expected.type]
            same = (pc.struct_field(given, [term]).equals(pc.struct_field(expected, [term])) for term in terms)
            yield from [] if all(same) else [name]
        elif not given.equals(expected):
            yield name


def _differ(one: str | None, other: str | None) -> bool:
    """Whether two texts differ; None is unknown."""
    return None not in (one, other) and one != other


def _contradict(given: pa.Array, expected: pa.Array) -> bool:
    """Whether two arrays have different values anywhere; null is unknown."""
    return bool(pc.any(pc.not_equal(given, expected)).as_py())


def _reason(error: Exception) -> str:
    """Why a file cannot be read, without its name."""
    return str(error.__cause__ or error)
