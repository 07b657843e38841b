"""Small partitions that share splits: where rows go, what the log says of it, and that every question is answered."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError

SCHEMA = pa.schema({"day": pa.string(), "app": pa.string(), "n": pa.int64()})
SMALL = "app=%5B%23small%5D"
ON = {"coalesce.enabled": "true", "coalesce.minRows": "3"}


def rows(apps: str, day: str = "mon") -> pa.Table:
    """A row for each letter, which is its app; `-` is null."""
    named = [None if app == "-" else app for app in apps]
    return pa.table([[day] * len(apps), named, range(len(apps))], schema=SCHEMA)


def new(path: Path, *, partition_by: str = "day, app", schema: pa.Schema = SCHEMA, **options: str) -> IndexTable:
    return IndexTable.create(path, schema, partition_by=partition_by, options={**ON, **options})


def held(table: IndexTable) -> dict[str, dict[tuple[str | None, ...], int] | int]:
    """The directories of the splits, and the rows in each, by partition where partitions share it."""
    found: dict[str, Any] = {}
    for split in table.splits().to_pylist():
        logical = split["logical_partitions"]
        listed = dict(zip(map(tuple, logical["tuples"]), logical["counts"], strict=True)) if logical else None
        found.setdefault(split["path"].rpartition("/")[0], []).append(listed or split["num_records"])
    return {directory: of[0] if len(of) == 1 else of for directory, of in found.items()}


def apps(table: IndexTable, where: str | None = None) -> str:
    read = table.scan(where=where, columns=["app"]).to_arrow()["app"].to_pylist()
    assert table.count(where) == len(read)
    return "".join(sorted(app or "-" for app in read))


def test_small_partitions_share_a_split_and_large_ones_do_not(tmp_path: Path) -> None:
    table = new(tmp_path)
    table.append(pa.concat_tables([rows("CBAXX-X"), rows("A", day="tue")]))
    assert held(table) == {
        "day=mon/app=X": 3,
        f"day=mon/{SMALL}": {("A",): 1, ("B",): 1, ("C",): 1, (None,): 1},
        f"day=tue/{SMALL}": {("A",): 1},
    }


def test_what_the_log_says(tmp_path: Path) -> None:
    new(tmp_path).append(rows("BAB"))
    lines = (tmp_path / "_transaction_log" / f"{1:018}.json").read_text().splitlines()
    (add,) = (line["add"] for line in map(json.loads, lines) if "add" in line)
    assert add["partitionValues"] == {"day": "mon"}  # absent is unknown: who does not know the rest keeps the split
    assert add["physicalPartition"] == {"day": "mon", "app": "[#small]"}
    assert add["logicalPartitions"] == {
        "complete": True,
        "columns": ["app"],
        "tuples": [["A"], ["B"]],
        "counts": [1, 2],
    }


@pytest.mark.parametrize(
    ("where", "found", "opened"),
    [
        ("app = 'A'", "AA", 2),
        ("app = 'B'", "B", 1),
        ("app = 'D'", "", 0),
        ("app > 'B'", "C", 1),
        ("app LIKE 'D%'", "", 0),
        ("app IS NULL", "-", 1),
        ("app <> 'A'", "BC", 1),
        ("day = 'tue' AND app = 'A'", "A", 1),
        ("day = 'tue' AND app = 'B'", "", 0),
        ("day = 'wed' AND app = 'A'", "", 0),
    ],
)
def test_splits_are_pruned_by_the_partitions_that_they_hold(
    tmp_path: Path, where: str, found: str, opened: int
) -> None:
    table = new(tmp_path)
    table.append(pa.concat_tables([rows("ABC-"), rows("A", day="tue")]))
    assert apps(table, where) == found
    assert table.scan(where=where).explain().opened == opened


def test_counts_and_groups_come_from_the_log(tmp_path: Path) -> None:
    table = new(tmp_path)
    table.append(pa.concat_tables([rows("ABBXXX-"), rows("A", day="tue")]))
    for split in tmp_path.rglob("*.split"):
        split.unlink()
    counts = {
        w: table.count(w) for w in ("app = 'A'", "app = 'B'", "app = 'D'", "app IS NULL", "app = 'B' OR app = 'X'")
    }
    assert counts == {"app = 'A'": 2, "app = 'B'": 2, "app = 'D'": 0, "app IS NULL": 1, "app = 'B' OR app = 'X'": 5}
    groups = {row["app"]: row["count"] for row in table.scan(where="day = 'mon'").group_by("app").count().to_pylist()}
    assert groups == {"A": 1, "B": 2, "X": 3, None: 1}


def test_rules_may_change_and_every_version_reads_as_it_was_written(tmp_path: Path) -> None:
    table = new(tmp_path, **{"coalesce.minRows": "1"})
    first = {f"coalesce.rule.{app}": "small" for app in "ABC"}
    second = {f"coalesce.rule.{app}": "[#small]" for app in "ADE"}
    table.append(rows("AABCD"), options=first)
    table.append(rows("AABDEE"), options=second)
    table.overwrite(rows("ABCDE"), options=second)
    assert held(table.at(version=1)) == {"day=mon/app=D": 1, f"day=mon/{SMALL}": {("A",): 2, ("B",): 1, ("C",): 1}}
    assert held(table) == {
        "day=mon/app=B": 1,
        "day=mon/app=C": 1,
        f"day=mon/{SMALL}": {("A",): 1, ("D",): 1, ("E",): 1},
    }
    expected = {0: "", 1: "AABCD", 2: "AAAABBCDDEE", 3: "ABCDE"}
    for version, all_of_it in expected.items():
        past = table.at(version=version)
        assert apps(past) == all_of_it
        for app in "ABCDEF":
            assert apps(past, f"app = '{app}'") == app * all_of_it.count(app)


def test_a_value_that_looks_like_the_directory_is_a_value(tmp_path: Path) -> None:
    table = new(tmp_path)
    small, large = ["A", "[#small]"], ["[#small]"] * 3
    for given in (small, large):
        table.append(pa.table([["mon"] * len(given), given, range(len(given))], schema=SCHEMA))
    assert held(table) == {f"day=mon/{SMALL}": [{("A",): 1, ("[#small]",): 1}, 3]}
    assert table.count("app = '[#small]'") == table.scan(where="app = '[#small]'").to_arrow().num_rows == 4
    assert apps(table, "app = 'A'") == "A"


def test_a_partition_that_the_table_knows_to_be_large_keeps_its_directory(tmp_path: Path) -> None:
    table = new(tmp_path)
    table.append(rows("AAABB"))
    table.append(rows("AB"))
    assert held(table) == {"day=mon/app=A": [3, 1], f"day=mon/{SMALL}": [{("B",): 2}, {("B",): 1}]}
    table.append(rows("B"))
    assert held(table)["day=mon/app=B"] == 1  # it has grown to three
    table.overwrite(rows("AB"))
    assert held(table) == {f"day=mon/{SMALL}": {("A",): 1, ("B",): 1}}


def test_a_partition_in_many_batches_is_counted_as_a_whole(tmp_path: Path) -> None:
    table = new(tmp_path, targetRecordsPerSplit="2", **{"indexWriter.bufferSize": "1"})
    table.append([batch for text in ("XA", "XB", "XC") for batch in rows(text).to_batches()])
    shared = [{("A",): 1, ("B",): 1}, {("C",): 1}]
    assert held(table) == {"day=mon/app=X": [2, 1], f"day=mon/{SMALL}": shared}
    assert apps(table) == "ABCXXX"


def test_a_rule_holds_for_a_partition_that_fills_splits(tmp_path: Path) -> None:
    table = new(tmp_path, targetRecordsPerSplit="2", **{"coalesce.rule.x": "loud", "coalesce.rule.a": ""})
    table.append(rows("XXXAB"))
    assert held(table) == {
        "day=mon/app=%5B%23loud%5D": [{("X",): 2}, {("X",): 1}],
        "day=mon/app=A": 1,
        f"day=mon/{SMALL}": {("B",): 1},
    }


def test_more_partitions_than_the_log_lists(tmp_path: Path) -> None:
    table = new(tmp_path, **{"coalesce.maxTuples": "2"})
    table.append(rows("ABC"))
    (logical,) = table.splits()["logical_partitions"].to_pylist()
    assert (logical["complete"], logical["tuples"]) == (False, [["A"], ["B"]])
    assert [apps(table, f"app = '{app}'") for app in "ABCD"] == ["A", "B", "C", ""]
    (partition,) = table.partitions().to_pylist()
    assert (partition["complete"], partition["num_records"]) == (False, 3)


def test_rows_of_a_shared_split_are_in_the_order_of_their_values(tmp_path: Path) -> None:
    schema = pa.schema({"day": pa.string(), "app": pa.int32(), "n": pa.int64()})
    table = new(tmp_path, schema=schema)
    table.append(pa.table([["mon"] * 6, [10, None, 9, -1, 100, 9], range(6)], schema=schema))
    (file,) = tmp_path.rglob("*.split")
    assert pq.read_table(file)["app"].to_pylist() == [-1, 9, 9, 10, 100, None]


def test_several_columns_are_coalesced_together(tmp_path: Path) -> None:
    table = new(tmp_path, **{"coalesce.columns": "DAY, app"})
    table.append(pa.concat_tables([rows("AXXX"), rows("B", day="tue")]))
    together = {("mon", "A"): 1, ("tue", "B"): 1}
    assert held(table) == {"day=mon/app=X": 3, f"day=%5B%23small%5D/{SMALL}": together}
    assert table.scan(where="day = 'mon' AND app = 'B'").explain().opened == 0
    assert apps(table, "day = 'tue'") == "B"


@pytest.mark.parametrize(
    ("layout", "columns"), [("day, app", "day"), ("day, app", "app, n"), ("day", "app"), ("", "app")]
)
def test_only_the_end_of_a_layout_can_be_coalesced(tmp_path: Path, layout: str, columns: str) -> None:
    with pytest.raises(ConfigError, match="only the last fields of a layout") as caught:
        new(tmp_path / "refused", partition_by=layout, **{"coalesce.columns": columns})
    assert caught.value.key == "coalesce.columns"
    assert not (tmp_path / "refused").exists()
    table = new(tmp_path, partition_by=layout)
    with pytest.raises(ConfigError, match="only the last fields of a layout"):
        table.append(rows("A"), options={"coalesce.columns": columns})
    assert not list(tmp_path.rglob("*.split"))
    assert table.refresh().version == 0


def test_a_table_without_partitions_has_nothing_to_coalesce(tmp_path: Path) -> None:
    table = new(tmp_path, partition_by="")
    table.append(rows("AB"))
    assert table.splits()["logical_partitions"].to_pylist() == [None]


def test_settings_are_properties_too(tmp_path: Path) -> None:
    properties = {f"spark.indextables.{key}": value for key, value in ON.items()}
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day, app", properties=properties)
    table.append(rows("AB"))
    table.append(rows("AB"), options={"coalesce.enabled": "false"})
    assert held(table) == {f"day=mon/{SMALL}": {("A",): 1, ("B",): 1}, "day=mon/app=A": 1, "day=mon/app=B": 1}


def test_a_size_counts_as_the_rows_that_have_it(tmp_path: Path) -> None:
    table = new(tmp_path, **{"coalesce.minSize": "1"})
    table.append(rows("AXXX"))
    assert held(table) == {"day=mon/app=X": 3, f"day=mon/{SMALL}": {("A",): 1}}  # nothing to go by yet: minRows
    table.append(rows("BB"))
    assert held(table)["day=mon/app=B"] == 2  # any row has more than a byte


def test_partitions(tmp_path: Path) -> None:
    table = new(tmp_path)
    table.append(rows("ABBXXX"))
    table.append(rows("A"), options={"coalesce.enabled": "false"})
    listed = {row["partition"]["app"]: row for row in table.partitions().to_pylist()}
    figures = {app: (row["num_splits"], row["shared_splits"], row["num_records"]) for app, row in listed.items()}
    assert figures == {"A": (2, 1, 2), "B": (1, 1, 2), "X": (1, 0, 3)}
    assert set(listed["A"]["directories"]) == {f"day=mon/{SMALL}", "day=mon/app=A"}
    assert listed["B"]["directories"] == [f"day=mon/{SMALL}"]
    sizes = {split["path"].rpartition("/")[0]: split["size"] for split in table.splits().to_pylist()}
    assert listed["B"]["size"] == round(sizes[f"day=mon/{SMALL}"] * 2 / 3)
    assert all(row["complete"] for row in listed.values())
