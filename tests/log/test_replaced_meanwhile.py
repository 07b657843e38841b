"""A table is deleted and made anew between any two requests of a handle of the old one: the new one stays as it is."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.log import TransactionLog
from indextables.log.log_files import HINT_KEY
from indextables.storage import Entry, Store, open_store
from tests.tiers import slow_after

OLD = pa.schema({"p": pa.string(), "n": pa.int64()})
NEW = pa.schema({"p": pa.string(), "other": pa.string()})
ROWS = pa.table({"p": ["a", "b"], "n": [1, 2]}, OLD)
OTHERS = pa.table({"p": ["x"], "other": ["1"]}, NEW)
OPTIONS = {"checkpoint.interval": "3", "log.retention": "0s", "commit.maxRetries": "2"}
Files = dict[str, bytes]
_LOG_FILE = re.compile(r"_transaction_log/[0-9]+\.(json|checkpoint\.parquet)")

OPERATIONS: dict[str, Callable[[IndexTable], Any]] = {
    "append": lambda table: table.append(ROWS),
    "append twice": lambda table: (table.append(ROWS), table.append(ROWS)),
    "append and checkpoint": lambda table: (table.append(ROWS), table.checkpoint()),
    "overwrite": lambda table: table.overwrite(ROWS),
    "replace_where": lambda table: table.replace_where(ROWS.slice(0, 1), "p = 'a'"),
    "merge_splits": lambda table: table.merge_splits(),
    "drop_partitions": lambda table: table.drop_partitions("p = 'a'"),
    "set_properties": lambda table: table.set_properties({"owner": "me"}),
    "checkpoint": lambda table: table.checkpoint(),
    "clean_up": lambda table: table._log.clean_up(retention=timedelta(0)),
    "purge": lambda table: table.purge(older_than=timedelta(0), force=True),
    "beside another writer": lambda table: (IndexTable.open(table.path).append(ROWS), table.append(ROWS)),
}
SENSITIVE = ("append twice", "append and checkpoint", "checkpoint", "clean_up")
APPENDS = {"no version": 0, "as many": 5, "one more": 6, "more": 11}
"""Of the new table. The old one has 5, without checkpoints, so that its first versions expire with the next one."""


class Interrupted:
    """Runs something before a certain request."""

    calls = 0
    at: int | None = None
    interruption: Callable[[], object] = staticmethod(lambda: None)
    lock = Lock()

    def _count(self) -> None:
        with self.lock:
            number, self.calls = self.calls, self.calls + 1
        if number == self.at:
            self.interruption()

    def configured(self, _: Config) -> Any:
        return self

    def read(self, key: str) -> pa.Buffer:
        self._count()
        return super().read(key)  # type: ignore[misc]

    def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
        self._count()
        return super().read_range(key, start, end)  # type: ignore[misc]

    def read_ranges(self, key: str, ranges: Sequence[tuple[int, int]], *, tag: str | None = None) -> list[pa.Buffer]:
        self._count()
        return super().read_ranges(key, ranges, tag=tag)  # type: ignore[misc,no-any-return]

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        self._count()
        super().put(key, data)  # type: ignore[misc]

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        self._count()
        super().put_if_absent(key, data)  # type: ignore[misc]

    def put_file(self, key: str, source: Path) -> None:
        self._count()
        super().put_file(key, source)  # type: ignore[misc]

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        self._count()
        return iter([*super().list(prefix, after=after)])  # type: ignore[misc]

    def head(self, key: str) -> Entry:
        self._count()
        return super().head(key)  # type: ignore[misc,no-any-return]

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            if not _LOG_FILE.fullmatch(key):  # nothing can be between the look at one and its deletion
                self._count()
            super().delete([key])  # type: ignore[misc]


class InterruptedMemory(Interrupted, Store): ...


def files_of(place: str) -> Files:
    store = open_store(place)
    return {entry.key: store.read(entry.key).to_pybytes() for entry in store.list()}


@cache
def template(appends: int, *, new: bool, clean: bool) -> Files:
    """The files of a table with some versions; with `clean`, its first ones have been cleaned up."""
    place, rows = f"memory://{uuid4().hex}/t", OTHERS if new else ROWS
    options = OPTIONS if clean else {}
    table = IndexTable.create(place, rows.schema, partition_by="p", options=options)
    for _ in range(appends):
        table.append(rows)
    return files_of(place)


def replace(place: str, files: Files) -> None:
    store = open_store(place)
    store.delete([entry.key for entry in store.list()])
    for key, content in files.items():
        store.put(key, content)


class Clock:
    """It stands still, except while a table is replaced: that takes a minute."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(place: str, operation: str, new: Files, clock: Clock, *, at: int | None) -> int:
    """Runs an operation of the old table, which is replaced before a request; gives the number of requests."""

    def interrupt() -> None:
        replace(place, new)
        clock.now += 60

    replace(place, template(5, new=False, clean=False))
    plain = open_store(place)
    store = InterruptedMemory(plain.location, plain._backend)
    log = TransactionLog(store, Config.resolve(OPTIONS))
    table = IndexTable(log, log.snapshot(), options=OPTIONS)
    store.calls, store.at, store.interruption = 0, at, interrupt
    with suppress(IndexTablesError):
        OPERATIONS[operation](table)
    return int(store.calls)


SCHEDULES = [
    *(("as many", operation) for operation in OPERATIONS),
    *((appends, operation) for appends in APPENDS if appends != "as many" for operation in SENSITIVE),
]


@pytest.mark.parametrize(
    ("appends", "operation"), slow_after(len(OPERATIONS), SCHEDULES, "new tables of other lengths")
)
def test_the_new_table_stays_as_it_is(appends: str, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    place, new = f"memory://{uuid4().hex}/t", template(APPENDS[appends], new=True, clean=True)
    requests = run(place, operation, new, clock, at=None)
    for at in range(requests):
        run(place, operation, new, clock, at=at)
        found = files_of(place)
        assert [key for key in new if key != HINT_KEY and found.get(key) != new[key]] == [], at
        strays = [key for key in found.keys() - new.keys() if _LOG_FILE.fullmatch(key)]
        assert len(strays) <= 1, "what was sent before the table was replaced"
        if strays:
            check_new_table(place, APPENDS[appends])


def check_new_table(place: str, rows: int) -> None:
    """The new table is read, written, and cleaned up as if there was no other."""
    table = IndexTable.open(place, options=OPTIONS)
    assert (table.schema, table.scan().to_arrow().num_rows) == (NEW, rows)
    for _ in range(3):
        table.append(OTHERS)
    again = IndexTable.open(place)
    assert (again.schema, again.scan().to_arrow().num_rows) == (NEW, rows + 3)
    again.checkpoint()
    assert IndexTable.open(place).count() == rows + 3
