"""The input of an optimized write is computed once where counting its rows would compute it, and is written as counted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from tests.laws.effort import share
from tests.tiers import slow_unless

ROWS = 600
LAYOUTS = ["", "p"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def write(frame: Any, path: str, layout: str = "", **options: Any) -> IndexTable:
    frame.write.format("indextables").options(partitionBy=layout, **options).save(path)
    return IndexTable.open(path)


def ids(table: IndexTable) -> list[int]:
    return sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())


def recorded(table: IndexTable) -> int:
    """The number of rows by the log."""
    return sum(table.splits()["num_records"].to_pylist())


def tasks(table: IndexTable) -> int:
    return int(dict(table.history().to_pylist()[0]["metrics"])["numTasks"])


@pytest.fixture
def parquet(spark: Any, tmp_path: Path) -> Any:
    rows = spark.range(ROWS, numPartitions=2).selectExpr("id", "id % 3 AS p", "concat('line ', id) AS message")
    rows.write.parquet(str(tmp_path / "input"))
    return spark.read.parquet(str(tmp_path / "input"))


@dataclass(frozen=True)
class Counted:
    """A function that gives its argument, and the number of its calls."""

    same: Callable[..., Any]
    calls: Any


@pytest.fixture
def counted(spark: Any) -> Counted:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    calls = spark.sparkContext.accumulator(0)
    return Counted(F.udf(lambda value: (calls.add(1), value)[1], "long"), calls)


INPUTS: dict[str, Callable[[Any, Callable[..., Any]], Any]] = {
    "column": lambda files, same: files.withColumn("id", same("id")),
    "partition": lambda files, same: files.withColumn("p", same("p")),
    "filter": lambda files, same: files.filter(same("id") >= 0),
    "aggregation": lambda files, same: files.withColumn("id", same("id")).groupBy("id", "p").count(),
    "join": lambda files, same: files.filter(same("p") >= 0).join(files.select("id").hint("merge"), "id"),
    "limit": lambda files, same: files.filter(same("id") >= 0).limit(ROWS * 2),
}


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
@pytest.mark.parametrize("kind", INPUTS)
def test_every_row_is_computed_once(parquet: Any, path: str, counted: Counted, kind: str, layout: str) -> None:
    table = write(INPUTS[kind](parquet, counted.same), path, layout, targetRecordsPerSplit=100)
    assert counted.calls.value == ROWS
    assert (ids(table), recorded(table)) == (list(range(ROWS)), ROWS)
    if not layout:
        assert tasks(table) == 6


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
def test_every_row_of_an_rdd_is_computed_once(spark: Any, path: str, layout: str) -> None:
    calls = spark.sparkContext.accumulator(0)
    rows = spark.sparkContext.parallelize(range(ROWS), 3).map(lambda n: (calls.add(1), (n, n % 3))[1])
    frame = spark.createDataFrame(rows, "id long, p long")  # rows.toDF takes the session that was made last
    table = write(frame, path, layout, targetRecordsPerSplit=100)
    assert (calls.value, ids(table)) == (ROWS, list(range(ROWS)))


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
def test_without_it_the_input_is_computed_twice(parquet: Any, path: str, counted: Counted, layout: str) -> None:
    frame = parquet.filter(counted.same("id") >= 0)
    options = {"optimizeWrite.persistInput": "never"}
    table = write(frame, path, layout, targetRecordsPerSplit=100, **options)
    assert (counted.calls.value, ids(table)) == (2 * ROWS, list(range(ROWS)))


def test_rows_that_fit_a_split_are_not_counted(parquet: Any, path: str, counted: Counted) -> None:
    table = write(parquet.filter(counted.same("id") >= 0).limit(ROWS), path, **{"optimizeWrite.persistInput": "never"})
    assert (counted.calls.value, tasks(table), table.splits()["num_records"].to_pylist()) == (ROWS, 1, [ROWS])


def test_a_range_that_fits_a_split_is_computed_by_all_its_tasks(spark: Any, path: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    frame = spark.range(30, numPartitions=3).withColumn("task", F.spark_partition_id())
    table = write(frame, path)
    assert (tasks(table), set(table.scan().to_arrow()["task"].to_pylist())) == (1, {0, 1, 2})


@pytest.mark.parametrize("choice", ["auto", "always"])
def test_what_the_user_has_cached_stays_cached(parquet: Any, path: str, counted: Counted, choice: str) -> None:
    frame = parquet.filter(counted.same("id") >= 0).cache()
    try:
        write(frame, path, "p", **{"optimizeWrite.persistInput": choice})
        assert frame.storageLevel.useMemory
        assert (frame.count(), counted.calls.value) == (ROWS, ROWS)
    finally:
        frame.unpersist()


def test_nothing_stays_on_disk(spark: Any, parquet: Any, path: str, counted: Counted) -> None:
    frame = parquet.filter(counted.same("id") >= 0)
    kept = spark.sparkContext._jsc.getPersistentRDDs().size()
    write(frame, path, "p")
    assert not frame.storageLevel.useDisk
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept


def test_nothing_stays_on_disk_after_a_failure(spark: Any, parquet: Any, path: str) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = parquet.groupBy("id", "p").agg({"message": "max"}).selectExpr("id", "p", "1 / (id - 599) AS ratio")
    kept = spark.sparkContext._jsc.getPersistentRDDs().size()
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        write(frame, path, "p")
    assert not frame.storageLevel.useDisk
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept


def test_rows_that_are_kept_stay_in_order(spark: Any, path: str) -> None:
    options = {"optimizeWrite.persistInput": "always", "targetRecordsPerSplit": 25}
    table = write(spark.range(100, numPartitions=3).selectExpr("id", "'x' AS p"), path, **options)
    assert sorted(row["min"]["id"] for row in table.splits().select(["min"]).to_pylist()) == [0, 25, 50, 75]


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
@pytest.mark.parametrize("value", ["rand()", "uuid()", "monotonically_increasing_id()"])
def test_values_that_differ_each_time_are_written_once(parquet: Any, path: str, value: str, layout: str) -> None:
    """The partition of a row comes from such a value too."""
    shuffled = parquet.select("id").repartition(3, "id").selectExpr("id", f"{value} AS v")
    frame = shuffled.selectExpr("*", "abs(hash(v)) % 4 AS p").filter("rand() * 2 < 2")
    table = write(frame, path, layout, targetRecordsPerSplit=100)
    rows = table.scan().to_arrow()
    assert (ids(table), recorded(table), len(rows["v"].unique())) == (list(range(ROWS)), ROWS, ROWS)
    if layout:
        by_log = table.scan().group_by("p").count().to_pylist()
        by_row = rows["p"].value_counts().to_pylist()
        assert {row["p"]: row["count"] for row in by_log} == {row["values"]: row["counts"] for row in by_row}
    else:
        assert tasks(table) == 6


@pytest.fixture
def growing(spark: Any, tmp_path: Path) -> Any:
    """A source that has more rows each time that it is read."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition  # noqa: PLC0415

    reads = tmp_path / "reads"
    reads.mkdir()

    class Growing(DataSource):
        @classmethod
        def name(cls) -> str:
            return "growing"

        def schema(self) -> str:
            return "id long, p long"

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002 - Spark's signature
            class Reader(DataSourceReader):
                def partitions(self) -> list[InputPartition]:
                    return [InputPartition(number) for number in range(2)]

                def read(self, partition: InputPartition) -> "Iterator[tuple[int, int]]":
                    before = next(n for n in count() if not (reads / f"{partition.value}-{n}").exists())
                    (reads / f"{partition.value}-{before}").touch()
                    for number in range(100 * (before + 1)):
                        yield (2 * number + partition.value, number % 3)

            return Reader()

    spark.dataSource.register(Growing)
    return spark.read.format("growing").load()


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
def test_a_source_that_changes_is_read_once(growing: Any, path: str, layout: str) -> None:
    table = write(growing, path, layout, targetRecordsPerSplit=50)
    assert (ids(table), recorded(table)) == (list(range(200)), 200)
    if not layout:
        assert tasks(table) == 4


