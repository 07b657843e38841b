import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from indextables.config import Config, WriteConfig
from indextables.errors import CommitRetriesExhaustedError, ConflictError, NotDurableError, StorageError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, CommitInfo, Metadata, Protocol, Txn
from indextables.log.codec import decode
from indextables.log.log_files import commit_key, list_log
from indextables.storage import Location, local
from indextables.storage.local import LocalStore
from tests.log.samples import PROTOCOL, add, append, created, metadata, paths


@pytest.fixture
def log(tmp_path: Path) -> TransactionLog:
    return TransactionLog.open(tmp_path)


def lines(log: TransactionLog, version: int) -> list[object]:
    return list(decode(log.store.read(commit_key(version))))


def test_the_first_version_holds_everything(log: TransactionLog) -> None:
    snapshot = created(log, add("a"), add("b"))
    assert snapshot.version == 0
    assert [type(action) for action in lines(log, 0)] == [CommitInfo, Protocol, Metadata, Add, Add]


def test_commit_info_comes_first_and_says_who_and_why(log: TransactionLog) -> None:
    before = created(log)
    transaction = Transaction(
        operation=Operation.APPEND, snapshot=before, adds=[add()], parameters={"mode": "append"}, metrics={"rows": 1}
    )
    log.commit(transaction)
    info = lines(log, 1)[0]
    assert isinstance(info, CommitInfo)
    assert (info.operation, info.read_version, info.txn_id) == ("APPEND", 0, transaction.txn_id)
    assert (info.operation_parameters, info.operation_metrics) == ({"mode": "append"}, {"rows": 1})
    assert info.engine is not None
    assert info.engine.startswith("indextables/")


def test_a_transaction_that_changes_nothing_writes_nothing(log: TransactionLog) -> None:
    before = created(log)
    done = log.commit(Transaction(operation=Operation.APPEND, snapshot=before))
    assert (done.written, done.version, log.snapshot().version) == (False, 0, 0)


def test_times_always_advance(log: TransactionLog) -> None:
    snapshot = created(log)
    in_the_future = replace(snapshot, timestamp=snapshot.timestamp + 10**9)
    after = log.commit(Transaction(operation=Operation.APPEND, snapshot=in_the_future, adds=[add()])).snapshot
    assert after.timestamp == in_the_future.timestamp + 1


def test_threads_lose_nothing(log: TransactionLog) -> None:
    created(log)
    start = threading.Barrier(16)

    def ten_appends(worker: int) -> list[int]:
        own = TransactionLog.open(log.table)
        start.wait()
        return [append(own, add(f"{worker}-{i}.split")).version for i in range(10)]

    with ThreadPoolExecutor(16) as pool:
        versions = sorted(version for done in pool.map(ten_appends, range(16)) for version in done)
    assert versions == list(range(1, 161))
    assert paths(log.snapshot()) == {f"{worker}-{i}.split" for worker in range(16) for i in range(10)}
    infos = [[action for action in lines(log, v) if isinstance(action, CommitInfo)] for v in range(161)]
    assert all(len(found) == 1 for found in infos)


def test_giving_up_names_the_winner(log: TransactionLog) -> None:
    before = created(log)

    class AlwaysLate(LocalStore):
        def put_if_absent(self, key: str, data: bytes) -> None:
            append(log, add())
            super().put_if_absent(key, data)

    late = TransactionLog(AlwaysLate(log.store.location), Config(write=WriteConfig(commit_max_retries=2)))
    with pytest.raises(CommitRetriesExhaustedError, match=r"3 attempts .*version 3") as caught:
        append(late, add("mine"))
    assert (caught.value.attempts, caught.value.version, caught.value.operation) == (3, 3, "APPEND")
    assert "mine" not in paths(log.snapshot())
    assert before.version == 0


class LosesAnswer(LocalStore):
    """Stores the file, and then the connection breaks: the writer cannot know."""

    failures = 1

    def put_if_absent(self, key: str, data: bytes) -> None:
        super().put_if_absent(key, data)
        if self.failures:
            self.failures -= 1
            raise StorageError("connection reset", path=key)


