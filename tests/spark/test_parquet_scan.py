"""Splits that Spark reads with its own Parquet reader, beside the same splits read by ours."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from indextables.errors import SplitNotFoundError
from tests.split.samples import EVERY_TYPE

OURS = "flag IS NULL OR flag IS NOT NULL"  # true for every row; conditions in options are not among Spark's filters
READ_BY_SPARK, READ_BY_US = "Spark, as Parquet", "executors, with indexes"


def frame_of(spark: Any, table: IndexTable, **options: str) -> Any:
    return spark.read.format("indextables").options(**options).load(table.path)


def reader_of(frame: Any) -> str:
    told = [line for line in indextables.explain(frame).splitlines() if "read by" in line]
    return told[0].removeprefix("  read by").strip()


def written(path: Path, rows: pa.Table, **options: Any) -> IndexTable:
    table = IndexTable.create(path, rows.schema, **options)
    table.append(rows)
    return table


def found(frame: Any) -> list[str]:
    return sorted(map(str, frame.collect()))


@pytest.mark.parametrize("partition_by", ["", "name", "on", "day(at)", "bucket(4, id), a"])
def test_every_type_is_read_alike(spark: Any, tmp_path: Path, partition_by: str) -> None:
    table = written(tmp_path / "a table %41", EVERY_TYPE, partition_by=partition_by)
    frame, ours = frame_of(spark, table), frame_of(spark, table, where=OURS)
    assert (reader_of(frame), reader_of(ours)) == (READ_BY_SPARK, READ_BY_US)
    assert found(frame) == found(ours) != []


def test_times_before_the_calendar_was_changed_are_read_alike(spark: Any, tmp_path: Path) -> None:
    rows = pa.table(
        {
            "flag": [True, False],
            "on": pa.array([dt.date(1, 1, 1), dt.date(1582, 10, 10)]),
            "at": pa.array(["0001-01-01", "9999-12-31"]).cast(pa.timestamp("us")),
            "cost": pa.array([Decimal("1.5"), None], pa.decimal128(38, 10)),
        }
    )
    table = written(tmp_path / "t", rows)
    assert found(frame_of(spark, table)) == found(frame_of(spark, table, where=OURS))
    assert frame_of(spark, table).filter("on < DATE'1500-01-01'").count() == 1


def test_columns_that_came_later_and_became_wider_are_read_alike(spark: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "t", pa.table({"flag": [True, None], "n": pa.array([1, 2**31 - 1], pa.int32())}))
    table.add_column("later", "string")
    table.widen_column("n", "long")
    table.append(pa.table({"flag": [False], "n": pa.array([2**40]), "later": ["x"]}))
    frame, ours = frame_of(spark, table), frame_of(spark, table, where=OURS)
    assert reader_of(frame) == READ_BY_SPARK
    assert found(frame) == found(ours)
    for condition in ("n > 5", "n >= 2147483648", "n < 1099511627776", "later IS NULL", "later = 'x'", "n + 1 = 2"):
        assert found(frame.filter(condition)) == found(ours.filter(condition)), condition


def test_names_that_changed_are_read_alike(spark: Any, tmp_path: Path) -> None:
    """Spark's reader knows the names of the files: it reads splits again whose columns have them, also in another case."""
    table = written(tmp_path / "t", pa.table({"flag": [True, None], "n": [1, 2], "Gone": ["old", "older"]}))
    table.drop_column("Gone")
    assert reader_of(frame_of(spark, table)) == READ_BY_SPARK
    table.add_column("gone", "string")
    table.append(pa.table({"flag": [False], "n": [3], "gone": ["new"]}))
    frame = frame_of(spark, table)
    assert reader_of(frame) == READ_BY_US
    assert sorted(map(tuple, frame.select("n", "gone").collect())) == [(1, None), (2, None), (3, "new")]
    assert reader_of(frame.filter("gone = 'new'")) == READ_BY_SPARK
    assert frame.filter("gone = 'new'").count() == 1
    table.rename_column("n", "number")
    frame = frame_of(spark, table)
    assert reader_of(frame) == READ_BY_US
    assert sorted(row.number for row in frame.filter("number > 1").collect()) == [2, 3]
    table.merge_splits()
    assert reader_of(frame_of(spark, table)) == READ_BY_SPARK
    assert found(frame_of(spark, table)) == found(frame)


@pytest.mark.parametrize("condition", ["price > 2", "price >= 'NaN'", "NOT price <= 1", "price <> 1", "price + 1 > 2"])
def test_numbers_that_are_none_are_not_lost(spark: Any, tmp_path: Path, condition: str) -> None:
    """Parquet's bounds of [1.0, NaN] are 1.0 and 1.0, and to Spark NaN is greater than 2."""
    table = written(tmp_path / "t", pa.table({"price": [1.0, float("nan")]}))
    frame = frame_of(spark, table).filter(condition)
    assert [str(row.price) for row in frame.collect()] == ["nan"]
    assert reader_of(frame) == READ_BY_US


