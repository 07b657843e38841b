"""Deleted rows and compaction: they are not written again, and a merge never brings them back."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import ConfigError
from indextables.log import TransactionLog
from indextables.maintain.compact_on_write import merge_in_background
from tests.maintain.matrix import KEEP_VECTORS
from tests.maintain.samples import litter

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64(), "mail": pa.string()})
ROWS = 20
ON_WRITE = {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "2"}


def rows(day: str, first: int, count: int = ROWS) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"day": [day] * count, "n": numbers, "mail": [f"u{n}@x.org" for n in numbers]}, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Monday has three splits, with 0 to 59; Tuesday has one, with 100 to 119."""
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day")
    for first in (0, ROWS, 2 * ROWS):
        table.append(rows("mon", first))
    table.append(rows("tue", 100))
    return table


def delete(table: IndexTable, where: str) -> int:
    return table.delete(where, options=KEEP_VECTORS).rows


def numbers(table: IndexTable) -> list[int]:
    return sorted(table.scan(columns=["n"]).to_arrow()["n"].to_pylist())


def splits(table: IndexTable) -> list[tuple[int, int]]:
    """The rows of each split that are there, and those that are deleted."""
    return sorted((split["num_records"], split["deleted_rows"]) for split in table.splits().to_pylist())


EVERYTHING = [*range(60), *range(100, 120)]


class TestOnlySplitsWithDeletedRows:
    def test_one_alone_is_written_again(self, table: IndexTable) -> None:
        untouched = {split["path"] for split in table.splits().to_pylist() if split["min"]["n"] != 20}
        delete(table, "n IN (20, 21)")
        result = table.merge_splits(deleted_rows=True)
        assert (result.splits_before, result.splits_after, result.rows, result.deleted_rows) == (1, 1, 18, 2)
        assert splits(table) == [(18, 0), (20, 0), (20, 0), (20, 0)]
        assert untouched < {*table.splits()["path"].to_pylist()}
        assert numbers(table) == [n for n in EVERYTHING if n not in (20, 21)]
        assert str(result).endswith(f"without 2 deleted rows (version {table.version})")

    def test_large_ones_too(self, table: IndexTable) -> None:
        delete(table, "n IN (0, 20, 40)")
        assert table.merge_splits(target_size=1).groups == 0
        result = table.merge_splits(deleted_rows=True, target_size=1)
        assert (result.splits_before, result.splits_after, result.deleted_rows) == (3, 3, 3)
        assert splits(table) == [(19, 0), (19, 0), (19, 0), (20, 0)]

    def test_small_ones_of_a_partition_become_one(self, table: IndexTable) -> None:
        delete(table, "n IN (0, 40, 100)")
        result = table.merge_splits(deleted_rows=True)
        assert (result.splits_before, result.splits_after) == (3, 2)
        assert splits(table) == [(19, 0), (20, 0), (38, 0)]

    def test_of_some_partitions(self, table: IndexTable) -> None:
        delete(table, "n IN (0, 100)")
        assert table.merge_splits(deleted_rows=True, where="day = 'tue'").deleted_rows == 1
        assert splits(table) == [(19, 0), (19, 1), (20, 0), (20, 0)]

    def test_those_of_older_layouts_move(self, table: IndexTable) -> None:
        delete(table, "n IN (0, 100)")
        table.evolve_layout("")
        assert table.merge_splits(deleted_rows=True, rewrite_layout=True).deleted_rows == 2
        assert splits(table) == [(20, 0), (20, 0), (38, 0)]
        assert numbers(table) == [n for n in EVERYTHING if n not in (0, 100)]

    def test_a_dry_run_tells_and_does_nothing(self, table: IndexTable) -> None:
        delete(table, "n IN (0, 20)")
        told = table.merge_splits(deleted_rows=True, dry_run=True)
        assert (told.dry_run, told.groups, told.splits_before, told.splits_after) == (True, 1, 2, 1)
        assert (told.rows, told.deleted_rows, told.version) == (38, 2, table.version)
        assert IndexTable.open(table.path).version == table.version

    def test_there_is_nothing_to_do_where_no_row_is_deleted(self, table: IndexTable) -> None:
        assert table.merge_splits(deleted_rows=True).groups == 0
        delete(table, "n = 0")
        table.merge_splits(deleted_rows=True)
        assert table.merge_splits(deleted_rows=True).groups == 0

    def test_shared_splits_are_a_merge_of_its_own(self, table: IndexTable) -> None:
        with pytest.raises(ConfigError, match="in a merge of its own"):
            table.merge_splits(deleted_rows=True, coalesce=True)

    def test_bounds_are_those_of_the_rows_that_are_left(self, table: IndexTable) -> None:
        delete(table, "n IN (100, 119)")
        table.merge_splits(deleted_rows=True)
        [split] = [split for split in table.splits().to_pylist() if split["partition"]["day"] == "tue"]
        assert (split["min"]["n"], split["max"]["n"], split["min"]["mail"]) == (101, 118, "u101@x.org")


