"""Writes that merge what they leave."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.log import TransactionLog
from indextables.maintain.compact_on_write import merge_after_write

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})
ON = {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "3"}


def row(day: str, n: int) -> pa.Table:
    return pa.table({"day": [day], "n": [n]}, schema=SCHEMA)


def splits(table: IndexTable) -> list[tuple[str, int]]:
    return sorted((s["partition"]["day"], s["num_records"]) for s in table.splits().to_pylist())


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    table = IndexTable.create(
        tmp_path / "t", SCHEMA, partition_by="day", properties={"spark.indextables." + k: v for k, v in ON.items()}
    )
    for n in range(2):
        table.append(row("mon", n))
        table.append(row("tue", n))
    return table


def test_the_partition_that_a_write_touched_is_merged_when_it_has_many(table: IndexTable) -> None:
    assert splits(table) == [("mon", 1), ("mon", 1), ("tue", 1), ("tue", 1)]
    assert table.append(row("mon", 2)) == table.version == 6
    assert splits(table) == [("mon", 3), ("tue", 1), ("tue", 1)]
    assert table.history()["operation"].to_pylist()[:2] == ["MERGE SPLITS", "APPEND"]
    assert IndexTable.open(table.path).count() == 5


def test_it_can_be_switched_off(table: IndexTable) -> None:
    table.append(row("mon", 2), options={"mergeOnWrite.enabled": "false"})
    assert len(splits(table)) == 5


def test_a_write_of_nothing_merges_nothing(table: IndexTable) -> None:
    assert table.append(SCHEMA.empty_table()) == 4


def test_trouble_is_a_warning_and_the_write_stands(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    lost = next(Path(table.path, "day=mon").iterdir())
    lost.unlink()
    with caplog.at_level(logging.WARNING):
        assert table.append(row("mon", 2)) == table.version
    assert lost.name in caplog.text
    assert IndexTable.open(table.path).count("day = 'mon'") == 3


def test_a_failure_is_a_warning_too(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    Path(table.path, "_transaction_log", f"{snapshot.version:018}.json").unlink()
    with caplog.at_level(logging.WARNING):
        assert merge_after_write(log, snapshot, Config.resolve(ON)) is snapshot
    assert "is written, but not merged" in caplog.text
