"""Rows taken out of splits that partitions share: the other partitions are copied out, exactly."""

from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from tests.log.hand_written import edit_adds

SCHEMA = pa.schema({"day": pa.string(), "app": pa.string(), "n": pa.int64()})
ON = {"coalesce.enabled": "true", "coalesce.minRows": "3"}


def rows(apps: str, *, n: int = 0, day: str = "mon") -> pa.Table:
    return pa.table([[day] * len(apps), list(apps), [n] * len(apps)], schema=SCHEMA)


def apps(table: IndexTable, where: str | None = None) -> str:
    return "".join(sorted(table.scan(where=where).to_arrow()["app"].to_pylist()))


def shared(table: IndexTable) -> list[dict[str, int] | None]:
    """The partitions of each split with their rows, as the log lists them."""
    listed = table.splits()["logical_partitions"].to_pylist()
    return [s and dict(zip((t[0] for t in s["tuples"]), s["counts"], strict=True)) for s in listed]


@pytest.fixture(params=["10", "2"], ids=["listed", "not all listed"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> IndexTable:
    """One shared split of a day with A, B, B and C, and a large partition; another day beside it."""
    options = {**ON, "coalesce.maxTuples": request.param}
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day, app", options=options)
    table.append(pa.concat_tables([rows("ABBCXXX"), rows("A", day="tue")]))
    return IndexTable.open(tmp_path / "t", options={"coalesce.maxTuples": "10"})


def test_dropping_a_partition_copies_the_others_out(table: IndexTable) -> None:
    dropped = table.drop_partitions("app = 'A'")
    assert (dropped.rows, dropped.copied, dropped.rewritten) == (2, 3, 1)
    assert apps(table) == "BBCXXX"
    assert {"B": 2, "C": 1} in shared(table)
    assert table.count("app = 'A'") == 0
    assert apps(table.at(version=1)) == "AABBCXXX"


def test_replacing_a_partition_keeps_the_others(table: IndexTable) -> None:
    table.replace_where(rows("BBBB", n=1), "day = 'mon' AND app = 'B'")
    assert apps(table) == "AABBBBCXXX"
    assert table.count("app = 'B' AND n = 1") == 4
    assert {"A": 1, "C": 1} in shared(table)


def test_a_dynamic_overwrite_replaces_only_the_partitions_of_its_rows(table: IndexTable) -> None:
    table.overwrite(rows("CD", n=1), options={"partitionOverwriteMode": "dynamic", **ON})
    assert apps(table) == "AABBCDXXX"
    assert table.count("n = 1") == 2
    assert table.count("app = 'C'") == table.count("app = 'D'") == 1
    assert {"C": 1, "D": 1} in shared(table)
    assert {"A": 1, "B": 2} in shared(table)


def test_a_shared_split_of_which_the_log_lists_nothing_is_opened(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day, app", options=ON)
    table.append(rows("ABBC"))
    edit_adds(tmp_path, 1, lambda add: add.pop("logicalPartitions", None))
    table = IndexTable.open(tmp_path)
    assert shared(table) == [None]
    table.replace_where(rows("AA", n=1), "app = 'A'")
    assert (apps(table), table.count("n = 1"), table.count("app = 'B'")) == ("AABBC", 2, 2)
    assert table.drop_partitions("app = 'Z'").rewritten == 0


def test_nothing_is_rewritten_for_a_partition_that_is_not_there(table: IndexTable) -> None:
    version = table.version
    assert table.drop_partitions("app = 'Z'").rewritten == 0
    assert (apps(table), table.version) == ("AABBCXXX", version)


def test_merging_keeps_what_shares_a_split_together(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day, app", options=ON)
    for part in ("AB", "BC", "X"):
        table.append(rows(part), options={"coalesce.rule.x": "odd"})
    table.append(rows("X"), options={"coalesce.rule.x": "odd"})
    table = IndexTable.open(tmp_path)
    assert table.merge_splits().merged == 2
    assert sorted(shared(table), key=str) == [{"A": 1, "B": 2, "C": 1}, {"X": 2}]
    places = {path.rpartition("/")[0] for path in table.splits()["path"].to_pylist()}
    assert places == {"day=mon/app=%5B%23small%5D", "day=mon/app=%5B%23odd%5D"}
    assert apps(table) == "ABBCXX"
    assert table.merge_splits().merged == 0


def test_merging_gives_a_partition_that_has_grown_its_own_directory(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day, app", options=ON)
    table.append(rows("AAB"))
    table.append(rows("AC"))
    table.merge_splits()
    assert sorted(shared(table), key=str) == [None, {"B": 1, "C": 1}]
    assert table.scan(where="app = 'A'").explain().always == 1
    assert apps(table) == "AAABC"
    assert table.merge_splits().merged == 0


def test_merging_lets_small_partitions_share_splits_if_asked_to(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day, app", options={"coalesce.minRows": "3"})
    table.append(pa.concat_tables([rows("ABCXXX"), rows("AB", day="tue")]))
    table.append(rows("A"))
    assert table.merge_splits(dry_run=True).splits_before == 2  # those of A
    table.merge_splits(coalesce=True)
    assert sorted(map(str, shared(table))) == ["None", "{'A': 1, 'B': 1}", "{'A': 2, 'B': 1, 'C': 1}"]
    assert apps(table) == "AAABBCXXX"
    assert {app: table.count(f"app = '{app}'") for app in "ABCX"} == {"A": 3, "B": 2, "C": 1, "X": 3}
    assert table.merge_splits(coalesce=True).merged == 0
    assert apps(table.at(version=2)) == "AAABBCXXX"
