"""A write by many tasks: what is refused before any file, what one commit holds, and what a failure leaves behind."""

import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    ConflictError,
    IndexTablesError,
    LayoutError,
    SchemaError,
    StorageError,
    TableExistsError,
    TableReplacedError,
)
from indextables.log import TransactionLog
from indextables.write.write_job import Mode, TaskResult, abort_job, commit_job
from tests.write.samples import SCHEMA, planned, rows, split_files, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def ids(path: Path) -> list[int]:
    return sorted(IndexTable.open(path).scan(columns=["id"]).to_arrow()["id"].to_pylist())


def test_the_first_version_holds_everything(path: Path) -> None:
    job = planned(path)
    assert commit_job(job, written(job, rows(1, 2), rows(3, day="tue"))).version == 0
    assert ids(path) == [1, 2, 3]
    content = (path / "_transaction_log" / f"{0:018}.json").read_text().splitlines()
    assert [line.split('"')[1] for line in content] == ["commitInfo", "protocol", "metaData", "add", "add"]


def test_no_rows_still_make_a_table_but_no_second_version(path: Path) -> None:
    job = planned(path)
    assert commit_job(job, written(job, rows())).version == 0
    assert (IndexTable.open(path).count(), split_files(path)) == (0, set())
    again = planned(path)
    assert commit_job(again, written(again, rows(), rows())).version == 0


def test_one_task_with_three_partitions_adds_three_splits(path: Path) -> None:
    job = planned(path)
    batch = pa.Table.from_batches([rows(1), rows(2, day="tue"), rows(3, day="wed")]).combine_chunks().to_batches()[0]
    commit_job(job, [*written(job, batch), TaskResult(adds=[])])
    metrics = dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])
    expected = {"numAddedSplits": "3", "numAddedRows": "3", "numPartitions": "3", "numTasks": "2", "numEmptyTasks": "1"}
    assert metrics.items() >= expected.items()
    assert metrics.keys() >= {"numAddedBytes", "taskTimeMs", "writeTimeMs"}


def test_a_job_and_its_results_travel(path: Path) -> None:
    job = pickle.loads(pickle.dumps(planned(path)))
    results = [TaskResult.decode(result.encode()) for result in written(job, rows(1))]
    commit_job(job, results)
    assert ids(path) == [1]


def test_overwrite_replaces_and_names_what_it_removed(path: Path) -> None:
    for mode, number in [(Mode.APPEND, 1), (Mode.APPEND, 2), (Mode.OVERWRITE, 3)]:
        job = planned(path, mode)
        commit_job(job, written(job, rows(number)))
    assert ids(path) == [3]
    assert dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])["numRemovedSplits"] == "2"


def array(schema: pa.Schema, name: str, kind: pa.DataType) -> pa.Schema:
    return schema.set(schema.get_field_index(name), pa.field(name, kind))


@pytest.mark.parametrize(
    ("plan", "error", "message"),
    [
        (
            lambda p: planned(p, schema=array(SCHEMA, "message", pa.list_(pa.string()))),
            SchemaError,
            "column 'message' has",
        ),
        (
            lambda p: planned(p, schema=SCHEMA.append(pa.field("ID", pa.int64()))),
            SchemaError,
            "'id', 'ID' have the same",
        ),
        (lambda p: planned(p, partitionBy="dya"), LayoutError, "dya names a column that is not there"),
        (lambda p: planned(p, partitionBy="day, id, message"), LayoutError, "takes every column"),
        (lambda p: planned(p, partitionBy="day(id)"), LayoutError, "not possible"),
        (lambda p: planned(p, schema=array(SCHEMA, "day", pa.binary())), LayoutError, "not possible"),
        (lambda p: planned(p, **{"autoSize.enabled": "true"}), ConfigError, "targetSplitSize"),
        (lambda p: planned(p, **{"optimizeWrite.enbled": "true"}), ConfigError, "did you mean"),
        (lambda p: planned(p, **{"optimizeWrite.clusterBy": "nme"}), SchemaError, "clusterBy names a column 'nme'"),
        (lambda p: planned(p, **{"indexing.typemap.id": "text"}), SchemaError, "cannot be indexed as 'text'"),
        (lambda p: planned(p, Mode.OVERWRITE, replaceWhere="day = 'mon'"), ConfigError, "only replace the whole table"),
    ],
)
def test_refused_before_any_file(
    path: Path, plan: Callable[[Path], Any], error: type[IndexTablesError], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("plan", "error", "message"),
    [
        (
            lambda p: planned(p, **{"indexing.typemap.message": "string"}),
            SchemaError,
            "indexed as text .* asks for string",
        ),
        (
            lambda p: planned(p, schema=array(SCHEMA, "id", pa.float64())),
            SchemaError,
            "is long, and the data has double",
        ),
        (
            lambda p: planned(p, schema=SCHEMA.append(pa.field("x", pa.int64()))),
            SchemaError,
            "no column 'x'.*mergeSchema",
        ),
        (lambda p: planned(p, partitionBy="id"), LayoutError, "partitioned by day, and partitionBy asks for id"),
        (lambda p: planned(p, partitionBy=""), LayoutError, "partitioned by day, and partitionBy asks for nothing"),
        (lambda p: planned(p, Mode.ERROR), TableExistsError, "there is a table"),
    ],
)
def test_refused_by_a_table_that_is_there(
    path: Path, plan: Callable[[Path], Any], error: type[IndexTablesError], message: str
) -> None:
    job = planned(path, **{"indexing.typemap.message": "text"})
    commit_job(job, written(job, rows(1)))
    before = split_files(path)
    with pytest.raises(error, match=message):
        plan(path)
    assert (split_files(path), IndexTable.open(path).version) == (before, 0)


