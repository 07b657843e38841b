"""The streaming sink: each row once, whatever is replayed, with the settings, checks and errors of batch writes."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.functions import col, lit, raise_error, when
from pyspark.sql.types import StructType

import indextables
from indextables import IndexTable
from indextables.errors import ConfigError, SchemaError
from indextables.functions import indexquery
from indextables.spark.options import RUN
from indextables.spark.source import batch_writer
from indextables.spark.source.stream_writer import StreamSink, plan_batch
from indextables.write.write_job import write_task
from tests.spark.streams import Feed, finish, ids, operations, split_files


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return Feed(tmp_path / "input")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def writer(spark: Any, feed: Feed, tmp_path: Path) -> Any:
    """Makes a new writer whenever it is called; merges stay out of the way."""

    def make(frame: Any = None, **options: Any) -> Any:
        stream = feed.frame(spark) if frame is None else frame
        settings = {"checkpointLocation": str(tmp_path / "checkpoint"), "mergeOnWrite.enabled": "false", **options}
        return stream.writeStream.format("indextables").options(**settings)

    return make


@pytest.fixture
def named(spark: Any) -> Iterator[str]:
    yield "streamed"
    spark.sql("DROP TABLE IF EXISTS streamed")


def forget_last_batch(checkpoint: Path) -> int:
    """As if Spark had been killed after the commit of the sink, and before its own: the batch is run again."""
    last = max(int(file.name) for file in (checkpoint / "commits").iterdir() if file.name.isdigit())
    (checkpoint / "commits" / str(last)).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    return last


def batches(path: Path) -> list[int]:
    """The batches that are recorded in the history, the oldest first."""
    parameters = [dict(record) for record in IndexTable.open(path).history()["parameters"].to_pylist()]
    return [int(given["txnVersion"]) for given in reversed(parameters) if "txnVersion" in given]


def test_a_commit_per_batch_with_the_query_and_the_batch(writer: Any, feed: Feed, path: Path) -> None:
    for first in (0, 10, 20):
        feed.put(range(first, first + 10))
    query = finish(writer(), lambda w: w.start(str(path)))
    assert ids(path) == list(range(30))
    assert (operations(path), batches(path)) == (["APPEND"] * 3, [0, 1, 2])
    [app] = {dict(given)["txnAppId"] for given in IndexTable.open(path).history()["parameters"].to_pylist()}
    assert app == query.id
    feed.put(range(30, 40))
    assert finish(writer(), lambda w: w.option("path", str(path)).start()).id == query.id
    assert (ids(path), batches(path)) == (list(range(40)), [0, 1, 2, 3])


def test_an_empty_batch_writes_nothing(writer: Any, feed: Feed, path: Path, spark: Any) -> None:
    feed.put(range(10))
    finish(writer(feed.frame(spark).where("id > 100")), lambda w: w.start(str(path)))
    assert not path.exists()
    feed.put([101, 1])
    feed.put(range(10))
    finish(writer(feed.frame(spark).where("id > 100")), lambda w: w.start(str(path)))
    assert (ids(path), batches(path)) == ([101], [1])


def test_a_replayed_batch_is_skipped(writer: Any, feed: Feed, path: Path, tmp_path: Path) -> None:
    feed.put(range(10))
    feed.put(range(10, 20))
    finish(writer(), lambda w: w.start(str(path)))
    before = split_files(path)
    assert forget_last_batch(tmp_path / "checkpoint") == 1
    finish(writer(), lambda w: w.start(str(path)))
    assert (ids(path), operations(path), split_files(path)) == (list(range(20)), ["APPEND"] * 2, before)


@pytest.mark.parametrize("collect", ["0", "1M"])
def test_it_is_skipped_when_only_a_checkpoint_of_the_table_remembers_it(
    writer: Any, feed: Feed, path: Path, tmp_path: Path, collect: str
) -> None:
    feed.put(range(10))
    finish(writer(), lambda w: w.start(str(path)))
    table = IndexTable.open(path)
    for n in range(3):
        table.append({"id": [100 + n], "day": ["wed"], "message": ["of another writer"]})
    table.merge_splits()
    table.checkpoint()
    table.purge(older_than=timedelta(0), force=True)
    files = split_files(path)
    forget_last_batch(tmp_path / "checkpoint")
    finish(writer(**{"streaming.collectSize": collect}), lambda w: w.start(str(path)))
    assert (len(ids(path)), split_files(path)) == (13, files)


def test_a_batch_that_fails_leaves_no_file_and_goes_through_later(
    writer: Any, feed: Feed, path: Path, spark: Any
) -> None:
    feed.put(range(10))
    finish(writer(), lambda w: w.start(str(path)))
    feed.put(range(10, 20))
    frame = feed.frame(spark)
    broken = frame.withColumn("message", when(col("id") == 15, raise_error(lit("fifteen"))).otherwise(col("message")))
    with pytest.raises(StreamingQueryException, match="fifteen"):
        finish(writer(broken, **{"streaming.collectSize": "0"}), lambda w: w.start(str(path)))
    assert (ids(path), len(split_files(path))) == (list(range(10)), 1)
    finish(writer(), lambda w: w.start(str(path)))
    assert (ids(path), batches(path)) == (list(range(20)), [0, 1])


def test_a_driver_killed_before_there_is_a_table_leaves_no_file(
    writer: Any, feed: Feed, path: Path, tmp_path: Path
) -> None:
    feed.put(range(10))
    finish(writer(), lambda w: w.start(str(path)))
    [left] = split_files(path)
    shutil.rmtree(path / "_transaction_log")  # as if it had been killed before the commit
    assert forget_last_batch(tmp_path / "checkpoint") == 0
    finish(writer(), lambda w: w.start(str(path)))
    assert ids(path) == list(range(10))
    assert [left] != split_files(path) == IndexTable.open(path).splits()["path"].to_pylist()


def test_an_abort_deletes_the_files_of_its_own_run_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drivers run the same batch of a query: one fails, the other one is about to commit."""
    schema = StructType.fromDDL("id long")
    options = [{"path": str(path), RUN: run} for run in ("first", "second")]
    rows = pa.record_batch({"id": [1, 2]})
    adds = [
        write_task(plan_batch(given, schema, overwrite=False).numbered("query", 0), [rows], task=0).adds
        for given in options
    ]
    monkeypatch.setattr(batch_writer.time, "sleep", lambda seconds: None)  # no task runs
    assert len(split_files(path)) == 2
    StreamSink(options[0], schema, overwrite=False).abort([], 0)
    assert len(split_files(path)) == 2  # no task has failed: the commit was tried, and may have happened
    StreamSink(options[0], schema, overwrite=False).abort([None], 0)
    assert split_files(path) == [adds[1][0].path]
    StreamSink({"path": str(path)}, schema, overwrite=False).abort([None], 0)
    assert split_files(path) == [adds[1][0].path]


