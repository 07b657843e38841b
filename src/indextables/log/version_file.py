"""One version file, read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from indextables.errors import CorruptLogError, NotFoundError
from indextables.log.action_validation import InvalidActionError, check_actions, check_change, check_references
from indextables.log.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVector,
    Metadata,
    Protocol,
    Remove,
    Txn,
    refuse_newer_reader,
)
from indextables.log.clock import epoch_millis
from indextables.log.codec import BrokenLineError, decode, line_of
from indextables.log.log_files import UNLISTED, LogFiles, commit_key
from indextables.log.version_checksum import ChecksumError, verify_chain, verify_content, verify_first_line
from indextables.storage import Entry, Store

_FIRST_READ = 4096
_MOST_UNLISTED = 1000  # versions that writers may add while the log is listed


@dataclass(frozen=True)
class Version:
    """The actions of one commit, in the order in which they stand in its file.

    `timestamp` is the commit time in milliseconds since 1970: that of its commitInfo, or else that of its file.
    """

    number: int
    actions: Sequence[Action]
    timestamp: int

    @cached_property
    def info(self) -> CommitInfo:
        return next((action for action in self.actions if isinstance(action, CommitInfo)), CommitInfo())

    @cached_property
    def adds(self) -> list[Add]:
        return [action for action in self.actions if isinstance(action, Add)]

    @cached_property
    def removes(self) -> list[Remove]:
        return [action for action in self.actions if isinstance(action, Remove)]

    @cached_property
    def deletion_vectors(self) -> list[DeletionVector]:
        return [action for action in self.actions if isinstance(action, DeletionVector)]

    @property
    def removes_rows(self) -> bool:
        """Whether rows that were in the table are not there any more; a compaction only moves them."""
        return bool(self.deletion_vectors) or any(remove.data_change for remove in self.removes)

    @cached_property
    def metadata(self) -> Metadata | None:
        return next((action for action in reversed(self.actions) if isinstance(action, Metadata)), None)

    @cached_property
    def protocol(self) -> Protocol | None:
        return next((action for action in reversed(self.actions) if isinstance(action, Protocol)), None)

    def belongs_to(self, table_id: str) -> bool:
        """Whether it was committed to the table with this id; a version that names no table is."""
        return self.info.table_id in (None, table_id)

    @cached_property
    def txns(self) -> list[Txn]:
        return [action for action in self.actions if isinstance(action, Txn)]


def read_versions(store: Store, files: LogFiles, first: int, last: int) -> list[Version]:
    """Versions `first` to `last`, or a CorruptLogError that names the one that is missing or broken."""
    numbers = range(first, last + 1)
    if last + 1 - first - sum(number in numbers for number in files.commits) > _MOST_UNLISTED:
        raise _gap(store, files, numbers)
    try:
        contents = store.read_all(files.commit_keys(first, last))
    except NotFoundError as error:
        raise _gap(store, files, numbers) from error
    return [
        parse_version(store, number, content, files=files) for number, content in zip(numbers, contents, strict=True)
    ]


def refuse_gap(store: Store, files: LogFiles, numbers: Sequence[int]) -> None:
    """Raises a CorruptLogError that names the first version that is missing between the first and the last of some."""
    if numbers and len(numbers) != numbers[-1] + 1 - numbers[0]:
        raise _gap(store, files, range(numbers[0], numbers[-1] + 1))


def _gap(store: Store, files: LogFiles, numbers: range) -> CorruptLogError:
    gap = next((number for number in numbers if number not in files.commits), numbers.start)
    return CorruptLogError(
        f"version {gap} of {store.location} is missing, though version {numbers[-1]} is there; restore its file: without "
        "it the table cannot be known. If the later version is not of this table, move its file out of the log",
        table=str(store.location),
        version=gap,
    )


def read_info(store: Store, number: int, entry: Entry | None = None, *, files: LogFiles = UNLISTED) -> CommitInfo:
    """The commitInfo of a version, from its first line where it stands there, else from the whole file."""
    key, size = (commit_key(number), _FIRST_READ) if entry is None else (entry.key, entry.size)
    if size:
        first, newline, _ = store.read_range(key, 0, min(size, _FIRST_READ)).to_pybytes().partition(b"\n")
        if newline:
            try:
                match decode(first):
                    case [CommitInfo() as info]:
                        verify_first_line(first, info, number)
                        _check(store, number, [info], first)
                        return info
            except BrokenLineError:
                pass
            except ChecksumError as error:
                raise _damaged(store, number, error) from error
    return parse_version(store, number, store.read(key), files=files).info


def parse_version(store: Store, number: int, content: pa.Buffer, *, files: LogFiles) -> Version:
    try:
        actions = decode(content)
        info = next((action for action in actions if isinstance(action, CommitInfo)), CommitInfo())
        verify_content(content, info, number)
        _check(store, number, actions, content)
    except (BrokenLineError, ChecksumError) as error:
        raise _damaged(store, number, error) from error
    return Version(number, actions, info.timestamp if info.timestamp is not None else _file_time(files, number))


def _check(store: Store, number: int, actions: Sequence[Action], content: bytes | pa.Buffer) -> None:
    for action in actions:
        if type(action) is Protocol:
            refuse_newer_reader(action, table=str(store.location), version=number)
    try:
        check_actions(actions, root=store.location)
    except InvalidActionError as error:
        raise BrokenLineError(line_of(content, error.position), str(error)) from error


def verify_order(store: Store, previous: str | None, versions: Sequence[Version], *, table_id: str) -> None:
    """Raises a CorruptLogError where one of some versions does not follow the one before it.

    `previous` is the checksum of the version before all of them, None where it is unknown. Versions of other tables were put
    after versions of theirs.
    """
    for position, version in enumerate(versions):
        if version.belongs_to(table_id) and (position or previous is not None):
            try:
                verify_chain(previous, version.info, version.number)
            except ChecksumError as error:
                raise _damaged(store, version.number, error) from error
        previous = version.info.checksum


def verify_references(store: Store, metadata: Metadata, versions: Sequence[Version]) -> None:
    """Raises a CorruptLogError where a version after this metadata has a split of a spec or a mapping that is not there."""
    table_id = metadata.id
    for version in versions:
        if version.belongs_to(table_id):
            try:
                if version.metadata is not None:
                    check_change(metadata, version.metadata)
                    metadata = version.metadata
                check_references(version.adds, metadata)
            except ValueError as error:
                raise _damaged(store, version.number, error) from error


def _damaged(store: Store, number: int, error: Exception) -> CorruptLogError:
    return CorruptLogError(
        f"version {number} of {store.location} is damaged: {error}; restore {commit_key(number)} from a copy",
        table=str(store.location),
        version=number,
    )


def _file_time(files: LogFiles, number: int) -> int:
    entry = files.commits.get(number)
    return epoch_millis(entry.modified) if entry else 0
