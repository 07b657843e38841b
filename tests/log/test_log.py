import json
import os
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables.config import Config, MaintenanceConfig
from indextables.errors import (
    CorruptLogError,
    TableNotFoundError,
    UnsupportedProtocolError,
    VersionNotFoundError,
)
from indextables.log import Snapshot, TransactionLog
from indextables.log.log_files import HINT_KEY, checkpoint_key, commit_key
from indextables.storage.local import LocalStore
from tests.log.hand_written import Lines, edit_adds, edit_version
from tests.log.samples import add, append, created, overwriting, paths


@pytest.fixture
def log(tmp_path: Path) -> TransactionLog:
    return TransactionLog.open(tmp_path)


def grown(log: TransactionLog, versions: int) -> list[set[str]]:
    """A table of some versions, and what was live after each: appends, and an overwrite every fourth."""
    states = [paths(created(log))]
    for number in range(1, versions):
        if number % 4 == 0:
            log.commit(overwriting(log.snapshot(), add(f"o{number}")))
        else:
            append(log, add(f"a{number}"))
        states.append(paths(log.snapshot()))
    return states


def fresh(log: TransactionLog) -> TransactionLog:
    return TransactionLog.open(log.table)


def file_of(log: TransactionLog, key: str) -> Path:
    return Path(log.table) / key


def same(one: Snapshot, other: Snapshot) -> bool:
    def rows(table: pa.Table) -> list[dict[str, object]]:
        return table.sort_by("path").to_pylist()

    return (
        one.version == other.version
        and one.metadata == other.metadata
        and one.txns == other.txns
        and rows(one.splits) == rows(other.splits)
    )


def test_nothing_there(log: TransactionLog) -> None:
    assert not log.exists()
    with pytest.raises(TableNotFoundError, match="there is no table at"):
        log.snapshot()
    assert not Path(log.table).exists() or list(Path(log.table).iterdir()) == []


class TestTimeTravel:
    def test_every_version_reads_as_it_was(self, log: TransactionLog) -> None:
        states = grown(log, 25)
        assert file_of(log, checkpoint_key(20)).exists()
        for version, state in enumerate(states):
            assert paths(fresh(log).snapshot(version)) == state
            assert paths(log.snapshot(version)) == state

    def test_every_checkpoint_gives_the_same_as_the_full_replay(self, log: TransactionLog) -> None:
        grown(log, 25)
        with_checkpoints = {version: fresh(log).snapshot(version) for version in range(25)}
        for number in (10, 20):
            file_of(log, checkpoint_key(number)).unlink()
        for version, snapshot in with_checkpoints.items():
            assert same(snapshot, fresh(log).snapshot(version))

    @pytest.mark.parametrize("version", [-1, 5, 99])
    def test_a_version_that_never_was(self, log: TransactionLog, version: int) -> None:
        grown(log, 5)
        with pytest.raises(VersionNotFoundError, match="does not exist; versions 0 to 4 can be read") as caught:
            log.snapshot(version)
        assert (caught.value.earliest, caught.value.latest, caught.value.version) == (0, 4, version)

    def test_a_moment_between_two_versions_is_the_earlier_one(self, log: TransactionLog) -> None:
        start = 1_700_000_000_000
        set_times(log, {0: start, 1: start + 1000, 2: start + 2000})
        at = {ms: log.snapshot(timestamp=moment(start + ms)).version for ms in (0, 999, 1000, 1999, 2000, 10**9)}
        assert at == {0: 0, 999: 0, 1000: 1, 1999: 1, 2000: 2, 10**9: 2}
        with pytest.raises(VersionNotFoundError, match="had no version at"):
            log.snapshot(timestamp=moment(start - 1))

    def test_a_clock_that_ran_backwards_is_moved_on(self, log: TransactionLog) -> None:
        start = 1_700_000_000_000
        set_times(log, {0: start, 1: start + 1000, 2: start + 500, 3: start + 3000})
        assert log.snapshot(timestamp=moment(start + 1000)).version == 1
        assert log.snapshot(timestamp=moment(start + 1001)).version == 2
        assert log.snapshot(2).timestamp == start + 1001

    def test_without_commit_info_the_file_tells_the_time(self, log: TransactionLog) -> None:
        start = 1_700_000_000_000
        set_times(log, {0: None, 1: None, 2: None})
        for version, offset in enumerate((0, 1000, 500)):
            os.utime(file_of(log, commit_key(version)), (0, (start + offset) / 1000))
        assert log.snapshot(timestamp=moment(start + 999)).version == 0
        assert log.snapshot(timestamp=moment(start + 1000)).version == 1
        assert log.snapshot(timestamp=moment(start + 1001)).version == 2

    def test_a_moment_without_zone_is_utc(self, log: TransactionLog) -> None:
        set_times(log, {0: 1_700_000_000_000})
        naive = datetime.fromtimestamp(1_700_000_000, UTC).replace(tzinfo=None)
        assert log.snapshot(timestamp=naive).version == 0


