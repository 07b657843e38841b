"""The examples of the description of writes and of partitions, in PySpark, as a user would type them.

| example | here |
|---|---|
| 5.1 truncate: full replacement | `test_modes_of_writing` |
| 5.2 levels of settings: option, session, table, default | `test_levels_of_settings`; every combination in `test_write.py` |
| 5.3 standard write; partition columns read from the log where the write names none | `test_small_tables` |
| 5.3, 5.12 field types of an append | `test_field_types_of_an_append` |
| 5.4 medium tables: optimized, with a target | `test_medium_tables` |
| 5.5 auto-size, sizes in any letter case, with and without a row count | `test_large_tables` |
| 5.5 fallback without history; error without a size | `test_large_tables` |
| 5.6 abort | `test_write_failures.py`, `test_write_killed.py` |
| 5.9 physical layout, values in the log, values in the splits | `test_the_layout_on_disk` |
| 5.10 uploads | not a matter of Spark: `tests/storage` |
| 5.11 commit, overwrite, concurrent writers | `test_modes_of_writing`, `test_write_failures.py` |
| 5.12 types that a table cannot hold, sizes, partition columns | `test_what_is_refused` |
| 6.1 partitioned table, every type of partition column | `test_the_layout_on_disk`, `test_types_of_partition_columns` |
| 6.2 partition columns are indexed | `test_the_layout_on_disk` |
| 6.3 values as text, nulls, missing columns | `test_types_of_partition_columns`, `test_what_is_refused` |
| 6.4 escaped paths, levels | `test_types_of_partition_columns`, `test_the_layout_on_disk` |
| 6.5 pruning: one value, ranges, IN, levels | `test_pruning` |
| 6.6 events of two days | `test_events` |
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, LayoutError, SchemaError


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def df(spark: Any) -> Any:
    """Lines of two months, in text as the examples have it: month 01, day 01."""
    rows = [
        ("2024", month, day, f"request {i} timed out", i)
        for i in range(3)
        for month in ("01", "02")
        for day in ("01", "02")
    ]
    return spark.createDataFrame(rows, "year string, month string, day string, message string, score int")


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    yield spark
    for key in spark.conf.getAll:
        if key.startswith("spark.indextables."):
            spark.conf.unset(key)


def adds(path: str, version: int = 0) -> list[dict[str, Any]]:
    lines = Path(path, "_transaction_log", f"{version:018}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def sizes(path: str) -> list[int]:
    return sorted(IndexTable.open(path).splits()["num_records"].to_pylist())


def test_modes_of_writing(df: Any, path: str) -> None:
    df.write.format("indextables").save(path)
    df.write.format("indextables").mode("append").save(path)
    assert IndexTable.open(path).count() == 24
    df.limit(1).write.format("indextables").mode("overwrite").save(path)
    assert (IndexTable.open(path).count(), IndexTable.open(path).version) == (1, 2)


def test_levels_of_settings(session: Any, df: Any, path: str) -> None:
    session.conf.set("spark.indextables.optimizeWrite.targetRecordsPerSplit", "6")
    df.write.format("indextables").save(path)
    assert sizes(path) == [6, 6]
    df.write.format("indextables").option("targetRecordsPerSplit", "4").mode("overwrite").save(path)
    assert sizes(path) == [4, 4, 4]
    session.conf.set("spark.indextables.optimizeWrite.enabled", "false")
    df.repartition(1).write.format("indextables").option("spark.indextables.optimizeWrite.enabled", "true").mode(
        "overwrite"
    ).save(path)
    assert (sum(sizes(path)), max(sizes(path))) == (12, 6)


def test_small_tables(df: Any, path: str) -> None:
    writer = df.repartition(2).write.option("spark.indextables.optimizeWrite.enabled", "false").format("indextables")
    writer.partitionBy("month").save(path)
    df.coalesce(1).write.format("indextables").mode("append").option("optimizeWrite.enabled", "false").save(path)
    assert IndexTable.open(path).layout.names == ("month",)
    assert len(adds(path, 1)) == 2


def test_medium_tables(df: Any, path: str) -> None:
    writer = df.write.format("indextables").option("spark.indextables.optimizeWrite.enabled", "true")
    writer.option("targetRecordsPerSplit", "1000000").save(path)
    assert sizes(path) == [12]


def test_large_tables(df: Any, path: str, caplog: pytest.LogCaptureFixture) -> None:
    def auto(size: str) -> Any:
        enabled = df.write.format("indextables").mode("append").option("spark.indextables.autoSize.enabled", "true")
        return enabled.option("spark.indextables.autoSize.targetSplitSize", size)

    auto("100M").save(path)
    assert (sizes(path), "no splits to estimate row sizes from" in caplog.text) == ([12], True)
    row_count = df.count()
    for size in ("100m", "2G", "512K", "104857600"):
        auto(size).option("spark.indextables.autoSize.inputRowCount", str(row_count)).save(path)
    assert sizes(path) == [12] * 5
    with pytest.raises(ConfigError, match="targetSplitSize"):
        df.write.format("indextables").mode("append").option("spark.indextables.autoSize.enabled", "true").save(path)
    for wrong in ("0", "-1", "100X", ""):
        with pytest.raises(ConfigError, match="targetSplitSize"):
            auto(wrong).save(path)


@pytest.mark.parametrize(("table", "other"), [("text", "string"), ("string", "text")])
def test_field_types_of_an_append(df: Any, path: str, table: str, other: str) -> None:
    key = "spark.indextables.indexing.typemap.message"
    df.write.format("indextables").option(key, table).save(path)
    df.write.format("indextables").option(key, table).mode("append").save(path)
    with pytest.raises(SchemaError, match=f"'message' is indexed as {table} .* asks for {other}"):
        df.write.format("indextables").option(key, other).mode("append").save(path)
    assert IndexTable.open(path).version == 1


def test_the_layout_on_disk(df: Any, path: str) -> None:
    df.write.format("indextables").partitionBy("year", "month", "day").save(path)
    expected = {f"year=2024/month={month}/day={day}" for month in ("01", "02") for day in ("01", "02")}
    assert {add["path"].rpartition("/")[0] for add in adds(path)} == expected
    assert all(Path(path, add["path"]).stat().st_size == add["size"] for add in adds(path))
    first = next(add for add in adds(path) if add["path"].startswith("year=2024/month=01/day=01/part-"))
    assert first["path"].endswith(".split")
    assert first["partitionValues"] == {"year": "2024", "month": "01", "day": "01"}
    assert (first["numRecords"], first.get("dataChange", True), first["minValues"]["score"]) == (3, True, 0)
    assert first["maxValues"]["score"] == 2
    assert IndexTable.open(path).search("month:01 AND day:02").num_rows == 3


def test_types_of_partition_columns(spark: Any, path: str) -> None:
    frame = spark.sql(
        """SELECT * FROM VALUES
           ('2024-01-01 10:30:00', 42, 1704067200L, date'2024-01-01', timestamp'2024-01-01 10:00:00Z',
            true, 3.14F, 2.718D, 123.45BD, 1),
           (null, null, null, null, null, null, null, null, null, 2)
           AS t(text, whole, long, day, at, flag, ratio, price, cost, id)"""
    )
    columns = [name for name in frame.columns if name != "id"]
    frame.write.format("indextables").partitionBy(*columns).save(path)
    by_id = {add["minValues"]["id"]: add for add in adds(path)}
    assert by_id[1]["partitionValues"] == {
        "text": "2024-01-01 10:30:00",
        "whole": "42",
        "long": "1704067200",
        "day": "2024-01-01",
        "at": "2024-01-01T10:00:00Z",
        "flag": "true",
        "ratio": "3.14",
        "price": "2.718",
        "cost": "123.45",
    }
    assert by_id[1]["path"].startswith("text=2024-01-01%2010%3A30%3A00/whole=42/")
    assert set(by_id[2]["partitionValues"].values()) == {None}
    assert by_id[2]["path"].startswith("text=__HIVE_DEFAULT_PARTITION__/")
    read = spark.read.format("indextables").load(path)
    assert sorted(read.collect(), key=lambda row: row["id"]) == sorted(frame.collect(), key=lambda row: row["id"])


def test_what_is_refused(spark: Any, df: Any, path: str) -> None:
    for column in ("array(1)", "map('a', 1)", "struct(1)"):
        with pytest.raises(SchemaError, match="'nested'"):
            df.selectExpr("*", f"{column} AS nested").write.format("indextables").save(path)
    with pytest.raises(LayoutError, match="hour names a column that is not there; the table has year, month, day"):
        df.write.format("indextables").partitionBy("hour").save(path)
    with pytest.raises(LayoutError, match="not possible"):
        spark.sql("SELECT X'00' AS raw, 1 AS id").write.format("indextables").partitionBy("raw").save(path)
    assert not Path(path).exists()


def test_pruning(spark: Any, path: str) -> None:
    rows = [
        (year, month, day, f"{year}-{month:02}-{day:02}", region)
        for year in (2023, 2024)
        for month in (1, 2, 4)
        for day in (9, 10, 15)
        for region in ("US", "DE")
    ]
    frame = spark.createDataFrame(rows, "year int, month int, day int, date string, region string").repartition(1)
    layout = ("year", "month", "day", "date", "region")
    frame.selectExpr("*", "1 AS id").write.format("indextables").partitionBy(*layout).save(path)
    for add in adds(path):  # from here on, what is answered is answered without a split
        Path(path, add["path"]).unlink()
    df = spark.read.format("indextables").load(path)
    assert df.filter(df.date == "2024-01-15").count() == 2
    assert df.filter((df.year == 2024) & df.month.between(1, 3)).count() == 12
    assert df.filter(df.region.isin("US", "CA")).count() == 18
    assert df.filter((df.year == 2024) & (df.month == 1) & df.day.between(10, 15)).count() == 4
    explained = IndexTable.open(path).scan(where="date = '2024-01-15'").explain()
    assert (explained.total, explained.never) == (36, 34)


def test_events(spark: Any, path: str) -> None:
    events = [
        ("2024-01-01", 10, "event1"),
        ("2024-01-01", 11, "event2"),
        ("2024-01-02", 10, "event3"),
        ("2024-01-02", 10, "event4"),
    ]
    data = spark.createDataFrame(events, "date string, hour int, event_type string")
    data.write.format("indextables").partitionBy("date", "hour").save(path)
    found = sorted((add["path"].rpartition("/")[0], add["numRecords"]) for add in adds(path))
    assert found == [("date=2024-01-01/hour=10", 1), ("date=2024-01-01/hour=11", 1), ("date=2024-01-02/hour=10", 2)]