def test_new_columns_with_merge_schema_leave_indexed_fields_alone(path: Path) -> None:
    commit_job(planned(path, **{"indexing.typemap.message": "text"}), [])
    wider = SCHEMA.append(pa.field("level", pa.string()))
    with pytest.raises(SchemaError, match="indexed as text"):
        planned(path, schema=wider, mergeSchema="true", **{"indexing.typemap.message": "string"})
    job = planned(path, schema=wider, mergeSchema="true", **{"indexing.typemap.level": "text"})
    commit_job(job, written(job, rows(1).append_column("level", pa.array(["INFO"]))))
    table = IndexTable.open(path)
    assert table.schema.names == ["day", "id", "message", "level"]
    assert table.search("level:info").num_rows == 1


def test_two_creators_by_append_both_count(path: Path) -> None:
    first, second = planned(path), planned(path)
    commit_job(second, written(second, rows(2)))
    assert commit_job(first, written(first, rows(1))).version == 1
    assert ids(path) == [1, 2]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"partitionBy": "id"}, r"another layout \(id\)"),
        ({"schema": array(SCHEMA, "id", pa.int32())}, "other columns"),
        ({"indexing.typemap.message": "text"}, "other types of fields"),
    ],
)
def test_the_second_creator_is_refused_where_its_rows_do_not_belong(
    path: Path, other: dict[str, Any], difference: str
) -> None:
    loser, winner = planned(path), planned(path, **other)
    results = written(loser, rows(1))
    commit_job(winner, [])
    with pytest.raises(ConflictError, match=difference):
        commit_job(loser, results)
    abort_job(loser)
    assert split_files(path) == set()


def test_creators_that_expect_no_table_lose_the_race_quietly_or_aloud(path: Path) -> None:
    ignoring, insisting = planned(path, Mode.IGNORE), planned(path, Mode.ERROR)
    results = [written(job, rows(number)) for number, job in enumerate((ignoring, insisting))]
    winner = planned(path)
    commit_job(winner, written(winner, rows(7)))
    assert commit_job(ignoring, results[0]).version == 0
    with pytest.raises(TableExistsError):
        commit_job(insisting, results[1])
    abort_job(insisting)
    assert ids(path) == [7]
    assert len(split_files(path)) == 1


def test_an_overwrite_that_missed_an_append_fails_and_leaves_no_file(path: Path) -> None:
    commit_job(planned(path), [])
    overwriting, appending = planned(path, Mode.OVERWRITE), planned(path)
    results = written(overwriting, rows(1))
    commit_job(appending, written(appending, rows(2)))
    with pytest.raises(ConflictError):
        commit_job(overwriting, results)
    abort_job(overwriting)
    assert (ids(path), len(split_files(path))) == ([2], 1)


def test_a_commit_to_a_table_that_was_replaced_leaves_no_file(path: Path) -> None:
    commit_job(planned(path), [])
    job = planned(path)
    results = written(job, rows(1))
    shutil.rmtree(path / "_transaction_log")
    IndexTable.create(path, {"other": pa.string()})
    with pytest.raises(TableReplacedError):
        commit_job(job, results)
    assert split_files(path) == set()


def test_of_two_attempts_only_the_one_that_counts_stays(path: Path) -> None:
    job = planned(path)
    written(job, rows(1))  # killed after it wrote; nobody heard of it again
    commit_job(job, written(job, rows(1), attempt=1))
    assert (ids(path), len(split_files(path))) == ([1], 1)


