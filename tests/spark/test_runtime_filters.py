"""Joins with a small, filtered side: its keys prune the table on the other side, and no row changes by it."""

from pathlib import Path
from typing import Any

import pytest

import indextables
from tests.tiers import slow_after

DAYS = 20


@pytest.fixture(scope="module")
def facts(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The same rows as a table of twenty splits and as Parquet."""
    root = tmp_path_factory.mktemp("facts")
    rows = spark.range(0, 200, 1, 1).selectExpr("id", f"CAST(id % {DAYS} AS INT) AS day", "id * 2 AS amount")
    rows.write.format("indextables").partitionBy("day").save(str(root / "ours"))
    rows.write.parquet(str(root / "parquet"))
    return spark.read.format("indextables").load(str(root / "ours")), spark.read.parquet(str(root / "parquet"))


@pytest.fixture(scope="module")
def days(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A dimension of twenty rows, some of their names null."""
    path = str(tmp_path_factory.mktemp("days") / "days")
    names = "CASE WHEN id % 7 = 6 THEN NULL ELSE concat('day ', id % 7) END AS name"
    spark.range(0, DAYS, 1, 1).selectExpr("CAST(id AS INT) AS number", names).write.parquet(path)
    return spark.read.parquet(path)


def pruned(frame: Any) -> str:
    return next(line.split()[1] for line in indextables.explain(frame).splitlines() if line.startswith("  pruned"))


def test_a_filtered_dimension_prunes_the_table(facts: tuple[Any, Any], days: Any) -> None:
    ours, plain = facts
    few = days.filter("name = 'day 3'")
    joined = ours.join(few, ours.day == few.number)
    assert pruned(joined) == "17"
    assert sorted(joined.collect()) == sorted(plain.join(few, plain.day == few.number).collect())
    assert joined.count() == 30
    assert joined.groupBy("name").sum("amount").collect() == (
        plain.join(few, plain.day == few.number).groupBy("name").sum("amount").collect()
    )


CONDITIONS = ["name = 'day 3'", "name IS NULL", "name = 'none'", "true"]


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "left_semi", "left_anti"])
@pytest.mark.parametrize("condition", slow_after(1, CONDITIONS, "every join with every condition"))
def test_every_join_has_the_rows_of_the_join_over_parquet(
    facts: tuple[Any, Any], days: Any, how: str, condition: str
) -> None:
    few = days.filter(condition).limit(100)

    def joins(frame: Any) -> list[list[Any]]:
        to_table = frame.join(few, frame.day == few.number, how)
        from_table = few.join(frame.filter("id < 90"), frame.day == few.number, how)
        return [sorted(joined.collect(), key=str) for joined in (to_table, from_table)]

    ours, plain = map(joins, facts)
    assert ours == plain


def test_a_small_side_with_random_values_is_evaluated_once(spark: Any, facts: tuple[Any, Any]) -> None:
    ours, _ = facts
    few = spark.range(40).selectExpr("CAST(floor(rand() * 20) AS INT) AS number", "id AS row").filter("number < 10")
    joined = few.join(ours, few.number == ours.day, "left").groupBy("row").count()
    assert all(row["count"] == 10 for row in joined.collect())


def test_a_small_side_that_is_a_table_of_ours(spark: Any, facts: tuple[Any, Any], tmp_path: Path) -> None:
    ours, plain = facts
    labels = spark.createDataFrame([(3, "x"), (4, "y"), (5, "y")], "number int, label string")
    labels.write.format("indextables").save(str(tmp_path / "labels"))
    few = spark.read.format("indextables").load(str(tmp_path / "labels")).filter("label = 'y'")
    joined = ours.join(few, ours.day == few.number).select("id", "label")
    assert pruned(joined) == "18"
    assert sorted(joined.collect()) == sorted(plain.filter("day IN (4, 5)").selectExpr("id", "'y'").collect())
