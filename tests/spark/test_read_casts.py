"""Conditions in which Spark casts the column: they prune and count as others do, and no error of a cast is lost."""

from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable, explain
from tests.tiers import slow_after

TEXTS = {
    "numbers": ["1", "02", " 3 ", "-4", "10", None],
    "others": ["1", "abc", " 3 ", "1.5", "", "99999999999999999999", "true", "2024-01-02", "1e1", ".5", None],
    "nearly": ["1", "abc", "2", None],
}
NUMBERS = [
    "p = 1", "p <> 1", "p < 3", "1 <= p", "p BETWEEN 1 AND 3", "p IN (1, 3)", "p NOT IN (1, 3)", "p IN (1, NULL)",
    "p <=> 1", "NOT (p = 1)", "p = 1 OR q = 'x'", "q = 'x' OR p = 1", "q = 'x' AND p = 1", "p = 1.5", "p = 1S",
    "CAST(p AS INT) = 1", "CAST(p AS INT) = 1L", "CAST(p AS TINYINT) > 0", "CAST(p AS INT) IS NULL",
    "CAST(p AS DECIMAL(25, 1)) = 1.5",
]  # fmt: skip
OTHER_TYPES = [
    "p = true", "p = DATE '2024-01-02'", "p > TIMESTAMP '2024-01-01 12:00:00'", "CAST(p AS BOOLEAN)", "s = 5",
    "s = 5 AND q = 'x'",
]  # fmt: skip
INFALLIBLE = [
    "TRY_CAST(p AS FLOAT) = 1",
    "TRY_CAST(p AS INT) = 1", "TRY_CAST(p AS INT) IS NULL", "NOT TRY_CAST(p AS INT) > 1", "TRY_CAST(p AS DOUBLE) < 2",
    "TRY_CAST(p AS DATE) = '2024-01-02'", "q = 'z' AND p = true", "CAST(id AS STRING) = '5'",
    "CAST(id AS STRING) LIKE '1%'", "CAST(id AS BIGINT) < 7L", "CAST(at AS DATE) = '2024-03-10'", "DATE(at) < '2024-03-10'",
    "CAST(wall AS DATE) IN ('2024-03-10', '2024-01-01')", "CAST(at AS DATE) <=> NULL",
]  # fmt: skip


