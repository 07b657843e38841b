"""Optimized write: how rows end up in splits, whatever their number, order and skew."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from indextables import IndexTable


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def splits(path: str, directory: str = "") -> list[int]:
    """The rows of the splits in a directory, the smallest first."""
    table = IndexTable.open(path).splits().select(["path", "num_records"]).to_pylist()
    return sorted(split["num_records"] for split in table if split["path"].startswith(directory))


def metrics(path: str) -> dict[str, str]:
    return dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])


def write(frame: Any, path: str, **options: Any) -> None:
    frame.write.format("indextables").options(**options).save(path)


def test_a_hot_partition_among_tiny_ones(spark: Any, path: str) -> None:
    frame = spark.range(50_060).selectExpr("id", "IF(id < 50000, 'hot', concat('tiny', id % 12)) AS p")
    write(frame, path, partitionBy="p", targetRecordsPerSplit=10_000)
    assert len(splits(path, "p=hot/")) >= 5
    assert max(splits(path)) <= 11_000
    assert [splits(path, f"p=tiny{i}/") for i in range(12)] == [[5]] * 12
    assert (sum(splits(path)), metrics(path)["numTasks"], metrics(path)["numPartitions"]) == (50_060, "6", "13")


def test_more_partitions_than_are_placed_one_by_one(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.spark.write.repartition._MAX_PLACED", 2)
    frame = spark.range(40).selectExpr("id", "IF(id < 20, -1, id DIV 4) AS p")
    write(frame, path, partitionBy="p", targetRecordsPerSplit=10)
    assert ([splits(path, f"p={p}/") for p in range(5, 10)], metrics(path)["numTasks"]) == ([[4]] * 5, "4")
    assert sum(splits(path, "p=-1/")) == 20


def test_an_input_that_has_fewer_rows_each_time(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted by partition, counted as a whole, and written; a count of Spark's stands for a source that shrinks."""
    monkeypatch.setattr("indextables.spark.write.repartition._MAX_PLACED", 2)
    frame = spark.range(40).selectExpr("id", "IF(id < 30, 0, 1) AS p")
    monkeypatch.setattr(type(frame), "count", lambda _: 5)
    write(frame, path, partitionBy="p", targetRecordsPerSplit=10)
    assert sum(splits(path)) == 40