def test_small_tasks_leave_their_rows_to_the_commit(writer: Any, feed: Feed, path: Path, spark: Any) -> None:
    for first in range(0, 40, 10):
        feed.put(range(first, first + 10))
    frame = feed.frame(spark, files=2).repartition(4)
    finish(writer(frame, partitionBy="day"), lambda w: w.start(str(path)))
    assert len(split_files(path)) == 4  # of two batches with two partitions
    for first in range(40, 60, 10):
        feed.put(range(first, first + 10))
    frame = feed.frame(spark, files=2).repartition(4)
    finish(writer(frame, **{"streaming.collectSize": "0"}), lambda w: w.start(str(path)))
    assert len(split_files(path)) > 6
    assert ids(path) == list(range(60))


def test_it_writes_the_rows_that_a_parquet_sink_writes(
    writer: Any, feed: Feed, path: Path, spark: Any, tmp_path: Path
) -> None:
    feed.put(range(500))
    feed.put([], id=None)
    feed.put(range(500, 700), message=None)
    finish(writer(partitionBy="day", **{"indexing.typemap.message": "text"}), lambda w: w.start(str(path)))
    parquet = feed.frame(spark).writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "other"))
    finish(parquet, lambda w: w.start(str(tmp_path / "parquet")))
    expected = spark.read.parquet(str(tmp_path / "parquet"))
    found = spark.read.format("indextables").load(str(path))
    assert found.exceptAll(expected).count() == expected.exceptAll(found).count() == 0
    assert found.filter(indexquery("message", "42")).count() == expected.filter("message LIKE '% 42'").count() == 1


