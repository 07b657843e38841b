"""Counts that the log answers: proved by deleting the splits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import SchemaError
from tests.spark.samples import rows, written


@pytest.fixture(scope="module")
def enabled(spark: Any) -> Iterator[Any]:
    from indextables import enable  # noqa: PLC0415 - only where PySpark is

    return enable(spark)


@pytest.fixture(scope="module")
def whole(enabled: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A frame over a table that has its splits."""
    return enabled.read.format("indextables").load(written(tmp_path_factory.mktemp("whole") / "table").path)


@pytest.fixture(scope="module")
def hollow(enabled: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A frame over the same rows, of which only the log is left."""
    table = written(tmp_path_factory.mktemp("hollow") / "table")
    for split in Path(table.path).rglob("*.split"):
        split.unlink()
    return enabled.read.format("indextables").load(table.path)


def expected(condition: str | None) -> int:
    table = IndexTable.create(f"memory://counts/{abs(hash(condition))}", rows().schema)
    table.append(rows())
    return table.count(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "level = 'ERROR'", "level <> 'ERROR'", "level IS NULL", "level <=> NULL", "NOT level = 'ERROR'",
        "level IN ('INFO', NULL)",
        "level LIKE 'E%' OR level = 'WARN'", "'ERROR' < level", "level BETWEEN 'F' AND 'X'", "id < 1000 AND level = 'INFO'",
        "level = 'ERROR' AND level = 'INFO'", "false", "tiny > 300", "at > '2100-01-01'",
        "level = 'ERROR' OR 1 = 1", "startswith(level, 'W')",
    ],
)  # fmt: skip
def test_counts_are_taken_from_the_log(hollow: Any, condition: str) -> None:
    assert hollow.filter(condition).count() == expected(condition)


@pytest.mark.parametrize(
    "derived",
    [
        lambda frame: frame,
        lambda frame: frame.select("id", "level"),
        lambda frame: frame.alias("x").filter("x.id >= 0").select("x.level"),
        lambda frame: frame.where(frame.level.isNotNull() | frame["level"].isNull()),
        lambda frame: frame.drop("day"),
    ],
)
def test_frames_derived_from_it_are_counted_from_the_log(hollow: Any, derived: Any) -> None:
    assert derived(hollow).count() == 60


def test_views_are_counted_from_the_log(enabled: Any, hollow: Any) -> None:
    hollow.createOrReplaceTempView("hollow")
    assert enabled.table("hollow").filter("level = 'INFO'").count() == 15
    assert enabled.sql("SELECT id FROM hollow WHERE level = 'INFO'").count() == 15


@pytest.mark.parametrize(
    "derived",
    [
        lambda frame: frame.limit(7),
        lambda frame: frame.filter("length(message) > 5"),
        lambda frame: frame.filter("number > 2"),
        lambda frame: frame.filter("CAST(number AS STRING) = '3'"),
        lambda frame: frame.distinct(),
        lambda frame: frame.select("level").distinct(),
        lambda frame: frame.join(frame.select("id"), "id"),
        lambda frame: frame.union(frame),
        lambda frame: frame.sample(fraction=1.0),
        lambda frame: frame.dropDuplicates(["level"]),
    ],
)
def test_other_counts_are_sparks(enabled: Any, whole: Any, derived: Any) -> None:
    plain = enabled.createDataFrame(whole.toArrow())
    assert derived(whole).count() == derived(plain).count()


def test_a_frame_in_the_cache_is_counted_by_spark(whole: Any) -> None:
    cached = whole.filter("level = 'INFO'").cache()
    try:
        assert cached.count() == 15
        assert "InMemoryRelation" in cached._jdf.queryExecution().optimizedPlan().toString()
    finally:
        cached.unpersist()


def test_groups_are_taken_from_the_log(hollow: Any) -> None:
    groups = {row["level"]: row["count"] for row in hollow.groupBy("level").count().collect()}
    assert groups == {"ERROR": 15, "INFO": 15, "WARN": 15, None: 15}


def test_aggregates_of_counts_are_taken_from_the_log(hollow: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    frame = hollow.filter("level > 'F'").groupBy("level").agg(F.count("*").alias("n"), F.count(F.lit(1)).alias("m"))
    assert sorted(map(tuple, frame.collect())) == [("INFO", 15, 15), ("WARN", 15, 15)]
    assert hollow.agg(F.count("*")).collect()[0][0] == 60
    assert hollow.filter("level = 'none'").agg(F.count("*")).collect()[0][0] == 0
    assert hollow.filter("level = 'none'").groupBy("level").count().collect() == []


def test_figures_of_columns_in_other_letters(hollow: Any, enabled: Any) -> None:
    path = hollow._jdf.queryExecution().analyzed().options().get("path")
    frame = enabled.read.format("indextables").schema("ID long, Level string, AT timestamp").load(path)
    assert sorted(row["count"] for row in frame.groupBy("level").count().collect()) == [15] * 4
    figures = enabled.sql("SELECT max(id), count(at), count(*) FROM {frame}", frame=frame)
    assert tuple(figures.first()) == (59, 48, 60)


def test_days_that_python_does_not_know(enabled: Any, tmp_path: Path) -> None:
    days = enabled.sql("SELECT id, date_add(DATE '9999-12-30', CAST(id AS INT)) AS day, day AS at FROM range(5)")
    days = days.withColumn("at", days.day.cast("timestamp"))
    days.write.format("indextables").option("partitionBy", "day").save(str(tmp_path / "t"))
    frame, text = enabled.read.format("indextables").load(str(tmp_path / "t")), "CAST({} AS STRING)"
    for split in (tmp_path / "t").rglob("*.split"):
        split.unlink()
    last = enabled.sql("SELECT max(day) AS day, min(at) AS at FROM {days}", days=frame)
    assert tuple(last.selectExpr(text.format("day"), text.format("at")).first()) == (
        "+10000-01-03",
        "9999-12-30 00:00:00",
    )
    assert frame.filter("day > DATE '9999-12-31'").count() == 3
    groups = frame.groupBy("day").count().selectExpr(text.format("day"), "count")
    assert ("+10000-01-01", 1) in [tuple(row) for row in groups.collect()]


def test_columns_of_the_frame_are_columns_of_its_groups(hollow: Any) -> None:
    groups = hollow.groupBy(hollow.level).count()
    ordered = groups.filter(hollow.level.isNotNull()).orderBy(hollow["level"].desc()).select(hollow.level, "count")
    assert [row.level for row in ordered.collect()] == ["WARN", "INFO", "ERROR"]


@pytest.mark.parametrize(
    "aggregate",
    [
        lambda frame, f: frame.groupBy("level").agg(f.count("message")),
        lambda frame, f: frame.groupBy("level").agg(f.countDistinct("day")),
        lambda frame, f: frame.groupBy("level").agg(f.count("*"), f.max("id")),
        lambda frame, f: frame.groupBy("day").count(),
        lambda frame, f: frame.groupBy(f.lower("level")).count(),
        lambda frame, f: frame.groupBy("level").pivot("flag").count(),
        lambda frame, f: frame.rollup("level").count(),
    ],
)
def test_other_aggregates_are_sparks(enabled: Any, whole: Any, aggregate: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    plain = enabled.createDataFrame(whole.sort("id").toArrow())
    ours, sparks = aggregate(whole, F).collect(), aggregate(plain, F).collect()
    assert sorted(map(str, ours)) == sorted(map(str, sparks))


def test_a_limit_is_sparks(whole: Any) -> None:
    assert sum(row["count"] for row in whole.limit(9).groupBy("level").count().collect()) == 9


def test_groups_of_texts_with_a_collation_are_sparks(enabled: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", pa.schema({"level": pa.string(), "n": pa.int64()}), partition_by="level")
    table.append(pa.table({"level": ["info", "INFO", "warn"], "n": [1, 2, 3]}))
    levels = enabled.read.format("indextables").load(table.path).selectExpr("level COLLATE UTF8_LCASE AS level", "n")
    groups = levels.groupBy("level").count()
    assert sorted((row.level.lower(), row["count"]) for row in groups.collect()) == [("info", 2), ("warn", 1)]
    assert levels.filter("level = 'INFO'").count() == 2


def test_a_column_is_not_read_with_a_collation_that_the_table_has_not(enabled: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", pa.schema({"level": pa.string(), "n": pa.int64()}))
    read = enabled.read.format("indextables").schema("level string COLLATE UTF8_LCASE, n long")
    with pytest.raises(SchemaError, match="level"):
        read.load(table.path)
