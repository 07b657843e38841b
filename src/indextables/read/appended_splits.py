"""The splits that a table gains, version by version: what streams and incremental scans read.

A compaction gives no rows: its splits have those that are in the table already. A commit that removes rows ends a stream
with an error, unless it is told to skip it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.errors import (
    ChangedRowsError,
    ConfigError,
    StreamSchemaError,
    TableReplacedError,
    VersionNotFoundError,
)
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Metadata
from indextables.log.column_ids import other_columns, renamed_columns
from indextables.log.snapshot import TOMBSTONES, Rows
from indextables.log.splits import conform, splits_schema, splits_table
from indextables.log.version_file import Version
from indextables.read.stream_offset import ReadLimits, StreamOffset
from indextables.schema import unreadable_column

_AT_A_TIME = 64  # versions that are read together
_MAX_SKIPPED = 64  # versions without matching rows that a stream passes only together with others
UNLIMITED = ReadLimits()
Matching: TypeAlias = Callable[[Snapshot], pa.BooleanArray]
"""Which splits of a snapshot may have a row that the stream is to deliver."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Sizes: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """What happens where a commit removes rows: an error, or it is skipped.

    `ignore_deletes` skips commits that only remove rows, `skip_change_commits` also those that add some as well.
    """

    ignore_deletes: bool = False
    skip_change_commits: bool = False

    def skips(self, version: Version) -> bool:
        """Whether the commit is skipped, among those that change rows."""
        adds_rows = any(add.data_change for add in version.adds) or _brings_rows_back(version)
        return self.skip_change_commits or (self.ignore_deletes and not adds_rows)


@dataclass(frozen=True, slots=True)
class Increment:
    """The splits of one batch: as a snapshot that has no others, and the version of each by its path."""

    snapshot: Snapshot
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Segment:
    """The splits of a version in the order of their paths; of all of the table, or those that it added."""

    version: int
    initial_snapshot: bool
    splits: pa.Table
    metadata: Metadata

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def sizes(self) -> Sizes:
        sizes: Sizes = self.splits["size"].to_numpy()
        return sizes


class AppendedSplits:
    """The splits that a table gains, read from its log; it remembers versions that it has read, until they are passed.

    All rows have the columns of the `snapshot` with which it was made: a version that changes them is an error. Where only
    some splits are `matching`, the others count for nothing: a batch that would have no others is not made.
    """

    def __init__(
        self,
        log: TransactionLog,
        snapshot: Snapshot,
        policy: ChangePolicy | None = None,
        *,
        matching: Matching | None = None,
    ) -> None:
        self._log = log.for_table(snapshot.metadata.id)
        self._snapshot = snapshot
        self._policy = policy or ChangePolicy()
        self._metadata, self._metadata_version = snapshot.metadata, snapshot.version
        self._versions: dict[int, Version] = {}
        self._initial: _Segment | None = None
        self._matching = matching
        self._passed: tuple[StreamOffset, StreamOffset] | None = None
        self._is_start_checked = False
        self._unreadable: str | None = None  # a column that has another type in the versions that are read now

    def from_snapshot(self) -> StreamOffset:
        """The offset before all rows that the table has now."""
        version = self._log.snapshot().version
        return self._offset(version, initial_snapshot=True)

    def from_version(self, version: int) -> StreamOffset:
        """The offset before what a version added."""
        latest = self._log.snapshot().version
        if not 0 <= version <= latest + 1:
            raise ConfigError(
                f"startingVersion is {version}, but {self._log.table} has versions 0 to {latest}; "
                f"choose one of them, or {latest + 1} for what comes next",
                key="startingVersion",
                value=str(version),
            )
        self._log.versions(version, min(version, latest))  # refuses one that a clean-up has deleted
        return self._offset(version)

    def from_timestamp(self, timestamp: datetime) -> StreamOffset:
        """The offset before what was added at a time or later."""
        return self._offset(self._log.first_version_since(timestamp))

    def latest(self) -> StreamOffset:
        """The offset after all that there is now."""
        return self._offset(self._log.snapshot().version + 1)

    def advance(
        self, start: StreamOffset, limits: ReadLimits = UNLIMITED, *, until: StreamOffset | None = None
    ) -> StreamOffset:
        """Where a batch from `start` ends, with no more splits than `limits` allow; `start` itself where nothing is new.

        What can be read before a version that cannot is read first: only a batch that begins with it raises the error.
        """
        self._refuse_other_table(start)
        self._forget_before(start)
        known, end = self._passed or (start, start)
        end, files, size = end if known == start else start, 0, 0
        last = (until or self.latest()).version - 1
        if start.version > last + 1:
            self._refuse_restored(start)
            return start
        segments = self._segments(end, last)
        while True:
            try:
                segment = next(segments, None)
            except (ChangedRowsError, StreamSchemaError):
                if files:
                    return end
                raise
            if segment is None:
                self._passed = None if files else (start, end)
                return end if files or end.version - start.version > _MAX_SKIPPED else start
            first = end.position if end.version == segment.version else 0
            matches, sizes = self._matches(segment)[first:], segment.sizes[first:]
            count = _fitting(sizes, matches, limits, files=files, size=size)
            if first + count < len(segment):
                at = self._offset(segment.version, initial_snapshot=segment.initial_snapshot)
                return replace(at, position=first + count)
            files, size = files + int(matches.sum()), size + int(sizes[matches].sum())
            end = self._offset(segment.version + 1)

    def between(self, start: StreamOffset, end: StreamOffset) -> Increment:
        """The splits of a batch, as `advance` has chosen them; now or after a restart."""
        tables: list[tuple[pa.Table, int | None]] = []
        versions: dict[str, int] = {}
        metadata = self._metadata
        last = end.version if end.position else end.version - 1
        for segment in self._segments(start, last):
            first = start.position if segment.version == start.version else 0
            length = end.position - first if segment.version == end.version else None
            part = segment.splits.slice(first, length)
            tables.append((part, segment.metadata.current_doc_mapping_id))
            versions.update(dict.fromkeys(part["path"].to_pylist(), segment.version))
            metadata = segment.metadata
        splits = [conform(table, metadata, named_by=named_by) for table, named_by in tables]
        splits = splits or [splits_schema(metadata).empty_table()]
        return Increment(self._only(pa.concat_tables(splits), metadata, max(last, 0)), versions)

    def _segments(self, start: StreamOffset, last: int) -> Iterator[_Segment]:
        """The segments from an offset to a version, one after the other; an error where one cannot be read."""
        self._refuse_other_table(start)
        if start.version > last:
            return
        self._check_start(start)
        if start.initial_snapshot:
            yield self._readable(self._initial_segment(start.version))
        elif start.version > self._metadata_version + 1:
            self._follow(start.version, self._log.snapshot(start.version).metadata)
        for version in self._read(start.version + start.initial_snapshot, last):
            self._follow(version.number, version.metadata)
            yield self._readable(_Segment(version.number, False, self._appended(version), self._metadata))

    def _initial_segment(self, version: int) -> _Segment:
        if self._initial is None or self._initial.version != version:
            snapshot = self._log.snapshot(version)
            self._follow(version, snapshot.metadata)
            named_by = snapshot.metadata.current_doc_mapping_id
            splits = conform(snapshot.splits, self._metadata, named_by=named_by).sort_by("path")
            self._initial = _Segment(version, True, splits, self._metadata)
        return self._initial

    def _matches(self, segment: _Segment) -> Mask:
        if self._matching is None or not len(segment):
            return np.ones(len(segment), np.bool_)
        only = self._only(segment.splits, segment.metadata, segment.version)
        matches: Mask = self._matching(only).to_numpy(zero_copy_only=False)
        return matches

    def _only(self, splits: pa.Table, metadata: Metadata, version: int) -> Snapshot:
        """A snapshot that has these splits and no others."""
        rows = Rows(splits.combine_chunks(), TOMBSTONES.empty_table(), metadata.current_doc_mapping_id)
        return replace(self._snapshot, metadata=metadata, version=version, base=rows, pending={}, pending_vectors={})

    def _read(self, first: int, last: int) -> Iterator[Version]:
        while first <= last:
            upto = min(last, first + _AT_A_TIME - 1)
            missing = next((number for number in range(first, upto + 1) if number not in self._versions), upto + 1)
            self._versions.update({version.number: version for version in self._log.versions(missing, upto)})
            yield from (self._versions[n] for n in range(first, upto + 1) if n in self._versions)
            first = upto + 1

    def _forget_before(self, start: StreamOffset) -> None:
        self._versions = {number: version for number, version in self._versions.items() if number >= start.version}
        if not start.initial_snapshot:
            self._initial = None

    def _follow(self, version: int, metadata: Metadata | None) -> None:
        """Keeps the newest metadata. Layouts and mappings are only added, so it describes older splits too."""
        if version > self._metadata_version:
            self._metadata = self._metadata if metadata is None else self._same_columns(metadata, version)
            self._metadata_version = version
            self._unreadable = None
        elif metadata is not None:
            renamed = renamed_columns(self._snapshot.metadata).get(metadata.current_doc_mapping_id, {})
            named = [field.with_name(renamed.get(field.name, field.name)) for field in metadata.arrow_schema()]
            self._unreadable = unreadable_column(pa.schema(named), self._snapshot.metadata.arrow_schema())

    def _check_start(self, start: StreamOffset) -> None:
        """Finds out whether what the first version added can be read with the columns of the table."""
        is_behind = start.version <= self._snapshot.version and len(self._snapshot.metadata.doc_mappings) > 1
        if is_behind and not self._is_start_checked:
            with suppress(VersionNotFoundError):  # the log has the versions from here on, but not what they build on
                self._follow(start.version, self._log.snapshot(start.version).metadata)
        self._is_start_checked = True

    def _readable(self, segment: _Segment) -> _Segment:
        """The segment; an error where an overwrite has replaced the schema that its rows have."""
        if self._unreadable is None or not len(segment):
            return segment
        raise StreamSchemaError(
            f"the rows of version {segment.version} of {self._log.table} have another type in column {self._unreadable!r} "
            "than the table has now, because an overwrite replaced its schema; start over with a new checkpoint, or from a "
            "later version",
            table=self._log.table,
            version=segment.version,
            columns=(self._unreadable,),
        )

    def _same_columns(self, metadata: Metadata, version: int) -> Metadata:
        before, after = self._snapshot.metadata.arrow_schema(), metadata.arrow_schema()
        others = other_columns(self._snapshot.metadata, metadata)
        if before != after or others:
            changed = [field.name for field in [*after, *before] if field not in before or field not in after]
            changed += others
            columns = tuple(dict.fromkeys(changed))
            raise StreamSchemaError(
                f"version {version} of {self._log.table} changed its columns ({', '.join(columns)}), and the stream reads "
                "those that the table had when the stream was loaded; start the query again with a newly loaded stream: it "
                "goes on where it stopped, with the new columns",
                table=self._log.table,
                version=version,
                columns=columns,
            )
        return metadata

    def _appended(self, version: Version) -> pa.Table:
        adds = sorted((add for add in version.adds if add.data_change), key=lambda add: add.path)
        if version.removes_rows or _brings_rows_back(version):
            if not self._policy.skips(version):
                raise self._changed(version)
            adds = []
        return splits_table(adds, self._metadata)

    def _changed(self, version: Version) -> ChangedRowsError:
        operation = version.info.operation
        return ChangedRowsError(
            f"version {version.number} of {self._log.table} ({operation}) removed rows that the stream may have delivered, "
            f"{'or brought such rows back, ' if _brings_rows_back(version) else ''}and a stream has no way to take them "
            "back; start over with a new checkpoint, or go on without the changes of "
            "such commits: skipChangeCommits skips them, ignoreDeletes only those that add no rows",
            table=self._log.table,
            version=version.number,
            operation=operation,
        )

    def _refuse_other_table(self, start: StreamOffset) -> None:
        if start.table_id != self._snapshot.metadata.id:
            raise TableReplacedError(
                f"the checkpoint of the stream is about another table than the one that is at {self._log.table} now, which "
                "was created later; start with a new checkpoint",
                table=self._log.table,
                table_id=start.table_id,
                found_id=self._snapshot.metadata.id,
            )

    def _refuse_restored(self, start: StreamOffset) -> None:
        """A table that is behind the stream would pass its offset once more, with other rows."""
        latest = self.latest().version - 1
        if start.version > latest + 1:
            raise VersionNotFoundError(
                f"the stream has read {self._log.table} up to version {start.version - 1}, and the table is at version "
                f"{latest}: an older state of it was restored; start with a new checkpoint",
                table=self._log.table,
                version=start.version - 1,
                earliest=0,
                latest=latest,
            )

    def _offset(self, version: int, *, initial_snapshot: bool = False) -> StreamOffset:
        return StreamOffset(table_id=self._snapshot.metadata.id, version=version, initial_snapshot=initial_snapshot)


def _brings_rows_back(version: Version) -> bool:
    """Whether the commit is a restore that adds rows which were in the table before, or undoes deletions."""
    return version.info.operation == Operation.RESTORE and bool(version.adds or version.deletion_vectors)


def _fitting(sizes: Sizes, matches: Mask, limits: ReadLimits, *, files: int, size: int) -> int:
    """How many of the next splits a batch takes that has some `files` of a `size` already; one that matches in any case."""
    taken = files + np.cumsum(matches)
    fits = np.ones(len(sizes), np.bool_)
    if limits.max_files is not None:
        fits &= taken <= limits.max_files
    if limits.max_bytes is not None:
        fits &= (size + np.cumsum(sizes * matches) <= limits.max_bytes) | (taken <= 1)
    return len(sizes) if fits.all() else int(np.argmin(fits))
