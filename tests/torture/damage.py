"""Damage to any file of a table: every answer is the right one, or an IndexTablesError that names what is damaged.

A real table is copied; one file is damaged in one way; questions are asked in a fresh state; the file is put back. Trials
run in child processes, because what is made of damaged bytes may end a process.
"""

import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from indextables import IndexTable
from indextables.errors import IndexTablesError
from indextables.read import opener
from indextables.split.format import footer_start, tail_start
from indextables.storage.local import LocalStore
from tests.fuzz.child_process import Ended, supervised

SCHEMA = pa.schema(
    {"app": pa.string(), "id": pa.int64(), "message": pa.string(), "level": pa.string(), "score": pa.float64()}
)
RIGHT, REFUSED, WRONG, FOREIGN, UNNAMED, CRASH = "right", "refused", "wrong", "foreign", "unnamed", "crash"
BAD = (WRONG, FOREIGN, UNNAMED, CRASH)
_LOG = "_transaction_log"
_EXACT = {"spark.indextables.indexing.exact.id": "hash", "spark.indextables.indexing.exact.level": "dictionary"}


@dataclass(frozen=True)
class Trial:
    """A kind of file, a kind of damage, and the seed of everything else."""

    kind: str
    damage: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """How the worst answer of a trial was, and what was wrong with it."""

    result: str
    detail: str = ""


@dataclass(frozen=True)
class Sweep:
    """Results by kind of file and kind of damage, and descriptions of the trials that failed."""

    counts: Mapping[tuple[str, str], Counter[str]]
    failures: Sequence[str]

    def __str__(self) -> str:
        """A table: for each file and damage, how often the answers were right and how often some were refused."""
        names = [name for name in (RIGHT, REFUSED, *BAD) if any(name in counts for counts in self.counts.values())]
        cells = [
            (f"{kind}, {damage}", [counts[name] for name in names]) for (kind, damage), counts in self.counts.items()
        ]
        lines = [f"{'':42}" + "".join(f"{name:>9}" for name in names)]
        return "\n".join([*lines, *(f"{title:42}" + "".join(f"{count:9}" for count in row) for title, row in cells)])


def sweep(directory: Path, *, trials: int, seed: int = 0, processes: int = 2) -> Sweep:
    """Damages a table so many times."""
    make_table(directory / "original")
    pairs = [(kind, damage) for kind in KINDS for damage in DAMAGES if (kind, damage) not in _IMPOSSIBLE]
    planned = [Trial(*pairs[number % len(pairs)], seed * 1_000_003 + number) for number in range(trials)]
    with ThreadPoolExecutor(processes) as pool:
        shares = pool.map(lambda first: _outcomes(planned[first::processes], directory), range(processes))
        outcomes = [one for share in shares for one in share]
    counts = {pair: Counter[str]() for pair in pairs}
    for trial, outcome in outcomes:
        counts[trial.kind, trial.damage][outcome.result] += 1
    return Sweep(counts, [f"{trial}: {outcome}" for trial, outcome in outcomes if outcome.result in BAD])


def _outcomes(trials: Sequence[Trial], directory: Path) -> list[tuple[Trial, Outcome]]:
    answers = supervised(_work, trials, directory)
    return [(trial, Outcome(CRASH, str(one)) if isinstance(one, Ended) else one) for trial, one in answers]


def make_table(path: Path) -> None:
    """Two layouts, shared splits, words and exact indexes; a checkpoint with versions before it and after it."""
    table = IndexTable.create(path, SCHEMA, partition_by="app", fields={"message": "text"}, properties=_EXACT)
    table.append(_rows(0, 60), options={"coalesce.enabled": "true"})
    table.append(_rows(60, 100))
    table.replace_where(_rows(200, 210, app="web"), "app = 'web'")
    table.checkpoint()
    table.append(_rows(210, 240))
    table.merge_splits()
    table.append(_rows(240, 260), options={"coalesce.enabled": "true"})


def _rows(start: int, end: int, app: str | None = None) -> pa.Table:
    numbers = range(start, end)
    return pa.table(
        {
            "app": [app or ("web", "api", "db", None)[n % 4] for n in numbers],
            "id": list(numbers),
            "message": [
                None if n % 9 == 0 else f"request {n % 7} of node{n % 5} timed out after {n} ms" for n in numbers
            ],
            "level": [("INFO", "WARN", "ERROR")[n % 3] for n in numbers],
            "score": [n / 8 for n in numbers],
        },
        schema=SCHEMA,
    )


# What is asked.


def _sorted(rows: pa.Table) -> list[dict[str, Any]]:
    return rows.sort_by("id").to_pylist()


