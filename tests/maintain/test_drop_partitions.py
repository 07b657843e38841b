"""Partitions dropped, whole or in part, and what is told of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from msgspec import structs

from indextables import IndexTable, Layout
from indextables.config import Config
from indextables.errors import CorruptLogError, InvalidPredicateError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Add, LogicalPartitions
from indextables.maintain.copy_rows import plan_copy
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import plan_write, with_layout
from tests.maintain.samples import SCHEMA, litter, made, numbers, rows


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    table = made(tmp_path, "year")
    table.append(rows([2021, 2022, 2022, 2023, None], ["1"] * 5, range(5)))
    return table


def test_dropping(table: IndexTable, tmp_path: Path) -> None:
    dropped = table.drop_partitions("year < 2023")
    assert (dropped.version, dropped.dry_run) == (2, False)
    assert (dropped.splits, dropped.rows, dropped.rewritten, dropped.copied) == (2, 3, 0, 0)
    assert dropped.bytes > 0
    assert numbers(table) == [3, 4]
    newest = table.history().to_pylist()[0]
    assert (newest["operation"], dict(newest["metrics"])["numDeletedRows"]) == ("DROP PARTITIONS", "3")
    assert numbers(table.at(version=1)) == [0, 1, 2, 3, 4]
    assert litter(tmp_path) == set()


def test_a_dry_run_tells_the_same_and_does_nothing(table: IndexTable) -> None:
    would = table.drop_partitions("year < 2023", dry_run=True)
    assert table.refresh().version == 1
    assert would == replace(table.drop_partitions("year < 2023"), version=1, dry_run=True)


def test_nothing_to_drop_is_no_version(table: IndexTable) -> None:
    assert (table.drop_partitions("year = 1999").version, table.refresh().version) == (1, 1)


@pytest.mark.parametrize("where", ["", "  ", None])
def test_a_condition_is_needed(table: IndexTable, where: str) -> None:
    with pytest.raises(InvalidPredicateError, match="is needed"):
        table.drop_partitions(where)


@pytest.mark.parametrize(("zone", "left"), [("UTC", 1), ("America/Los_Angeles", 9)])
def test_times_are_those_of_a_zone(zone: str, left: int) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    table = IndexTable.create(
        f"memory://{uuid4().hex}/t",
        pa.schema({"ts": pa.timestamp("us", "UTC"), "n": pa.int64()}),
        partition_by="day(ts)",
    )
    table.append(pa.table({"ts": [start + timedelta(hours=h) for h in range(24)], "n": list(range(24))}))
    table.drop_partitions("ts > '2024-01-01 00:00:00'", time_zone=zone)
    assert table.count() == left


def test_the_past_cannot_be_dropped(table: IndexTable) -> None:
    with pytest.raises(Exception, match="shows the past"):
        table.at(version=1).drop_partitions("year = 2021")


def coalesced(logical: LogicalPartitions | None) -> IndexTable:
    """One split that has rows of three partitions, which its entry in the log lists, or not."""
    table = made(f"memory://{uuid4().hex}/t", "year, month")
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    plan = plan_write(with_layout(snapshot.metadata, Layout()), Config())
    shared = rows([2023, 2023, 2023, 2023], ["A", "B", "B", None], range(4)).to_batches()
    (add,) = write_rows(plan, shared, log.store)
    add = structs.replace(
        add,
        spec_id=snapshot.metadata.current_spec_id,
        partition_values={"year": "2023"},
        logical_partitions=logical,
        physical_partition={"month": "[#small]"},
    )
    commit(log, add)
    return table.refresh()


def commit(log: TransactionLog, *adds: Add) -> None:
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=adds))


COMPLETE = LogicalPartitions(complete=True, columns=["month"], tuples=[["A"], ["B"], [None]], counts=[1, 2, 1])
PARTIAL = LogicalPartitions(complete=False, columns=["month"], tuples=[["A"]])


@pytest.mark.parametrize("logical", [COMPLETE, PARTIAL, None])
class TestSharedSplits:
    @pytest.mark.parametrize(
        ("where", "left"),
        [
            ("month = 'B'", [0, 3]),
            ("month = 'A'", [1, 2, 3]),
            ("month IS NULL", [0, 1, 2]),
            ("month = 'D'", [0, 1, 2, 3]),
            ("year = 2023", []),
            ("year = 2024", [0, 1, 2, 3]),
            ("month IN ('A', 'B') OR month IS NULL", []),
        ],
    )
    def test_other_partitions_are_copied_out(
        self, logical: LogicalPartitions | None, where: str, left: list[int]
    ) -> None:
        table = coalesced(logical)
        assert table.drop_partitions(where).rows == 4 - len(left)
        assert numbers(table) == left

    def test_replacing(self, logical: LogicalPartitions | None) -> None:
        table = coalesced(logical)
        table.replace_where(rows([2023], ["B"], [9]), "month = 'B'")
        assert numbers(table) == [0, 3, 9]

    def test_overwriting_partitions(self, logical: LogicalPartitions | None) -> None:
        table = coalesced(logical)
        table.overwrite(rows([2023], [None], [9]), options={"partitionOverwriteMode": "dynamic"})
        assert numbers(table) == [0, 1, 2, 9]


def test_a_partition_value_that_cannot_be_read() -> None:
    table = made(f"memory://{uuid4().hex}/t", "year")
    table.append(rows([2023], ["A"], [1]))
    log = TransactionLog.open(table.path)
    (add,) = write_rows(plan_copy(log.snapshot(), Config()), rows([2024], ["A"], [2]).to_batches(), log.store)
    commit(log, structs.replace(add, partition_values={"year": "abc"}, min_values={}, max_values={}))
    assert table.refresh().count("year = 2024") == 1
    with pytest.raises(CorruptLogError, match="'abc' as the partition value of year"):
        table.drop_partitions("year = 2024")
    with pytest.raises(CorruptLogError, match="'abc'"):
        table.replace_where(SCHEMA.empty_table(), "year = 2023")
    assert numbers(table) == [1, 2]
