"""Entries of other writers, without the fields that a reader may miss: answers are the same, and so is what is done."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from tests.log.hand_written import edit_adds

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64(), "message": pa.string()})
REQUIRED = {"path", "size", "modificationTime"}
WHERE = {"partitionValues", "specId"}
STATISTICS = {"minValues", "maxValues", "nullCounts", "docMappingId"}
KEPT = {"nothing else": REQUIRED, "values": REQUIRED | WHERE, "all but the rows": REQUIRED | WHERE | STATISTICS}
ROW = pa.table({"day": ["mon"], "n": [1000], "message": ["new"]}, schema=SCHEMA)
Act = Callable[[IndexTable], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days with three splits of ten rows each, some of them null."""
    table = IndexTable.create(
        tmp_path_factory.mktemp("whole") / "t", SCHEMA, partition_by="day", fields={"message": "text"}
    )
    for start in range(0, 60, 20):
        numbers = range(start, start + 20)
        words = [None if n % 5 == 0 else f"word{n % 3}" for n in numbers]
        table.append(pa.table({"day": ["mon", "tue"] * 10, "n": numbers, "message": words}, schema=SCHEMA))
    return Path(table.path)


@pytest.fixture(params=KEPT.values(), ids=KEPT.keys())
def bare(whole: Path, tmp_path: Path, request: pytest.FixtureRequest) -> IndexTable:
    """The same table with less in its log."""
    path = shutil.copytree(whole, tmp_path / "bare")
    for number in range(4):
        edit_adds(path, number, lambda add: [add.pop(key) for key in list(add) if key not in request.param])
    return IndexTable.open(path)


def answers(table: IndexTable) -> dict[str, Any]:
    conditions = ("day = 'mon'", "day <> 'mon'", "n > 30", "message IS NULL", "day = 'tue' AND n < 15")
    return {
        "counts": [table.count(), *map(table.count, conditions), table.count(query="message:word1")],
        "groups": sorted((row["day"], row["count"]) for row in table.scan().group_by("day").count().to_pylist()),
        "extremes": [(scan.min("n"), scan.max("n")) for scan in (table.scan(), table.scan(where="day = 'tue'"))],
        "limits": [len(table.scan(limit=limit).to_arrow()) for limit in (0, 7, 45, 99)],
        "rows": sorted(map(str, table.scan(columns=SCHEMA.names).to_arrow().to_pylist())),
    }


def test_questions(whole: Path, bare: IndexTable) -> None:
    assert answers(bare) == answers(IndexTable.open(whole))
    bare.checkpoint()
    assert answers(IndexTable.open(bare.path)) == answers(IndexTable.open(whole))


CHANGES: dict[str, Act] = {
    "append": lambda table: table.append(ROW, options={"coalesce.enabled": "true"}),
    "replace": lambda table: table.replace_where(ROW, "day = 'mon'"),
    "drop": lambda table: table.drop_partitions("day = 'tue'"),
    "dynamic overwrite": lambda table: table.overwrite(ROW, options={"partitionOverwriteMode": "dynamic"}),
    "merge": lambda table: table.merge_splits(),
    "coalesce": lambda table: table.merge_splits(coalesce=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changes(whole: Path, bare: IndexTable, tmp_path: Path, change: Act) -> None:
    full = IndexTable.open(shutil.copytree(whole, tmp_path / "full"))
    change(full)
    change(bare)
    assert answers(bare) == answers(full)


def test_another_layout_makes_no_split_for_each_row(whole: Path, bare: IndexTable) -> None:
    bare.evolve_layout("truncate(30, n)")
    before = len(list(Path(bare.path).rglob("*.split")))
    result = bare.merge_splits(rewrite_layout=True)
    assert (result.rows, result.splits_after, len(bare.splits())) == (60, 2, 2)
    assert len(list(Path(bare.path).rglob("*.split"))) == before + 2
    assert answers(bare) == answers(IndexTable.open(whole))


def test_advice_knows_the_rows(bare: IndexTable) -> None:
    found = bare.advise(["day = 'mon'"])
    assert found.rows == pytest.approx(60, abs=3)
    assert {str(one.layout): one.partitions for one in found.candidates}["day"] == 2
