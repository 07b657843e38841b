"""Filters that the scan takes over: proved by deleting the splits that they rule out."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable, IndexTablesError, col
from tests.spark.samples import written


@pytest.fixture(scope="module")
def enabled(spark: Any) -> Any:
    from indextables import enable  # noqa: PLC0415 - only where PySpark is

    return enable(spark)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    return written(tmp_path_factory.mktemp("filters") / "table")


@pytest.fixture(scope="module")
def frame(enabled: Any, table: IndexTable) -> Any:
    return enabled.read.format("indextables").load(table.path)


@pytest.fixture(scope="module")
def errors(enabled: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A frame over a table of which only the splits of level ERROR are left."""
    table = written(tmp_path_factory.mktemp("errors") / "table")
    for split in table.splits().to_pylist():
        if split["partition"]["level"] != "ERROR":
            Path(table.path, split["path"]).unlink()
    return enabled.read.format("indextables").load(table.path)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def found(table: IndexTable, **scan_spec: Any) -> list[int]:
    return sorted(table.scan(**scan_spec).to_arrow()["id"].to_pylist())


ERRORS = [
    lambda f: f.filter("level = 'ERROR'"),
    lambda f: f.where((f.level == "ERROR") & (f.number > 2)),
    lambda f: f.filter("level = 'ERROR' AND length(message) > 5"),
    lambda f: f.filter("length(message) > 5").filter("(level = 'ERROR' AND id < 9) OR (level LIKE 'ERR%' AND id > 50)"),
    lambda f: f.select("id", "level", f.number.alias("n")).alias("x").filter("x.level < 'F' AND n IS NOT NULL"),
    lambda f: f.filter("level IN ('ERROR', NULL)").orderBy("id").limit(3),
    lambda f: f.filter("level = 'ERROR'").join(f.filter("level <= 'ERROR'").select("id"), "id"),
]


@pytest.mark.parametrize("query", ERRORS)
def test_only_splits_that_may_match_are_opened(frame: Any, errors: Any, query: Any) -> None:
    assert ids(query(errors)) == ids(query(frame)) != []


def test_splits_that_may_match_are_needed(errors: Any) -> None:
    with pytest.raises(Exception, match="does not exist"):
        ids(errors.filter("level = 'ERROR' OR id = 1"))


def test_filters_of_one_frame_do_not_meet(table: IndexTable, frame: Any) -> None:
    both = frame.filter("level = 'ERROR'").union(frame.filter("number > 2"))
    assert ids(both) == sorted([*found(table, where="level = 'ERROR'"), *found(table, where="number > 2")])
    assert ids(frame) == list(range(60))


def test_numbers_of_rows_stay_what_they_are(frame: Any) -> None:
    from pyspark.sql.functions import monotonically_increasing_id  # noqa: PLC0415

    numbered = frame.withColumn("n", monotonically_increasing_id())
    numbers = {row.id: row.n for row in numbered.collect()}
    assert {row.id: row.n for row in numbered.filter("id % 2 = 0 AND id < 40").collect()}.items() <= numbers.items()


def test_the_current_time_is_that_of_the_query(frame: Any) -> None:
    before = frame.filter("at < current_timestamp() AND level = 'INFO'")
    after = frame.filter("at > current_timestamp() - INTERVAL 1 DAY")
    assert ids(before) == ids(frame.filter("at IS NOT NULL AND level = 'INFO'")) != []
    assert ids(after) == []
    assert "pruned            8 (100.0%)" in indextables.explain(after)


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ("indexquery(message, 'timeout')", col("message").indexquery("timeout")),
        ("id < 50 AND indexquery(message, 'timeout AND NOT retry')", "id < 50 AND message INDEXQUERY 'timeout -retry'"),
        ("indexquery(message, 'full') OR number = 1", "message INDEXQUERY 'full' OR number = 1"),
        ("NOT indexquery(message, 'timeout')", "NOT message INDEXQUERY 'timeout'"),
        ("indexquery('level:WARN AND message:well')", "* INDEXQUERY 'level:WARN AND message:well'"),
        ("indexquery(message, 'timeout') AND length(message) < 19", "message = 'connection timeout'"),
    ],
)  # fmt: skip
def test_searches_are_answered_by_the_scan(frame: Any, table: IndexTable, condition: str, where: Any) -> None:
    assert ids(frame.filter(condition)) == found(table, where=where) != []