@pytest.fixture(params=["true", "false"], ids=["ansi", "legacy"])
def session(request: pytest.FixtureRequest, spark: Any) -> Iterator[Any]:
    settings = {"spark.sql.ansi.enabled": request.param, "spark.sql.session.timeZone": "America/Los_Angeles"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


def rows(texts: list[str | None]) -> pa.Table:
    """Every text with every `q`; `s` is no partition column, and has texts that are no numbers too."""
    times = ["2024-03-10 07:59:59.999999", "2024-03-10 08:00:00", "2024-03-11 06:59:59", None, "2024-01-01 08:00:00"]
    count = 2 * len(texts)
    at = pa.array([times[i % len(times)] for i in range(count)]).cast(pa.timestamp("us"))
    return pa.table(
        {
            "p": pa.array([texts[i // 2] for i in range(count)], pa.string()),
            "q": pa.array([["x", "y"][i % 2] for i in range(count)]),
            "s": pa.array([["5", "7", "abc"][i % 3] for i in range(count)]),
            "id": pa.array(range(count), pa.int32()),
            "at": at.cast(pa.timestamp("us", "UTC")),
            "wall": at,
        }
    )


def pair(spark: Any, path: Path, texts: list[str | None]) -> tuple[Any, Any]:
    """The same rows as a table and as Parquet."""
    data = rows(texts)
    IndexTable.create(path / "table", data.schema, partition_by="p, q").append(data)
    pq.write_table(data, path / "rows.parquet")
    plain = spark.read.parquet(str(path / "rows.parquet"))
    return spark.read.format("indextables").load(str(path / "table")), plain


def chosen(plain: Any, conditions: list[str]) -> list[set[int]]:
    """The rows that satisfy each condition, which Spark evaluates as columns."""
    found = plain.selectExpr("id", *(f"({text}) AS c{number}" for number, text in enumerate(conditions))).collect()
    return [{row.id for row in found if row[number + 1]} for number in range(len(conditions))]


def filtered(frame: Any, conditions: list[str]) -> list[set[int]]:
    """The rows that each filter leaves, in one job."""
    parts = [frame.filter(text).selectExpr(f"{number} AS query", "id") for number, text in enumerate(conditions)]
    found = reduce(lambda one, other: one.union(other), parts).collect()
    return [{row.id for row in found if row.query == number} for number in range(len(conditions))]


@pytest.mark.parametrize("texts", slow_after(1, ["numbers", "others"], "more texts that are cast"))
def test_answers_are_sparks(session: Any, tmp_path: Path, texts: str) -> None:
    ours, plain = pair(session, tmp_path, TEXTS[texts])
    conditions = list(INFALLIBLE)
    if session.conf.get("spark.sql.ansi.enabled") == "false":
        conditions += NUMBERS + OTHER_TYPES
    elif texts == "numbers":
        conditions += NUMBERS
    assert dict(zip(conditions, filtered(ours, conditions), strict=True)) == dict(
        zip(conditions, chosen(plain, conditions), strict=True)
    )


def test_counts_are_sparks(session: Any, tmp_path: Path) -> None:
    """Without ANSI rules, a text that is no number is null."""
    is_ansi = session.conf.get("spark.sql.ansi.enabled") == "true"
    ours, plain = pair(session, tmp_path, TEXTS["numbers" if is_ansi else "nearly"])
    for split in tmp_path.rglob("*.split"):
        split.unlink()
    conditions = [text for text in NUMBERS if is_ansi or ("DECIMAL" not in text and "1.5" not in text)]
    assert [ours.filter(text).count() for text in conditions] == [len(ids) for ids in chosen(plain, conditions)]


@pytest.mark.parametrize("session", ["true"], indirect=True)
def test_errors_are_sparks(session: Any, tmp_path: Path) -> None:
    ours, plain = pair(session, tmp_path, TEXTS["others"])
    for condition in [
        "p = 1",
        "p IN (1, 3)",
        "p <=> 1",
        "p = 1 OR q = 'x'",
        "q = 'x' AND CAST(p AS INT) > 5",
        *OTHER_TYPES,
    ]:
        for asked in (ours.filter(condition).select("id"), ours.filter(condition).groupBy("q").count()):
            assert error_of(asked.collect) == error_of(plain.filter(condition).collect), condition
        assert error_of(ours.filter(condition).count) == error_of(plain.filter(condition).count)


def error_of(action: Callable[[], Any]) -> str:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - only where PySpark is

    with pytest.raises(PySparkException) as caught:
        action()
    return str(caught.value.getCondition())


def test_months_in_texts_prune_and_are_counted_from_the_log(session: Any, tmp_path: Path) -> None:
    """The splits are gone."""
    data = pa.table({"year": ["2024"] * 12, "month": [str(month) for month in range(1, 13)], "id": range(12)})
    table = IndexTable.create(tmp_path / "table", data.schema, partition_by="year, month")
    table.append(data)
    frame = session.read.format("indextables").load(table.path)
    quarter = "year = 2024 AND month BETWEEN 1 AND 3"
    assert "  pruned            9 (75.0%): 9 by layout" in explain(frame.filter(quarter))
    for split in Path(table.path).rglob("*.split"):
        split.unlink()
    assert frame.filter(quarter).count() == table.count(quarter) == 3
    assert frame.filter(quarter).groupBy("year").count().collect() == [("2024", 3)]
    assert session.sql(
        "SELECT min(id), max(id), count(*) FROM {t} WHERE month IN (:a, 12)", {"a": 10}, t=frame
    ).collect() == [(9, 11, 2)]
    assert frame.filter("month < 10 AND NOT month = 5 AND CAST(month AS INT) <=> 7").count() == 1


def test_small_partitions_that_share_a_split(session: Any, tmp_path: Path) -> None:
    """The split of the small ones lists its partitions, and each is judged by its own value."""
    data = pa.table({"month": [str(1 + i % 12) for i in range(48)], "id": range(48)})
    table = IndexTable.create(tmp_path / "table", data.schema, partition_by="month")
    table.append(data, options={"coalesce.enabled": "true", "coalesce.minRows": "100"})
    (split,) = Path(table.path).rglob("*.split")
    split.unlink()
    frame = session.read.format("indextables").load(table.path)
    assert frame.filter("month BETWEEN 2 AND 10").count() == table.count("month BETWEEN 2 AND 10") == 36
