"""Small partitions share splits in writes from Spark too, and Spark's answers are those of the rows."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable

LARGE, SMALL = 3_000, 40  # rows of each day


def apps(spark: Any) -> Any:
    """Two days, each with a large app and forty of a row, in no order and in three partitions."""
    frame = spark.range(2 * (LARGE + SMALL), numPartitions=3)
    number = f"id DIV 2 - {LARGE}"
    return frame.selectExpr(
        "DATE'2024-01-01' + CAST(id % 2 AS INT) AS day",
        f"IF({number} < 0, 'Large', concat('s', {number})) AS app",
        "id",
    )


def directories(path: str) -> Counter[str]:
    return Counter(split.rpartition("/")[0] for split in IndexTable.open(path).splits()["path"].to_pylist())


@pytest.mark.parametrize("optimized", [True, False])
def test_small_partitions_of_a_job_share_splits(spark: Any, tmp_path: Path, optimized: bool) -> None:  # noqa: FBT001
    path, frame = str(tmp_path / "t"), apps(spark)
    writer = frame.write.format("indextables").partitionBy("day", "app").option("optimizeWrite.enabled", optimized)
    writer = writer.options(**{"coalesce.enabled": True, "coalesce.minRows": 500, "targetRecordsPerSplit": 1_500})
    writer.option("coalesce.rule.S7", "odd").save(path)
    found = directories(path)
    days = ["day=2024-01-01", "day=2024-01-02"]
    expected = [f"{day}/app={app}" for day in days for app in ("Large", "%5B%23odd%5D", "%5B%23small%5D")]
    assert sorted(found) == sorted(expected)
    if optimized:
        assert [found[f"{day}/app=%5B%23small%5D"] for day in days] == [1, 1]
    assert dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])["numPartitions"] == str(2 * (SMALL + 1))

    read = spark.read.format("indextables").load(path)
    assert read.filter("app = 's7'").count() == 2
    assert {row["id"] for row in read.filter("app = 's7' AND day = '2024-01-01'").collect()} == {2 * (LARGE + 7)}
    assert read.filter("app = 's99'").collect() == []
    assert sorted(read.collect()) == sorted(frame.collect())
    groups = {tuple(row) for row in read.groupBy("app").count().collect()}
    assert groups == {tuple(row) for row in frame.groupBy("app").count().collect()}
    assert IndexTable.open(path).scan(where="app = 's7' AND day = DATE'2024-01-01'").explain().opened == 1
