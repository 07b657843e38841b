"""Statements of Spark that change or describe a table of the catalog: done on the table itself, or refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, SchemaError, UnsupportedStatementError


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Iterator[IndexTable]:
    """The table `shop.t`, with one row, in the current database."""
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'shop'}'")
    spark.sql("USE shop")
    spark.sql(
        "CREATE TABLE t (a INT COMMENT 'the a', s STRING) USING indextables PARTITIONED BY (a) COMMENT 'it''s ours'"
    )
    table = IndexTable.open(tmp_path / "shop" / "t")
    table.append([{"a": 1, "s": "x"}])
    yield table
    spark.sql("USE default")
    spark.sql("DROP DATABASE shop CASCADE")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def described(spark: Any, statement: str = "DESCRIBE shop.t") -> dict[str, tuple[str, str | None]]:
    return {row[0]: (row[1], row[2]) for row in spark.sql(statement).collect()}


def test_columns_are_added_and_widened(spark: Any, table: IndexTable) -> None:
    spark.sql("ALTER TABLE t ADD COLUMNS (b SMALLINT COMMENT 'small', c FLOAT)")
    spark.sql("INSERT INTO t VALUES (2, 'y', 3, 0.5)")
    spark.sql("ALTER TABLE shop.t ALTER COLUMN b TYPE BIGINT, C TYPE DOUBLE, a COMMENT 'other'")
    assert rows(spark.table("t")) == [(1, "x", None, None), (2, "y", 3, 0.5)]
    assert described(spark) == {
        "a": ("int", "other"),
        "s": ("string", None),
        "b": ("bigint", "small"),
        "c": ("double", None),
    }
    assert [str(kind) for kind in table.refresh().schema.types] == ["int32", "string", "int64", "double"]
    assert table.version == 4


def test_columns_are_renamed_and_dropped(spark: Any, table: IndexTable) -> None:
    spark.sql("ALTER TABLE t ADD COLUMNS (n INT COMMENT 'the n', m INT)")
    spark.sql("INSERT INTO t VALUES (2, 'full disk', 3, 4)")
    spark.sql("ALTER TABLE t RENAME COLUMN n TO number")
    spark.sql("ALTER TABLE shop.t RENAME COLUMN A TO b")
    assert described(spark) == {
        "b": ("int", "the a"),
        "s": ("string", None),
        "number": ("int", "the n"),
        "m": ("int", None),
    }
    spark.sql("INSERT INTO t VALUES (3, 'z', 5, 6)")
    assert rows(spark.table("t")) == [(1, "x", None, None), (2, "full disk", 3, 4), (3, "z", 5, 6)]
    assert rows(spark.sql("SELECT number FROM t WHERE number >= 3")) == [(3,), (5,)]
    assert rows(spark.sql("SELECT b, max(number) FROM t WHERE b < 3 GROUP BY b")) == [(1, None), (2, 3)]
    assert rows(spark.sql("SELECT number FROM t WHERE s INDEXQUERY '\"full disk\"'")) == [(3,)]
    assert rows(spark.sql("SHOW PARTITIONS t")) == [("a=1",), ("a=2",), ("a=3",)]
    assert "number INT" in spark.sql("SHOW CREATE TABLE t").first()[0]
    spark.sql("ALTER TABLE t DROP COLUMNS (number, m)")
    spark.sql("ALTER TABLE t DROP COLUMN IF EXISTS number")
    assert spark.table("t").columns == ["b", "s"]
    spark.sql("ALTER TABLE t ADD COLUMN number INT")
    assert rows(spark.table("t")) == [(1, "x", None), (2, "full disk", None), (3, "z", None)]
    assert rows(spark.sql("SELECT count(*), count(number), min(number) FROM t")) == [(3, 0, None)]
    assert described(spark)["number"] == ("int", None)
    assert rows(spark.sql("SELECT s, number FROM t VERSION AS OF 4")) == [("full disk", 3), ("x", None)]
    assert table.refresh().check(deep=True).ok


def test_columns_of_a_path_are_renamed_and_dropped(spark: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", {"id": pa.int64(), "msg": pa.string()}, fields={"msg": "text"})
    table.append([{"id": n, "msg": f"line {n}"} for n in range(100)])
    name = f"indextables.`{table.path}`"
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN msg TO message")
    assert rows(spark.sql(f"SELECT message FROM {name} WHERE id = 7")) == [("line 7",)]
    assert rows(spark.sql(f"SELECT id FROM {name} WHERE message = 'line 8'")) == [(8,)]
    assert spark.sql(f"SELECT id FROM {name} WHERE message INDEXQUERY 'line'").count() == 100
    spark.sql(f"ALTER TABLE {name} DROP COLUMN message")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN MSG STRING")
    assert spark.sql(f"SELECT * FROM {name} WHERE MSG IS NULL").count() == 100
    assert rows(spark.read.format("indextables").load(table.path).filter("id > 97")) == [(98, None), (99, None)]


def test_columns_and_properties_that_others_changed_are_described(spark: Any, table: IndexTable) -> None:
    table.add_column("host", "string")
    table.set_properties({"team": "web"})
    assert described(spark)["host"] == ("string", None)
    assert rows(spark.sql("SHOW COLUMNS IN t")) == [("a",), ("host",), ("s",)]
    extended = described(spark, "DESCRIBE EXTENDED t")
    assert extended["Table Properties"][0] == "[team=web]"
    assert (extended["Comment"][0], extended["Provider"][0]) == ("it's ours", "indextables")
    spark.sql("COMMENT ON TABLE t IS 'another'")
    assert described(spark, "DESCRIBE EXTENDED t")["Comment"][0] == "another"


def test_properties_are_set_and_unset(spark: Any, table: IndexTable) -> None:
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('targetRecordsPerSplit' = :rows, team = 'web')", args={"rows": "1"})
    full = "spark.indextables.optimizeWrite.targetRecordsPerSplit"
    assert rows(spark.sql("SHOW TBLPROPERTIES t")) == [(full, "1"), ("team", "web")]
    assert rows(spark.sql("SHOW TBLPROPERTIES shop.t ('targetRecordsPerSplit')")) == [("targetRecordsPerSplit", "1")]
    spark.sql("INSERT INTO t SELECT 2, 'y' FROM range(2)")
    assert table.refresh().splits()["num_records"].to_pylist() == [1, 1, 1]
    spark.sql("ALTER TABLE IDENTIFIER(?) UNSET TBLPROPERTIES ('team')", args=["shop.t"])
    spark.sql("ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('team', 'TARGETRECORDSPERSPLIT')")
    assert IndexTable.open(table.path).properties == {}
    refused = [
        ("SET TBLPROPERTIES ('spark.indextables.mergeOnWrit.enabled' = 'true')", "did you mean"),
        ("SET TBLPROPERTIES ('checkpoint.interval' = 'often')", "must be"),
        ("UNSET TBLPROPERTIES ('team')", "no property team"),
    ]
    for change, what in refused:
        with pytest.raises(ConfigError, match=what):
            spark.sql(f"ALTER TABLE t {change}")


def test_a_table_by_its_path(spark: Any, table: IndexTable) -> None:
    spark.sql(f"ALTER TABLE indextables.`{table.path}` ADD COLUMN host STRING")
    spark.sql(f"ALTER TABLE indextables.`{table.path}` SET TBLPROPERTIES ('team' = 'web')")
    assert table.refresh().schema.names == ["a", "s", "host"]
    assert rows(spark.sql("SHOW TBLPROPERTIES t")) == [("team", "web")]
    spark.sql(f"ALTER TABLE indextables.`{table.path}` UNSET TBLPROPERTIES ('team')")
    assert table.refresh().properties == {}
    with pytest.raises(UnsupportedStatementError, match="ANALYZE TABLE is not supported for indextables.`"):
        spark.sql(f"ANALYZE TABLE indextables.`{table.path}` COMPUTE STATISTICS")
    with pytest.raises(ConfigError, match="give it a name with CREATE TABLE"):
        spark.sql(f"ALTER TABLE indextables.`{table.path}` ALTER COLUMN a COMMENT 'x'")


def test_a_table_gets_another_name(spark: Any, table: IndexTable, tmp_path: Path) -> None:
    table.append([{"a": 2, "s": "y"}])
    spark.sql("ALTER TABLE t RENAME TO u")
    spark.sql("INSERT INTO u VALUES (3, 'z')")
    assert rows(spark.table("u").select("a")) == [(1,), (2,), (3,)]
    assert IndexTable.open(tmp_path / "shop" / "u").version == 3
    assert not spark.catalog.tableExists("t")


REFUSED = [
    "ALTER TABLE t REPLACE COLUMNS (a INT)",
    "ALTER TABLE t ADD COLUMN b INT FIRST",
    "ALTER TABLE t ADD COLUMN b INT AFTER a",
    "ALTER TABLE t ADD COLUMN b INT NOT NULL",
    "ALTER TABLE t ADD COLUMNS (b INT, c INT DEFAULT 5)",
    "ALTER TABLE t ALTER COLUMN s FIRST",
    "ALTER TABLE t ALTER COLUMN s SET NOT NULL",
    "ALTER TABLE t ALTER COLUMN s SET DEFAULT 'x'",
    "ALTER TABLE t ALTER COLUMN s DROP DEFAULT",
    "ALTER TABLE t ALTER COLUMN a TYPE BIGINT, s AFTER a",
    "ALTER TABLE t SET TBLPROPERTIES ('comment' = 'x')",
    "ALTER TABLE t SET LOCATION '/elsewhere'",
    "ALTER TABLE t PARTITION (a = 1) SET LOCATION '/elsewhere'",
    "ALTER TABLE t ADD PARTITION (a = 7)",
    "ALTER TABLE t DROP PARTITION (a = 1)",
    "ALTER TABLE t PARTITION (a = 1) RENAME TO PARTITION (a = 2)",
    "ALTER TABLE t RECOVER PARTITIONS",
    "ALTER TABLE t CLUSTER BY (s)",
    "ALTER TABLE t CLUSTER BY NONE",
    "ALTER TABLE t DEFAULT COLLATION UTF8_LCASE",
    "ALTER TABLE t SET SERDEPROPERTIES ('a' = 'b')",
    "ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY (a)",
    "ALTER TABLE t DROP CONSTRAINT k",
    "TRUNCATE TABLE t PARTITION (a = 1)",
    "MSCK REPAIR TABLE t",
    "ANALYZE TABLE t COMPUTE STATISTICS",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
    "DESCRIBE t PARTITION (a = 1)",
    "LOAD DATA INPATH '/elsewhere' INTO TABLE t",
    "CREATE INDEX i ON t (s)",
]


def test_what_a_table_cannot_do_is_refused(spark: Any, table: IndexTable) -> None:
    before = described(spark, "DESCRIBE EXTENDED t")
    for statement in REFUSED:
        with pytest.raises(UnsupportedStatementError, match="is not supported for .*`t`, a table of indextables: "):
            spark.sql(statement)
    assert described(spark, "DESCRIBE EXTENDED t") == before
    assert (table.refresh().version, rows(spark.table("t"))) == (1, [(1, "x")])


def test_columns_that_cannot_be_are_refused(spark: Any, table: IndexTable) -> None:
    refused = [
        ("ADD COLUMN s INT", "'s' already"),
        ("ADD COLUMNS (b INT, c ARRAY<INT>)", "'c' has type array<int>"),
        ("ADD COLUMN s.x INT", "s.x is a field inside a column"),
        ("ALTER COLUMN a TYPE SMALLINT", "'a' is integer and cannot become short"),
        ("ALTER COLUMN s TYPE INT", "'s' is string and cannot become integer"),
        ("ALTER COLUMN a TYPE BIGINT, nowhere TYPE BIGINT", "no column 'nowhere'"),
        ("RENAME COLUMN s TO A", "the table has a column 'a'"),
        ("RENAME COLUMN s.x TO z", "s.x is a field inside a column"),
        ("DROP COLUMN s", "only partition columns would be left"),
        ("DROP COLUMNS (s, nowhere)", "no column 'nowhere'"),
    ]
    for change, what in refused:
        with pytest.raises(SchemaError, match=what):
            spark.sql(f"ALTER TABLE t {change}")
    assert table.refresh().version == 1


def test_other_tables_and_views_are_altered_by_spark(spark: Any, table: IndexTable) -> None:
    spark.sql("CREATE TABLE other (a INT) USING parquet")
    spark.sql("ALTER TABLE other ADD COLUMN b INT")
    assert spark.table("other").columns == ["a", "b"]
    spark.range(1).createOrReplaceTempView("t")
    try:
        with pytest.raises(Exception, match="EXPECT_TABLE_NOT_VIEW"):
            spark.sql("ALTER TABLE t ADD COLUMN b INT")
        spark.sql("ALTER TABLE shop.t ADD COLUMN b INT")
    finally:
        spark.catalog.dropTempView("t")
    assert table.refresh().schema.names == ["a", "s", "b"]


def test_statements_with_parameters_are_arranged_and_searched(spark: Any, table: IndexTable) -> None:
    spark.sql("INSERT INTO t SELECT id % ?, 'disk full' FROM range(?)", args=[2, 40])
    assert sorted(table.refresh().splits()["num_records"].to_pylist()) == [1, 20, 20]
    new = spark.createDataFrame([(5, "from a frame")], "a int, s string")
    spark.sql("INSERT INTO t SELECT * FROM {new}", new=new)
    query = "SELECT a FROM t WHERE s INDEXQUERY :q AND a = :a"
    spark.sql(f"CREATE TABLE copied USING indextables AS {query}", args={"q": '"disk full"', "a": 1})
    assert spark.table("copied").count() == 20
    assert table.refresh().count("a = 5") == 1
    assert not [view for view in spark.catalog.listTables() if view.isTemporary]