QUESTIONS: Mapping[str, Callable[[IndexTable], Any]] = {
    "full scan": lambda table: _sorted(table.scan().to_arrow()),
    "filtered scan": lambda table: _sorted(table.scan(where="app = 'api' AND score < 9").to_arrow()),
    "count": lambda table: [table.count(), table.count("level = 'WARN'"), table.count("app IS NULL")],
    "count by search": lambda table: [
        table.count(query=text) for text in ("message:node3", "level:ERROR AND NOT message:timed")
    ],
    "top hits": lambda table: table.search("message:node3 request", limit=5).to_pylist(),
    "group counts": lambda table: sorted(map(str, table.scan().group_by("app").count().to_pylist())),
    "point lookup": lambda table: _sorted(table.scan(where="id = 77").to_arrow()),
    "extremes": lambda table: [table.scan().min("id"), table.scan().max("score")],
    "history": lambda table: table.history().to_pylist(),
}


_BY_INDEX = ("count by search", "top hits", "point lookup")
"""Questions whose answers come from indexes, which are asked where these are damaged."""


def _answers(path: Path, cache: Path, questions: Sequence[str], versions: Sequence[int]) -> dict[str, Any]:
    """The answers to some questions; an exception in the place of one that was refused."""
    opener._cache.cache_clear()
    options = {"cache.directory": str(cache), "read.parallelism": "1"}
    found: dict[str, Any] = {}
    table = _attempt(lambda: IndexTable.open(path, options=options))
    for name in questions:
        found[name] = table if isinstance(table, BaseException) else _attempt(lambda name=name: QUESTIONS[name](table))
    for version in versions:
        found[f"version {version}"] = _attempt(
            lambda version=version: _sorted(IndexTable.open(path, version=version, options=options).scan().to_arrow())
        )
    return found


def _attempt(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except BaseException as error:  # noqa: BLE001 - panics are not Exceptions
        return error


# What is damaged.


@dataclass(frozen=True)
class _Place:
    """A part of a file."""

    file: Path
    start: int
    end: int


def _whole(file: Path) -> _Place:
    return _Place(file, 0, file.stat().st_size)


def _log_files(table: Path, pattern: str) -> list[_Place]:
    return [_whole(file) for file in sorted((table / _LOG).glob(pattern))]


def _split_parts(table: Path, part: int) -> list[_Place]:
    """The row groups (0), the index section (1) or the tail (2) of each split."""
    found = []
    for file in sorted(table.rglob("*.split")):
        data = file.read_bytes()
        footer = footer_start(data[-8:], size=len(data), name=file.name)
        tail = tail_start(data[footer:], start=footer, name=file.name)
        limits = (0, _index_start(data, footer), tail, len(data))
        found.append(_Place(file, limits[part], limits[part + 1]))
    return found


def _index_start(data: bytes, footer: int) -> int:
    text = data[footer:].rpartition(b'{"version":')[2]
    return int(text.partition(b'"offset":')[2].partition(b",")[0])


def _cached(cache: Path, *, exact: bool) -> list[_Place]:
    files = [file for file in sorted(cache.rglob("*")) if file.is_file()]
    return [_whole(file) for file in files if (file.name == "file") == exact and file.stat().st_size]


KINDS: Mapping[str, Callable[[Path, Path], list[_Place]]] = {
    "version file": lambda table, cache: _log_files(table, "*.json"),
    "checkpoint": lambda table, cache: _log_files(table, "*.checkpoint.parquet"),
    "hint": lambda table, cache: _log_files(table, "_last_checkpoint"),
    "split: row groups": lambda table, cache: _split_parts(table, 0),
    "split: index section": lambda table, cache: _split_parts(table, 1),
    "split: tail": lambda table, cache: _split_parts(table, 2),
    "cached word index": lambda table, cache: _cached(cache, exact=False),
    "cached exact index": lambda table, cache: _cached(cache, exact=True),
}


def _flip(rng: Random, data: bytearray, place: _Place) -> bytes:
    data[rng.randrange(place.start, place.end)] ^= 1 << rng.randrange(8)
    return bytes(data)


def _change(rng: Random, data: bytearray, place: _Place) -> bytes:
    data[rng.randrange(place.start, place.end)] = rng.randrange(256)
    return bytes(data)


def _cut(rng: Random, data: bytearray, place: _Place) -> bytes:
    return bytes(data[: rng.randrange(place.start, place.end)])


def _cut_at_line(rng: Random, data: bytearray, place: _Place) -> bytes:
    ends = [at + 1 for at in range(place.start, place.end - 1) if data[at] == ord("\n")]
    return bytes(data[: rng.choice(ends)]) if ends else _cut(rng, data, place)


def _zero(rng: Random, data: bytearray, place: _Place) -> bytes:
    start = rng.randrange(place.start, place.end)
    end = min(place.end, start + rng.choice((1, 8, 64, 512)))
    data[start:end] = bytes(end - start)
    return bytes(data)


def _swap_ranges(rng: Random, data: bytearray, place: _Place) -> bytes:
    length = rng.choice((1, 4, 16, 64))
    if place.end - place.start < 2 * length:
        return _flip(rng, data, place)
    first = rng.randrange(place.start, place.end - 2 * length + 1)
    second = rng.randrange(first + length, place.end - length + 1)
    data[first : first + length], data[second : second + length] = (
        data[second : second + length],
        data[first : first + length],
    )
    return bytes(data)


def _duplicate_line(rng: Random, data: bytearray, place: _Place) -> bytes:  # noqa: ARG001 - one like the others
    lines = bytes(data).splitlines(keepends=True)
    at = rng.randrange(len(lines))
    return b"".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])