def test_searches_of_python(frame: Any, table: IndexTable) -> None:
    from indextables.functions import indexquery  # noqa: PLC0415

    wanted = found(table, where="level = 'ERROR' AND message INDEXQUERY 'timeout'")
    assert ids(frame.filter((frame.level == "ERROR") & indexquery("message", "timeout"))) == wanted != []
    twice = frame.filter(indexquery(None, "message:timeout")).filter("level = 'ERROR'")
    assert ids(twice.filter(indexquery(None, "message:timeout"))) == wanted
    assert frame.filter(indexquery(frame.message, "timeout")).count() == len(found(table, query="message:timeout"))


def test_searches_are_columns_too(frame: Any, table: IndexTable) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    from indextables.functions import indexquery  # noqa: PLC0415

    wanted, search = found(table, where="message INDEXQUERY 'timeout'"), indexquery("message", "timeout")
    assert ids(frame.select("id", search.alias("hit")).filter("hit")) == wanted
    assert ids(frame.withColumn("hit", search).filter("NOT hit")) == sorted({*range(60)} - {*wanted})
    assert ids(frame.filter(search | (frame.id + 1 == frame.number))) == sorted({*wanted, 0, 1, 2, 6})
    assert {*ids(frame.limit(40).filter(search))} <= {*wanted}
    pairs = frame.alias("a").join(
        frame.alias("b"), (F.col("a.id") == F.col("b.id")) & indexquery("b.message", "timeout")
    )
    assert ids(pairs.select("a.id")) == wanted


def test_a_search_is_of_the_column_that_it_names(enabled: Any, tmp_path: Path) -> None:
    """Whatever else the frame reads, in whatever letters, and whatever else is called as answers are."""
    schema = pa.schema({"id": pa.int64(), "host": pa.string(), "message": pa.string(), "_indexquery_0": pa.bool_()})
    table = IndexTable.create(tmp_path / "t", schema, fields={"message": "text"})
    lines = {"id": [1, 2, 3], "host": ["disk", "web", None], "message": ["web", "disk", "disk"]}
    table.append(pa.table({**lines, "_indexquery_0": [False, True, None]}))
    read = enabled.read.format("indextables").schema
    host = read("host string").load(table.path).filter("indexquery(host, 'disk')")
    assert (host.count(), [row.host for row in host.collect()]) == (1, ["disk"])
    shouted = read("ID long, MESSAGE string").load(table.path).filter("indexquery(message, 'disk')")
    assert (shouted.count(), ids(shouted.withColumnRenamed("ID", "id"))) == (2, [2, 3])
    every = enabled.read.format("indextables").load(table.path).filter("indexquery(message, 'disk')")
    assert ids(every) == [2, 3]  # Spark evaluates it, because the name of the search column is taken


def test_subqueries_of_frames_may_name_columns_of_the_query_around_them(frame: Any, table: IndexTable) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    from indextables.functions import indexquery  # noqa: PLC0415

    a, b, same = frame.alias("a"), frame.alias("b"), F.col("b.id") == F.col("a.number").outer()
    wanted = found(table, where="number IN (0, 1, 2, 3, 7)")
    assert ids(a.filter(b.filter(same).exists()).select("a.id")) == wanted != []
    assert ids(a.filter(b.where(same).select(F.max("b.id")).scalar() > 6)) == found(table, where="number = 7")
    assert ids(a.lateralJoin(b.filter(same & (F.col("b.id") > 2)).withColumn("x", F.lit(1)).select("x"))) == found(
        table, where="number IN (3, 7)"
    )
    searched = a.filter(b.filter(same & indexquery("b.message", "timeout")).exists())
    assert ids(searched) == found(table, where="number IN (2, 7)")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("SELECT id FROM logs WHERE indexquery(message, 'timeout') ORDER BY id DESC", "message INDEXQUERY 'timeout'"),
        (
            "SELECT l.id FROM logs l JOIN (SELECT id FROM logs WHERE indexquery(message, 'timeout')) r ON l.id = r.id",
            "message INDEXQUERY 'timeout'",
        ),
        (
            "SELECT id FROM (SELECT * FROM logs WHERE indexquery(message, 'full')) WHERE level = 'ERROR'",
            "level = 'ERROR' AND message INDEXQUERY 'full'",
        ),
        ("SELECT id FROM logs WHERE level = 'WARN' UNION SELECT id FROM logs WHERE id = 1", "level = 'WARN' OR id = 1"),
    ],
)
def test_sql_over_views(enabled: Any, frame: Any, table: IndexTable, query: str, where: str) -> None:
    frame.createOrReplaceTempView("logs")
    assert ids(enabled.sql(query)) == found(table, where=where) != []