@pytest.mark.parametrize("sensitive", ["false", "true"])
def test_columns_in_other_letters_are_read_alike(spark: Any, tmp_path: Path, sensitive: str) -> None:
    """A frame keeps the names that it was made with, whatever the session says of letter case later."""
    table = written(tmp_path / "t", pa.table({"price": [1.0, float("nan")], "n": [1, 2]}))
    frame = spark.read.format("indextables").schema("PRICE double, N long").load(table.path)
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    try:
        assert found(frame.filter("PRICE > 2")) == ["Row(PRICE=nan, N=2)"]
        assert found(frame.select("N")) == ["Row(N=1)", "Row(N=2)"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_rows_that_an_index_finds_are_not_left_to_spark(spark: Any, tmp_path: Path) -> None:
    many = 30_000
    order = [n * 7919 % many for n in range(many)]
    rows = pa.table({"key": [f"k{n}" for n in order], "level": ["INFO"] * many, "message": ["all is well"] * many})
    table = written(tmp_path / "t", rows, fields={"message": "text"})
    table.prewarm()
    frame = frame_of(spark, table, **{"read.driverRows": "0"})
    asked = {
        "key = 'k77'": READ_BY_US,
        "key IN ('k77', 'k78') AND length(message) > 3": READ_BY_US,
        "level = 'INFO'": READ_BY_SPARK,
        "key > 'k77'": READ_BY_SPARK,
        "indexquery(message, 'well')": READ_BY_US,
    }
    assert {condition: reader_of(frame.filter(condition).select("key")) for condition in asked} == asked
    assert [row.key for row in frame.filter("key = 'k77'").collect()] == ["k77"]
    found = frame_of(spark, table).filter("key = 'k77'")
    assert reader_of(found) == "the driver, by cached indexes"
    assert [row.key for row in found.collect()] == ["k77"]


def test_counts_of_a_search_run_no_job(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"n": range(90), "message": ["disk full", "all is well", None] * 30})
    table = written(tmp_path / "t", rows, fields={"message": "text"})
    table.prewarm()
    frame = frame_of(spark, table).filter("indexquery(message, 'full')")
    frame.createOrReplaceTempView("full")
    assert (
        reader_of(spark.sql("SELECT count(*) AS n FROM full"))
        == "none: rows from the transaction log or cached indexes"
    )
    spark.sparkContext.setJobGroup("counts", "of a search")
    try:
        assert frame.count() == 30
        assert spark.sql("SELECT count(*) AS n FROM full").collect()[0].n == 30
        assert spark.sql("SELECT count(*) AS n FROM full").first().n == 30
        assert frame.agg({"*": "count"}).head()[0] == 30
        assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("counts")) == []
        assert spark.sql("SELECT count(*) AS n FROM full WHERE n > 44").first().n == 15
        assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("counts")) != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_splits_that_are_gone_are_never_taken_for_empty(spark: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "t", EVERY_TYPE)
    (split,) = Path(table.path).rglob("*.split")
    split.unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(SplitNotFoundError, match="restore the file") as caught:
            frame_of(spark, table).collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert caught.value.path == str(split)


@pytest.mark.parametrize(
    "read",
    [
        lambda frame: list(frame.toLocalIterator()),
        lambda frame: frame.filter("id = 0").collect(),
        lambda frame: frame.filter("indexquery(message, 'disk')").count(),
    ],
)
def test_splits_that_are_gone_are_named_however_they_are_read(spark: Any, tmp_path: Path, read: Any) -> None:
    table = written(tmp_path / "my.splits %41" / "t", EVERY_TYPE, fields={"message": "text"})
    (split,) = Path(table.path).rglob("*.split")
    split.unlink()
    with pytest.raises(SplitNotFoundError) as caught:
        read(frame_of(spark, table))
    assert caught.value.path == str(split)


def test_names_that_look_like_two_are_one(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"a#5\0b": [1, 2], "a#5L": [3, 4], "`c`.d": [5, 6]})
    frame = frame_of(spark, written(tmp_path / "t", rows))
    assert [tuple(row) for row in frame.filter("`a#5L` = 4").collect()] == [(2, 4, 6)]


def test_a_file_that_is_not_in_the_version_is_not_read(spark: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "t", EVERY_TYPE)
    table.overwrite(EVERY_TYPE.slice(0, 1))
    assert len(frame_of(spark, table).collect()) == 1
    assert len(frame_of(spark, table, versionAsOf="1").collect()) == len(EVERY_TYPE)