def test_days_are_days_in_utc_whatever_the_time_zone_of_the_session(spark: Any, path: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        frame = spark.range(48, numPartitions=3).selectExpr(
            "timestamp_micros(id * 3600000000) AS ts",
            "timestamp_ntz'1969-12-31 23:00:00' + interval 1 hour * id AS wall",
        )
        write(frame, path, partitionBy="day(ts), month(wall)")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    found = IndexTable.open(path).splits().to_pylist()
    days = [(split["path"].rpartition("/")[0], split["num_records"]) for split in found]
    assert sorted(days) == [
        ("ts_day=1970-01-01/wall_month=1969-12", 1),
        ("ts_day=1970-01-01/wall_month=1970-01", 23),
        ("ts_day=1970-01-02/wall_month=1970-01", 24),
    ]


@pytest.mark.parametrize(
    ("rows", "target", "expected"),
    [
        (12, 3, [3, 3, 3, 3]),
        (12, 5, [4, 4, 4]),
        (49, 7, [7] * 7),
        (1001, 500, [333, 334, 334]),
        (10, 100, [10]),
    ],
)
def test_equal_shares_of_a_table_without_partitions(
    spark: Any, path: str, rows: int, target: int, expected: list[int]
) -> None:
    constant = spark.range(rows, numPartitions=5).selectExpr("'always the same' AS p", "id")
    write(constant, path, targetRecordsPerSplit=target)
    assert splits(path) == expected


def test_rows_keep_their_order_where_nothing_asks_for_another(spark: Any, path: str) -> None:
    write(spark.range(100, numPartitions=3).selectExpr("id", "'x' AS p"), path, targetRecordsPerSplit=25)
    lows = [row["min"]["id"] for row in IndexTable.open(path).splits().select(["min"]).to_pylist()]
    assert sorted(lows) == [0, 25, 50, 75]


def test_rows_that_lie_well_are_left_where_they_are(spark: Any, path: str) -> None:
    write(spark.range(100, numPartitions=2).selectExpr("id", "'x' AS p"), path, targetRecordsPerSplit=50)
    assert splits(path) == [50, 50]


def test_a_standard_write_takes_what_comes(spark: Any, path: str) -> None:
    frame = spark.range(40, numPartitions=4).selectExpr("id", "id % 2 AS p")
    write(frame, path, partitionBy="p", **{"OptimizeWrite.Enabled": "FALSE", "targetRecordsPerSplit": 3})
    assert (metrics(path)["numTasks"], splits(path)) == ("4", [2] * 8 + [3] * 8)


def test_rows_are_sorted_by_the_columns_of_cluster_by(spark: Any, path: str) -> None:
    frame = spark.range(1000, numPartitions=4).selectExpr("id % 2 AS p", "(id * 7919) % 1000 AS id")
    write(frame, path, partitionBy="p", **{"optimizeWrite.clusterBy": "ID"})
    for part in (0, 1):
        ids = IndexTable.open(path).scan(where=f"p = {part}").to_arrow()["id"].to_pylist()
        assert ids == sorted(ids)


def test_the_number_of_rows_need_not_be_counted_where_it_is_given(spark: Any, path: str) -> None:
    write(spark.range(100, numPartitions=2).selectExpr("id", "'x' AS p"), path, **{"autoSize.inputRowCount": 4_000_000})
    assert metrics(path)["numTasks"] == "4"


def test_auto_size_makes_splits_of_the_size_asked_for(spark: Any, path: str, caplog: pytest.LogCaptureFixture) -> None:
    frame = spark.range(1000, numPartitions=2).selectExpr("id", "concat('line ', id) AS message")
    sizes = {"spark.indextables.autoSize.enabled": "true", "spark.indextables.autoSize.targetSplitSize": "1M"}
    write(frame, path, **sizes, targetRecordsPerSplit=500)
    assert splits(path) == [500, 500]
    assert "no splits to estimate row sizes from; splits get 500 rows" in caplog.text
    size = IndexTable.open(path).splits()["size"].to_pylist()[0]
    sizes["spark.indextables.autoSize.targetSplitSize"] = str(size // 2)
    frame.write.format("indextables").mode("append").options(**sizes, targetRecordsPerSplit=700).save(path)
    appended = splits(path)[:-2]
    assert (sum(appended), len(appended)) == (1000, 4)
    assert "targetRecordsPerSplit=700 is not used" in caplog.text


@pytest.mark.parametrize("layout", ["", "p"])
def test_columns_with_names_like_those_that_the_write_uses_are_kept(spark: Any, path: str, layout: str) -> None:
    names = [f"__indextables_{name}" for name in ("key", "KEY_", "rows", "tasks", "spread", "group", "value")]
    columns = [f"id + {number} AS `{name}`" for number, name in enumerate(names)]
    frame = spark.range(20, numPartitions=3).selectExpr("id", "id % 2 AS p", *columns)
    write(frame, path, targetRecordsPerSplit=6, **({"partitionBy": layout} if layout else {}))
    rows = IndexTable.open(path).scan().to_arrow().sort_by("id")
    assert rows.column_names == ["id", "p", *names]
    assert [rows[name].to_pylist() for name in names] == [list(range(n, n + 20)) for n in range(len(names))]


@pytest.mark.parametrize("layout", ["", "p"])
def test_an_input_that_differs_each_time_is_written_once(spark: Any, path: str, layout: str) -> None:
    frame = spark.range(3000, numPartitions=3).selectExpr("id", "uuid() AS u").repartition(3, "u")
    frame = frame.selectExpr("*", "CAST(rand() * 5 AS INT) AS p", "uuid() AS v").filter("rand() < 2")
    write(frame, path, targetRecordsPerSplit=500, **({"partitionBy": layout} if layout else {}))
    rows = IndexTable.open(path).scan().to_arrow()
    assert sorted(rows["id"].to_pylist()) == list(range(3000))
    if layout:
        found = IndexTable.open(path).scan().group_by("p").count().sort_by("p").to_pydict()
        values = rows["p"].value_counts().to_pylist()
        assert dict(zip(found["p"], found["count"], strict=True)) == {v["values"]: v["counts"] for v in values}


def test_rows_of_a_shuffled_input_are_cut_evenly(spark: Any, path: str) -> None:
    frame = spark.range(20_000).selectExpr("id", "concat('line ', id) AS message").repartition(3, "message")
    write(frame, path, targetRecordsPerSplit=5_000)
    assert splits(path) == [5_000] * 4


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [6, 6, 7, 7, 7, 7]),
        ({"partitionBy": "g"}, [6, 7, 7] * 2),
        ({"partitionBy": "bucket(1, id)"}, [6, 6, 7, 7, 7, 7]),
    ],
)
def test_as_many_splits_as_the_target_needs(
    spark: Any, path: str, settings: dict[str, str], expected: list[int]
) -> None:
    """ceil(40 / 7), of rows in no order that Spark would repeat, and of partitions."""
    few = spark.range(40, numPartitions=3)
    frames = [few.repartition(3, "id"), few.join(spark.range(40), "id"), few.dropDuplicates(), few]
    for number, frame in enumerate(frames):
        write(frame.selectExpr("id", "id % 2 AS g"), f"{path}{number}", targetRecordsPerSplit=7, **settings)
    assert [splits(f"{path}{number}") for number in range(len(frames))] == [sorted(expected)] * len(frames)


@pytest.mark.parametrize("layout", ["", "p"])
def test_many_rows_are_spread_by_their_hash(
    spark: Any, path: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.spark.write.repartition._MAX_PLACED", 100)
    frame = spark.range(20_000).selectExpr("id", "0 AS p").repartition(3, "id")
    write(frame, path, targetRecordsPerSplit=5_000, **({"partitionBy": layout} if layout else {}))
    assert (len(splits(path)), sum(splits(path))) == (4, 20_000)
    assert max(splits(path)) <= 5_500


@pytest.mark.parametrize("layout", ["", "p"])
def test_rows_find_the_same_task_whatever_their_order(spark: Any, path: str, layout: str) -> None:
    """What Spark computes again after it has lost an executor comes in another order."""
    shuffled = spark.range(1000, numPartitions=1).selectExpr("id", "id DIV 900 AS p").repartition(3, "id")

    def tasks(*, ascending: bool, table: str) -> dict[int, str]:
        options = {"targetRecordsPerSplit": 100, **({"partitionBy": layout} if layout else {})}
        write(shuffled.sortWithinPartitions("id", ascending=ascending), table, **options)
        paths = IndexTable.open(table).splits()["path"].to_pylist()
        ids = {path: pq.ParquetFile(f"{table}/{path}").read(["id"])["id"].to_pylist() for path in paths}
        return {id_: Path(path).name[: len("part-00000")] for path in paths for id_ in ids[path]}

    found = tasks(ascending=True, table=path)
    assert len(set(found.values())) > 5
    assert tasks(ascending=False, table=f"{path}2") == found


def test_sessions_check_what_is_computed_again(spark: Any) -> None:
    assert spark.conf.get("spark.sql.shuffle.orderIndependentChecksum.enabled") == "true"
    assert spark.conf.get("spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch") == "true"