def moment(epoch_millis: int) -> datetime:
    return datetime.fromtimestamp(epoch_millis / 1000, UTC)


def set_times(log: TransactionLog, times: dict[int, int | None]) -> None:
    """A table with one version for each time, as somebody else might have written it."""
    grown(log, len(times))
    for version, epoch_millis in times.items():
        edit_version(log.table, version, partial(_with_time, epoch_millis=epoch_millis))
    for version, epoch_millis in times.items():
        if epoch_millis is not None:
            os.utime(file_of(log, commit_key(version)), (0, epoch_millis / 1000))


def _with_time(lines: Lines, *, epoch_millis: int | None) -> Lines:
    if epoch_millis is None:
        return lines[1:]
    lines[0]["commitInfo"]["timestamp"] = epoch_millis
    return lines


class TestRefresh:
    def test_what_others_committed_is_seen(self, log: TransactionLog) -> None:
        states = grown(log, 6)
        watcher = fresh(log)
        assert paths(watcher.snapshot()) == states[-1]
        append(log, add("new"))
        log.commit(overwriting(log.snapshot(), add("last")))
        assert paths(watcher.snapshot()) == {"last"}
        assert same(watcher.snapshot(), fresh(log).snapshot())

    def test_a_watcher_far_behind_catches_up(self, log: TransactionLog) -> None:
        created(log)
        watcher = fresh(log)
        watcher.snapshot()
        for number in range(35):
            append(log, add(f"{number}"))
        assert same(watcher.snapshot(), log.snapshot())

    def test_a_table_made_anew_in_the_same_place(self, log: TransactionLog) -> None:
        grown(log, 3)
        watcher = fresh(log)
        watcher.snapshot()
        for path in file_of(log, "_transaction_log").iterdir():
            path.unlink()
        states = grown(fresh(log), 6)
        assert paths(watcher.snapshot()) == states[-1]


