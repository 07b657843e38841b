"""Which inputs are counted by reading columns, and which are computed for it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHEAP = {
    "Parquet": lambda files, _: files,
    "a filter": lambda files, _: files.filter("id > 3"),
    "an unused function": lambda files, f: files.withColumn("message", f("id")),
    "an unused random number": lambda files, _: files.selectExpr("*", "rand() AS chance"),
    "a broadcast join": lambda files, _: files.join(_names(files), "p"),
    "a union": lambda files, _: files.union(files),
    "exploded": lambda files, _: files.selectExpr("id", "p", "explode(array(1, 2)) AS e"),
    "a range": lambda files, _: files.sparkSession.range(9).selectExpr("id", "id % 2 AS p"),
    "local rows": lambda files, _: files.sparkSession.sql("SELECT * FROM VALUES (1, 2), (3, 4) AS t(id, p)"),
    "a checkpoint": lambda files, _: files.distinct().localCheckpoint(),
}
COSTLY = {
    "an aggregation": lambda files, _: files.groupBy("id", "p").count(),
    "distinct rows": lambda files, _: files.distinct(),
    "a shuffle": lambda files, _: files.repartition(2, "id"),
    "a join": lambda files, _: files.join(_names(files).hint("merge"), "p"),
    "an aggregated side": lambda files, _: files.join(files.groupBy("p").count().hint("broadcast"), "p"),
    "a function as a filter": lambda files, f: files.filter(f("id") > 3),
    "a random filter": lambda files, _: files.filter("rand() < 0.5"),
    "a limit": lambda files, _: files.limit(5),
    "a subquery": lambda files, _: files.filter("id > (SELECT avg(id) FROM range(5))"),
    "Python rows": lambda files, _: files.sparkSession.createDataFrame([(1, 2)], "id long, p long"),
    "CSV": lambda files, _: files.sparkSession.read.csv(_csv(files)).toDF("id", "p"),
}


def _names(files: Any) -> Any:
    return files.sparkSession.range(3).selectExpr("id AS p", "concat('p', id) AS name")


def _csv(files: Any) -> str:
    place = files.inputFiles()[0].rpartition("/")[0] + "-csv"
    files.select("id", "p").write.mode("overwrite").csv(place)
    return place


@pytest.fixture(scope="module", autouse=True)
def _generated_code(spark: Any) -> Iterator[None]:
    """Only with generated code, Spark reads Parquet by columns."""
    before = spark.conf.get("spark.sql.codegen.wholeStage")
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    yield
    spark.conf.set("spark.sql.codegen.wholeStage", before)


@pytest.fixture(scope="module")
def files(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = str(Path(tmp_path_factory.mktemp("input")) / "files")
    spark.range(20).selectExpr("id", "id % 3 AS p", "concat('line ', id) AS message").write.parquet(place)
    return spark.read.parquet(place)


@pytest.fixture(scope="module")
def function() -> Any:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    return F.udf(lambda value: value, "long")


def costs(frame: Any, columns: list[str]) -> bool:
    from indextables.spark.catalyst.input_cost import is_costly_to_count  # noqa: PLC0415

    return is_costly_to_count(frame, columns)


@pytest.mark.parametrize("columns", [[], ["p"]], ids=["by task", "by column"])
@pytest.mark.parametrize("kind", CHEAP)
def test_columns_are_read(files: Any, function: Callable[..., Any], kind: str, columns: list[str]) -> None:
    assert not costs(CHEAP[kind](files, function), columns)


@pytest.mark.parametrize("columns", [[], ["p"]], ids=["by task", "by column"])
@pytest.mark.parametrize("kind", COSTLY)
def test_rows_are_computed(files: Any, function: Callable[..., Any], kind: str, columns: list[str]) -> None:
    assert costs(COSTLY[kind](files, function), columns)


def test_what_is_counted_decides(files: Any, function: Callable[..., Any]) -> None:
    """A count by columns does not sort, and a count of tasks computes no column."""
    by_function = files.withColumn("p", function("p"))
    by_chance = files.selectExpr("id", "CAST(rand() * 5 AS INT) AS p")
    assert [costs(frame, []) for frame in (files.sort("id"), by_function, by_chance)] == [True, False, False]
    assert [costs(frame, ["p"]) for frame in (files.sort("id"), by_function, by_chance)] == [False, True, True]


def test_the_most_rows_that_a_frame_can_have(spark: Any, files: Any) -> None:
    from indextables.spark.catalyst.input_cost import max_rows  # noqa: PLC0415

    assert [max_rows(frame) for frame in (files, files.limit(7), spark.range(9).filter("id > 3"))] == [None, 7, 9]
