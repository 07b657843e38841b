"""Frames to tables: modes, layouts, settings and validation, as a user of Spark meets them."""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, IndexTablesError, LayoutError, SchemaError, StorageError, TableExistsError


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def logs(spark: Any) -> Any:
    """Twelve lines of two days and three hours."""
    return spark.range(12, numPartitions=2).selectExpr(
        "id",
        "IF(id < 6, '2024-01-01', '2024-01-02') AS date",
        "CAST(id % 3 AS INT) AS hour",
        "concat('request ', id, ' timed out') AS message",
        "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS INT) * 4) AS ts",
    )


@pytest.fixture
def session_setting(spark: Any) -> Iterator[Callable[[str, str], None]]:
    keys = []

    def set_it(key: str, value: str) -> None:
        keys.append(key)
        spark.conf.set(key, value)

    yield set_it
    for key in keys:
        spark.conf.unset(key)


def save(frame: Any, path: str, mode: str = "errorifexists", **options: str) -> None:
    frame.write.format("indextables").mode(mode).options(**options).save(path)


def ids(path: str) -> list[int]:
    return sorted(IndexTable.open(path).scan(columns=["id"]).to_arrow()["id"].to_pylist())


def rows_per_split(path: str) -> list[int]:
    return sorted(IndexTable.open(path).splits()["num_records"].to_pylist())


def files(path: str) -> set[str]:
    return {str(file) for file in Path(path).rglob("*") if file.is_file()}


def actions(path: str, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path, "_transaction_log", f"{version:018}.json").read_text().splitlines()]


def test_a_partitioned_table(logs: Any, path: str) -> None:
    writer = logs.write.format("indextables").partitionBy("date", "hour")
    writer.option("spark.indextables.indexing.typemap.message", "text").save(path)
    adds = [action["add"] for action in actions(path, 0) if "add" in action]
    assert [next(iter(action)) for action in actions(path, 0)][:3] == ["commitInfo", "protocol", "metaData"]
    assert {add["path"].rpartition("/")[0] for add in adds} == {
        f"date=2024-01-0{day}/hour={hour}" for day in (1, 2) for hour in (0, 1, 2)
    }
    assert {"date": "2024-01-02", "hour": "2"} in [add["partitionValues"] for add in adds]
    assert all(add["numRecords"] == 2 and add["minValues"] and add["hasFooterOffsets"] for add in adds)
    table = IndexTable.open(path)
    assert (table.count(), table.count("date = '2024-01-01' AND hour = 1")) == (12, 2)
    assert table.search("message:timed AND hour:2 AND message:11").num_rows == 1  # partition columns are indexed too


def test_a_layout_that_queries_need_not_know(logs: Any, path: str) -> None:
    save(logs, path, partitionBy="day(ts), bucket(2, id)", targetRecordsPerSplit="4")
    table = IndexTable.open(path)
    assert str(table.layout) == "day(ts), bucket(2, id)"
    assert (table.count(), table.scan().group_by("ts").count().num_rows) == (12, 12)
    assert table.scan(where="ts >= '2024-01-02T00:00:00Z'").explain().never > 0


def test_values_that_are_no_plain_words(spark: Any, path: str) -> None:
    given = [(0, "a/b"), (1, None), (2, ""), (3, "x=y z"), (4, "__HIVE_DEFAULT_PARTITION__"), (5, "é%2F")]
    spark.createDataFrame(given, "id long, `the key` string").write.format("indextables").partitionBy("the key").save(
        path
    )
    table = IndexTable.open(path)
    assert table.scan().to_arrow().sort_by("id").to_pylist() == [{"id": i, "the key": key} for i, key in given]
    assert len(table.splits()) == len(given)


def test_every_type_comes_back(spark: Any, path: str) -> None:
    frame = spark.sql(
        """SELECT 1Y AS tiny, 2S AS small, 3 AS whole, 4L AS id, 1.5F AS ratio, 2.5D AS price, 12.34BD AS cost, true AS flag,
                  'text' AS word, X'00FF' AS raw, date'1969-12-31' AS day, timestamp'2024-01-01 00:00:00.123456' AS at,
                  timestamp_ntz'2024-01-01 00:00:00' AS wall, CAST(null AS string) AS nothing"""
    )
    save(frame, path)
    assert IndexTable.open(path).scan().to_arrow().to_pylist() == frame.toArrow().to_pylist()