class LosesRequest(LosesAnswer):
    """The connection breaks before the file is stored."""

    def put_if_absent(self, key: str, data: bytes) -> None:
        if self.failures:
            self.failures -= 1
            raise StorageError("connection reset", path=key)
        super().put_if_absent(key, data)


@pytest.mark.parametrize("store", [LosesAnswer, LosesRequest])
def test_an_unclear_answer_neither_loses_nor_doubles_the_commit(tmp_path: Path, store: type[LosesAnswer]) -> None:
    created(TransactionLog.open(tmp_path))
    done = append(TransactionLog(store(Location.parse(tmp_path))), add("once"))
    assert (done.version, done.written) == (1, True)
    assert list_log(done_store := LocalStore(Location.parse(tmp_path))).latest == 1
    assert TransactionLog(done_store).snapshot().splits["path"].to_pylist() == ["once"]


def test_a_store_that_keeps_failing_is_reported(tmp_path: Path) -> None:
    created(TransactionLog.open(tmp_path))
    store = LosesRequest(Location.parse(tmp_path))
    store.failures = 100
    with pytest.raises(StorageError, match="connection reset"):
        append(TransactionLog(store, Config(write=WriteConfig(commit_max_retries=2))), add())
    assert TransactionLog.open(tmp_path).snapshot().version == 0


def batch(snapshot: Snapshot, app: str, version: int, *adds: Add) -> Transaction:
    return Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=adds, txn=Txn(app_id=app, version=version))


class TestApplicationProgress:
    def test_a_batch_is_written_once(self, log: TransactionLog) -> None:
        created(log)
        for app, version in [("a", 5), ("a", 5), ("a", 4), ("a", 6), ("b", 5)]:
            log.commit(batch(log.snapshot(), app, version, add(f"{app}{version}-{log.snapshot().version}")))
        assert paths(log.snapshot()) == {"a5-0", "a6-1", "b5-2"}
        assert {app: txn.version for app, txn in log.snapshot().txns.items()} == {"a": 6, "b": 5}

    def test_an_empty_batch_is_remembered(self, log: TransactionLog) -> None:
        created(log)
        assert log.commit(batch(log.snapshot(), "a", 1)).written
        assert not log.commit(batch(log.snapshot(), "a", 1, add("replayed"))).written

    def test_progress_survives_checkpoints(self, log: TransactionLog) -> None:
        created(log)
        log.commit(batch(log.snapshot(), "a", 1, add("x")))
        log.checkpoint()
        assert not log.commit(batch(TransactionLog.open(log.table).snapshot(), "a", 1, add("replayed"))).written

    def test_of_two_drivers_one_is_seen(self, log: TransactionLog) -> None:
        before = created(log)
        start = threading.Barrier(2)

        def drive(name: str) -> bool:
            own = TransactionLog.open(log.table)
            start.wait()
            return own.commit(batch(before, "a", 7, add(name))).written

        with ThreadPoolExecutor(2) as pool:
            written = list(pool.map(drive, ["one", "two"]))
        assert sorted(written) == [False, True]
        assert len(log.snapshot().splits) == 1


def test_a_conflict_leaves_the_table_as_it_is(log: TransactionLog) -> None:
    created(log)
    with pytest.raises(ConflictError):
        log.commit(
            Transaction(operation=Operation.CREATE, snapshot=None, protocol=PROTOCOL, metadata=metadata(), adds=[add()])
        )
    assert len(list(log.store.list())) == 1


def test_a_commit_that_the_disk_did_not_confirm_is_no_success(
    log: TransactionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be lost in a crash, or stay: others may have read it, so it is not taken back."""
    before, flush = created(log), local._flush_directory

    def failing(directory: Path) -> None:
        if directory.name == "_transaction_log":
            raise OSError(5, "Input/output error")
        flush(directory)

    monkeypatch.setattr(local, "_flush_directory", failing)
    with pytest.raises(
        NotDurableError, match=r"000001\.json was written, but the disk did not confirm it \(.*I"
    ) as caught:
        log.commit(Transaction(operation=Operation.APPEND, snapshot=before, adds=[add()]))
    assert caught.value.path == log.store.name_of(commit_key(1))
    monkeypatch.undo()
    assert TransactionLog(log.store).snapshot().version == 1
