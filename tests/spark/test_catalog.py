"""Tables of the catalog: created, filled, read and dropped by name, in SQL and by frames."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    InvalidPredicateError,
    LayoutError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)


@pytest.fixture(autouse=True)
def _database(spark: Any, tmp_path: Path) -> Iterator[None]:
    """A database of its own for each test, which is then the current one."""
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'the shop'}'")
    spark.sql("USE shop")
    yield
    for view in ("logs", "passing"):
        spark.catalog.dropTempView(view)
    spark.sql("USE default")
    spark.sql("DROP DATABASE shop CASCADE")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "it's a table, 100%")


def written(path: str) -> IndexTable:
    schema = pa.schema({"id": pa.int64(), "day": pa.string(), "message": pa.string()})
    table = IndexTable.create(path, schema, partition_by="day", fields={"message": "text"})
    table.append(pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"], "message": ["disk full", "all is well", "full"]}))
    return table


def literal(path: str) -> str:
    return "'" + path.replace("'", "\\'") + "'"


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def files(path: str | Path) -> list[str]:
    return sorted(str(file) for file in Path(path).rglob("*") if file.is_file())


@pytest.mark.parametrize("where", ["OPTIONS (path {})", "LOCATION {}", "OPTIONS (PATH = {})"])
def test_a_table_that_is_there_gets_a_name(spark: Any, path: str, where: str) -> None:
    table = written(path)
    spark.sql(f"CREATE TABLE logs USING indextables {where.format(literal(path))}")
    assert rows(spark.sql("SELECT id FROM logs")) == [(1,), (2,), (3,)]
    assert rows(spark.table("logs").select("id")) == rows(spark.read.table("shop.logs").select("id"))
    assert rows(spark.sql("DESCRIBE logs").select("col_name", "data_type")) == [
        ("day", "string"),
        ("id", "bigint"),
        ("message", "string"),
    ]
    before = files(path)
    spark.sql("DROP TABLE logs")
    assert not spark.catalog.tableExists("logs")
    assert (files(path), table.count()) == (before, 3)


def test_every_place_where_a_query_names_a_table(spark: Any, path: str) -> None:
    written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    queries = [
        "SELECT l.id FROM logs l WHERE id > 1",
        "SELECT logs.id FROM shop.logs WHERE id > 1",
        "SELECT id FROM spark_catalog.shop.logs AS l WHERE l.id IN (SELECT max(id) FROM logs) OR id = 2",
        "SELECT a.id FROM logs a JOIN logs b ON a.id = b.id AND b.id > 1",
        "WITH x AS (SELECT * FROM logs WHERE id > 1), y AS (SELECT * FROM x) SELECT id FROM y",
        "SELECT id FROM (SELECT *, '\U0001f600' FROM logs) WHERE id > 1",
        "SELECT /* \U0001f600 */ id FROM logs WHERE EXISTS (SELECT 1 FROM logs z WHERE z.id < logs.id)",
        "SELECT id FROM logs WHERE id > (SELECT min(id) FROM logs)",
        "SELECT id FROM logs WHERE id = 2 UNION ALL SELECT id FROM logs WHERE id = 3",
        "FROM logs SELECT id WHERE id > 1",
        "SELECT id FROM logs WITH ('read.parallelism' = '1') WHERE id > 1",
    ]
    assert [rows(spark.sql(query)) for query in queries] == [[(2,), (3,)]] * len(queries)
    assert rows(spark.sql("SELECT id FROM logs WHERE id > ?", args=[2])) == [(3,)]
    assert rows(spark.sql("SELECT id FROM {t} WHERE id > 2", t=spark.table("logs"))) == [(3,)]
    assert rows(spark.sql("WITH logs AS (SELECT 7 AS id) SELECT id FROM logs")) == [(7,)]
    assert rows(spark.read.option("versionAsOf", 0).table("logs").select("logs.id")) == []
    assert "indextables" in spark.sql("EXPLAIN SELECT * FROM logs WHERE id = 1").collect()[0][0]


def test_views_and_names_that_hide_a_table(spark: Any, path: str) -> None:
    table = written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    spark.sql("CREATE VIEW kept AS SELECT id FROM logs WHERE day = 'a'")
    spark.sql("CREATE TEMPORARY VIEW passing AS SELECT id FROM logs WHERE day = 'a'")
    table.append(pa.table({"id": [4], "day": ["a"], "message": ["new"]}))
    assert rows(spark.sql("SELECT * FROM kept")) == rows(spark.table("passing")) == [(1,), (2,), (4,)]
    assert spark.table("kept").count() == 3
    spark.sql("SELECT 9 AS id").createOrReplaceTempView("logs")
    assert rows(spark.sql("SELECT id FROM logs")) == rows(spark.table("logs")) == [(9,)]


def test_a_named_table_is_pruned_counted_and_searched_as_by_its_path(spark: Any, path: str) -> None:
    table = written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    assert rows(spark.sql("SELECT id FROM logs WHERE indexquery(message, 'full')")) == [(1,), (3,)]
    assert rows(spark.table("logs").filter("indexquery(message, 'full')").select("id")) == [(1,), (3,)]
    for split in table.splits()["path"].to_pylist():  # what is answered from now on is answered by the log
        Path(path, split).unlink()
    assert rows(spark.sql("SELECT day, count(*) FROM logs GROUP BY day")) == [("a", 2), ("b", 1)]
    assert spark.table("logs").filter("day = 'a'").count() == 2
    assert rows(spark.sql("SELECT * FROM logs WHERE day = 'c'")) == []
    assert rows(spark.table("logs").filter("id > 3")) == []


def test_a_frame_shows_one_version_of_a_table_in_subqueries_too(spark: Any, path: str) -> None:
    table = written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    spark.sql("CREATE VIEW last AS SELECT id FROM logs WHERE id = (SELECT max(id) FROM logs)")
    texts = [
        "SELECT id, (SELECT count(*) FROM logs) AS n FROM logs WHERE id = (SELECT max(id) FROM logs)",
        "WITH l AS (SELECT * FROM logs) SELECT id, 3 FROM l WHERE id NOT IN (SELECT id FROM logs WHERE id < 3)",
        "SELECT id, 3 FROM last",
        "SELECT id, 3 FROM logs WHERE id > 2 AND id IN (SELECT id FROM logs WHERE message INDEXQUERY 'full')",
    ]
    frames = [spark.sql(text) for text in texts]
    table.append(pa.table({"id": [4], "day": ["c"], "message": ["full again"]}))
    assert [rows(frame) for frame in frames] == [[(3, 3)]] * len(frames)
    assert [max(rows(spark.sql(text)))[0] for text in texts] == [4] * len(texts)


def test_columns_that_came_later_are_seen(spark: Any, path: str) -> None:
    table = written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    table.append(pa.table({"id": [4], "day": ["b"], "host": ["h1"]}), options={"mergeSchema": "true"})
    assert rows(spark.sql("SELECT id, host FROM logs WHERE host IS NOT NULL")) == [(4, "h1")]
    table.append(pa.table({"id": [5], "day": pa.nulls(1), "size": [1]}), options={"mergeSchema": "true"})
    assert spark.table("logs").columns == ["id", "day", "message", "host", "size"]
    spark.sql("INSERT INTO logs VALUES (6, 'c', 'm', 'h2', 2)")
    assert IndexTable.open(path).count("size = 2") == 1


def test_create_with_columns(spark: Any, path: str) -> None:
    spark.sql(
        f"""CREATE TABLE logs (id BIGINT NOT NULL, `the day` STRING, ts TIMESTAMP, message STRING)
            USING indextables OPTIONS ('text' 'message', 'targetRecordsPerSplit' '2')
            PARTITIONED BY (`the day`, days(ts), bucket(4, id)) LOCATION {literal(path)}
            TBLPROPERTIES ('owner.team' = 'web')"""
    )
    table = IndexTable.open(path)
    assert str(table.layout) == "`the day`, day(ts), bucket(4, id)"
    assert [field.nullable for field in table.schema] == [False, True, True, True]
    assert table.properties["owner.team"] == "web"
    spark.sql("INSERT INTO logs SELECT 7, 'mon', timestamp'2024-01-01 10:00:00', 'disk full' FROM range(3)")
    assert table.refresh().search("message:full").num_rows == 3
    assert sorted(table.splits()["num_records"].to_pylist()) == [1, 2]
    table.set_indexing({"message": "string"})
    spark.sql("INSERT INTO logs SELECT 8, 'mon', timestamp'2024-01-01 10:00:00', 'disk full' FROM range(0)")
    spark.sql("CREATE TABLE IF NOT EXISTS logs (x INT) USING indextables")
    with pytest.raises(Exception, match="already exists"):
        spark.sql("CREATE TABLE logs (x INT) USING indextables")
    columns = "id BIGINT, `the day` STRING, ts TIMESTAMP, message STRING"
    spark.sql(f"CREATE TABLE again ({columns}) USING indextables LOCATION {literal(path)}")
    assert spark.table("again").count() == 3


def test_a_table_whose_place_the_catalog_chooses(spark: Any, tmp_path: Path) -> None:
    home = tmp_path / "the shop"
    spark.sql("CREATE TABLE logs (id INT, p INT) USING indextables PARTITIONED BY (p)")
    spark.sql("INSERT INTO logs VALUES (1, 1), (2, 2)")
    query = "SELECT * FROM logs WHERE id IN (SELECT id FROM logs)"
    spark.sql(f"CREATE TABLE copied USING indextables PARTITIONED BY (p) AS {query}")
    spark.table("copied").write.format("indextables").partitionBy("p").saveAsTable("again")
    for name in ("logs", "copied", "again"):
        assert rows(spark.table(name)) == [(1, 1), (2, 2)]
        assert IndexTable.open(home / name).layout.names == ("p",)
        spark.sql(f"DROP TABLE {name}")
        assert not (home / name).exists()


def test_insert(spark: Any, path: str) -> None:
    columns = "id BIGINT, p INT, word STRING"
    spark.sql(f"CREATE TABLE t ({columns}) USING indextables PARTITIONED BY (p) LOCATION {literal(path)}")
    spark.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 1, 'b')")
    spark.sql("INSERT INTO t (word, id) SELECT 'c', 3")
    spark.sql("INSERT INTO t BY NAME SELECT 4 AS id, 'd' AS word, 2 AS p")
    spark.sql("INSERT INTO t WITH ('targetRecordsPerSplit' = '1') SELECT id + 4, p, word FROM t WHERE p = 1")
    spark.sql("INSERT INTO shop.t VALUES (?, ?, ?)", args=[7, 7, "g"])
    expected = [(1, 1, "a"), (2, 1, "b"), (3, None, "c"), (4, 2, "d"), (5, 1, "a"), (6, 1, "b"), (7, 7, "g")]
    assert sorted(rows(spark.table("t")), key=lambda row: row[0]) == expected
    spark.sql(f"INSERT INTO t WITH ('path' = {literal(path)}) VALUES (8, 7, 'h')")
    assert (IndexTable.open(path).version, IndexTable.open(path).count("p = 7")) == (6, 2)
    spark.range(2).selectExpr("id", "1 AS any", "'x' AS name").write.insertInto("t")
    assert IndexTable.open(path).count("word = 'x' AND p = 1") == 2
    spark.sql("INSERT OVERWRITE t SELECT id, p, upper(word) FROM t WHERE id = 2")
    assert rows(spark.table("t")) == [(2, 1, "B")]
    spark.range(1).selectExpr("id", "0", "'y'").write.insertInto("t", overwrite=True)
    assert rows(spark.table("t")) == [(0, 0, "y")]


def test_save_as_table(spark: Any, path: str) -> None:
    frame = spark.range(4).selectExpr("id", "id % 2 AS p")

    def save(mode: str = "errorifexists", name: str = "t", **options: str) -> None:
        frame.write.format("indextables").mode(mode).options(**options).saveAsTable(name)

    save(path=path, partitionBy="p")
    assert (spark.table("t").count(), IndexTable.open(path).layout.names) == (4, ("p",))
    with pytest.raises(TableExistsError, match="there is a table `shop`.`t` already"):
        save()
    save("ignore")
    save("append")
    save("append", path=path)
    assert spark.table("t").count() == 12
    save("overwrite", name="shop.t")
    assert spark.table("t").count() == 4
    with pytest.raises(ConfigError, match="is at file:.*, not at /elsewhere"):
        save("append", path="/elsewhere")
    spark.sql("CREATE TABLE other (id INT) USING parquet")
    with pytest.raises(ConfigError, match="not of the format indextables"):
        save("append", name="other")
    assert rows(spark.table("other")) == []


def test_what_is_refused_leaves_no_table_and_no_name(spark: Any, tmp_path: Path, path: str) -> None:
    written(path)
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
    new, there = literal(str(tmp_path / "new")), literal(path)
    refused: list[tuple[str, type[Exception], str]] = [
        (f"CREATE TABLE t USING indextables LOCATION {new}", TableNotFoundError, "no table"),
        ("CREATE TABLE t USING indextables", ConfigError, "neither columns nor a location"),
        (f"CREATE TABLE t (a INT, b ARRAY<INT>) USING indextables LOCATION {new}", SchemaError, "'b'"),
        ("CREATE TABLE t (a INT, b MAP<INT, INT>) USING indextables", SchemaError, "'b'"),
        (
            "CREATE TABLE t (a INT, b INT DEFAULT 7) USING indextables",
            ConfigError,
            "DEFAULT for the column b .* in each INSERT",
        ),
        (
            "CREATE TABLE t (a BIGINT GENERATED ALWAYS AS IDENTITY, b INT) USING indextables",
            ConfigError,
            "IDENTITY for the column a",
        ),
        ("CREATE TABLE t (a INT, CONSTRAINT k CHECK (a > 1)) USING indextables", ConfigError, "constraint"),
        ("CREATE EXTERNAL TABLE t (a INT) USING indextables", ConfigError, "no LOCATION"),
        (
            f"CREATE TABLE t (a INT, b INT) USING indextables OPTIONS (nonsense '1') LOCATION {new}",
            ConfigError,
            "nonsense",
        ),
        (f"CREATE TABLE t (id INT) USING indextables LOCATION {there}", SchemaError, "has others"),
        (
            f"CREATE TABLE t (id LONG, day STRING, message STRING) USING indextables PARTITIONED BY (id) LOCATION {there}",
            LayoutError,
            "is partitioned by day, not by",
        ),
        (
            f"CREATE TABLE t USING indextables OPTIONS (mergeSchema 'true') LOCATION {there}",
            ConfigError,
            "there already",
        ),
        ("CREATE OR REPLACE TABLE t USING indextables", ConfigError, "give columns, or AS SELECT"),
        ("REPLACE TABLE t (a INT) USING indextables", TableNotFoundError, "no table `shop`.`t` to replace"),
        (
            f"CREATE TABLE t (id LONG) USING indextables TBLPROPERTIES (team = 'a') LOCATION {there}",
            SchemaError,
            "others",
        ),
        (
            f"CREATE TABLE t USING indextables LOCATION {there} TBLPROPERTIES (team = 'a')",
            ConfigError,
            "team is 'not set'",
        ),
        ("CREATE TABLE t USING indextables AS SELECT array(1) AS a, 2 AS b", SchemaError, "'a'"),
        ("INSERT INTO logs PARTITION (day = 'a') SELECT 1, 'x'", ConfigError, "PARTITION"),
        ("INSERT INTO logs REPLACE WHERE upper(day) = 'A' SELECT 1, 'a', 'x'", ConfigError, "REPLACE WHERE"),
        ("INSERT INTO logs REPLACE WHERE day = 1 SELECT 1, 'a', 'x'", Exception, "CAST_INVALID_INPUT"),
        ("INSERT INTO logs REPLACE WHERE id = 1 SELECT 1, 'a', 'x'", InvalidPredicateError, "not a partition column"),
        ("INSERT INTO logs REPLACE WHERE nowhere = 1 SELECT 1, 'a', 'x'", Exception, "UNRESOLVED_COLUMN"),
        ("INSERT INTO logs REPLACE USING (day) SELECT 1 AS id, 'a' AS day, 'x' AS message", ConfigError, "USING"),
        ("INSERT INTO logs VALUES (1)", Exception, "INSERT_COLUMN_ARITY_MISMATCH"),
        ("INSERT INTO logs VALUES ('one', 'a', 'b')", Exception, "CANNOT_SAFELY_CAST"),
        ("SELECT * FROM shop.logs WITH ('versionAsOf' = '1')", ConfigError, "VERSION AS OF 3"),
    ]
    before = files(tmp_path)
    for statement, error, message in refused:
        with pytest.raises(error, match=message):
            spark.sql(statement)
        assert (files(tmp_path), spark.catalog.tableExists("t")) == (before, False), statement
    assert IndexTable.open(path).version == 1


def test_a_view_of_the_same_name_stays_what_the_name_means(spark: Any, path: str) -> None:
    written(path)
    spark.range(3).createOrReplaceTempView("logs")
    try:
        spark.sql(f"CREATE TABLE logs USING indextables LOCATION {literal(path)}")
        assert spark.table("logs").count() == 3
        assert spark.table("shop.logs").columns == IndexTable.open(path).schema.names
        spark.sql("SELECT 4L AS id, 'b' AS day, 'new' AS message").write.format("indextables").mode(
            "append"
        ).saveAsTable("logs")
        assert (spark.table("logs").count(), spark.table("shop.logs").count()) == (3, 4)
    finally:
        spark.catalog.dropTempView("logs")


def test_other_formats_and_plain_commands_are_as_before(spark: Any) -> None:
    spark.sql("CREATE TABLE plain (id INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO plain PARTITION (p = 1) VALUES (1), (2)")
    spark.range(1).selectExpr("CAST(id AS INT)", "2 AS p").write.mode("append").insertInto("plain")
    assert rows(spark.sql("SELECT * FROM plain")) == [(0, 2), (1, 1), (2, 1)]
    spark.sql("CREATE TABLE ours USING indextables AS SELECT * FROM plain")
    spark.sql(sqlQuery="INSERT OVERWRITE plain SELECT id + 10, p FROM ours WHERE id IN (SELECT id FROM ours)")
    assert rows(spark.sql("SELECT id FROM plain")) == [(10,), (11,), (12,)]
    spark.sql("DROP TABLE ours")
    assert rows(spark.sql("SHOW TABLES").select("tableName")) == [("plain",)]
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        spark.sql("SELEC 1")
    assert json.loads(spark.sql("SELECT to_json(named_struct('a', :x))", args={"x": 1}).first()[0]) == {"a": 1}
