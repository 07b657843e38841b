"""Data without the columns that partition values are computed from is refused, by every way to write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import SchemaError
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode
from tests.write.samples import split_files

SCHEMA = pa.schema({"id": pa.int64(), "day": pa.string(), "ts": pa.timestamp("us"), "note": pa.string()})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    IndexTable.create(tmp_path / "table", SCHEMA, partition_by="day, hour(ts), bucket(4, id)")
    return tmp_path / "table"


@pytest.mark.parametrize(
    "write",
    [
        lambda path, data: IndexTable.open(path).append(data),
        lambda path, data: IndexTable.open(path).append(iter(data.to_batches())),
        lambda path, data: IndexTable.open(path).overwrite(data),
        lambda path, data: IndexTable.open(path).overwrite(data, options={"partitionOverwriteMode": "dynamic"}),
        lambda path, data: IndexTable.open(path).replace_where(data, "id = 1"),
        lambda path, data: IndexTable.open(path).replace_where([(data, "id = 1")]),
        lambda path, data: plan_job(path, data.schema, mode=Mode.APPEND),
        lambda path, data: plan_job(path, data.schema, mode=Mode.OVERWRITE),
    ],
)
def test_all_that_is_missing_is_named(path: Path, write: Callable[[Path, pa.Table], Any]) -> None:
    with pytest.raises(SchemaError, match="does not have the partition columns 'day', 'ts' of the table") as refused:
        write(path, pa.table({"ID": [1], "note": ["x"]}))
    assert (refused.value.column, isinstance(refused.value, ValueError)) == ("day", True)
    assert (IndexTable.open(path).version, split_files(path)) == (0, set())


def test_a_later_batch_may_not_leave_them_out_either(path: Path) -> None:
    whole = pa.record_batch({"id": [1], "day": ["mon"], "ts": pa.array([0], pa.timestamp("us"))})
    with pytest.raises(SchemaError, match="does not have the partition column 'ts'"):
        IndexTable.open(path).append([whole, whole.drop_columns(["ts"])])
    assert (IndexTable.open(path).version, split_files(path)) == (0, set())


def test_columns_that_no_partition_needs_are_null(path: Path) -> None:
    table = IndexTable.open(path)
    table.append(pa.table({"id": [1], "day": pa.nulls(1), "ts": pa.nulls(1)}))
    assert table.count("day IS NULL AND note IS NULL") == 1


def test_a_column_that_the_layout_no_longer_uses_may_be_left_out(path: Path) -> None:
    table = IndexTable.open(path)
    table.evolve_layout("day")
    table.append(pa.table({"day": ["mon"]}))
    assert table.count() == 1
