"""The check of a table (fsck): its log, its files, its deletion vectors, and with `deep` its rows. It writes nothing."""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from tempfile import TemporaryDirectory

import pyarrow as pa

from indextables.config import Config, ReadConfig
from indextables.display.progress_bar import BarState
from indextables.display.text_output import text_output
from indextables.errors import ConfigError, DamagedSplitError, NotFoundError, StorageError
from indextables.inspect.check_findings import CheckFinding, CheckSeverity, Problem, finding
from indextables.inspect.file_check import compare_sizes, unknown_files
from indextables.inspect.findings import format_bytes
from indextables.inspect.log_check import CheckedLog, check_log
from indextables.inspect.recommended_steps import StepFormat
from indextables.inspect.split_check import CheckedSplit, check_split
from indextables.kernels import sum_of
from indextables.log.actions import DeletionVector, Metadata
from indextables.log.column_ids import renamed_columns
from indextables.log.ownership import files_of_table
from indextables.log.splits import deletion_vectors_of
from indextables.plural import pluralize
from indextables.read.deletion_vectors import read_vector
from indextables.split import SplitCache, SplitReader
from indextables.storage import Entry, Store

DEFAULT_SAMPLE = 100
"""How many splits a deep check opens, unless told otherwise."""

_SHOWN = 20  # findings of a kind
_ORDER = tuple(CheckSeverity)


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """How far a check is: `done` of `total` versions or splits, as `stage` says."""

    stage: str
    done: int
    total: int

    def state(self) -> BarState:
        return BarState(self.done, self.total, f"{self.done:,} of {self.total:,} {self.stage} checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What was checked, and the findings, errors first; it prints as a report.

    `version` is the newest version that can be read, whose splits were checked; None where there is none. `splits` and
    `bytes` are those whose files were compared with the log, `opened` and `rows` those that a deep check has read.
    """

    table: str
    version: int | None
    deep: bool
    versions: int
    checkpoints: int
    log_bytes: int
    splits: int
    bytes: int
    opened: int
    rows: int
    findings: tuple[CheckFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    @property
    def errors(self) -> tuple[CheckFinding, ...]:
        return tuple(one for one in self.findings if one.severity is CheckSeverity.ERROR)

    def __str__(self) -> str:
        return self.render()

    _repr_html_ = text_output

    def render(self, format_step: StepFormat = str) -> str:
        at = "no version can be read" if self.version is None else f"at version {self.version}"
        rows = pluralize(self.rows, "row")
        read = f"; {self.opened:,} of them opened, with {rows}" if self.deep else "; none was opened"
        log = f"{pluralize(self.versions, 'version')} and {pluralize(self.checkpoints, 'checkpoint')}"
        lines = [
            f"{self.table} {at}",
            f"  log         {log} with {format_bytes(self.log_bytes)}",
            f"  splits      {self.splits:,} with {format_bytes(self.bytes)}{read}",
            "",
            *_rendered(self.findings, format_step),
            self.verdict,
        ]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        if not self.findings:
            return "no findings"
        counts = Counter(one.severity for one in self.findings)
        return ", ".join(pluralize(counts[severity], _NOUNS[severity]) for severity in _ORDER if counts[severity])


def check_table(
    store: Store,
    *,
    deep: bool = False,
    sample: int | None = DEFAULT_SAMPLE,
    all_versions: bool = False,
    parallelism: int = 8,
    progress: Callable[[CheckProgress], object] = lambda _: None,
) -> CheckResult:
    """Checks the table of a store, which may be too damaged to be opened.

    With `deep`, as many splits as `sample` says are read, chosen by chance; None is all of them, and the words of all of
    their rows. With `all_versions`, the splits of older versions are checked too.
    """
    if sample is not None and (not isinstance(sample, int) or sample < 1):
        raise ConfigError(f"sample is {sample!r}; it is a number of splits from 1 up", key="sample", value=str(sample))
    entries = files_of_table(store)  # before the log is read: what is committed in between is looked up
    log = check_log(
        store,
        keep_past=all_versions,
        progress=lambda done, total: progress(CheckProgress("versions", done, total)),
    )
    findings = [*log.findings, *unknown_files(log, entries)]
    splits, chosen = pa.table({"size": pa.array([], pa.int64())}), None
    if log.snapshot is not None:
        listed = compare_sizes(log.snapshot.splits, entries, store, missing=Problem.MISSING_SPLIT)
        splits, sound = log.snapshot.splits, listed.sound
        findings += listed.findings
        findings += check_vectors(log.snapshot.splits, entries, store, deep=deep)
        if all_versions:
            past = compare_sizes(log.past_splits(), entries, store, missing=Problem.PURGED_SPLIT)
            splits, sound = (pa.concat_tables(pair) for pair in ((splits, past.sound), (sound, past.sound)))
            findings += past.findings
        chosen = _sampled(sound, sample) if deep else None
    opened = _opened(log, chosen, store, all_words=sample is None, parallelism=parallelism, progress=progress)
    findings += [one for split in opened for one in split.findings]
    return CheckResult(
        table=str(store.location),
        version=None if log.snapshot is None else log.snapshot.version,
        deep=deep,
        versions=log.versions,
        checkpoints=log.checkpoints,
        log_bytes=log.bytes,
        splits=len(splits),
        bytes=sum_of(splits["size"]),
        opened=len(opened),
        rows=sum(split.rows for split in opened),
        findings=tuple(sorted(findings, key=lambda one: _ORDER.index(one.severity))),
    )


def _sampled(splits: pa.Table, sample: int | None) -> pa.Table:
    if sample is None or sample >= len(splits):
        return splits
    return splits.take(sorted(random.sample(range(len(splits)), sample)))


def _opened(
    log: CheckedLog,
    splits: pa.Table | None,
    store: Store,
    *,
    all_words: bool,
    parallelism: int,
    progress: Callable[[CheckProgress], object],
) -> list[CheckedSplit]:
    if splits is None or log.snapshot is None:
        return []
    work = partial(_open_and_check, store=store, metadata=log.snapshot.metadata, all_words=all_words)
    threads = parallelism if store.is_remote else min(parallelism, os.cpu_count() or 1)
    checked = []
    for number, split in enumerate(_in_threads(work, map(splits.slice, range(len(splits)), repeat(1)), threads), 1):
        checked.append(split)
        progress(CheckProgress("splits", number, len(splits)))
    return checked


def _in_threads(
    work: Callable[[pa.Table], CheckedSplit], splits: Iterable[pa.Table], threads: int
) -> Iterator[CheckedSplit]:
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(work, splits)
    finally:
        pool.shutdown(cancel_futures=True)


def _open_and_check(split: pa.Table, *, store: Store, metadata: Metadata, all_words: bool) -> CheckedSplit:
    """Checks a split with a cache of its own, so that its bytes are read and not what is left of them elsewhere."""
    with TemporaryDirectory(prefix="indextables-check-", ignore_cleanup_errors=True) as directory:
        reader = SplitReader(
            store,
            split["path"][0].as_py(),
            size=split["size"][0].as_py(),
            num_records=split["num_records"][0].as_py(),
            renamed=tuple(renamed_columns(metadata).get(split["doc_mapping_id"][0].as_py(), {}).items()),
            cache=SplitCache.configured(Config(read=ReadConfig(cache_directory=directory))),
        )
        return check_split(reader, split, metadata, all_words=all_words)


def _rendered(findings: Iterable[CheckFinding], format_step: StepFormat) -> Iterator[str]:
    shown = Counter[Problem]()
    for one in findings:
        shown[one.kind] += 1
        if shown[one.kind] <= _SHOWN:
            yield one.render(format_step)
    for kind, count in shown.items():
        if count > _SHOWN:
            yield f"... and {count - _SHOWN:,} more findings of the kind {kind}"


_NOUNS = {CheckSeverity.ERROR: "error", CheckSeverity.WARNING: "warning", CheckSeverity.INFO: "note"}


def check_vectors(splits: pa.Table, entries: Sequence[Entry], store: Store, *, deep: bool) -> list[CheckFinding]:
    """Checks the deletion vectors of splits. Those in the log are decoded; files are looked up, and with `deep` read."""
    having = splits.select(["path", "num_records", "deletion_vector"]).filter(splits["deletion_vector"].is_valid())
    vectors = [vector for vector in deletion_vectors_of(having) if vector is not None]
    rows = having["num_records"].to_pylist()
    missing = _missing(vectors, entries, store)
    found = [
        finding(
            Problem.MISSING_VECTOR, file, f"it is not there, and has the deleted rows of {paths[0]}{_others(paths)}"
        )
        for file, paths in missing.items()
    ]
    readable = [
        (vector, total)
        for vector, total in zip(vectors, rows, strict=True)
        if vector.bitmap is not None or (deep and vector.file not in missing)
    ]
    for problems in store.in_parallel(lambda pair: list(_of_vector(*pair, store)), readable):
        found += problems
    return found


def _missing(vectors: Sequence[DeletionVector], entries: Sequence[Entry], store: Store) -> dict[str, list[str]]:
    """The files that are not there, each with the splits that need it."""
    listed = {entry.key for entry in entries}
    needed: dict[str, list[str]] = {}
    for vector in vectors:
        if vector.bitmap is None and vector.file is not None and vector.file not in listed:
            needed.setdefault(vector.file, []).append(vector.path)
    return {file: needed[file] for file in store.missing(list(needed))}


def _of_vector(vector: DeletionVector, total: int | None, store: Store) -> Iterator[CheckFinding]:
    file, place = (vector.path, "") if vector.file is None else (vector.file, f"the deleted rows of {vector.path}")
    try:
        rows = read_vector(vector, store)
    except DamagedSplitError as error:
        message = error.reason if place else f"its deletion vector in the log is damaged: {error.reason}"
        yield finding(Problem.DAMAGED_VECTOR, file, message, place=place)
    except NotFoundError:
        yield finding(Problem.MISSING_VECTOR, file, "it is not there", place=place)
    except StorageError as error:
        yield finding(Problem.UNREADABLE_FILE, file, str(error), place=place)
    else:
        if total is not None and len(rows) and rows[-1] >= total:
            message = f"row {rows[-1]:,} is deleted, and the split has {total:,} rows"
            yield finding(Problem.DAMAGED_VECTOR, file, message, place=place)


def _others(paths: Sequence[str]) -> str:
    return f" and of {len(paths) - 1:,} other splits" if len(paths) > 1 else ""