def test_modes(logs: Any, path: str) -> None:
    first, second = logs.where("id < 2"), logs.where("id >= 10")
    save(first, path)
    for mode in ("error", "errorifexists", "ErrorIfExists"):
        with pytest.raises(TableExistsError, match="there is a table"):
            save(second, path, mode)
    save(second, path, "ignore")
    assert (IndexTable.open(path).version, ids(path)) == (0, [0, 1])
    save(second, path, "append")
    assert (IndexTable.open(path).version, ids(path)) == (1, [0, 1, 10, 11])
    save(second, path, "overwrite")
    assert (IndexTable.open(path).version, ids(path)) == (2, [10, 11])
    assert IndexTable.open(path, version=1).count() == 4


@pytest.mark.parametrize("mode", ["append", "overwrite", "ignore", "errorifexists"])
def test_every_mode_creates_a_table(logs: Any, path: str, mode: str) -> None:
    save(logs, path, mode)
    assert (IndexTable.open(path).version, len(ids(path))) == (0, 12)


def test_an_overwrite_replaces_the_schema(spark: Any, logs: Any, path: str, session_setting: Any) -> None:
    logs.write.format("indextables").partitionBy("date").option("path", path).saveAsTable("replaced")
    try:
        other = logs.selectExpr("CAST(id AS STRING) AS id", "message", "hour * 2 AS twice")
        session_setting("spark.indextables.overwriteSchema", "true")
        writer = other.write.format("indextables").mode("overwrite")
        with pytest.raises(SchemaError, match="no column 'twice'"):  # a setting of the session does not count
            writer.save(path)
        logs.write.format("indextables").mode("append").save(path)
        writer.option("overwriteSchema", True).partitionBy("twice").option("indexing.typemap.message", "text")
        writer.saveAsTable("replaced")
        assert dict(spark.table("replaced").dtypes) == {"id": "string", "message": "string", "twice": "int"}
        assert spark.sql("SELECT * FROM replaced WHERE id = '7' AND message INDEXQUERY 'timed'").count() == 1
        assert spark.sql("SELECT * FROM replaced VERSION AS OF 1").where("id = 7 AND date > '2024'").count() == 2
        assert [row["partition"] for row in spark.sql("SHOW PARTITIONS replaced").collect()] == [
            "twice=0",
            "twice=2",
            "twice=4",
        ]
        with pytest.raises(ConfigError, match="overwriteSchema needs mode overwrite"):
            other.write.format("indextables").mode("append").option("overwriteSchema", "true").save(path)
        with pytest.raises(ConfigError, match="replaceWhere a part of it"):
            writer.option("replaceWhere", "twice = 2").save(path)
    finally:
        spark.sql("DROP TABLE replaced")


def test_an_empty_frame(logs: Any, path: str) -> None:
    empty = logs.limit(0)
    save(empty, path)
    assert (IndexTable.open(path).version, IndexTable.open(path).count()) == (0, 0)
    save(empty, path, "append")
    assert IndexTable.open(path).version == 0


def test_a_batch_of_an_application_is_written_once(logs: Any, path: str) -> None:
    for batch in ("5", "5", "4", "6"):
        save(logs, path, "append", txnAppId="app", txnVersion=batch)
    assert (IndexTable.open(path).version, IndexTable.open(path).count()) == (1, 24)


def test_keyword_arguments_of_save(logs: Any, path: str) -> None:
    logs.write.save(path, format="indextables", mode="append", partitionBy=["date"], targetRecordsPerSplit=6)
    assert (IndexTable.open(path).layout.names, rows_per_split(path)) == (("date",), [6, 6])


