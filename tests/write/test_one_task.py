"""Writes of an `IndexTable`: the same job as a write by many tasks, with the same checks, in three requests."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConflictError, LayoutError, SchemaError
from tests.write.samples import SCHEMA, rows, split_files


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    return IndexTable.create(tmp_path / "table", SCHEMA, partition_by="day")


def test_an_append_takes_three_requests(table: IndexTable) -> None:
    table.append(rows(1))
    before = table.traffic
    table.append(rows(2))
    assert (table.traffic - before).requests == 3, "the version that was read, the split, and the new version"


def test_the_log_has_the_metrics_of_a_job(table: IndexTable) -> None:
    table.append(rows(1, 2))
    entry = table.history().to_pylist()[0]
    expected = {"numAddedSplits": "1", "numAddedRows": "2", "numPartitions": "1", "numTasks": "1", "numEmptyTasks": "0"}
    assert dict(entry["metrics"]).items() >= expected.items()
    assert dict(entry["parameters"]).items() >= {"mode": "append", "partitionBy": "day"}.items()


@pytest.mark.parametrize("write", ["append", "overwrite"])
def test_settings_that_contradict_the_table_are_refused_before_any_file(table: IndexTable, write: str) -> None:
    with pytest.raises(LayoutError, match="partitioned by day, and partitionBy asks for id"):
        getattr(table, write)(rows(1), options={"partitionBy": "id"})
    with pytest.raises(SchemaError, match="clusterBy names a column 'nme'"):
        getattr(table, write)(rows(1), options={"optimizeWrite.clusterBy": "nme"})
    assert (table.refresh().version, split_files(Path(table.path))) == (0, set())
    assert getattr(table, write)(rows(1), options={"partitionBy": "day"}) == 1


def test_the_layout_of_a_new_table_may_be_an_option_or_a_property(tmp_path: Path) -> None:
    key = "spark.indextables.partitionBy"
    for number, given in enumerate([{"options": {"partitionBy": "day"}}, {"properties": {key: "day"}}]):
        table = IndexTable.create(tmp_path / str(number), SCHEMA, **given)
        assert (str(table.layout), table.append(rows(1))) == ("day", 1)
    with pytest.raises(LayoutError, match="partitioned by id, and partitionBy asks for day"):
        IndexTable.create(tmp_path / "both", SCHEMA, partition_by="id", properties={key: "day"})
    assert not (tmp_path / "both").exists()


def test_batches_of_which_nobody_knows_the_schema(table: IndexTable) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield rows(1)
        yield rows(2).select(["id", "day"])

    assert table.append(batches()) == 1
    assert table.scan(where="message IS NULL").to_arrow()["id"].to_pylist() == [2]
    assert table.append(iter(())) == 1
    wider = rows(3).append_column("level", pa.array(["INFO"]))
    with pytest.raises(SchemaError, match="no column 'level'"):
        table.append(iter([wider]))
    assert table.append(iter([wider]), options={"mergeSchema": "true"}) == 2
    assert table.count("level = 'INFO'") == 1


def test_a_batch_of_an_application_is_written_once(table: IndexTable) -> None:
    for version in ("5", "5", "4"):
        assert table.append(rows(1), options={"txnAppId": "app", "txnVersion": version}) == 1
    assert (table.count(), len(split_files(Path(table.path)))) == (1, 1)


def test_an_overwrite_that_lost_the_race_leaves_no_file(table: IndexTable) -> None:
    late = IndexTable.open(table.path)
    table.append(rows(1))
    with pytest.raises(ConflictError):
        late.overwrite(rows(2))
    assert len(split_files(Path(table.path))) == 1
