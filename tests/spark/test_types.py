"""Types of Spark that say more than a table can hold are refused on every way in; comparisons are Spark's own."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import DoubleType, StringType, StructType, UserDefinedType

from indextables import IndexTable
from indextables.errors import SchemaError
from indextables.spark.source.spark_types import arrow_schema


@pytest.fixture(autouse=True)
def _database(spark: Any, tmp_path: Path) -> Iterator[None]:
    spark.sql(f"CREATE DATABASE types LOCATION '{tmp_path / 'types'}'")
    spark.sql("USE types")
    yield
    spark.sql("USE default")
    spark.sql("DROP DATABASE types CASCADE")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def refused(write: Callable[[], Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        write()


def test_a_collation_is_refused_on_every_way_in(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE t (s STRING, n INT) USING indextables")
    table = IndexTable.open(tmp_path / "types" / "t")
    frame = spark.sql("SELECT 'ab' COLLATE UTF8_LCASE AS s, 1 AS n")
    collated = "column 's' with the collation UTF8_LCASE cannot be stored"
    refused(lambda: frame.write.format("indextables").save(str(tmp_path / "new")), collated)
    refused(lambda: frame.write.format("indextables").saveAsTable("new"), collated)
    refused(lambda: frame.write.format("indextables").mode("append").save(table.path), collated)
    for statement in (
        "CREATE TABLE new (n INT, s STRING COLLATE UTF8_LCASE) USING indextables",
        "CREATE TABLE new USING indextables AS SELECT 'ab' COLLATE UTF8_LCASE AS s",
        f"CREATE TABLE new (s STRING COLLATE UTF8_LCASE, n INT) USING indextables LOCATION '{table.path}'",
    ):
        refused(lambda text=statement: spark.sql(text), collated)  # type: ignore[misc]
    for statement in (
        "CREATE TABLE new (s STRING) USING indextables DEFAULT COLLATION UTF8_LCASE",
        "CREATE TABLE new USING indextables DEFAULT COLLATION UTF8_LCASE AS SELECT 'ab' AS s",
    ):
        refused(lambda text=statement: spark.sql(text), "strings with the collation UTF8_LCASE")  # type: ignore[misc]
    added = "column 'z' with the collation UNICODE_CI"
    refused(lambda: spark.sql("ALTER TABLE t ADD COLUMN z STRING COLLATE UNICODE_CI"), added)
    more = spark.sql("SELECT 'ab' AS s, 'ab' COLLATE UNICODE_CI AS z")
    merging = more.write.format("indextables").mode("append").option("mergeSchema", "true")
    refused(lambda: merging.save(table.path), added)
    wanted = spark.read.format("indextables").schema("s STRING COLLATE UTF8_LCASE")
    refused(lambda: wanted.load(table.path), collated)
    assert not spark.catalog.tableExists("new")
    assert not (tmp_path / "new").exists()
    assert table.refresh().version == 0
    spark.sql("INSERT INTO t SELECT 'Ab' COLLATE UTF8_LCASE, 1")  # Spark casts to the type of the column
    assert table.refresh().scan().to_arrow()["s"].to_pylist() == ["Ab"]


def test_a_query_compares_by_the_collation_that_it_names(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("ab", 1), ("AB", 2), ("cd", 3)], "s string, n int").coalesce(1)
    for by in ("s", "n"):  # the string as a partition column, and as a column with bounds
        path = str(tmp_path / by)
        frame.write.format("indextables").partitionBy(by).save(path)
        read = spark.read.format("indextables").load(path)
        for condition, expected in {
            "s COLLATE UTF8_LCASE = 'AB'": [1, 2],
            "s = 'aB' COLLATE UTF8_LCASE": [1, 2],
            "s COLLATE UTF8_LCASE IN ('Ab', 'zz')": [1, 2],
            "s COLLATE UTF8_LCASE <> 'AB'": [3],
            "startswith(s COLLATE UTF8_LCASE, 'A')": [1, 2],
            "s COLLATE UTF8_LCASE < 'B'": [1, 2],
            "s = 'AB'": [2],
        }.items():
            found = read.filter(condition)
            assert (sorted(row.n for row in found.collect()), found.count()) == (expected, len(expected)), condition
        groups = read.selectExpr("s COLLATE UTF8_LCASE AS k").groupBy("k").count()
        assert sorted(row["count"] for row in groups.collect()) == [1, 2]


def test_char_is_refused_where_only_metadata_says_it(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE source (c CHAR(3), v VARCHAR(3)) USING parquet")
    spark.sql("INSERT INTO source VALUES ('a', 'b')")
    frame, char = spark.table("source"), r"column 'c' (is|has type) char\(3\), which a table cannot hold"
    refused(lambda: frame.write.format("indextables").save(str(tmp_path / "new")), char)
    refused(lambda: spark.sql("CREATE TABLE new USING indextables AS SELECT * FROM source"), char)
    refused(lambda: spark.sql("CREATE TABLE new (c CHAR(3)) USING indextables"), char)
    assert not spark.catalog.tableExists("new")
    assert not (tmp_path / "new").exists()
    spark.sql("CREATE TABLE new USING indextables AS SELECT CAST(c AS STRING) AS c, v FROM source")
    spark.sql("INSERT INTO new SELECT * FROM source")
    frame.write.insertInto("new")
    assert rows(spark.table("new")) == [("a  ", "b")] * 3


class Celsius(UserDefinedType):
    @classmethod
    def sqlType(cls) -> DoubleType:  # noqa: N802 - Spark's name
        return DoubleType()


def test_types_of_users_and_others_name_their_column() -> None:
    refused(lambda: arrow_schema(StructType().add("at", Celsius())), "column 'at' is .*which a table cannot hold")
    refused(lambda: arrow_schema(StructType.fromDDL("x INTERVAL YEAR")), "column 'x' has type interval year, which")
    refused(lambda: arrow_schema(StructType().add("s", StringType("UNICODE"))), "column 's' with the collation UNICODE")


NESTED = {
    "ARRAY<INT>": "array<int>",
    "MAP<STRING, BIGINT>": "map<string,bigint>",
    "STRUCT<a: INT, b: ARRAY<STRING>>": "struct<a:int,b:array<string>>",
    "INTERVAL DAY": "interval day",
}


@pytest.mark.parametrize("kind", NESTED)
def test_errors_name_types_as_spark_does(spark: Any, tmp_path: Path, kind: str) -> None:
    """On every way in; Arrow's names, such as list<element: int32>, are not those of Spark's users."""
    spark.sql("CREATE TABLE t (id INT, s STRING) USING indextables")
    frame = spark.sql(f"SELECT 1 AS id, CAST(NULL AS {kind}) AS s")
    place, new = str(tmp_path / "types" / "t"), str(tmp_path / "new")
    stream = spark.readStream.format("rate").load().selectExpr("value AS id", f"CAST(NULL AS {kind}) AS s").writeStream
    message = re.escape(
        f"column 's' has type {NESTED[kind]}, which a table cannot hold; cast it to one of boolean, byte"
    )
    for write in (
        lambda: frame.write.format("indextables").save(new),
        lambda: frame.write.format("indextables").mode("append").save(place),
        lambda: frame.write.format("indextables").option("mergeSchema", "true").mode("append").save(place),
        lambda: frame.write.format("indextables").saveAsTable("other"),
        lambda: frame.write.mode("append").saveAsTable("t"),
        lambda: frame.writeTo("other").using("indextables").create(),
        lambda: spark.sql(f"CREATE TABLE other (id INT, s {kind}) USING indextables"),
        lambda: spark.sql(f"CREATE TABLE other USING indextables AS SELECT CAST(NULL AS {kind}) AS s"),
        lambda: stream.format("indextables").option("checkpointLocation", f"{new}.checkpoint").start(new),
        lambda: spark.read.format("indextables").schema(f"id INT, s {kind}").load(place),
    ):
        refused(write, message)
    refused(lambda: spark.sql(f"ALTER TABLE t ADD COLUMN more {kind}"), message.replace("'s'", "'more'"))
    refused(
        lambda: spark.read.format("indextables").schema("id BIGINT").load(place),
        "column 'id' is of type integer, and the read asks for long",
    )
    assert not spark.catalog.tableExists("other")
    assert not (tmp_path / "new").exists()
    assert IndexTable.open(place).version == 0