def test_pandas_is_not_needed(logs: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark does not install it."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    logs.withColumnRenamed("hour", "the `hour`.of day").write.format("indextables").save(path)
    assert IndexTable.open(path).count("`the ``hour``.of day` = 1") == 4


def test_without_enable_a_registered_source_appends_and_overwrites(logs: Any, path: str) -> None:
    from pyspark.sql.readwriter import DataFrameWriter  # noqa: PLC0415

    def plain(mode: str) -> Any:
        return DataFrameWriter(logs).format("indextables").mode(mode).option("indexing.typemap.MESSAGE", "text")

    plain("append").option("partitionBy", "date").save(path)
    plain("append").save(path)
    assert (IndexTable.open(path).count(), IndexTable.open(path).layout.names) == (24, ("date",))
    assert IndexTable.open(path).search("message:timed").num_rows == 10
    with pytest.raises(Exception, match="ConfigError: an overwrite would replace all of .* call enable"):
        plain("overwrite").save(path)
    plain("overwrite").option("partitionOverwriteMode", "static").save(path)
    assert len(ids(path)) == 12


def test_other_formats_are_as_before(spark: Any, logs: Any, path: str) -> None:
    logs.write.partitionBy("date").parquet(path)
    logs.write.mode("append").format("parquet").partitionBy("date").save(path)
    logs.write.format("indextables").partitionBy("date").format("parquet").mode("append").save(path)
    assert spark.read.parquet(path).count() == 36
    with pytest.raises(Exception, match="INVALID_SAVE_MODE|save mode"):
        logs.write.format("parquet").mode("replaceWhere").save(path)


REFUSED: list[tuple[str, dict[str, str], type[IndexTablesError], str]] = [
    ("id, array(1) AS tags", {}, SchemaError, "column 'tags'"),
    ("id, struct(id) AS inner", {}, SchemaError, "column 'inner'"),
    ("id, map('a', id) AS pairs", {}, SchemaError, "column 'pairs'"),
    ("id, interval 1 day AS span", {}, SchemaError, "cannot hold"),
    ("id, id AS ID", {}, SchemaError, "the same name but for case"),
    ("id", {"partitionBy": "id"}, LayoutError, "takes every column"),
    ("id, 'a' AS p", {"partitionBy": "q"}, LayoutError, "not there; the table has id, p"),
    ("id, X'00' AS p", {"partitionBy": "p"}, LayoutError, "not possible"),
    ("id", {"optimizeWrite.enabled": "maybe"}, ConfigError, "true or false"),
    ("id", {"spark.indextables.optimizeWrite.targetRecordPerSplit": "5"}, ConfigError, "did you mean"),
    ("id", {"autoSize.enabled": "true"}, ConfigError, "targetSplitSize"),
    ("id", {"autoSize.inputRowCount": "abc"}, ConfigError, "a number of rows"),
    ("id", {"replaceWhere": "id = 1"}, ConfigError, "needs mode overwrite"),
    ("id", {"txnAppId": "app"}, ConfigError, "txnVersion is missing"),
]


@pytest.mark.parametrize(("columns", "options", "error", "message"), REFUSED)
def test_refused_before_any_file(  # noqa: PLR0917 - the columns of a table
    spark: Any, path: str, columns: str, options: dict[str, str], error: type[IndexTablesError], message: str
) -> None:
    with pytest.raises(error, match=message):
        save(spark.sql(f"SELECT {columns} FROM range(3)"), path, **options)
    assert not Path(path).exists()


def test_memory_is_not_shared_with_workers(spark: Any, logs: Any) -> None:
    for use in (lambda path: save(logs, path), spark.read.format("indextables").load):
        with pytest.raises(ConfigError, match="memory of this process"):
            use("memory://spark/logs")


def test_locations_that_cannot_be_used_are_refused_everywhere(spark: Any, logs: Any) -> None:
    ways: list[Callable[[str], object]] = [
        spark.read.format("indextables").load,
        *(partial(save, logs, mode=mode) for mode in ("append", "overwrite", "ignore", "error")),
        lambda path: spark.sql(f"SELECT * FROM indextables.`{path}`"),
        lambda path: spark.sql(f"MERGE SPLITS '{path}'"),
        lambda path: spark.sql(f"CREATE TABLE refused USING indextables LOCATION '{path}'"),
        lambda path: spark.sql(f"CREATE TABLE refused (a INT, b INT) USING indextables LOCATION '{path}'"),
        lambda path: logs.write.format("indextables").option("path", path).saveAsTable("refused"),
    ]
    for path in ("hdfs://namenode:8020/t", "dbfs:/t", "file://elsewhere/t"):
        for way in ways:
            with pytest.raises(StorageError, match=f"{path}' is not a location that indextables can use"):
                way(path)
    assert not spark.catalog.tableExists("refused")


def test_file_locations_are_local_paths(spark: Any, logs: Any, path: str) -> None:
    save(logs, f"file:{path}")
    save(logs, f"file://{path}", "append")
    for location in (f"file:{path}", f"file://{path}", f"file://localhost{path}"):
        assert IndexTable.open(location).path == path
        assert len(spark.read.format("indextables").load(location).collect()) == 2 * logs.count()
        assert spark.sql(f"SELECT * FROM indextables.`{location}`").count() == 2 * logs.count()


def test_what_a_table_refuses(logs: Any, path: str) -> None:
    logs.write.format("indextables").partitionBy("date").option("indexing.typemap.message", "text").save(path)
    before = files(path)
    refused: list[tuple[Any, dict[str, str], type[IndexTablesError], str]] = [
        (logs, {"indexing.typemap.message": "string"}, SchemaError, "'message' is indexed as text"),
        (logs, {"partitionBy": "hour"}, LayoutError, "partitioned by date"),
        (logs.selectExpr("*", "1 AS extra"), {}, SchemaError, "no column 'extra'"),
        (logs.withColumn("hour", logs["id"]), {}, SchemaError, "'hour' is integer, and the data has long"),
    ]
    for frame, options, error, message in refused:
        with pytest.raises(error, match=message):
            save(frame, path, "append", **options)
    assert files(path) == before
    save(logs.drop("message"), path, "append")
    assert IndexTable.open(path).count("message IS NULL") == 12
    save(logs.selectExpr("*", "1 AS extra"), path, "append", mergeSchema="true")
    assert IndexTable.open(path).count("extra = 1") == 12


def test_null_where_none_may_be_fails_and_leaves_nothing(spark: Any, path: str) -> None:
    IndexTable.create(path, pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("p", pa.int64())]))
    before = files(path)
    with pytest.raises(SchemaError, match="column 'id' may not be null"):
        save(spark.sql("SELECT nullif(id, 7) AS id, id AS p FROM range(10)"), path, "append")
    assert files(path) == before