def test_an_ordinary_merge_leaves_deleted_rows_out(table: IndexTable) -> None:
    delete(table, "n IN (5, 25)")
    result = table.merge_splits()
    assert (result.splits_before, result.rows, result.deleted_rows) == (3, 58, 2)
    assert splits(table) == [(20, 0), (58, 0)]
    assert table.count("mail = 'u5@x.org'") == 0


def test_rows_of_shared_splits_are_left_out(tmp_path: Path) -> None:
    sharing = {"coalesce.enabled": "true", "coalesce.columns": "day", "coalesce.minRows": "1000"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", options=sharing)
    table.append(pa.concat_tables([rows("mon", 0), rows("tue", 100)]))
    delete(table, "n IN (0, 100, 101)")
    table.merge_splits(deleted_rows=True)
    assert splits(table) == [(37, 0)]
    counted = {row["partition"]["day"]: row["num_records"] for row in table.partitions().to_pylist()}
    assert counted == {"mon": 19, "tue": 18}


class TestRaces:
    """A row is deleted while the split that holds it is being merged."""

    def merged(self, table: IndexTable, change: Callable[[IndexTable], object], **options: Any) -> Any:
        """A merge of which a group is written, and not yet committed, when another writer makes a change."""
        changed: list[object] = []

        def once(_: object) -> None:
            if not changed:
                changed.append(change(IndexTable.open(table.path)))

        return table.merge_splits(progress=once, options={"merge.maxGroupsPerCommit": "100"}, **options)

    @pytest.fixture
    def two_groups(self, table: IndexTable) -> IndexTable:
        table.append(rows("tue", 120))
        return table

    @pytest.mark.parametrize("deleted_rows", [False, True])
    @pytest.mark.parametrize("where", ["n = 3", "n = 103", "n IN (3, 103)"])
    def test_the_group_is_given_up(self, two_groups: IndexTable, where: str, *, deleted_rows: bool) -> None:
        table = two_groups
        delete(table, "n IN (0, 100)")
        left = [n for n in [*range(60), *range(100, 140)] if n not in (0, 100)]
        result = self.merged(table, lambda other: delete(other, where), deleted_rows=deleted_rows)
        assert result.conflicts
        assert all("changed by DELETE" in reason for reason in result.conflicts)
        gone = [3, 103] if "IN" in where else [int(where.rpartition(" ")[2])]
        assert numbers(table.refresh()) == [n for n in left if n not in gone]
        assert litter(Path(table.path)) == set()
        table.merge_splits(deleted_rows=True)
        assert numbers(table) == [n for n in left if n not in gone]

    def test_a_restore_that_takes_deletions_back_is_not_lost(self, two_groups: IndexTable) -> None:
        table = two_groups
        before = table.version
        delete(table, "n IN (0, 100)")
        self.merged(table, lambda other: other.restore(before))
        assert numbers(table.refresh()) == [*range(60), *range(100, 140)]

    @pytest.mark.parametrize("background", [False, True], ids=["after each write", "in the background"])
    def test_writers_that_merge_and_a_writer_that_deletes(self, tmp_path: Path, *, background: bool) -> None:
        path = tmp_path / "t"
        IndexTable.create(path, SCHEMA, partition_by="day")
        config = Config.resolve(ON_WRITE)

        def append() -> None:
            table, log = IndexTable.open(path), TransactionLog.open(path, config)
            for first in range(0, 240, ROWS):
                table.append(rows("mon", first), options={} if background else ON_WRITE)
                if background and (thread := merge_in_background(log, log.snapshot(), config)):
                    threads.append(thread)

        def erase() -> int:
            found = 0
            while found < 12:
                found += IndexTable.open(path).delete(f"n IN ({', '.join(map(str, range(7, 240, ROWS)))})").rows
            return found

        threads: list[Any] = []
        with ThreadPoolExecutor(2) as pool:
            appending, erasing = pool.submit(append), pool.submit(erase)
            appending.result()
            assert erasing.result() == 12
        for thread in threads:
            thread.join()
        assert numbers(IndexTable.open(path)) == [n for n in range(240) if n % ROWS != 7]