def _append(rng: Random, data: bytearray, place: _Place) -> bytes:
    return bytes(data) + rng.choice(
        (b"\n", b"{}\n", rng.randbytes(rng.randrange(1, 99)), bytes(data[place.start : place.end]))
    )


DAMAGES: Mapping[str, Callable[[Random, bytearray, _Place], bytes] | None] = {
    "flip a bit": _flip,
    "change a byte": _change,
    "cut": _cut,
    "cut at a line end": _cut_at_line,
    "zero a range": _zero,
    "swap two ranges": _swap_ranges,
    "duplicate a line": _duplicate_line,
    "append garbage": _append,
    "swap two files": None,
    "delete": None,
}
_IMPOSSIBLE = {("hint", "swap two files"), ("checkpoint", "swap two files")}  # there is only one


def _apply(trial: Trial, rng: Random, places: Sequence[_Place]) -> dict[Path, bytes | None]:
    """The new contents of the files that the trial damages."""
    place = rng.choice(places)
    match trial.damage:
        case "delete":
            # No reader that comes fresh can know of a newest version that is gone: to it the table ends one version before.
            # Nor of an oldest one before a checkpoint: a clean-up would have deleted it.
            if trial.kind == "version file":
                place = rng.choice(places[1:-1])
            return {place.file: None}
        case "swap two files":
            others = [other for other in places if other.file != place.file and _is_alike(other.file, place.file)]
            other = rng.choice(others or [place])
            return {place.file: other.file.read_bytes(), other.file: place.file.read_bytes()}
        case _:
            damage = DAMAGES[trial.damage]
            assert damage is not None
            return {place.file: damage(rng, bytearray(place.file.read_bytes()), place)}


def _is_alike(one: Path, other: Path) -> bool:
    return one.suffix == other.suffix


# One process, with a copy of the table and of a full cache.


class _Copy:
    def __init__(self, directory: Path) -> None:
        self.table, self.cache = directory / "table", directory / "cache"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(directory.parent / "original", self.table)
        self.versions = sorted(int(file.stem) for file in (self.table / _LOG).glob("*.json"))
        self.expected = _answers(self.table, self.cache, list(QUESTIONS), self.versions)
        for name, answer in self.expected.items():
            assert not isinstance(answer, BaseException), f"{name}: {answer!r}"
        self.cached = {
            file.relative_to(self.cache): file.read_bytes() for file in self.cache.rglob("*") if file.is_file()
        }
        self.kinds = {kind: places(self.table, self.cache) for kind, places in KINDS.items()}

    def try_(self, trial: Trial) -> Outcome:
        rng = Random(trial.seed)
        places = self.kinds[trial.kind]
        is_cached = trial.kind.startswith("cached")
        self._restore_cache(full=is_cached or rng.random() < 0.5)
        damaged = _apply(trial, rng, places)
        before = {file: file.read_bytes() for file in damaged}
        try:
            for file, content in damaged.items():
                _put(file, content)
            asked = dict.fromkeys([*(_BY_INDEX if "index" in trial.kind else ()), *rng.sample(list(QUESTIONS), 3)])
            found = _answers(self.table, self.cache, list(asked), [rng.choice(self.versions)])
            return self._judge(found, damaged)
        finally:
            if not is_cached:
                for file, content in before.items():
                    _put(file, content)

    def _judge(self, found: Mapping[str, Any], damaged: Mapping[Path, object]) -> Outcome:
        names = [
            *(file.name for file in damaged),
            *(f"version {int(file.stem)} " for file in damaged if file.stem.isdigit()),
        ]
        worst = Outcome(RIGHT)
        for question, answer in found.items():
            if isinstance(answer, IndexTablesError):
                if not any(name in str(answer) for name in names):
                    return Outcome(UNNAMED, f"{question}: {answer!r} names none of {names}")
                worst = Outcome(REFUSED)
            elif isinstance(answer, BaseException):
                return Outcome(FOREIGN, f"{question}: {answer!r} for {names}")
            elif repr(answer) != repr(self.expected[question]):
                return Outcome(WRONG, f"{question} with {names}: {repr(answer)[:300]}")
        return worst

    def _restore_cache(self, *, full: bool) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)
        for name, content in self.cached.items() if full else ():
            file = self.cache / name
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_bytes(content)


def _put(file: Path, content: bytes | None) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)


def _work(connection: Connection, trials: Sequence[Trial], directory: Path) -> None:
    logging.disable(logging.CRITICAL)
    LocalStore.is_remote = True  # so that exact indexes are cached too
    copy = _Copy(directory / f"copy-{os.getpid()}")
    for trial in trials:
        connection.send(copy.try_(trial))
