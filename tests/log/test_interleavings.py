"""What happens between two requests: interleavings that `tests/simulation` has found, each by itself."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.config import Config
from indextables.errors import (
    AccessDeniedError,
    ConflictError,
    CorruptLogError,
    StorageError,
    TableReplacedError,
)
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.log_files import checkpoint_key, commit_key
from indextables.storage import Location
from indextables.storage.local import LocalStore
from indextables.write.uncommitted_files import commit_or_discard
from tests.log.samples import add, append, created, paths

ALL = timedelta(days=-1)  # a retention that ends in the future: every version has expired
SHORT = Config.resolve({"log.retention": "0s"})
Happening = Callable[[], object]


class Interrupted(LocalStore):
    """Something happens before or after the next request of a kind for a key."""

    def __init__(self, place: Path) -> None:
        super().__init__(Location.parse(place))
        self.before: dict[tuple[str, str], Happening] = {}
        self.after: dict[tuple[str, str], Happening] = {}

    def read(self, key: str) -> pa.Buffer:
        self.before.pop(("read", key), int)()
        return super().read(key)

    def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
        self.before.pop(("read", key), int)()
        return super().read_range(key, start, end)

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        self.before.pop(("put", key), int)()
        super().put(key, data)

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        self.before.pop(("put", key), int)()
        super().put_if_absent(key, data)
        self.after.pop(("put", key), int)()


def lost_answer() -> None:
    raise StorageError("the connection was reset", path="")


def denied() -> None:
    raise AccessDeniedError("the token has expired", path="")


@pytest.fixture
def store(tmp_path: Path) -> Interrupted:
    return Interrupted(tmp_path / "t")


@pytest.fixture
def log(store: Interrupted) -> TransactionLog:
    """A table with versions 0 to 3, as one process has it open."""
    other = TransactionLog(store)
    created(other)
    for number in range(3):
        append(other, add(f"{number}.split"))
    return TransactionLog(store, SHORT)


def clean_up(log: TransactionLog) -> Happening:
    other = TransactionLog.open(log.table)
    return lambda: (other.checkpoint(), other.clean_up(retention=ALL))


def recreate(log: TransactionLog, *, appends: int = 0) -> Happening:
    def happen() -> None:
        other = TransactionLog.open(log.table)
        other.store.delete([entry.key for entry in other.store.list()])
        created(other, id="another")
        for number in range(appends):
            append(other, add(f"another-{number}.split"))

    return happen


class TestCleanUp:
    def test_during_a_read_it_is_no_damage(self, log: TransactionLog, store: Interrupted) -> None:
        store.before["read", commit_key(0)] = clean_up(log)
        assert paths(log.snapshot()) == {"0.split", "1.split", "2.split"}
        assert not list(Path(log.table).glob("_transaction_log/*0.json"))

    def test_during_a_look_at_the_times_of_versions_it_is_no_damage(
        self, log: TransactionLog, store: Interrupted
    ) -> None:
        store.before["read", commit_key(0)] = clean_up(log)
        assert log.version_at(datetime.now(UTC) + timedelta(days=1)) == 3

    def test_a_version_that_is_really_missing_is_damage(self, log: TransactionLog, store: Interrupted) -> None:
        store.delete([commit_key(1)])
        with pytest.raises(CorruptLogError, match="version 1 .* is missing"):
            log.snapshot()

    def test_a_commit_that_it_overtakes_is_refused(self, log: TransactionLog, store: Interrupted) -> None:
        stale = log.snapshot(1)
        store.before["put", commit_key(2)] = clean_up(log)
        with pytest.raises(ConflictError, match="was cleaned up during the commit"):
            log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[add("late.split")]))
        again = TransactionLog.open(log.table)
        assert paths(again.snapshot()) == {"0.split", "1.split", "2.split"}
        assert again.history()["version"].to_pylist() == [3]

    def test_a_lost_answer_does_not_hide_it(self, log: TransactionLog, store: Interrupted) -> None:
        stale = log.snapshot(1)
        store.before["put", commit_key(2)] = clean_up(log)
        store.after["put", commit_key(2)] = lost_answer
        with pytest.raises(ConflictError, match="was cleaned up during the commit"):
            log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[add("late.split")]))

    def test_a_commit_before_it_stands(self, log: TransactionLog, store: Interrupted) -> None:
        newest = log.snapshot()

        def go_on_and_clean_up() -> None:
            append(TransactionLog.open(log.table), add("next.split"))
            clean_up(log)()

        store.after["put", commit_key(4)] = go_on_and_clean_up
        done = log.commit(Transaction(operation=Operation.APPEND, snapshot=newest, adds=[add("mine.split")]))
        assert done.version == 4
        assert {"mine.split", "next.split"} <= paths(TransactionLog.open(log.table).snapshot())

    def test_where_it_is_unclear_whether_a_commit_stands_its_files_stay(
        self, log: TransactionLog, store: Interrupted
    ) -> None:
        newest = log.snapshot()
        store.put("mine.split", b"rows")

        def go_on_and_clean_up() -> None:
            append(TransactionLog.open(log.table), add("next.split"))
            clean_up(log)()
            Path(log.table, checkpoint_key(5)).write_bytes(b"damaged")

        store.after["put", commit_key(4)] = go_on_and_clean_up
        mine = Transaction(operation=Operation.APPEND, snapshot=newest, adds=[add("mine.split")])
        with pytest.raises(StorageError, match="it is not known whether it is a version of the table"):
            commit_or_discard(log, mine)
        assert Path(log.table, "mine.split").exists()

    def test_between_the_listing_of_a_late_commit_and_its_reads_it_is_a_conflict(
        self, log: TransactionLog, store: Interrupted
    ) -> None:
        stale = log.snapshot(0)
        other = TransactionLog.open(log.table)
        other.checkpoint()
        store.delete([commit_key(0)])
        store.before["read", commit_key(1)] = clean_up(log)
        with pytest.raises(ConflictError, match="is no longer in its log"):
            log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[add()]))

    def test_it_deletes_nothing_in_favour_of_a_damaged_checkpoint(self, log: TransactionLog) -> None:
        log.checkpoint()
        append(TransactionLog.open(log.table), add("3.split"))
        damaged = Path(log.table, checkpoint_key(3))
        damaged.write_bytes(damaged.read_bytes()[:-100])
        assert checkpoint_key(2) not in log.clean_up(retention=ALL)
        assert len(paths(TransactionLog.open(log.table).snapshot())) == 4


class TestDoubt:
    def test_a_look_that_fails_after_a_lost_answer_does_not_mean_that_the_commit_failed(
        self, log: TransactionLog, store: Interrupted
    ) -> None:
        store.put("mine.split", b"rows")
        mine = Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[add("mine.split")])
        store.after["put", commit_key(4)] = lost_answer
        store.before["read", commit_key(4)] = denied
        with pytest.raises(StorageError, match="the connection was reset") as caught:
            commit_or_discard(log, mine)
        assert isinstance(caught.value.__cause__, AccessDeniedError)
        assert "mine.split" in paths(TransactionLog.open(log.table).snapshot())
        assert Path(log.table, "mine.split").exists()

    def test_a_put_that_is_denied_after_a_lost_one_does_not_either(
        self, log: TransactionLog, store: Interrupted
    ) -> None:
        store.put("mine.split", b"rows")
        mine = Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[add("mine.split")])

        def lost_before() -> None:
            store.before["put", commit_key(4)] = denied
            lost_answer()

        store.before["put", commit_key(4)] = lost_before
        with pytest.raises(StorageError, match="the connection was reset"):
            commit_or_discard(log, mine)
        assert Path(log.table, "mine.split").exists(), "the first put may still arrive"

    def test_a_put_that_is_denied_at_once_has_failed(self, log: TransactionLog, store: Interrupted) -> None:
        store.put("mine.split", b"rows")
        store.before["put", commit_key(4)] = denied
        with pytest.raises(AccessDeniedError):
            commit_or_discard(
                log, Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[add("mine.split")])
            )
        assert not Path(log.table, "mine.split").exists()


class TestAnotherTable:
    @pytest.mark.parametrize("appends", [0, 1, 3, 4])
    def test_a_checkpoint_of_a_table_that_is_gone_may_come_late(
        self, log: TransactionLog, store: Interrupted, appends: int
    ) -> None:
        stale = log.snapshot()
        store.before["put", checkpoint_key(3)] = recreate(log, appends=appends)
        log.checkpoint()
        new = TransactionLog.open(log.table)
        assert paths(new.snapshot()) == {f"another-{number}.split" for number in range(appends)}
        with pytest.raises(TableReplacedError):
            log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[add()]))
        append(new, add("next.split"))
        assert len(paths(TransactionLog.open(log.table).snapshot())) == appends + 1

    def test_a_commit_to_a_table_that_is_gone_gets_no_checkpoint(self, log: TransactionLog, store: Interrupted) -> None:
        store.before["put", commit_key(4)] = recreate(log, appends=3)
        done = append(log, add("late.split"))
        with pytest.raises(TableReplacedError):
            log.checkpoint(done.snapshot)
        new = TransactionLog.open(log.table).snapshot()
        assert (new.version, new.metadata.id, len(paths(new))) == (4, "another", 3)