def test_a_commit_has_happened_even_if_leftovers_cannot_be_deleted(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = planned(path)
    written(job, rows(1))

    def broken(*_: object, **__: object) -> None:
        raise StorageError("the disk does not answer", path=str(path))

    monkeypatch.setattr("indextables.write.uncommitted_files.files_of_table", broken)
    assert commit_job(job, written(job, rows(1), attempt=1)).version == 0
    assert (ids(path), len(split_files(path))) == ([1], 2)
    assert "files of lost tasks may be left; a vacuum deletes them" in caplog.text


def test_abort_deletes_only_files_of_the_job_that_are_not_committed(path: Path) -> None:
    other, done, failed = planned(path), planned(path), planned(path)
    written(other, rows(5))
    commit_job(done, written(done, rows(1)))
    written(failed, rows(2), rows(3, day="tue"))
    foreign = path / "day=mon" / "part-00000-notes.txt"
    foreign.write_text("not ours")
    assert len(abort_job(failed)) == 2
    assert abort_job(done) == []
    assert (ids(path), len(split_files(path)), foreign.exists()) == ([1], 2, True)


def test_abort_keeps_what_was_committed_and_overwritten_since(path: Path) -> None:
    job = planned(path)
    commit_job(job, written(job, rows(1)))
    overwriting = planned(path, Mode.OVERWRITE)
    commit_job(overwriting, written(overwriting, rows(2)))
    assert abort_job(job) == []
    assert IndexTable.open(path, version=0).count() == 1


def test_a_batch_of_an_application_is_written_once(path: Path) -> None:
    progress = {"txnAppId": "app", "txnVersion": "5"}
    for done in (False, True):
        job = planned(path, **progress)
        assert job.already_committed is done
        commit_job(job, written(job, rows(1)))
    assert (ids(path), len(split_files(path))) == ([1], 1)


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
def test_a_batch_that_two_drivers_create_the_table_with_is_written_once(path: Path, mode: Mode) -> None:
    jobs = [planned(path, mode, txnAppId="app", txnVersion="0") for _ in range(2)]
    results = [written(job, rows(1)) for job in jobs]
    for job, result in zip(jobs, results, strict=True):
        assert commit_job(job, result).version == 0
    assert (ids(path), len(split_files(path))) == ([1], 1)


def test_a_later_batch_does_not_join_a_table_that_an_earlier_one_has_just_created(path: Path) -> None:
    jobs = [planned(path, txnAppId="app", txnVersion=version) for version in ("0", "1")]
    results = [written(job, rows(1)) for job in jobs]
    commit_job(jobs[0], results[0])
    with pytest.raises(ConflictError, match="two instances of the application are running"):
        commit_job(jobs[1], results[1])
    assert (ids(path), len(split_files(path))) == ([1], 1)


def test_auto_size_learns_from_the_table(path: Path) -> None:
    first = planned(path)
    commit_job(first, written(first, rows(*range(100))))
    size = TransactionLog.open(path).snapshot().splits["size"][0].as_py()
    job = planned(path, **{"autoSize.enabled": "true", "autoSize.targetSplitSize": str(size)})
    assert job.plan.config.write.target_records == 100
    table = IndexTable.open(path)
    table.append(
        pa.Table.from_batches([rows(*range(250))]),
        options={"autoSize.enabled": "true", "autoSize.targetSplitSize": str(size)},
    )
    assert sorted(table.splits()["num_records"].to_pylist()) == [50, 100, 100, 100]


@pytest.mark.parametrize(("moment", "versions"), [("before", 1), ("after", 2)])
def test_a_driver_that_is_killed_leaves_the_table_as_it_was_or_as_it_should_be(
    path: Path, moment: str, versions: int
) -> None:
    first = planned(path)
    commit_job(first, written(first, rows(1)))
    script = f"""
import os, signal
from pathlib import Path
from indextables.write.write_job import commit_job
from tests.write.samples import planned, rows, written
job = planned(Path({str(path)!r}))
results = written(job, rows(2))
if {moment!r} == "after":
    commit_job(job, results)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL
    assert ids(path) == list(range(1, versions + 1))
    assert len(split_files(path)) == 2


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 32 KB, where this may be made."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(place)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_for_temporary_files_is_named_and_nothing_is_left(path: Path, tiny_disk: Path) -> None:
    job = planned(path, **{"indexWriter.tempDirectoryPath": str(tiny_disk)})
    with pytest.raises(StorageError, match="a split could not be built in .*tempDirectoryPath"):
        written(job, rows(*range(200_000)))
    assert (list(tiny_disk.iterdir()), split_files(path)) == ([], set())
