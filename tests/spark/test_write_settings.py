"""Every way to write from Spark resolves the same settings: options, then the session, then the table's properties."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from indextables import IndexTable, enable
from indextables.errors import ConfigError, TableExistsError

SPARKS, OURS = "spark.sql.sources.partitionOverwriteMode", "spark.indextables.partitionOverwriteMode"


@pytest.fixture
def path(spark: Any, tmp_path: Path) -> Iterator[str]:
    """A table with a row in each of the partitions a and b, also known as `w`."""
    path = str(tmp_path / "w")
    filled(path)
    spark.sql(f"CREATE TABLE w USING indextables LOCATION '{path}'")
    yield path
    spark.sql("DROP TABLE IF EXISTS w")


@pytest.fixture
def session(spark: Any) -> Iterator[Callable[[str, str], None]]:
    """Settings of the session, for one test."""
    given: list[str] = []

    def give(key: str, value: str) -> None:
        given.append(key)
        spark.conf.set(key, value)

    yield give
    for key in given:
        spark.conf.unset(key)


@pytest.fixture(scope="module")
def new(spark: Any) -> Any:
    frame = spark.createDataFrame([(5, "a")], "i int, p string")
    frame.createOrReplaceTempView("v")
    return frame


def filled(path: str) -> IndexTable:
    table = IndexTable.create(path, pa.schema({"i": pa.int32(), "p": pa.string()}), partition_by="p")
    table.append([{"i": 1, "p": "a"}, {"i": 2, "p": "b"}])
    return table


def rows(path: str) -> list[tuple[int, str]]:
    return sorted((row["i"], row["p"]) for row in IndexTable.open(path).scan().to_arrow().to_pylist())


WRITES: dict[str, Callable[[Any, Any, str], Any]] = {
    "save": lambda _, new, path: new.write.format("indextables").mode("overwrite").save(path),
    "saveAsTable": lambda _, new, __: new.write.format("indextables").mode("overwrite").saveAsTable("w"),
    "saveAsTable, no format": lambda _, new, __: new.write.mode("overwrite").saveAsTable("w"),
    "insertInto": lambda _, new, __: new.write.mode("overwrite").insertInto("w"),
    "insertInto, overwrite": lambda _, new, __: new.write.insertInto("w", overwrite=True),
    "sql": lambda spark, *_: spark.sql("INSERT OVERWRITE w SELECT 5, 'a'"),
    "named parameter": lambda spark, *_: spark.sql("INSERT OVERWRITE w SELECT :i, 'a'", {"i": 5}),
    "positional parameters": lambda spark, *_: spark.sql("INSERT OVERWRITE w SELECT ?, ?", [5, "a"]),
    "frame": lambda spark, new, _: spark.sql("INSERT OVERWRITE w SELECT * FROM {new}", new=new),
    "frame and parameter": lambda spark, new, _: spark.sql(
        "INSERT OVERWRITE w SELECT * FROM {new} WHERE i = :i", {"i": 5}, new=new
    ),
    "temporary view": lambda spark, *_: spark.sql("INSERT OVERWRITE w TABLE v"),
    "identifier": lambda spark, *_: spark.sql("INSERT OVERWRITE IDENTIFIER(:t) VALUES (5, 'a')", {"t": "w"}),
    "with": lambda spark, *_: spark.sql(
        "WITH x AS (SELECT :i AS i, 'a' AS p) INSERT OVERWRITE w SELECT * FROM x", {"i": 5}
    ),
    "several inserts": lambda spark, *_: spark.sql(
        "FROM v INSERT OVERWRITE w SELECT * WHERE i = 5 INSERT INTO w SELECT 7, 'a' WHERE i = 6"
    ),
    "path": lambda spark, _, path: spark.sql(f"INSERT OVERWRITE indextables.`{path}` SELECT :i, 'a'", {"i": 5}),
    "path option": lambda spark, _, path: spark.sql(f"INSERT OVERWRITE w WITH ('path' = '{path}') SELECT 5, 'a'"),
    "directory": lambda spark, _, path: spark.sql(
        f"INSERT OVERWRITE DIRECTORY '{path}' USING indextables SELECT 5 AS i, 'a' AS p"
    ),
    "directory, path option": lambda spark, _, path: spark.sql(
        f"INSERT OVERWRITE DIRECTORY USING indextables OPTIONS (path '{path}') SELECT 5 AS i, 'a' AS p"
    ),
    "writeTo, partitions": lambda _, new, __: new.writeTo("w").overwritePartitions(),
    "writeTo, condition": lambda _, new, __: new.writeTo("w").overwrite(F.col("p") == "a"),
    "replace where": lambda spark, *_: spark.sql(
        "INSERT INTO w REPLACE WHERE p = :p SELECT :i, :p", {"p": "a", "i": 5}
    ),
}


@pytest.mark.parametrize("way", WRITES)
def test_sparks_dynamic_mode_replaces_partitions(
    spark: Any, new: Any, path: str, session: Callable[[str, str], None], way: str
) -> None:
    session(SPARKS, "dynamic")
    WRITES[way](spark, new, path)
    assert rows(path) == [(2, "b"), (5, "a")]


@pytest.mark.parametrize("way", ["named parameter", "frame", "path option", "several inserts"])
@pytest.mark.parametrize(("key", "value"), [(OURS, "dynamic"), ("spark.indextables.replaceWhere", "p = 'a'")])
def test_settings_of_the_session(  # noqa: PLR0917 - the columns of a table
    spark: Any, new: Any, path: str, session: Callable[[str, str], None], key: str, value: str, way: str
) -> None:
    session(key, value)
    WRITES[way](spark, new, path)
    assert rows(path) == [(2, "b"), (5, "a")]


def test_inserts_with_parameters_are_repartitioned(spark: Any, path: str) -> None:
    spark.range(6, numPartitions=3).createOrReplaceTempView("numbers")
    spark.sql("INSERT INTO w SELECT id, :p FROM numbers", {"p": "c"})
    spark.sql("INSERT INTO w SELECT id, 'd' FROM {numbers}", numbers=spark.table("numbers"))
    assert len(IndexTable.open(path).splits()) == 2 + 2


def test_ours_as_the_default_source(spark: Any, new: Any, tmp_path: Path, session: Callable[[str, str], None]) -> None:
    session("spark.sql.sources.default", "indextables")
    session(SPARKS, "dynamic")
    path, other = str(tmp_path / "table"), str(tmp_path / "plain")
    both = new.unionByName(spark.createDataFrame([(6, "b")], "i int, p string"))
    both.write.partitionBy("p").clusterBy("i").save(path)
    assert str(IndexTable.open(path).layout) == "p"
    new.write.mode("ignore").save(path)
    new.selectExpr("9 AS i", "p").write.mode("overwrite").save(path)
    new.write.mode("append").save(path)
    assert rows(path) == [(5, "a"), (6, "b"), (9, "a")]
    assert spark.read.load(path).count() == 3
    with pytest.raises(Exception, match="there is a table at"):
        new.write.save(path)
    both.write.partitionBy("p").parquet(other)
    assert {file.name for file in Path(other).iterdir() if file.is_dir()} == {"p=a", "p=b"}
    try:
        both.write.partitionBy("p").saveAsTable("saved")
        spark.sql("CREATE TABLE made (i INT, p STRING) PARTITIONED BY (p)")
        spark.sql("CREATE TABLE asked PARTITIONED BY (p) AS SELECT * FROM {both} WHERE i > :i", {"i": 1}, both=both)
        spark.sql("INSERT OVERWRITE asked SELECT :i, 'a'", {"i": 9})
        assert sorted(map(tuple, spark.table("asked").collect())) == [(6, "b"), (9, "a")]
        assert [spark.table(name).count() for name in ("saved", "made", "asked")] == [2, 0, 2]
    finally:
        for name in ("saved", "made", "asked"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT OVERWRITE shown SELECT 5, 'a'", "a view as its target"),
        ("INSERT OVERWRITE {shown} SELECT 5, 'a'", "a view as its target"),
        ("INSERT INTO w WITH ('replaceWhere' = \"p = 'a'\") REPLACE WHERE p = 'a' SELECT 5, 'a'", "give one of them"),
        ("INSERT INTO w WITH ('replaceWhere' = \"p = 'a'\") SELECT 5, 'a'", "needs mode overwrite"),
        ("INSERT OVERWRITE w PARTITION (p = 'a') SELECT 5", "PARTITION"),
    ],
)
def test_refused_in_words(spark: Any, path: str, statement: str, message: str) -> None:
    shown = spark.read.format("indextables").load(path)
    shown.createOrReplaceTempView("shown")
    with pytest.raises(ConfigError, match=message):
        spark.sql(statement, **({"shown": shown} if "{" in statement else {}))
    assert rows(path) == [(1, "a"), (2, "b")]


def test_write_to(spark: Any, new: Any, path: str, tmp_path: Path, session: Callable[[str, str], None]) -> None:
    session(OURS, "dynamic")
    new.writeTo("w").append()
    new.writeTo("w").option("mergeSchema", "true").overwrite(F.expr("true"))
    assert rows(path) == [(5, "a")]
    made = str(tmp_path / "made")
    try:
        writer = (
            spark.range(3).selectExpr("id", "timestamp_seconds(id) AS `a time`").writeTo("made").using("indextables")
        )
        writer = writer.option("path", made).tableProperty("owner", "me").tableProperty("targetRecordsPerSplit", "1")
        writer.partitionedBy(F.partitioning.days(F.col("a time")), F.partitioning.bucket(1, "id")).createOrReplace()
        table = IndexTable.open(made)
        assert (str(table.layout), len(table.splits())) == ("day(`a time`), bucket(1, id)", 3)
        assert table.properties["owner"] == "me"
        spark.range(1).selectExpr("id", "timestamp_seconds(id) AS `a time`").writeTo("made").overwrite(F.expr("true"))
        assert table.refresh().count() == 1
        for write in (writer.createOrReplace, writer.replace):
            write()
            assert table.refresh().count() == 3
        with pytest.raises(TableExistsError):
            writer.create()
        plain = spark.range(2).selectExpr("id", "id % 2 AS p")
        plain.writeTo("plain").using("parquet").partitionedBy("p").option("compression", "none").create()
        assert plain.sparkSession.table("plain").select("p").distinct().count() == 2
    finally:
        for name in ("made", "plain"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"text": "none"}, []),
        ({"text": "level, title"}, ["level", "title"]),
        ({"text": "auto"}, ["title", "body"]),
        ({"text": "auto", "indexing.typemap.Body": "string"}, ["title"]),
        ({"text": "title", "indexing.typemap.title": "string", "indexing.typemap.body": "text"}, ["body"]),
    ],
)  # fmt: skip
def test_text_columns(spark: Any, tmp_path: Path, options: dict[str, str], expected: list[str]) -> None:
    lines = [(str(n), "INFO", "disk full", f"the disk {n} is full again") for n in range(5)]
    frame = spark.createDataFrame(lines, "id string, level string, title string, body string")
    writer = frame.write.format("indextables").options(**options)
    writer.save(str(tmp_path / "t"))
    writer.mode("append").save(str(tmp_path / "t"))
    table = IndexTable.open(tmp_path / "t")
    assert [name for name, rule in table.fields.items() if rule.type == "text"] == expected
    assert (table.count(), spark.read.format("indextables").load(table.path).filter("title = 'disk full'").count()) == (
        10,
        10,
    )


def test_text_columns_in_the_session_and_in_sql(
    spark: Any, tmp_path: Path, session: Callable[[str, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    session("spark.indextables.text", "auto")
    select = "SELECT 'WARN' AS level, concat('disk ', id, ' is full') AS body FROM range(9)"
    spark.sql(f"CREATE TABLE chosen USING indextables LOCATION '{tmp_path / 'chosen'}' AS {select}")
    assert IndexTable.open(tmp_path / "chosen").count(query="disk") == 9
    assert not caplog.records
    spark.sql(f"CREATE TABLE empty (body STRING) USING indextables LOCATION '{tmp_path / 'empty'}'")
    assert "auto, and the table is made without its rows" in caplog.text
    session("spark.indextables.text", "level, no_such_column")
    spark.sql(f"CREATE TABLE named USING indextables LOCATION '{tmp_path / 'named'}' AS {select}")
    table = IndexTable.write(tmp_path / "python", [{"body": "the disk is full", "level": "a"}], spark=spark)
    for found in (IndexTable.open(tmp_path / "named"), table):
        assert {name: rule.type for name, rule in found.fields.items()} == {"level": "text", "body": "string"}
    for name in ("chosen", "empty", "named"):
        spark.sql(f"DROP TABLE {name}")


def test_properties_of_a_table_that_is_made_by_a_query(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "made")
    properties = "('team' = 'search', 'spark.indextables.optimizeWrite.targetRecordsPerSplit' = '2')"
    try:
        spark.sql(
            f"CREATE TABLE made USING indextables LOCATION '{path}' TBLPROPERTIES {properties} "
            "AS SELECT * FROM range(4) WHERE id < :n",
            {"n": 4},
        )
        table = IndexTable.open(path)
        assert (table.properties["team"], len(table.splits())) == ("search", 2)
    finally:
        spark.sql("DROP TABLE IF EXISTS made")


def test_sessions_and_threads_have_their_own_settings(spark: Any, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("dynamic", "static", "where", "default")]
    settings = [(SPARKS, "dynamic"), (OURS, "static"), ("spark.indextables.replaceWhere", "p = 'a'"), None]
    ready = threading.Barrier(len(paths))

    def write(path: str, setting: tuple[str, str] | None) -> list[tuple[int, str]]:
        filled(path)
        own = enable(spark.newSession())
        if setting is not None:
            own.conf.set(*setting)
        frame = own.createDataFrame([(5, "a")], "i int, p string")
        ready.wait()
        own.sql(f"INSERT OVERWRITE indextables.`{path}` SELECT * FROM {{frame}} WHERE i = ?", [5], frame=frame)
        frame.selectExpr("i + 1 AS i", "p").write.format("indextables").mode("overwrite").save(path)
        return rows(path)

    with ThreadPoolExecutor(len(paths)) as pool:
        found = list(pool.map(write, paths, settings))
    assert found == [[(2, "b"), (6, "a")], [(6, "a")], [(2, "b"), (6, "a")], [(6, "a")]]


def test_a_stream_writes_with_the_settings_of_its_session(
    spark: Any, path: str, tmp_path: Path, session: Callable[[str, str], None]
) -> None:
    session(SPARKS, "dynamic")

    def write(batch: Any, _: int) -> None:
        batch.selectExpr("5 AS i", "'a' AS p").limit(1).write.format("indextables").mode("overwrite").save(path)

    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).option("numPartitions", 1).load()
    query = stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(write)
    query.trigger(availableNow=True).start().awaitTermination()
    assert rows(path) == [(2, "b"), (5, "a")]
