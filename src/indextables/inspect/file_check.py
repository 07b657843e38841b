"""The check of the files of a table against its log: one listing, compared by Arrow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.inspect.check_findings import CheckFinding, Problem, finding
from indextables.inspect.findings import format_bytes
from indextables.inspect.log_check import CheckedLog
from indextables.log.ownership import Ownership, is_temporary
from indextables.plural import pluralize
from indextables.storage import Entry, Store


@dataclass(frozen=True, slots=True)
class ListedSplits:
    """Splits of the log whose files are there with the size that the log says, and what is wrong with the others."""

    sound: pa.Table
    findings: list[CheckFinding]


def compare_sizes(splits: pa.Table, entries: Sequence[Entry], store: Store, *, missing: Problem) -> ListedSplits:
    """Compares splits with a listing that was made before the log was read; `missing` is what a missing one is.

    Splits that are not listed are looked up one by one: they are younger, behind a symbolic link, or missing.
    """
    sizes = _listed_sizes(splits["path"], entries, store)
    there, right = sizes.is_valid(), pc.fill_null(pc.equal(sizes, splits["size"]), fill_value=False)
    gone, wrong = splits.filter(pc.invert(there))["path"], pc.and_(there, pc.invert(right))
    found = list(_missing(gone.to_pylist(), missing))
    named = zip(*(c.filter(wrong).to_pylist() for c in (splits["path"], splits["size"], sizes)), strict=True)
    found += [
        finding(Problem.WRONG_SIZE, path, f"it has {size:,} bytes where the log says {expected:,}")
        for path, expected, size in named
    ]
    return ListedSplits(splits.filter(right), found)


def unknown_files(log: CheckedLog, entries: Sequence[Entry]) -> Iterator[CheckFinding]:
    """Files of this table's writers that no version names: leftovers, or a hint at versions that were lost."""
    if log.snapshot is None:
        return
    own = Ownership.of(log.snapshot.metadata)
    orphans = [entry for entry in entries if entry.key not in log.paths and own.includes(entry.key)]
    temporary = [entry for entry in orphans if is_temporary(entry.key)]
    splits = [entry for entry in orphans if not is_temporary(entry.key)]
    young = [entry for entry in splits if entry.modified >= log.newest]
    old = [entry for entry in splits if entry.modified < log.newest]
    if splits and not log.is_complete:
        message = f"{_counted(splits)} that no readable version has: they may be of the versions that cannot be read"
        yield finding(Problem.LOST_VERSION, _first(splits), message)
        old = []
    elif young:
        why = "a write is running, one has failed, or a newer version was deleted"
        message = f"{_counted(young)} that no version has, younger than version {log.snapshot.version}: {why}"
        yield finding(Problem.LOST_VERSION, _first(young), message)
    if old:
        yield finding(Problem.ORPHAN, _first(old), f"{_counted(old)} that no version has")
    if temporary:
        message = f"{pluralize(len(temporary), 'temporary file')}, {_size(temporary)}"
        yield finding(Problem.TEMPORARY_FILE, _first(temporary), message)


def _listed_sizes(paths: pa.ChunkedArray, entries: Sequence[Entry], store: Store) -> pa.Array:
    """The size of each file, null where there is none."""
    files = [entry for entry in entries if not entry.link]
    keys, sizes = pa.array([e.key for e in files], pa.string()), pa.array([e.size for e in files], pa.int64())
    known = sizes.take(pc.index_in(paths, value_set=keys).combine_chunks())
    unlisted = pa.array(pc.filter(paths, known.is_null()).to_pylist(), pa.string())
    if not len(unlisted):
        return known
    looked_up = store.in_parallel(store.find, unlisted.to_pylist())
    found = pa.array([entry and entry.size for entry in looked_up], pa.int64())
    return pc.coalesce(known, found.take(pc.index_in(paths, value_set=unlisted).combine_chunks()))


def _missing(paths: Sequence[str], kind: Problem) -> Iterator[CheckFinding]:
    if kind is Problem.PURGED_SPLIT:
        if paths:
            message = f"{pluralize(len(paths), 'split')} of older versions are not there any more"
            yield finding(kind, min(paths), message)
    else:
        yield from (finding(kind, path, "it is not there") for path in paths)


def _counted(entries: Sequence[Entry]) -> str:
    return f"{pluralize(len(entries), 'split')} with {_size(entries)}"


def _size(entries: Sequence[Entry]) -> str:
    return format_bytes(sum(entry.size for entry in entries))


def _first(entries: Sequence[Entry]) -> str:
    return min(entry.key for entry in entries)
