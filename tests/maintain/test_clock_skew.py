"""Clocks of machines and stores that differ by days: nothing is deleted that a reader or a running writer needs."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import AccessDeniedError, UncommittedSplitsLostError
from indextables.log import TransactionLog
from indextables.log.log_files import commit_key
from indextables.maintain.compact import Work, merge
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.maintain.compaction_request import MergeRequest, limits_of
from indextables.storage import Entry, Location, Store, open_store
from indextables.storage.local import LocalStore
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, TaskResult, WriteJob, commit_job, write_task

SCHEMA = pa.schema({"p": pa.string(), "n": pa.int64()})
EIGHT_DAYS = timedelta(days=8)


def row(p: str, n: int) -> pa.Table:
    return pa.table({"p": [p], "n": [n]}, schema=SCHEMA)


class SkewedDisk(LocalStore):
    """A disk of another machine, whose clock gives files their times."""

    skew: timedelta

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        super().put(key, data)
        self._date(key)

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        super().put_if_absent(key, data)
        self._date(key)

    def put_file(self, key: str, source: Path) -> None:
        super().put_file(key, source)
        self._date(key)

    def _date(self, key: str) -> None:
        moment = (datetime.now(UTC) + self.skew).timestamp()
        os.utime(self.name_of(key), (moment, moment))


class SkewedMemory(Store):
    skew: timedelta

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        return (replace(entry, modified=entry.modified + self.skew) for entry in super().list(prefix, after=after))

    def head(self, key: str) -> Entry:
        entry = super().head(key)
        return replace(entry, modified=entry.modified + self.skew)


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SkewedDisk | SkewedMemory:
    if request.param == "disk":
        return SkewedDisk(Location.parse(tmp_path / "t"))
    plain = open_store(f"memory://{uuid4().hex}/t")
    return SkewedMemory(plain.location, plain._backend)


def opened(store: Store, options: dict[str, str] | None = None) -> IndexTable:
    log = TransactionLog(store, Config.resolve(options or {}))
    return IndexTable(log, log.snapshot())


def started(store: Store) -> tuple[WriteJob, TaskResult]:
    """A write that has not committed yet."""
    job = plan_job(str(store.location), SCHEMA, mode=Mode.APPEND)
    return job, write_task(job, row("b", 2).to_batches(), task=0, store=store)


@pytest.mark.parametrize("skew", [-EIGHT_DAYS, timedelta(0), EIGHT_DAYS])
def test_the_files_of_a_running_writer_stay(store: SkewedDisk | SkewedMemory, skew: timedelta) -> None:
    store.skew = skew
    IndexTable.create(str(store.location), SCHEMA)
    job, written = started(store)
    table = opened(store)
    assert table.purge().files == 0
    commit_job(job, [written], log=TransactionLog(store))
    assert sorted(table.refresh().scan().to_arrow()["n"].to_pylist()) == [2]
    assert not [entry.key for entry in store.list() if ".tmp-" in entry.key]


def test_files_are_old_by_the_clock_that_dates_them(store: SkewedDisk | SkewedMemory) -> None:
    store.skew = EIGHT_DAYS
    IndexTable.create(str(store.location), SCHEMA)
    table = opened(store)
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    result = table.purge(older_than=timedelta(0), force=True)
    assert result.past == 1
    assert result.before > datetime.now(UTC) + timedelta(days=7)
    assert table.scan().to_arrow()["p"].to_pylist() == ["b"]


@pytest.mark.parametrize("retention", ["30 days", "0s"], ids=["whole log", "log that was cleaned up"])
def test_a_writer_whose_clock_is_behind_does_not_make_the_past_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retention: str
) -> None:
    set_clock(monkeypatch, -EIGHT_DAYS)
    options = {"checkpoint.interval": "1", "log.retention": retention}
    table = IndexTable.create(tmp_path / "t", SCHEMA, options=options)
    table.append(row("a", 1))
    reader = IndexTable.open(table.path)
    table.overwrite(row("b", 2))
    monkeypatch.undo()
    for path in Path(table.path).rglob("*.split"):
        os.utime(path, (0, 0))
    assert IndexTable.open(table.path).purge().files == 0
    assert reader.scan().to_arrow()["p"].to_pylist() == ["a"]


def test_a_writer_whose_clock_is_ahead_does_not_make_the_past_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    table.append(row("a", 1))
    set_clock(monkeypatch, EIGHT_DAYS)
    table.overwrite(row("b", 2))
    monkeypatch.undo()
    for path in Path(table.path).rglob("*"):
        os.utime(path, (0, 0))
    assert IndexTable.open(table.path).purge().files == 0, "by its commit timestamp, the overwrite was just now"


def test_a_writer_whose_clock_is_behind_does_not_make_the_log_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, -timedelta(days=40))
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    for n in range(12):
        table.append(row("a", n))
    monkeypatch.undo()
    os.utime(tmp_path / "t" / commit_key(0), (0, 0))
    log = TransactionLog.open(table.path)
    assert log.clean_up() == []
    for version in range(11):
        os.utime(tmp_path / "t" / commit_key(version), (0, 0))
    assert len(log.clean_up()) == 10, "the checkpoint at 10 is the first that is needed"


def test_temporary_files_of_a_running_writer_stay_in_the_log(store: SkewedDisk | SkewedMemory) -> None:
    store.skew = -EIGHT_DAYS
    IndexTable.create(str(store.location), SCHEMA)
    key = f"_transaction_log/.tmp-{uuid4().hex}"
    store.put(key, b"")
    assert TransactionLog(store).clean_up() == []
    assert store.missing([key]) == []


class ReadOnly(LocalStore):
    def put(self, key: str, data: bytes | pa.Buffer) -> None:  # noqa: ARG002 - none is written
        raise AccessDeniedError(f"{key} may not be written", path=key)


def test_a_dry_run_needs_no_right_to_write(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    for path in Path(table.path).rglob("*"):
        os.utime(path, (0, 0))
    reader = opened(ReadOnly(Location.parse(table.path)))
    assert reader.purge(older_than=timedelta(0), force=True, dry_run=True).past == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "this machine's is used instead" in caplog.text
    with pytest.raises(AccessDeniedError):
        reader.purge(older_than=timedelta(0), force=True)


def set_clock(monkeypatch: pytest.MonkeyPatch, skew: timedelta) -> None:
    """Moves the clock of this machine, as far as it dates commits and splits."""
    real, ahead = time.time_ns, skew // timedelta(microseconds=1) * 1000
    monkeypatch.setattr(time, "time_ns", lambda: real() + ahead)


@pytest.mark.parametrize("skew", [-timedelta(hours=2), EIGHT_DAYS], ids=["long ago", "in the future"])
class TestLostSplits:
    """The splits of a write are there when it commits, or it fails."""

    def test_a_write_that_lost_a_split_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: timedelta
    ) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p")
        set_clock(monkeypatch, skew)
        job = plan_job(table.path, SCHEMA, mode=Mode.OVERWRITE)
        written = write_task(job, pa.concat_tables([row("a", 1), row("b", 2)]).to_batches(), task=0)
        monkeypatch.undo()
        lost, kept = (add.path for add in written.adds)
        Path(table.path, lost).unlink()
        with pytest.raises(UncommittedSplitsLostError, match=r"1 of 2 splits .* write again") as caught:
            commit_job(job, [written])
        assert (caught.value.paths, caught.value.path) == ([lost], f"{table.path}/{lost}")
        assert not Path(table.path, kept).exists(), "what is left of the write is discarded"
        assert table.refresh().version == 0

    def test_splits_that_are_there_cost_a_request_each(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: timedelta
    ) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p")
        set_clock(monkeypatch, skew)
        job = plan_job(table.path, SCHEMA, mode=Mode.APPEND)
        written = write_task(job, pa.concat_tables([row("a", 1), row("b", 2)]).to_batches(), task=0)
        monkeypatch.undo()
        log = TransactionLog.open(table.path)
        snapshot, before = log.snapshot(), log.store.traffic
        commit_job(job, [written], log=log, snapshot=snapshot)
        assert (log.store.traffic - before).requests == 2 + 2
        assert table.refresh().count() == 2

    def test_a_merge_that_lost_a_split_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew: timedelta
    ) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA)
        for n in range(3):
            table.append(row("a", n))
        before = {path.name for path in tmp_path.rglob("*.split")}

        def run(work: Work, groups: Sequence[MergeGroup]) -> list[WrittenGroup]:
            set_clock(monkeypatch, skew)
            done = [work(group) for group in groups]
            monkeypatch.undo()
            Path(table.path, done[0].adds[0].path).unlink()
            return done

        log, config = TransactionLog.open(table.path), Config()
        with pytest.raises(UncommittedSplitsLostError):
            merge(log, log.snapshot(), MergeRequest(limits=limits_of(config)), config, run=run)
        assert table.refresh().version == 3
        assert {path.name for path in tmp_path.rglob("*.split")} == before
        assert table.count() == len(table.scan().to_arrow()) == 3


def test_time_that_passes_between_attempts_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = IndexTable.create(tmp_path / "t", SCHEMA)

    class Slow(LocalStore):
        """Another writer is first, a day passes, and a vacuum deletes the split."""

        def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
            if key == commit_key(1):
                [split] = tmp_path.rglob("*.split")
                other.append(row("other", 1))
                set_clock(monkeypatch, timedelta(days=1))
                split.unlink()
            super().put_if_absent(key, data)

    table = opened(Slow(Location.parse(other.path)))
    with pytest.raises(UncommittedSplitsLostError):
        table.append(row("mine", 2))
    assert other.refresh().scan().to_arrow()["p"].to_pylist() == ["other"]
