"""Merging with Spark: by executors, and after writes."""

from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from indextables import IndexTable
from tests.spark.samples import rows, written


def test_executors_merge_groups_and_the_driver_commits(spark: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "t", partition_by="level")
    before = table.scan().to_arrow().sort_by("id")
    version = table.version
    result = table.merge_splits(spark=spark)
    assert (result.merged, result.version) == (4, version + 1)
    assert (result.splits_before, result.splits_after, result.conflicts) == (8, 4, ())
    assert str(table.scan().to_arrow().sort_by("id").to_pylist()) == str(before.to_pylist())
    assert table.count(query="message:timeout") == sum("timeout" in (m or "") for m in rows()["message"].to_pylist())
    assert spark.read.format("indextables").load(table.path).count() == 60


def test_groups_of_several_jobs_are_one_version(spark: Any, tmp_path: Path) -> None:
    groups = 4 * spark.sparkContext.defaultParallelism + 1
    data = pa.table({"p": range(groups), "n": range(groups)})
    table = IndexTable.create(tmp_path / "t", data.schema, partition_by="p")
    table.append(data)
    table.append(data)
    done: list[tuple[int, int]] = []
    result = table.merge_splits(spark=spark, progress=lambda progress: done.append((progress.done, progress.groups)))
    assert (result.merged, result.splits_after, result.version) == (groups, groups, 3)
    assert done == [(number, groups) for number in range(1, groups + 1)]
    assert sorted(table.scan().to_arrow()["n"].to_pylist()) == sorted([*range(groups)] * 2)


def test_writes_merge_what_they_leave(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(3):
        frame = spark.range(10 * number, 10 * number + 10, numPartitions=2)
        frame.write.format("indextables").mode("append").option("mergeOnWrite.enabled", "true").option(
            "mergeOnWrite.minSplits", "3"
        ).option("optimizeWrite.enabled", "false").save(path)
    table = IndexTable.open(path)
    assert table.history()["operation"].to_pylist() == ["MERGE SPLITS", "APPEND", "MERGE SPLITS", "APPEND", "APPEND"]
    assert table.splits()["num_records"].to_pylist() == [30]
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(30))


class TestDeletedRows:
    KEEP_VECTORS: ClassVar = {"deletionVectors.maxDeletedShare": "1"}

    def test_executors_leave_them_out(self, spark: Any, tmp_path: Path) -> None:
        table = written(tmp_path / "t", partition_by="level")
        assert table.delete("id IN (3, 4, 5)", options=self.KEEP_VECTORS).vectors
        left = sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
        result = table.merge_splits(spark=spark, deleted_rows=True)
        assert result.deleted_rows == 3
        assert sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist()) == left
        assert set(table.splits()["deleted_rows"].to_pylist()) == {0}

    def test_rows_that_are_deleted_meanwhile_stay_deleted(self, spark: Any, tmp_path: Path) -> None:
        table = written(tmp_path / "t", partition_by="level")
        table.delete("id = 3", options=self.KEEP_VECTORS)
        deleted: list[int] = []

        def delete_once(_: object) -> None:
            if not deleted:
                deleted.append(IndexTable.open(table.path).delete("id IN (4, 5)", options=self.KEEP_VECTORS).vectors)

        result = table.merge_splits(spark=spark, progress=delete_once)
        assert deleted[0] > 0
        assert len(result.conflicts) > 0
        left = sorted(table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist())
        assert not {3, 4, 5} & {*left}
        assert len(left) == 57
