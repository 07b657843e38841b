"""A handle of a table does not write to another one that was made at the same place."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import ConflictError, TableNotFoundError, TableReplacedError, VersionNotFoundError
from indextables.log import TransactionLog
from indextables.log.log_files import checkpoint_key, commit_key
from indextables.storage import Store, open_store
from indextables.storage.local import LocalStore
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, abort_job, commit_job, write_task
from tests.stores.servers import Server
from tests.tiers import slow_after

SCHEMA = pa.schema({"p": pa.string(), "n": pa.int64()})
OTHER = pa.schema({"p": pa.string(), "other": pa.string()})
ROWS = pa.table({"p": ["a", "b"], "n": [1, 2]}, SCHEMA)
OTHERS = pa.table({"p": ["x", "y"], "other": ["1", "2"]}, OTHER)

OPERATIONS: dict[str, Callable[[IndexTable], Any]] = {
    "append": lambda table: table.append(ROWS),
    "overwrite": lambda table: table.overwrite(ROWS),
    "replace_where": lambda table: table.replace_where(ROWS.slice(0, 1), "p = 'a'"),
    "merge_splits": lambda table: table.merge_splits(),
    "drop_partitions": lambda table: table.drop_partitions("p = 'a'"),
    "evolve_layout": lambda table: table.evolve_layout(""),
    "add_column": lambda table: table.add_column("more", "long"),
    "set_properties": lambda table: table.set_properties({"owner": "me"}),
    "checkpoint": lambda table: table.checkpoint(),
    "purge": lambda table: table.purge(older_than=timedelta(0), force=True),
    "refresh": lambda table: table.refresh(),
    "at": lambda table: table.at(version=1),
    "history": lambda table: table.history(),
    "health": lambda table: table.health(),
}


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "t") if request.param == "local" else f"memory://{uuid4().hex}/t"


def made(place: str, appends: int, *, rows: pa.Table = ROWS, options: dict[str, str] | None = None) -> IndexTable:
    table = IndexTable.create(place, rows.schema, partition_by="p", options=options)
    for _ in range(appends):
        table.append(rows)
    return table


def delete(place: str, options: dict[str, str] | None = None) -> None:
    store = open_store(place, Config.resolve(options or {}))
    store.delete([entry.key for entry in store.list()])


def contents(store: Store) -> dict[str, bytes]:
    return {entry.key: store.read(entry.key).to_pybytes() for entry in store.list()}


@pytest.mark.parametrize("rows", [ROWS, OTHERS], ids=["same schema", "other schema"])
@pytest.mark.parametrize(
    "appends", slow_after(1, [3, 1, 5], "new tables of other lengths"), ids=["equal", "lower", "higher"]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stale_handle_is_refused(place: str, operation: str, appends: int, rows: pa.Table) -> None:
    stale = made(place, 3)
    delete(place)
    new = made(place, appends, rows=rows)
    before = contents(open_store(place))
    with pytest.raises(TableReplacedError, match=r"was replaced by another one.*open it again") as caught:
        OPERATIONS[operation](stale)
    assert caught.value.table == place
    assert contents(open_store(place)) == before
    again = IndexTable.open(place)
    assert (again.version, again.scan().to_arrow().num_rows, again.schema) == (new.version, 2 * appends, rows.schema)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_handle_of_a_table_that_was_deleted_is_refused(place: str, operation: str) -> None:
    stale = made(place, 3)
    delete(place)
    with pytest.raises(TableNotFoundError):
        OPERATIONS[operation](stale)
    assert contents(open_store(place)) == {}


def test_in_object_stores_too(cloud: Server) -> None:
    place, options = cloud.new_table(), dict(cloud.options)
    stale = made(place, 2, options=options)
    delete(place, options)
    made(place, 2, rows=OTHERS, options=options)
    before = contents(open_store(place, Config.resolve(options)))
    for operation in ("append", "merge_splits", "checkpoint", "purge"):
        with pytest.raises(TableReplacedError):
            OPERATIONS[operation](stale)
    assert contents(open_store(place, Config.resolve(options))) == before


def test_a_state_that_was_restored_is_not_the_one_that_was_read(place: str) -> None:
    table, store = made(place, 1), open_store(place)
    backup = contents(store)
    stale = IndexTable.open(place)
    stale.append(ROWS)
    delete(place)
    for key, content in backup.items():
        store.put(key, content)
    with pytest.raises(ConflictError, match="version 2"):
        stale.append(ROWS)
    IndexTable.open(place).append(ROWS)
    with pytest.raises(TableReplacedError, match="version 2 is not the one that was read"):
        stale.append(ROWS)
    assert table.refresh().count() == 4


def test_a_log_that_was_cleaned_up_is_still_the_same_table(tmp_path: Path) -> None:
    options = {"checkpoint.interval": "2", "log.retention": "0s"}
    slow = made(str(tmp_path / "t"), 1, options=options)
    quick = IndexTable.open(slow.path, options=options)
    for _ in range(6):
        quick.append(ROWS)
    with pytest.raises(ConflictError, match="is no longer in its log"):
        slow.append(ROWS)
    assert slow.refresh().append(ROWS) == 8
    delete(slow.path)
    made(slow.path, 12, rows=OTHERS, options=options)
    with pytest.raises(TableReplacedError):
        slow.append(ROWS)


def test_an_append_asks_for_the_version_that_it_follows_and_nothing_more(place: str) -> None:
    table = made(place, 1)
    before = table.traffic
    table.append(ROWS.slice(0, 1))
    spent = table.traffic - before
    assert spent.requests == 3, "the split, the version before, the new version"
    assert spent.bytes_read <= 4096


class TestJob:
    @pytest.mark.parametrize("appends", [0, 1, 3])
    @pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
    def test_a_job_is_for_the_table_that_it_was_planned_for(self, tmp_path: Path, mode: Mode, appends: int) -> None:
        place = str(made(str(tmp_path / "t"), 1).path)
        job = plan_job(place, SCHEMA, mode=mode)
        result = write_task(job, ROWS.to_batches(), task=0)
        delete(place)
        made(place, appends)
        before = contents(open_store(place))
        late = write_task(job, ROWS.to_batches(), task=1)
        with pytest.raises(TableReplacedError):
            commit_job(job, [result, late])
        abort_job(job)
        assert contents(open_store(place)) == before


class Replaced(LocalStore):
    """The table is replaced between the last look at it and the put."""

    appends = 0

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        if key == commit_key(2):
            delete(str(self.location))
            made(str(self.location), self.appends, rows=OTHERS)
        super().put_if_absent(key, data)


class TestTooLateToBeRefused:
    def stale(self, tmp_path: Path, appends: int) -> IndexTable:
        made(str(tmp_path / "t"), 1)
        log = TransactionLog.open(tmp_path / "t")
        store = Replaced(log.store.location)
        store.appends = appends
        log = TransactionLog(store)
        return IndexTable(log, log.snapshot())

    def test_another_version_in_its_place_is_noticed(self, tmp_path: Path) -> None:
        with pytest.raises(TableReplacedError):
            self.stale(tmp_path, appends=2).append(ROWS)
        new = IndexTable.open(tmp_path / "t")
        assert (new.version, new.count(), new.schema) == (2, 4, OTHER)
        assert len(list((tmp_path / "t").rglob("*.split"))) == 4

    def test_a_commit_to_a_table_that_is_gone_changes_nothing_in_the_new_one(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert self.stale(tmp_path, appends=1).append(ROWS) == 2
        new = IndexTable.open(tmp_path / "t")
        assert "versions [2] of" in caplog.text
        assert (new.version, new.count(), new.schema) == (2, 2, OTHER)
        assert [new.append(OTHERS), new.overwrite(OTHERS)] == [3, 4]
        new.checkpoint()
        assert [IndexTable.open(new.path).at(version=version).count() for version in range(1, 5)] == [2, 2, 4, 2]

    def test_writers_of_the_new_table_rebase_over_it(self, tmp_path: Path) -> None:
        stale = self.stale(tmp_path, appends=1)
        stale.append(ROWS)
        new, other = IndexTable.open(tmp_path / "t"), IndexTable.open(tmp_path / "t")
        behind = IndexTable(TransactionLog.open(tmp_path / "t"), TransactionLog.open(tmp_path / "t").snapshot(1))
        assert behind.overwrite(OTHERS) == 3
        with pytest.raises(ConflictError):
            new.overwrite(OTHERS)
        assert (other.append(OTHERS), other.count()) == (4, 4)

    def test_a_checkpoint_of_a_table_that_is_gone_is_passed_over(self, tmp_path: Path) -> None:
        old = made(str(tmp_path / "t"), 1)
        old.checkpoint()
        stray = (tmp_path / "t" / checkpoint_key(1)).read_bytes()
        delete(old.path)
        new = made(old.path, 2, rows=OTHERS)
        (tmp_path / "t" / checkpoint_key(1)).write_bytes(stray)
        again = IndexTable.open(new.path)
        assert (again.version, again.count(), again.schema) == (2, 4, OTHER)


def test_a_version_that_the_new_table_has_not_is_no_news_of_the_old_one(place: str) -> None:
    table = made(place, 3)
    with pytest.raises(VersionNotFoundError):
        table.at(version=9)
    delete(place)
    made(place, 1)
    with pytest.raises(TableReplacedError):
        table.at(version=3)


def test_a_log_is_of_whatever_table_is_there_unless_told(place: str) -> None:
    log = TransactionLog.open(place)
    made(place, 3)
    old = log.snapshot()
    delete(place)
    made(place, 3)
    assert log.snapshot().metadata.id != old.metadata.id
    with pytest.raises(TableReplacedError):
        log.for_table(old.metadata.id).snapshot()