def test_sql_that_opens_only_splits_that_may_match(enabled: Any, errors: Any) -> None:
    errors.createOrReplaceTempView("errors")
    counts = "SELECT level, count(*) AS n FROM errors WHERE level <= 'ERROR' AND message IS NOT NULL GROUP BY level"
    assert [tuple(row) for row in enabled.sql(counts).collect()] == [("ERROR", 13)]
    assert enabled.sql("SELECT count(*) AS n FROM errors").collect()[0].n == 60


def test_a_search_that_cannot_be_read_is_an_error(frame: Any) -> None:
    with pytest.raises(IndexTablesError, match="nowhere"):
        frame.filter("indexquery('nowhere:x')").collect()
    with pytest.raises(IndexTablesError):
        frame.filter("indexquery(message, '(timeout')").count()


def test_rows_are_grouped_by_a_search(frame: Any, table: IndexTable) -> None:
    from indextables.functions import indexquery  # noqa: PLC0415

    groups = frame.groupBy(indexquery("message", "timeout").alias("hit")).count()
    hits = len(found(table, where="message INDEXQUERY 'timeout'"))
    assert {row.hit: row["count"] for row in groups.collect()} == {True: hits, False: 60 - hits}


def test_a_search_in_sparks_cache_is_answered(frame: Any, table: IndexTable) -> None:
    from indextables.functions import indexquery  # noqa: PLC0415

    hits = frame.filter(indexquery("message", "timeout")).cache()
    try:
        assert ids(hits) == ids(hits.filter("id >= 0")) == found(table, where="message INDEXQUERY 'timeout'")
        assert sorted(hits.rdd.map(lambda row: row.id).collect()) == ids(hits)
    finally:
        hits.unpersist()


def test_what_spark_caches_is_pruned(errors: Any, table: IndexTable) -> None:
    cached = errors.filter("level = 'ERROR' AND id >= 0").cache()
    try:
        assert ids(cached) == ids(cached.filter("id >= 0")) == found(table, where="level = 'ERROR'")
        assert "InMemoryTableScan" in cached.select("id")._jdf.queryExecution().executedPlan().toString()
    finally:
        cached.unpersist()


@pytest.mark.parametrize(
    "scan_spec",
    [
        {"where": "level = 'ERROR' OR message INDEXQUERY 'full'", "columns": ["number", "id"]},
        {"query": "message:timeout", "where": "message <> 'x' AND NOT (price < 1 OR cost = 1.5)"},
        {"where": "level < 5 OR number > 1", "columns": ["id"]},
        {"where": "at > '2024-01-01 01:00:00' AND wall IS NOT NULL"},
    ],
)
def test_scans_are_frames(enabled: Any, table: IndexTable, scan_spec: dict[str, Any]) -> None:
    scan = table.scan(**scan_spec)
    try:
        expected = sorted(map(str, scan.to_arrow().to_pylist()))
    except IndexTablesError as error:
        with pytest.raises(type(error)):
            scan.to_spark(enabled).collect()
        return
    assert sorted(map(str, scan.to_spark(enabled).toArrow().to_pylist())) == expected != []


def test_a_scan_with_a_limit_is_a_frame_with_a_limit(enabled: Any, table: IndexTable) -> None:
    assert table.scan(limit=7).to_spark(enabled).count() == 7
    assert table.at(version=1).scan().to_spark(enabled).count() == 30


@pytest.mark.parametrize("condition", ["day >= TIMESTAMP '2024-01-02'", "wall >= TIMESTAMP '2024-01-02'"])
def test_a_time_zone_that_was_set_later_is_that_of_the_query(enabled: Any, tmp_path: Path, condition: str) -> None:
    """The frame was made in UTC, where these rows are eight hours before the moment that is asked for."""
    day, wall = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2)  # noqa: DTZ001 - a wall's time
    rows = pa.table({"day": [day], "wall": pa.array([wall], pa.timestamp("us")), "id": [1]})
    table = IndexTable.create(tmp_path / "t", rows.schema, partition_by="day")
    table.append(rows)
    frame = enabled.read.format("indextables").load(table.path)
    enabled.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        assert (ids(frame.filter(condition)), frame.filter(condition).count()) == ([1], 1)
    finally:
        enabled.conf.set("spark.sql.session.timeZone", "UTC")
