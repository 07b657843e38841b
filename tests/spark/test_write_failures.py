"""What fails leaves nothing behind, and says why."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConflictError, NestedTableError, StorageError, TableReplacedError
from indextables.spark.source import batch_writer
from indextables.write.write_job import commit_job
from tests.write.samples import planned, rows, split_files, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def failing(spark: Any, *, at: int) -> Any:
    """Four tasks of four rows; one of them fails in the middle."""
    return spark.range(16, numPartitions=4).selectExpr(
        "id", "id % 2 AS p", f"IF(id = {at}, CAST(raise_error('a bad row') AS string), 'fine') AS word"
    )


def write(frame: Any, path: Path, mode: str = "append", **options: Any) -> None:
    standard = {"optimizeWrite.enabled": "false", "targetRecordsPerSplit": 2, "partitionBy": "p"}
    frame.write.format("indextables").mode(mode).options(**standard, **options).save(str(path))


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_task_that_fails_after_others_have_written(spark: Any, path: Path, mode: str) -> None:
    write(failing(spark, at=-1), path)
    before = files(path)
    with pytest.raises(Exception, match="a bad row"):
        write(failing(spark, at=15), path, mode)
    assert (files(path), IndexTable.open(path).version) == (before, 0)


def test_a_first_write_that_fails_makes_no_table(spark: Any, path: Path) -> None:
    with pytest.raises(Exception, match="a bad row"):
        write(failing(spark, at=15), path)
    assert files(path) == []
    write(failing(spark, at=-1), path, "errorifexists")
    assert IndexTable.open(path).count() == 16


def test_a_table_inside_another_one_is_refused_before_a_file_is_written(spark: Any, path: Path) -> None:
    write(failing(spark, at=-1), path)
    before = files(path)
    for place in (path / "p=0", path.parent):
        with pytest.raises(NestedTableError, match=f"the table at {path};"):
            write(failing(spark, at=-1), place)
    assert files(path) == before


def test_a_directory_for_temporary_files_that_cannot_be(spark: Any, path: Path) -> None:
    with pytest.raises(StorageError, match="a split could not be built in /dev/full"):
        write(failing(spark, at=-1), path, **{"indexWriter.tempDirectoryPath": "/dev/full"})
    assert files(path) == []


def test_a_conflict_at_the_commit_is_seen_by_its_name_and_leaves_no_file(spark: Any, path: Path) -> None:
    from pyspark.sql.functions import arrow_udf  # noqa: PLC0415

    write(failing(spark, at=-1), path)
    before = files(path)

    @arrow_udf("bigint")  # type: ignore[call-overload]
    def append_meanwhile(ids: pa.Array) -> pa.Array:
        """A task of the overwrite, during which somebody else appends."""
        if 0 in ids.to_pylist():
            IndexTable.open(path).append(pa.table({"id": [100], "p": [0]}))
        return ids

    frame = failing(spark, at=-1)
    with pytest.raises(ConflictError, match="version 1 of .* was taken by APPEND"):
        write(frame.withColumn("id", append_meanwhile("id")), path, "overwrite")
    table = IndexTable.open(path)
    assert (table.version, table.count(), len(files(path))) == (1, 17, len(before) + 2)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_table_that_is_replaced_during_the_job_does_not_get_its_rows(spark: Any, path: Path, mode: str) -> None:
    from pyspark.sql.functions import arrow_udf  # noqa: PLC0415

    write(failing(spark, at=-1), path)

    @arrow_udf("bigint")  # type: ignore[call-overload]
    def replace_meanwhile(ids: pa.Array) -> pa.Array:
        if 0 in ids.to_pylist():
            shutil.rmtree(path)
            IndexTable.create(path, pa.schema({"other": pa.string()})).append([{"other": "x"}])
        return ids

    frame = failing(spark, at=-1).coalesce(1)
    with pytest.raises(TableReplacedError, match="the table at .* was replaced by another one"):
        write(frame.withColumn("id", replace_meanwhile("id")), path, mode)
    table = IndexTable.open(path)
    assert (table.version, table.scan().to_arrow().to_pylist()) == (1, [{"other": "x"}])
    assert len(list(path.rglob("*.split"))) == 1


def test_files_of_a_commit_whose_outcome_is_not_known_are_kept(path: Path) -> None:
    """Spark aborts after a commit that failed. If its version arrives in the store later, the table needs the files."""
    job = replace(planned(path), kill_timeout=0)
    results = written(job, rows(1), rows(2))
    messages = [batch_writer.TaskDone(result.encode()) for result in results]
    batch_writer.SplitSink(job).abort(messages)
    assert len(split_files(path)) == 2
    commit_job(job, results)
    batch_writer.SplitSink(job).abort(messages)
    assert IndexTable.open(path).count() == 2
    other = replace(planned(path), kill_timeout=0)
    [done] = written(other, rows(3))
    batch_writer.SplitSink(other).abort([batch_writer.TaskDone(done.encode()), None])
    assert len(split_files(path)) == 2
