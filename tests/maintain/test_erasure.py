"""Rows that are deleted are on disk until the steps of an erasure are done, and the report says which are left."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, CorruptLogError, RestoreError, VersionNotFoundError
from indextables.inspect.erasure import Held
from tests.maintain.matrix import KEEP_VECTORS

MAIL = "carla@example.org"
NOW = timedelta(0)
SCHEMA = pa.schema({"day": pa.string(), "mail": pa.string(), "note": pa.string()})


def rows(day: str, *mails: str) -> pa.Table:
    return pa.table({"day": [day] * len(mails), "mail": mails, "note": [f"of {mail}" for mail in mails]}, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Carla has the first mail of Monday, so that the log has it as a bound, and is twice in the middle of Tuesday."""
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", fields={"note": "text"})
    table.append(rows("mon", MAIL, "d@example.org", "e@example.org", "f@example.org"))
    table.append(rows("tue", "a@example.org", MAIL, MAIL, "x@example.org"))
    return table


def delete(table: IndexTable, where: str) -> None:
    table.delete(where, options=KEEP_VECTORS)


def kinds(table: IndexTable) -> list[Held]:
    return [file.kind for file in table.erasure().files]


def files_with(table: IndexTable, text: str) -> set[str]:
    """The files below the table's root that have a text in their bytes; text columns are stored as they are, if short."""
    files = (path for path in Path(table.path).rglob("*") if path.is_file())
    return {str(path.relative_to(table.path)) for path in files if text.encode() in path.read_bytes()}


def test_a_table_from_which_nothing_was_deleted_has_nothing_to_erase(table: IndexTable) -> None:
    report = table.erasure()
    assert report.erased
    assert report.empty
    assert report.steps == ()
    assert "no file holds rows that are not in the table" in str(report)


def test_the_steps_lead_to_an_empty_report(table: IndexTable) -> None:
    delete(table, f"mail = '{MAIL}'")
    report = table.erasure()
    assert [(file.kind, file.deleted_rows, file.first_version) for file in report.files] == [
        (Held.DELETED_ROWS, 1, 1),
        (Held.DELETED_ROWS, 2, 2),
    ]
    assert [str(step) for step in report.steps] == [
        "table.merge_splits(deleted_rows=True)",
        "table.purge(older_than='0 days', log_retention='0 days', force=True)",
    ]
    table.merge_splits(deleted_rows=True)
    assert [(file.kind, file.first_version, file.last_version) for file in table.erasure().files] == [
        (Held.REMOVED, 1, 3),
        (Held.REMOVED, 2, 3),
    ]
    assert table.purge(older_than=NOW, force=True).past == 2
    report = table.erasure()
    assert (report.erased, report.empty, report.files) == (True, False, ())
    assert set() < files_with(table, MAIL) < {file.path for file in report.log_files}
    conditions = {file.path.rpartition("/")[2]: (file.splits, file.conditions) for file in report.log_files}
    assert conditions == {f"{1:018}.json": (1, 0), f"{2:018}.json": (1, 0), f"{3:018}.json": (0, 1)}
    assert table.purge(older_than=NOW, log_retention=NOW, force=True).log_files == 4
    assert table.erasure().empty
    assert files_with(table, MAIL) == set()
    assert table.count() == 5
    assert IndexTable.open(table.path).search("note:example", limit=10).num_rows == 5


def test_a_restore_is_impossible_afterwards(table: IndexTable) -> None:
    delete(table, f"mail = '{MAIL}'")
    table.merge_splits(deleted_rows=True)
    table.purge(older_than=NOW, force=True)
    with pytest.raises(RestoreError, match="2 of the 2 files"):
        table.restore(version=2)
    table.purge(older_than=NOW, log_retention=NOW, force=True)
    with pytest.raises(VersionNotFoundError):
        table.restore(version=2)


def test_rows_that_are_rewritten_or_removed_at_once_leave_removed_files(table: IndexTable) -> None:
    table.delete(f"mail = '{MAIL}'", options={"deletionVectors": "false"})
    assert kinds(table) == [Held.REMOVED, Held.REMOVED]
    assert [str(step) for step in table.erasure().steps] == [
        "table.purge(older_than='0 days', log_retention='0 days', force=True)"
    ]
    table.purge(older_than=NOW, log_retention=NOW, force=True)
    left = table.erasure()
    assert left.erased
    assert [(file.path, file.conditions) for file in left.log_files] == [(f"_transaction_log/{3:018}.json", 1)]
    table.set_properties({"owner": "web"})
    table.purge(older_than=NOW, log_retention=NOW, force=True)
    assert table.erasure().empty, "the newest version file stays until there is another"
    assert files_with(table, MAIL) == set()