def test_a_small_split_of_every_batch_is_merged_beside_the_stream(writer: Any, feed: Feed, path: Path) -> None:
    for first in range(0, 120, 10):
        feed.put(range(first, first + 10))
    settings = {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "3"}
    finish(writer(**settings), lambda w: w.start(str(path)))
    assert ids(path) == list(range(120))
    assert "MERGE SPLITS" in operations(path)
    assert IndexTable.open(path).splits().num_rows < 12


def test_output_mode_complete_overwrites_the_table(writer: Any, feed: Feed, path: Path, spark: Any) -> None:
    for first in (0, 10):
        feed.put(range(first, first + 10))
    counts = feed.frame(spark).groupBy("day").count()
    finish(writer(counts).outputMode("complete"), lambda w: w.start(str(path)))
    assert IndexTable.open(path).scan().to_arrow().sort_by("day").to_pylist() == [
        {"day": "mon", "count": 10},
        {"day": "tue", "count": 10},
    ]
    assert set(operations(path)) == {"OVERWRITE"}


def test_output_mode_update_is_refused(writer: Any, feed: Feed, path: Path, spark: Any) -> None:
    counts = feed.frame(spark).groupBy("day").count()
    with pytest.raises(ConfigError, match='use "append", "complete", or foreachBatch'):
        writer(counts).outputMode("update").start(str(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nosuch": "1"}, "there is no setting 'nosuch'"),
        ({"txnAppId": "a", "txnVersion": "1"}, "a stream records its own query and batch"),
        ({"replaceWhere": "day = 'mon'"}, "replaceWhere needs mode overwrite"),
        ({"indexing.typemap.nosuch": "text"}, "nosuch"),
    ],
)
def test_what_is_wrong_is_refused_when_the_query_starts(
    writer: Any, path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(indextables.IndexTablesError, match=message):
        writer(**options).start(str(path))
    assert not path.exists()


def test_columns_of_another_type_are_refused_when_the_query_starts(
    writer: Any, feed: Feed, path: Path, spark: Any
) -> None:
    IndexTable.create(path, pa.schema({"id": pa.string()}))
    with pytest.raises(SchemaError, match="'id' is string, and the data has long"):
        writer(feed.frame(spark).select("id")).start(str(path))
    with pytest.raises(ConfigError, match=r"use start\(path\) or toTable\(name\)"):
        writer().start()


def test_a_query_goes_on_after_the_table_has_changed(writer: Any, feed: Feed, path: Path) -> None:
    """A new column, another layout, a compaction, a vacuum, log files cleaned up."""
    feed.put(range(10))
    feed.put(range(10, 20))
    finish(writer(), lambda w: w.start(str(path)))
    table = IndexTable.open(path)
    table.add_column("level", "string")
    table.evolve_layout("day")
    table.merge_splits(rewrite_layout=True)
    table.purge(older_than=timedelta(0), force=True)
    feed.put(range(20, 30))
    finish(writer(), lambda w: w.start(str(path)))
    table.refresh()
    assert (ids(path), table.count("level IS NULL")) == (list(range(30)), 30)
    assert {tuple(row.items()) for row in table.splits()["partition"].to_pylist()} == {
        (("day", "mon"),),
        (("day", "tue"),),
    }


def test_new_columns_come_with_merge_schema(writer: Any, feed: Feed, path: Path, spark: Any) -> None:
    feed.put(range(10))
    finish(writer(), lambda w: w.start(str(path)))
    feed.put(range(10, 20), level="WARN")
    wider = "id long, day string, message string, level string"
    with pytest.raises(SchemaError, match="mergeSchema"):
        writer(feed.frame(spark, wider)).start(str(path))
    finish(writer(feed.frame(spark, wider), mergeSchema="true"), lambda w: w.start(str(path)))
    assert (ids(path), IndexTable.open(path).count("level = 'WARN'")) == (list(range(20)), 10)


def test_two_queries_write_to_one_table(writer: Any, feed: Feed, path: Path, spark: Any, tmp_path: Path) -> None:
    feed.put(range(10))
    feed.put(range(10, 20))
    other = feed.frame(spark).withColumn("id", col("id") + 100)
    queries = [
        writer().trigger(availableNow=True).start(str(path)),
        writer(other, checkpointLocation=str(tmp_path / "other")).trigger(availableNow=True).start(str(path)),
    ]
    for query in queries:
        query.awaitTermination()
    assert ids(path) == [*range(20), *range(100, 120)]
    forget_last_batch(tmp_path / "other")
    feed.put(range(20, 30))
    finish(writer(), lambda w: w.start(str(path)))
    finish(writer(other, checkpointLocation=str(tmp_path / "other")), lambda w: w.start(str(path)))
    assert ids(path) == [*range(30), *range(100, 130)]


def test_a_table_of_the_catalog(writer: Any, feed: Feed, spark: Any, named: str) -> None:
    feed.put(range(10))
    finish(writer().partitionBy("day"), lambda w: w.toTable(named))
    assert spark.table(named).count() == 10
    feed.put(range(10, 20))
    finish(writer(), lambda w: w.toTable(named))
    assert spark.sql(f"SELECT day, count(*) AS n FROM {named} GROUP BY day ORDER BY day").collect() == [
        ("mon", 10),
        ("tue", 10),
    ]
    with pytest.raises(ConfigError, match="leave the path out"):
        writer(path="/somewhere/else").toTable(named)


def test_a_query_that_does_not_start_leaves_no_table_in_the_catalog(writer: Any, spark: Any) -> None:
    with pytest.raises(ConfigError):
        writer(nosuch="1").toTable("never")
    assert not spark.catalog.tableExists("never")
    spark.range(1).createOrReplaceTempView("a_view")
    spark.sql("CREATE TABLE other USING parquet AS SELECT 1 AS id")
    with pytest.raises(ConfigError, match="not of the format indextables"):
        writer().toTable("other")
    spark.sql("DROP TABLE other")


def test_a_table_of_ours_is_not_written_as_another_format(writer: Any, feed: Feed, named: str) -> None:
    feed.put(range(10))
    finish(writer(), lambda w: w.toTable(named))
    with pytest.raises(ConfigError, match="is of the format indextables, not parquet; leave the format out"):
        writer().format("parquet").toTable(named)


@pytest.mark.parametrize(
    ("first", "last"),
    [("partitionBy", "spark.indextables.partitionBy"), ("spark.indextables.partitionBy", "partitionBy")],
)
def test_the_last_of_two_names_of_a_setting_counts(writer: Any, feed: Feed, path: Path, first: str, last: str) -> None:
    feed.put(range(10))
    finish(writer().option(first, "id").option(last, "day"), lambda w: w.start(str(path)))
    assert len(split_files(path / "day=mon")) == 1


def test_the_progress_has_the_version_and_its_figures(writer: Any, feed: Feed, path: Path) -> None:
    feed.put(range(10))
    feed.put(range(10, 30))
    query = finish(writer(), lambda w: w.start(str(path)))
    table = IndexTable.open(path)
    metrics = [progress.sink.metrics for progress in query.recentProgress if progress.numInputRows]
    assert [(m["version"], m["numAddedRows"], m["numAddedSplits"]) for m in metrics] == [
        ("0", "10", "1"),
        ("1", "20", "1"),
    ]
    assert sum(int(m["numAddedBytes"]) for m in metrics) == sum(table.splits()["size"].to_pylist())
    assert query.lastProgress["sink"]["metrics"] == metrics[-1]


def test_foreach_batch_with_numbered_writes_stays_as_it_was(feed: Feed, path: Path, spark: Any, tmp_path: Path) -> None:
    feed.put(range(10))
    feed.put(range(10, 20))

    def write(frame: Any, batch: int) -> None:
        numbered = frame.write.format("indextables").option("txnAppId", "app").option("txnVersion", batch)
        numbered.mode("append").save(str(path))

    def stream() -> Any:
        return feed.frame(spark).writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "each"))

    finish(stream(), lambda w: w.start())
    forget_last_batch(tmp_path / "each")
    finish(stream(), lambda w: w.start())
    assert (ids(path), batches(path)) == (list(range(20)), [0, 1])


def test_a_coalesced_table(writer: Any, feed: Feed, path: Path) -> None:
    feed.put(range(50))
    feed.put(range(50, 100))
    settings = {"partitionBy": "day", "coalesce.enabled": "true", "coalesce.columns": "day", "coalesce.minRows": "1000"}
    finish(writer(**settings), lambda w: w.start(str(path)))
    table = IndexTable.open(path)
    assert (ids(path), table.splits().num_rows) == (list(range(100)), 2)
    assert table.count("day = 'mon'") == 50
