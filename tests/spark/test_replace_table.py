"""CREATE OR REPLACE TABLE, TRUNCATE TABLE, CACHE TABLE, and the same by `df.writeTo`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, SchemaError, TableNotFoundError, UnsupportedStatementError


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Iterator[IndexTable]:
    """The table `shop.t` at version 1, with two rows."""
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'shop'}'")
    spark.sql("USE shop")
    spark.sql(
        "CREATE TABLE t (id INT COMMENT 'the id', s STRING COMMENT 'the text') USING indextables PARTITIONED BY (id) "
        "COMMENT 'before' TBLPROPERTIES (team = 'a', 'indexing.typemap.s' = 'text')"
    )
    table = IndexTable.open(tmp_path / "shop" / "t")
    table.append([{"id": 1, "s": "disk full"}, {"id": 2, "s": "all is well"}])
    yield table
    spark.sql("USE default")
    spark.sql("DROP DATABASE shop CASCADE")


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.sql(text).collect())


def described(spark: Any) -> list[tuple[str, str, str | None]]:
    return [tuple(row) for row in spark.sql("DESCRIBE t").collect()]


def test_columns_layout_rules_and_properties_are_replaced_in_one_commit(spark: Any, table: IndexTable) -> None:
    spark.sql(
        "CREATE OR REPLACE TABLE t (s STRING, day DATE NOT NULL COMMENT 'when') USING indextables "
        "PARTITIONED BY (months(day)) TBLPROPERTIES (purpose = 'x')"
    )
    after = IndexTable.open(table.path)
    assert (after.version, after.properties, str(after.layout)) == (2, {"purpose": "x"}, "month(day)")
    assert {name: str(rule) for name, rule in after.fields.items()} == {"s": "string", "day": "date"}
    assert [(field.name, field.nullable) for field in after.schema] == [("s", True), ("day", False)]
    assert after.history()["operation"][0].as_py() == "REPLACE TABLE"
    assert described(spark) == [("s", "string", None), ("day", "date", "when")]
    assert "before" not in [row[1] for row in spark.sql("DESCRIBE EXTENDED t").collect()]
    assert rows(spark, "SELECT * FROM t") == []
    assert rows(spark, "SELECT id FROM t VERSION AS OF 1 WHERE s INDEXQUERY 'disk'") == [(1,)]
    spark.sql("INSERT INTO t VALUES ('new', DATE'2024-05-01')")
    spark.sql("RESTORE TABLE t TO VERSION AS OF 1")
    assert rows(spark, "SELECT id FROM t WHERE s INDEXQUERY 'disk'") == [(1,)]
    assert table.refresh().check(deep=True).ok


def test_a_table_is_replaced_by_a_query_of_itself(spark: Any, table: IndexTable) -> None:
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")  # of overwrites, not of this
    try:
        spark.sql(
            "CREATE OR REPLACE TABLE t USING indextables COMMENT 'after' TBLPROPERTIES ('indexing.typemap.word' = 'text') "
            "AS SELECT id + 10L AS id, upper(s) AS word FROM t WHERE s INDEXQUERY 'disk'"
        )
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(spark, "SELECT * FROM t WHERE word INDEXQUERY 'full'") == [(11, "DISK FULL")]
    assert described(spark) == [("id", "bigint", None), ("word", "string", None)]
    assert ("Comment", "after", "") in [tuple(row) for row in spark.sql("DESCRIBE EXTENDED t").collect()]
    assert (table.refresh().version, str(table.layout), table.check(deep=True).ok) == (2, "", True)
    with pytest.raises(ConfigError, match="replaceWhere replaces a part"):
        spark.sql("CREATE OR REPLACE TABLE t USING indextables OPTIONS (replaceWhere 'id = 1') AS SELECT 1 AS id")
    with pytest.raises(SchemaError, match="'a'"):
        spark.sql("CREATE OR REPLACE TABLE t USING indextables AS SELECT array(1) AS a, 2 AS b")
    with pytest.raises(ConfigError, match="is at .*, not at /elsewhere"):
        spark.sql("CREATE OR REPLACE TABLE t (a INT) USING indextables LOCATION '/elsewhere'")
    assert (table.refresh().version, described(spark)) == (2, [("id", "bigint", None), ("word", "string", None)])


def test_or_replace_creates_and_replace_does_not(spark: Any, table: IndexTable, tmp_path: Path) -> None:
    spark.sql("CREATE OR REPLACE TABLE fresh (a INT) USING indextables")
    spark.sql("REPLACE TABLE fresh (b INT) USING indextables")
    assert spark.table("fresh").columns == ["b"]
    with pytest.raises(TableNotFoundError, match="no table `shop`.`nowhere` to replace"):
        spark.sql("REPLACE TABLE nowhere (a INT) USING indextables")
    other = f"indextables.`{tmp_path}/other`"
    with pytest.raises(TableNotFoundError, match="to replace"):
        spark.sql(f"REPLACE TABLE {other} (a INT)")
    spark.sql(f"CREATE TABLE {other} (a INT, b STRING) USING indextables PARTITIONED BY (a)")
    spark.sql(f"CREATE OR REPLACE TABLE {other} AS SELECT id FROM t")
    assert rows(spark, f"SELECT * FROM {other}") == [(1,), (2,)]
    spark.sql(f"CREATE OR REPLACE TABLE named (c INT) USING indextables LOCATION '{tmp_path}/other'")
    assert IndexTable.open(tmp_path / "other").schema.names == spark.table("named").columns == ["c"]
    spark.sql("CREATE VIEW shown AS SELECT * FROM t")
    with pytest.raises(ConfigError, match="not of the format indextables"):
        spark.sql("CREATE OR REPLACE TABLE shown (a INT) USING indextables")
    assert table.refresh().version == 1


def test_frames_replace_tables(spark: Any, table: IndexTable) -> None:
    spark.sql("SELECT 7 AS a, 'x y' AS s").writeTo("t").option("indexing.typemap.s", "text").createOrReplace()
    assert rows(spark, "SELECT a FROM t WHERE s INDEXQUERY 'y'") == [(7,)]
    spark.sql("SELECT 8 AS b").writeTo("t").using("indextables").tableProperty("k", "v").replace()
    assert (table.refresh().properties, table.version, rows(spark, "SELECT * FROM t")) == ({"k": "v"}, 3, [(8,)])
    spark.sql("SELECT 9 AS c").writeTo("new").using("indextables").createOrReplace()
    assert rows(spark, "SELECT * FROM new") == [(9,)]
    with pytest.raises(TableNotFoundError, match="to replace"):
        spark.range(1).writeTo("nowhere").using("indextables").replace()
    with pytest.raises(ConfigError, match="is of the format indextables"):
        spark.range(1).writeTo("t").using("parquet").createOrReplace()


def test_truncate(spark: Any, table: IndexTable) -> None:
    spark.sql("TRUNCATE TABLE t")
    assert (rows(spark, "SELECT * FROM t"), table.refresh().version) == ([], 2)
    spark.sql("TRUNCATE TABLE shop.t")
    assert (table.refresh().version, table.at(version=1).count()) == (2, 2)
    with pytest.raises(UnsupportedStatementError, match="DROP INDEXTABLES PARTITIONS FROM t WHERE"):
        spark.sql("TRUNCATE TABLE t PARTITION (id = 1)")


def test_a_cached_table_is_read_from_memory_until_it_changes(spark: Any, table: IndexTable) -> None:
    path = Path(table.path)
    for name, form in (("t", "CACHE TABLE"), (f"indextables.`{path}`", "CACHE LAZY TABLE")):
        spark.sql(f"{form} {name}")
        read = [f"SELECT * FROM {name}", f"SELECT id FROM {name} WHERE id > 1"]
        before = [rows(spark, text) for text in read]
        away = path.rename(path.with_name("away"))
        (path / "_transaction_log").parent.mkdir()
        (away / "_transaction_log").rename(path / "_transaction_log")
        assert [rows(spark, text) for text in read] == before
        (path / "_transaction_log").rename(away / "_transaction_log")
        path.rmdir()
        away.rename(path)
        spark.sql(f"INSERT INTO {name} VALUES (9, 'new')")
        assert (9,) in rows(spark, read[1])
        spark.sql(f"UNCACHE TABLE {name}")
        assert len(rows(spark, read[0])) == len(before[0]) + 1
    with pytest.raises(ConfigError, match="no storage level 'SOMEWHERE'"):
        spark.sql("CACHE TABLE t OPTIONS ('storageLevel' 'SOMEWHERE')")
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