class TestDamage:
    def test_a_gap_is_named(self, log: TransactionLog) -> None:
        grown(log, 4)
        file_of(log, commit_key(2)).unlink()
        with pytest.raises(CorruptLogError, match="version 2 of .* is missing, though version 3 is there") as caught:
            fresh(log).snapshot()
        assert caught.value.version == 2
        assert fresh(log).snapshot(1).version == 1

    @pytest.mark.parametrize("number", [1_700_000_000, 10**30])
    def test_a_file_that_only_looks_like_a_version(self, log: TransactionLog, number: int) -> None:
        """No version in between is asked for: they would be billions."""
        grown(log, 4)
        file_of(log, f"_transaction_log/{number}.json").write_bytes(file_of(log, commit_key(3)).read_bytes())
        stray = fresh(log)
        with pytest.raises(CorruptLogError, match=f"version 4 of .* is missing, though version {number} is there"):
            stray.snapshot()
        assert stray.store.traffic.requests < 10
        assert fresh(log).snapshot(3).version == 3

    @pytest.mark.parametrize(
        ("field", "value"), [("numRecords", -1), ("numRecords", 2**63 - 1), ("size", -5), ("footerStartOffset", -1)]
    )
    def test_a_count_that_cannot_be(self, log: TransactionLog, field: str, value: int) -> None:
        grown(log, 2)
        edit_adds(log.table, 1, lambda found: found.update({field: value}))
        with pytest.raises(CorruptLogError, match=rf"version 1 of .* is damaged: line \d+ .*{field}"):
            fresh(log).snapshot()

    @pytest.mark.parametrize("keep", [0, 1, 10, -2])
    def test_a_truncated_version_is_named(self, log: TransactionLog, keep: int) -> None:
        grown(log, 3)
        path = file_of(log, commit_key(1))
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(CorruptLogError, match="version 1 of .* is damaged") as caught:
            fresh(log).snapshot()
        assert caught.value.version == 1

    def test_a_first_version_without_metadata(self, log: TransactionLog) -> None:
        created(log)
        edit_version(log.table, 0, lambda lines: [line for line in lines if "metaData" not in line])
        with pytest.raises(CorruptLogError, match="has no metaData"):
            fresh(log).snapshot()

    @pytest.mark.parametrize(
        ("key", "value", "reason"),
        [
            ("schema", {}, "no list of fields"),
            ("currentSpecId", 7, "no spec of this number"),
            ("id", 3, "Expected `str`"),
        ],
    )
    def test_metadata_that_cannot_be_is_named(self, log: TransactionLog, key: str, value: object, reason: str) -> None:
        created(log)
        edit_version(
            log.table,
            0,
            lambda lines: [{k: {**v, key: value} if k == "metaData" else v for k, v in line.items()} for line in lines],
        )
        with pytest.raises(CorruptLogError, match=f"version 0 of .* is damaged: line .* {reason}"):
            fresh(log).snapshot()

    @pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "s3://other/x.split", "a/../../b"])
    def test_a_split_outside_the_table_is_refused(self, log: TransactionLog, path: str) -> None:
        created(log)
        append(log, add("inside"))
        edit_adds(log.table, 1, lambda found: found.update(path=path))
        with pytest.raises(CorruptLogError, match="version 1 .* would leave"):
            fresh(log).snapshot()

    @pytest.mark.parametrize(
        "damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"x" * len(data)]
    )
    def test_a_damaged_checkpoint_is_passed_over(self, log: TransactionLog, damage: object, caplog: object) -> None:
        states = grown(log, 23)
        path = file_of(log, checkpoint_key(20))
        path.write_bytes(damage(path.read_bytes()))
        assert paths(fresh(log).snapshot()) == states[-1]
        assert "is damaged" in caplog.text

    def test_a_flipped_bit_in_a_checkpoint_is_noticed(self, log: TransactionLog) -> None:
        states = grown(log, 23)
        path = file_of(log, checkpoint_key(20))
        data = bytearray(path.read_bytes())
        data[200] ^= 1
        path.write_bytes(data)
        assert paths(fresh(log).snapshot()) == states[-1]

    @pytest.mark.parametrize("hint", [None, b"", b"garbage", b'{"version": 77}', b'{"version": 3}'])
    def test_the_hint_decides_nothing(self, log: TransactionLog, hint: bytes | None) -> None:
        states = grown(log, 13)
        file = file_of(log, HINT_KEY)
        assert json.loads(file.read_bytes())["version"] == 10
        file.unlink() if hint is None else file.write_bytes(hint)
        assert paths(fresh(log).snapshot()) == states[-1]

    def test_strangers_in_the_log_directory_are_ignored(self, log: TransactionLog) -> None:
        states = grown(log, 3)
        for name in ("README.txt", "00000000000000000x.json", "5.json.tmp", ".tmp-abc", "٣.json"):
            file_of(log, f"_transaction_log/{name}").write_text("not a version")
        assert paths(fresh(log).snapshot()) == states[-1]


class TestWidths:
    @pytest.mark.parametrize("width", [1, 20])
    def test_other_widths_are_read(self, log: TransactionLog, width: int) -> None:
        states = grown(log, 13)
        for version in range(13):
            file_of(log, commit_key(version)).rename(file_of(log, f"_transaction_log/{version:0{width}}.json"))
        assert paths(fresh(log).snapshot()) == states[-1]
        append(fresh(log), add("next"))
        assert paths(fresh(log).snapshot()) == states[-1] | {"next"}
        assert file_of(log, commit_key(13)).exists()

    def test_mixed_widths_are_ordered_by_number(self, log: TransactionLog) -> None:
        states = grown(log, 13)
        for version in (3, 9, 11):
            file_of(log, commit_key(version)).rename(file_of(log, f"_transaction_log/{version:020}.json"))
        for version in (2, 12):
            file_of(log, commit_key(version)).rename(file_of(log, f"_transaction_log/{version}.json"))
        for version, state in enumerate(states):
            assert paths(fresh(log).snapshot(version)) == state

    def test_the_same_version_twice_is_refused(self, log: TransactionLog) -> None:
        grown(log, 3)
        file_of(log, "_transaction_log/2.json").write_bytes(file_of(log, commit_key(2)).read_bytes())
        with pytest.raises(CorruptLogError, match="has version 2 twice"):
            fresh(log).snapshot()