def test_the_error_of_a_task_keeps_its_name(logs: Any, path: str) -> None:
    with pytest.raises(StorageError, match="a split could not be built in .*tempDirectoryPath"):
        save(logs, path, **{"indexWriter.tempDirectoryPath": __file__})
    assert files(path) == set()


@pytest.mark.parametrize(
    ("option", "session", "table", "splits"),
    [
        ("4", "3", "2", 3),
        (None, "3", "2", 4),
        (None, None, "2", 6),
        (None, None, None, 1),
    ],
)
def test_option_then_session_then_table_then_default(  # noqa: PLR0917
    logs: Any,
    path: str,
    session_setting: Callable[[str, str], None],
    option: str | None,
    session: str | None,
    table: str | None,
    splits: int,
) -> None:
    key = "spark.indextables.optimizeWrite.targetRecordsPerSplit"
    IndexTable.create(path, logs.limit(0).toArrow().schema, properties={key: table} if table else {})
    if session:
        session_setting(key, session)
    save(logs, path, "append", **({"TARGETRECORDSPERSPLIT": option} if option else {}))
    assert (len(rows_per_split(path)), sum(rows_per_split(path))) == (splits, 12)


def test_the_session_is_asked_at_every_write(logs: Any, path: str, session_setting: Callable[[str, str], None]) -> None:
    key = "spark.indextables.optimizeWrite.enabled"
    session_setting(key, "false")
    save(logs, path)
    session_setting(key, "TRUE")
    save(logs, path, "append")
    assert rows_per_split(path) == [6, 6, 12]
    session_setting("spark.indextables.colour", "red")
    with pytest.raises(ConfigError, match="there is no setting"):
        save(logs, path, "append")


def test_columns_to_cluster_by_and_terms_of_a_layout_in_sparks_own_words(logs: Any, path: str) -> None:
    logs.orderBy("message").write.format("indextables").partitionBy("hour", "day(ts)").clusterBy("id").save(path)
    table = IndexTable.open(path)
    assert table.layout.names == ("hour", "ts_day")
    assert table.scan(where="hour = 1 AND ts < '2024-01-02'").to_arrow()["id"].to_pylist() == [1, 4]


def test_buckets_are_a_matter_of_the_layout(logs: Any, path: str) -> None:
    with pytest.raises(ConfigError, match=r"bucket\(16, id\).* in place of bucketBy"):
        logs.write.format("indextables").bucketBy(4, "id").save(path)


@pytest.mark.parametrize("optimized", ["true", "false"])
def test_an_append_without_a_partition_column(spark: Any, path: str, optimized: str) -> None:
    IndexTable.create(path, {"id": pa.int64(), "day": pa.string(), "hour": pa.int32()}, partition_by="day, hour")
    writer = spark.range(1).write.format("indextables").mode("append").option("optimizeWrite.enabled", optimized)
    with pytest.raises(SchemaError, match="does not have the partition columns 'day', 'hour'"):
        writer.save(path)
    with pytest.raises(LayoutError, match="day, hour name columns that are not there"):
        spark.range(1).selectExpr("id", "id AS n").write.format("indextables").partitionBy("day", "hour").save(
            f"{path}2"
        )
    assert IndexTable.open(path).version == 0