@pytest.mark.parametrize("layout", slow_unless(["p"], LAYOUTS, "inputs of tables without partitions"))
def test_a_source_that_changes_between_two_passes_is_written_as_it_was_last(
    growing: Any, path: str, layout: str
) -> None:
    table = write(growing, path, layout, targetRecordsPerSplit=50, **{"optimizeWrite.persistInput": "never"})
    assert (ids(table), recorded(table)) == (list(range(400)), 400)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("tables")
    return (str(place / str(number)) for number in count())


@dataclass(frozen=True)
class Case:
    rows: list[tuple[int, str | None]]
    partitions: int
    is_shuffled: bool
    target: int
    layout: str
    choice: str


cases = st.builds(
    Case,
    rows=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", None])), max_size=60),
    partitions=st.integers(1, 4),
    is_shuffled=st.booleans(),
    target=st.integers(1, 40),
    layout=st.sampled_from(["", "p", "bucket(2, id)", "p, bucket(2, id)"]),
    choice=st.sampled_from(["auto", "always", "never"]),
)


@share(20)
@given(case=cases)
def test_the_rows_of_the_table_are_those_of_the_input(spark: Any, scratch: Iterator[str], case: Case) -> None:
    frame = spark.createDataFrame(case.rows, "id long, p string").coalesce(case.partitions)
    frame = frame.repartition(case.partitions, "id") if case.is_shuffled else frame
    options = {"optimizeWrite.persistInput": case.choice, "targetRecordsPerSplit": case.target}
    table = write(frame, next(scratch), case.layout, **options)
    found = [(row["id"], row["p"]) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(case.rows, key=repr)
    assert max(table.splits()["num_records"].to_pylist(), default=0) <= case.target + case.target // 10
    writing = {Path(split).name[: len("part-00000")] for split in table.splits()["path"].to_pylist()}
    if not case.layout:
        assert len(writing) <= max(1, -(-len(case.rows) // case.target))