class TestProtocol:
    def with_protocol(self, log: TransactionLog, reader: int, writer: int) -> None:
        created(log)
        newer = {"minReaderVersion": reader, "minWriterVersion": writer}
        edit_version(
            log.table, 0, lambda lines: [{"protocol": newer} if "protocol" in line else line for line in lines]
        )

    def test_a_newer_table_is_not_read(self, log: TransactionLog) -> None:
        self.with_protocol(log, 99, 99)
        with pytest.raises(UnsupportedProtocolError, match="can only be read by .* protocol 99; .* upgrade") as caught:
            fresh(log).snapshot()
        assert (caught.value.required, caught.value.supported) == (99, 1)

    def test_a_table_may_be_read_but_not_written(self, log: TransactionLog) -> None:
        self.with_protocol(log, 1, 99)
        assert fresh(log).snapshot().version == 0
        with pytest.raises(UnsupportedProtocolError, match="can only be written by"):
            append(fresh(log), add())
        assert fresh(log).snapshot().version == 0


class TestCheckpoints:
    def test_they_come_every_so_many_versions(self, tmp_path: Path) -> None:
        log = TransactionLog.open(tmp_path, Config(maintenance=MaintenanceConfig(checkpoint_interval=4)))
        grown(log, 10)
        assert sorted(path.name for path in file_of(log, "_transaction_log").glob("*.parquet")) == [
            "000000000000000004.checkpoint.parquet",
            "000000000000000008.checkpoint.parquet",
        ]

    @pytest.mark.parametrize("keep_own_version", [True, False])
    def test_a_table_opens_from_a_checkpoint_alone(self, log: TransactionLog, *, keep_own_version: bool) -> None:
        states = grown(log, 14)
        for version in range(10 if keep_own_version else 11):
            file_of(log, commit_key(version)).unlink()
        for version in range(10, 14):
            assert paths(fresh(log).snapshot(version)) == states[version]
        assert paths(fresh(log).snapshot()) == states[-1]
        with pytest.raises(VersionNotFoundError, match="is no longer there; versions 10 to 13 can be read"):
            fresh(log).snapshot(7)
        tenth = fresh(log).snapshot(10).timestamp
        assert fresh(log).snapshot(timestamp=moment(tenth)).version == 10
        append(fresh(log), add("next"))
        assert paths(fresh(log).snapshot()) == states[-1] | {"next"}

    def test_a_failing_checkpoint_does_not_fail_the_commit(
        self, log: TransactionLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        grown(log, 10)
        real_put = log.store.put
        monkeypatch.setattr(log.store, "put", lambda key, _: real_put("../outside", b""))
        assert append(log, add("tenth")).version == 10
        assert "is committed, but its checkpoint is not" in caplog.text
        assert "tenth" in paths(fresh(log).snapshot())

    def test_old_tombstones_are_forgotten(self, tmp_path: Path) -> None:
        log = TransactionLog.open(
            tmp_path, Config(maintenance=MaintenanceConfig(tombstone_retention=timedelta(hours=1)))
        )
        snapshot = created(log, add("old"), add("new"))
        now = int(datetime.now(UTC).timestamp() * 1000)
        removes = overwriting(snapshot).removes
        ages = {"old": now - 2 * 3600 * 1000, "new": now}
        import msgspec  # noqa: PLC0415

        aged = [msgspec.structs.replace(r, deletion_timestamp=ages[r.path]) for r in removes]
        from dataclasses import replace  # noqa: PLC0415

        log.commit(replace(overwriting(snapshot), removes=aged))
        assert set(log.snapshot().tombstones["path"].to_pylist()) == {"old", "new"}
        log.checkpoint()
        assert fresh(log).snapshot().tombstones["path"].to_pylist() == ["new"]


class TestCleanUp:
    def test_every_version_that_is_kept_can_be_read(self, log: TransactionLog) -> None:
        states = grown(log, 35)
        deleted = log.clean_up(retention=timedelta(0))
        assert len(deleted) == 32  # versions 0 to 29 and the checkpoints at 10 and 20
        reader = fresh(log)
        for version in range(30, 35):
            assert paths(reader.snapshot(version)) == states[version]
        with pytest.raises(VersionNotFoundError, match="versions 30 to 34 can be read"):
            reader.snapshot(29)
        assert reader.history()["version"].to_pylist() == [34, 33, 32, 31, 30]

    def test_a_damaged_checkpoint_makes_no_older_file_expire(self, log: TransactionLog) -> None:
        states = grown(log, 35)
        file_of(log, checkpoint_key(30)).write_bytes(b"damaged")
        assert len(log.clean_up(retention=timedelta(0))) == 21, "versions 0 to 19, and the checkpoint at 10"
        assert paths(fresh(log).snapshot(34)) == states[34]

    def test_a_checkpoint_of_another_table_makes_no_older_file_expire(self, log: TransactionLog) -> None:
        states = grown(log, 12)
        stray = file_of(log, checkpoint_key(10)).read_bytes()
        for path in file_of(log, "_transaction_log").iterdir():
            path.unlink()
        log = fresh(log)
        created(log, id="another")
        states = [paths(append(log, add(f"{n}")).snapshot) for n in range(9)]
        append(log, add("tenth"))
        file_of(log, checkpoint_key(10)).write_bytes(stray)
        assert log.clean_up(retention=timedelta(0)) == []
        assert paths(fresh(log).snapshot(9)) == states[-1]

    def test_a_dry_run_deletes_nothing(self, log: TransactionLog) -> None:
        grown(log, 12)
        would = log.clean_up(retention=timedelta(0), dry_run=True)
        assert len(would) == 10
        assert log.clean_up(retention=timedelta(0)) == would

    def test_what_is_young_stays(self, log: TransactionLog) -> None:
        grown(log, 12)
        assert log.clean_up() == []

    def test_the_state_at_the_limit_stays_readable(self, log: TransactionLog) -> None:
        now = int(datetime.now(UTC).timestamp() * 1000)
        hour = 3600 * 1000
        set_times(log, {version: now - (24 - version) * hour for version in range(24)})
        deleted = log.clean_up(retention=timedelta(hours=9, minutes=30))  # version 14 is the state then
        assert len(deleted) == 10
        assert fresh(log).snapshot(14).version == 14
        assert fresh(log).snapshot(10).version == 10

    def test_without_a_checkpoint_everything_stays(self, log: TransactionLog) -> None:
        grown(log, 9)
        assert log.clean_up(retention=timedelta(0)) == []

    def test_files_of_another_table_that_was_made_meanwhile_stay(self, log: TransactionLog) -> None:
        now = int(datetime.now(UTC).timestamp() * 1000)
        set_times(log, {version: now - (40 - version) * 86_400_000 for version in range(24)})

        reads = count(1)

        class Replaced(LocalStore):
            """Once all versions have been read, and before any is deleted, the table is made anew."""

            def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
                content = super().read_range(key, start, end)
                if next(reads) == 24:
                    for path in file_of(log, "_transaction_log").iterdir():
                        path.unlink()
                    created(log, id="another")
                return content

        TransactionLog(Replaced(log.store.location)).clean_up(retention=timedelta(days=1))
        assert fresh(log).snapshot().metadata.id == "another"

    def test_what_killed_writers_left_goes_after_a_day(self, log: TransactionLog) -> None:
        grown(log, 2)
        left, young = (f"_transaction_log/.tmp-{uuid4().hex}" for _ in range(2))
        strangers = ["_transaction_log/.tmp-mine", f"_transaction_log/sub/.tmp-{uuid4().hex}"]
        file_of(log, "_transaction_log/sub").mkdir()
        for name in (left, young, *strangers):
            file_of(log, name).touch()
        for name in (left, *strangers):
            os.utime(file_of(log, name), (0, datetime.now(UTC).timestamp() - 2 * 86400))
        assert log.clean_up() == [left]
        assert all(file_of(log, name).exists() for name in (young, *strangers))


def test_history_tells_every_version_newest_first(log: TransactionLog) -> None:
    grown(log, 6)
    history = log.history()
    assert history["version"].to_pylist() == [5, 4, 3, 2, 1, 0]
    assert history["operation"].to_pylist()[:2] == ["APPEND", "OVERWRITE"]
    assert history["operation"][-1].as_py() == "CREATE TABLE"
    assert history["read_version"].to_pylist() == [4, 3, 2, 1, 0, None]
    assert history["timestamp"].to_pylist() == sorted(history["timestamp"].to_pylist(), reverse=True)
    assert len(set(history["txn_id"].to_pylist())) == 6
