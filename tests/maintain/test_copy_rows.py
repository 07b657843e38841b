"""Rows of splits, read again and written again: all of them or those that are not replaced, by any layout of the table."""

from functools import partial
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config, WriteConfig
from indextables.errors import ConfigError
from indextables.log import Snapshot, TransactionLog
from indextables.maintain.copy_rows import plan_copy, refs_to, rows_of
from indextables.predicate import evaluate, parse_condition
from indextables.read.opener import SplitOpener
from indextables.write.pipeline import write_rows

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})


def table_of(*batches: dict[str, list[object]], partition_by: str = "day") -> tuple[TransactionLog, Snapshot]:
    place = f"memory://{uuid4().hex}/t"
    table = IndexTable.create(place, SCHEMA, partition_by=partition_by)
    for columns in batches:
        table.append(pa.table(columns), options={"mergeSchema": "true"})
    log = TransactionLog.open(place)
    return log, log.snapshot()


def rows(log: TransactionLog, snapshot: Snapshot, unless: str | None = None) -> list[dict[str, object]]:
    schema = snapshot.metadata.arrow_schema()
    opener = SplitOpener.of(log.store, Config())
    test = None if unless is None else partial(evaluate, parse_condition(unless, schema))
    batches = rows_of(opener, refs_to(snapshot.splits, snapshot.metadata), schema, unless=test)
    return pa.Table.from_batches(batches, schema).to_pylist()


def test_rows_come_in_their_order() -> None:
    log, snapshot = table_of({"day": ["b", "a", "b"], "n": [3, 2, 1]})
    assert [row["n"] for row in rows(log, snapshot)] == [3, 1, 2]


@pytest.mark.parametrize(
    ("unless", "left"),
    [("n = 1", [None, 2]), ("n IS NULL", [1, 2]), ("n > 5", [1, None, 2]), ("n <> 1", [1, None]), ("TRUE", [])],
)
def test_rows_for_which_it_is_unknown_are_kept(unless: str, left: list[int | None]) -> None:
    log, snapshot = table_of({"day": ["a", "a", "a"], "n": [1, None, 2]})
    assert [row["n"] for row in rows(log, snapshot, unless)] == left


def test_columns_that_came_later_are_null() -> None:
    log, snapshot = table_of({"day": ["a"], "n": [1]}, {"day": ["a"], "n": [2], "new": ["x"]})
    assert [row["new"] for row in rows(log, snapshot)] == [None, "x"]
    assert [row["n"] for row in rows(log, snapshot, "new = 'x'")] == [1]


def test_a_copy_has_the_layout_of_the_table_and_the_rows() -> None:
    log, snapshot = table_of({"day": ["a", "b"], "n": [1, 2]}, {"day": ["a"], "n": [3]})
    schema = snapshot.metadata.arrow_schema()
    batches = rows_of(SplitOpener.of(log.store, Config()), refs_to(snapshot.splits, snapshot.metadata), schema)
    adds = write_rows(plan_copy(snapshot, Config()), batches, log.store)
    assert {add.partition_values["day"]: add.num_records for add in adds} == {"a": 2, "b": 1}
    assert {add.spec_id for add in adds} == {0}


def test_splits_get_as_many_rows_as_the_settings_say() -> None:
    _, snapshot = table_of({"day": ["a", "b"], "n": [1, 2]})
    assert plan_copy(snapshot, Config(write=WriteConfig(target_records=7))).config.write.target_records == 7
    with pytest.raises(ConfigError, match="targetSplitSize"):
        plan_copy(snapshot, Config(write=WriteConfig(auto_size=True)))
