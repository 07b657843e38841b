"""What a table of many versions costs: the work of a refresh or a commit does not grow with the versions before it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.cleanup import CleanUpSchedule
from indextables.log.log_files import list_log
from indextables.storage import Entry
from indextables.storage.local import LocalStore
from tests.log.samples import add, append, created, paths


class Counted(LocalStore):
    """Counts the files that were listed."""

    listed = 0

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        for entry in super().list(prefix, after=after):
            type(self).listed += 1
            yield entry


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[TransactionLog]:
    Counted.listed = 0
    yield TransactionLog(Counted(TransactionLog.open(tmp_path).store.location))
    Counted.listed = 0


def test_a_refresh_lists_only_what_is_newer(counted: TransactionLog, tmp_path: Path) -> None:
    writer = TransactionLog.open(tmp_path)
    created(writer)
    for number in range(24):
        append(writer, add(f"{number}"))
    assert counted.snapshot().version == 24
    append(writer, add("new"))
    Counted.listed = 0
    assert "new" in paths(counted.snapshot())
    assert Counted.listed <= 3  # the version that was read, the new one, the hint


def test_a_refresh_sees_versions_of_a_log_with_other_names(tmp_path: Path) -> None:
    """A writer of 18 digits beside versions of 20, which sort before them."""
    writer, reader = TransactionLog.open(tmp_path), TransactionLog.open(tmp_path)
    created(writer)
    append(writer, add("old"))
    directory = tmp_path / "_transaction_log"
    for file in list(directory.glob("*.json")):
        file.rename(directory / f"{int(file.stem):020}.json")
    assert paths(reader.snapshot()) == {"old"}
    append(TransactionLog.open(tmp_path), add("new"))
    assert paths(reader.snapshot()) == {"old", "new"}


def test_appends_do_not_list_the_log_again_and_again(counted: TransactionLog) -> None:
    snapshot = created(counted)
    for number in range(100):
        one = Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=[add(f"{number}")])
        snapshot = counted.configured(counted.config).commit(one).snapshot  # as a table does for each write
    assert len(paths(snapshot)) == 100
    assert Counted.listed < 100  # one look for expired files, at the first checkpoint


def test_the_next_look_for_expired_files(tmp_path: Path) -> None:
    log = TransactionLog.open(tmp_path)
    created(log)
    files, now, day = list_log(log.store), datetime.now(UTC), timedelta(days=1)
    schedule = CleanUpSchedule()
    assert schedule.is_due(now)
    schedule.looked(files, now=now, retention=30 * day)
    assert [schedule.is_due(now + wait) for wait in (timedelta(0), day / 2, day)] == [False, False, True]
    schedule.looked(files, now=now, retention=day / 2)
    assert [schedule.is_due(now + wait) for wait in (day / 4, day / 2)] == [False, True]
    schedule.looked(files, now=now + 30 * day, retention=10 * day)  # a file has expired, and others follow soon
    assert [schedule.is_due(now + 30 * day + wait) for wait in (day / 20, day / 10)] == [False, True]
    schedule.looked(files, now=now, retention=timedelta(0))
    assert schedule.is_due(now)


def test_a_reader_that_follows_a_table_has_few_chunks(tmp_path: Path) -> None:
    writer, reader = TransactionLog.open(tmp_path), TransactionLog.open(tmp_path)
    created(writer)
    for number in range(64):
        append(writer, add(f"{number}"))
        assert len(reader.snapshot().splits) == number + 1
    splits = reader.snapshot().splits
    assert splits["path"].to_pylist() == [str(number) for number in range(64)]
    assert splits["path"].num_chunks <= 7


def test_a_writer_that_only_appends_keeps_few_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.log.snapshot._MOST_PENDING", 5)
    log = TransactionLog.open(tmp_path)
    snapshot = created(log)
    for number in range(30):
        one = Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=[add(f"{number}")])
        snapshot = log.commit(one).snapshot
        assert len(snapshot.pending) <= 7
    assert paths(snapshot) == {str(number) for number in range(30)}