def test_every_way_to_remove_rows_is_reported(table: IndexTable) -> None:
    table.overwrite(rows("mon", "a@example.org"))
    assert kinds(table) == [Held.REMOVED] * 2
    table.drop_partitions("day = 'mon'")
    assert kinds(table) == [Held.REMOVED] * 3
    table.restore(version=2)
    assert kinds(table) == [Held.REMOVED]


def test_files_that_no_version_has_may_hold_rows_too(table: IndexTable) -> None:
    [path] = [path for path in Path(table.path).rglob("*.split") if "day=mon" in str(path)]
    copy = path.with_name(path.name[:-8] + "0a.split")
    copy.write_bytes(path.read_bytes())
    Path(table.path, "day=mon", "notes.txt").write_text("mine")
    assert [(file.kind, file.path) for file in table.erasure().files] == [
        (Held.UNCOMMITTED, str(copy.relative_to(table.path)))
    ]


def test_checkpoints_tell_of_splits_too(table: IndexTable) -> None:
    delete(table, f"mail = '{MAIL}'")
    table.checkpoint()
    [checkpoint] = [file for file in table.erasure().log_files if "checkpoint" in file.path]
    assert checkpoint.splits == 2


class TestVectorFiles:
    @pytest.fixture
    def large(self, tmp_path: Path) -> IndexTable:
        """A table whose deletion vectors are too large for the log: one file of version 2, which version 3 replaces."""
        table = IndexTable.create(tmp_path / "large", {"k": pa.int64(), "n": pa.int64()})
        table.append(pa.table({"k": [n % 11 for n in range(30_000)], "n": range(30_000)}))
        table.delete("k = 0")
        table.delete("k = 1")
        return table

    def vectors(self, table: IndexTable) -> list[Path]:
        return sorted(Path(table.path).glob("vectors-*.bin"), key=lambda path: path.stat().st_mtime_ns)

    def test_they_are_reported_with_the_versions_that_need_them(self, large: IndexTable) -> None:
        found = [file for file in large.erasure().files if file.kind is Held.VECTORS]
        assert {file.path: file.first_version for file in found} == {
            path.name: version for version, path in enumerate(self.vectors(large), 2)
        }

    def test_a_vacuum_deletes_those_that_no_version_needs(self, large: IndexTable) -> None:
        _, new = self.vectors(large)
        foreign = Path(large.path, f"vectors-{'0' * 8}-{'1' * 32}.bin")
        foreign.write_bytes(b"of another table")
        assert large.purge(dry_run=True).files == 0
        result = large.purge(older_than=NOW, force=True)
        assert (result.files, result.vectors, result.past, result.orphans) == (1, 1, 0, 0)
        assert "1 with deletion vectors" in str(result)
        assert self.vectors(large) == sorted([new, foreign], key=lambda path: path.stat().st_mtime_ns)
        assert IndexTable.open(large.path).count("k <= 1") == 0
        large.merge_splits(deleted_rows=True)
        assert large.purge(older_than=NOW, force=True).vectors == 1
        assert [file.kind for file in large.erasure().files] == []
        assert foreign.exists()

    def test_those_of_versions_within_the_retention_stay(self, large: IndexTable) -> None:
        large.merge_splits(deleted_rows=True)
        assert large.purge().files == 0
        assert large.at(version=2).count("k = 1") > 0
        assert large.at(version=3).scan(where="k = 1").to_arrow().num_rows == 0

    def test_nothing_is_purged_where_one_is_missing(self, large: IndexTable) -> None:
        self.vectors(large)[1].unlink()
        with pytest.raises(CorruptLogError, match="1 files of deletion vectors that are not there"):
            large.purge(older_than=NOW, force=True)
        assert len(self.vectors(large)) == 1


class TestLogRetention:
    def test_old_versions_go_and_the_table_stays(self, table: IndexTable) -> None:
        told = table.purge(log_retention=NOW, force=True, dry_run=True)
        assert (told.log_files, len(table.history())) == (2, 3)
        assert table.purge(log_retention=NOW, force=True).log_files == 2
        again = IndexTable.open(table.path)
        assert (again.version, again.count(), len(again.history())) == (2, 8, 1)
        assert not again.check(deep=True).findings
        assert again.append(rows("wed", "z@example.org")) == 3

    def test_they_stay_as_long_as_was_said(self, table: IndexTable) -> None:
        assert table.purge(log_retention="8 days").log_files == 0
        assert table.purge(older_than=NOW, force=True).log_files == 0

    @pytest.mark.parametrize(
        ("retention", "message"), [("1h", "LOG RETENTION in SQL"), (-timedelta(days=1), "below zero"), ("soon", "soon")]
    )
    def test_what_makes_no_sense_is_refused(self, table: IndexTable, retention: timedelta | str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            table.purge(log_retention=retention)
