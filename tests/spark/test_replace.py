"""Parts of a table replaced from Spark: by a condition, or by the partitions of the frame."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    IndexTablesError,
    InvalidPredicateError,
    NonPartitionedTableError,
    OverlappingPredicatesError,
    PartitionColumnNotFoundError,
    RowsOutsideError,
    TypeMismatchError,
    UnsupportedOperatorError,
)
from tests.maintain.samples import litter, split_files


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def session(spark: Any) -> Iterator[Callable[[str, str], None]]:
    before: dict[str, str | None] = {}

    def set_it(key: str, value: str) -> None:
        before.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, value)

    yield set_it
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


def frame(spark: Any, rows: str) -> Any:
    return spark.sql(f"SELECT id, year, month FROM VALUES {rows} AS t(id, year, month)")


def save(data: Any, path: str, mode: str = "overwrite", **options: str) -> None:
    data.write.format("indextables").mode(mode).options(**options).save(path)


def ids(path: str) -> list[int]:
    return sorted(IndexTable.open(path).scan(columns=["id"]).to_arrow()["id"].to_pylist())


@pytest.fixture
def table(spark: Any, path: str) -> str:
    rows = "(1, 2023, '01'), (2, 2023, '11'), (3, 2023, '12'), (4, 2024, '11'), (5, 2024, '12'), (6, NULL, '12')"
    frame(spark, rows).write.format("indextables").partitionBy("year", "month").save(path)
    return path


@pytest.mark.parametrize("mode", ["replaceWhere", "overwrite"])
def test_the_seed(spark: Any, path: str, mode: str) -> None:
    initial = spark.range(1000).selectExpr(
        "id", "CAST(id % 3 AS STRING) AS year", "CAST(id % 2 AS STRING) AS month", "'initial' AS data"
    )
    initial.write.format("indextables").partitionBy("year", "month").save(path)
    new = spark.range(100, 200).selectExpr("id", "'1' AS year", "'0' AS month", "'replaced' AS data")
    new.write.format("indextables").mode(mode).option("replaceWhere", "year=1 AND month=0").save(path)
    result = spark.read.format("indextables").load(path)
    assert result.filter("year = '1' AND month = '0' AND data = 'replaced'").count() == 100
    assert (result.filter("data = 'initial'").count(), result.count()) == (834, 934)
    newest = IndexTable.open(path).history().to_pylist()[0]
    assert (newest["version"], newest["operation"]) == (1, "REPLACE WHERE")


def test_conditions_frames_and_batches(spark: Any, table: str) -> None:
    batch = {"txnAppId": "loader", "txnVersion": "3"}
    where = "year = 2023 AND month IN ('11', '12')"
    for number in (20, 21):
        save(frame(spark, f"({number}, 2023, '11')"), table, replaceWhere=where, **batch)
    assert (ids(table), IndexTable.open(table).version) == ([1, 4, 5, 6, 20], 1)
    save(frame(spark, "(7, 2025, '01')"), table, replaceWhere="YEAR > 2024")
    assert ids(table) == [1, 4, 5, 6, 7, 20]
    nothing = frame(spark, "(0, 2024, '11')").filter("id > 0")
    save(nothing, table, replaceWhere="year IS NULL OR year = 2024")
    assert (ids(table), IndexTable.open(table).version) == ([1, 7, 20], 3)
    save(nothing, table, replaceWhere="year = 1999")
    assert IndexTable.open(table).version == 3
    assert litter(Path(table)) == set()


def test_hidden_partitions_are_copied_and_times_are_those_of_the_session(
    spark: Any, path: str, session: Callable[[str, str], None]
) -> None:
    session("spark.sql.session.timeZone", "America/Los_Angeles")
    hours = spark.range(48).selectExpr("id", "timestamp'2024-01-01 00:00:00 UTC' + make_interval(0,0,0,0,id) AS ts")
    save(hours, path, "append", partitionBy="day(ts)")
    where = "ts >= '2024-01-01 04:00:00' AND ts < TIMESTAMP '2024-01-01 06:00:00'"  # 12 and 13 o'clock in UTC
    save(hours.filter(where).withColumn("id", hours.id + 100), path, replaceWhere=where)
    assert ids(path) == [*range(12), *range(14, 48), 112, 113]
    metrics = dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])
    assert (metrics["numRewrittenSplits"], metrics["numCopiedRows"], metrics["numAddedRows"]) == ("1", "22", "2")
    assert litter(Path(path)) == set()


@pytest.fixture
def hourly(spark: Any, path: str) -> str:
    """The hours of four days, a split for each day."""
    hours = spark.range(96).selectExpr("id", "timestamp'2024-01-01 00:00:00 UTC' + make_interval(0,0,0,0,id) AS ts")
    save(hours, path, "append", partitionBy="day(ts)")
    return path


def test_executors_copy_many_rows(spark: Any, hourly: str) -> None:
    where = " OR ".join(f"ts BETWEEN '2024-01-0{day} 12:00:00Z' AND '2024-01-0{day} 13:00:00Z'" for day in (1, 2, 3, 4))
    new = spark.sql("SELECT 1000L AS id, TIMESTAMP'2024-01-02 12:30:00Z' AS ts")
    save(new, hourly, replaceWhere=where, **{"replaceWhere.driverRows": "10"})
    assert ids(hourly) == [*sorted({*range(96)} - {day * 24 + hour for day in range(4) for hour in (12, 13)}), 1000]
    table = IndexTable.open(hourly)
    assert (table.version, table.count("ts < '2024-01-02T00:00:00Z'")) == (1, 22)
    metrics = dict(table.history().to_pylist()[0]["metrics"])
    assert (metrics["numRewrittenSplits"], metrics["numCopiedRows"], metrics["numAddedRows"]) == ("4", "88", "1")
    copies = [split["path"] for split in table.splits().to_pylist() if split["num_records"] == 22]
    assert len({Path(copy).name[: len("part-00000")] for copy in copies}) == 4  # by as many tasks
    assert litter(Path(hourly)) == set()


def test_copies_of_executors_are_deleted_if_the_write_fails(spark: Any, hourly: str) -> None:
    before = split_files(Path(hourly))
    where = "ts >= '2024-01-02 12:00:00Z'"
    with pytest.raises(RowsOutsideError):
        save(
            spark.read.format("indextables").load(hourly),
            hourly,
            replaceWhere=where,
            **{"replaceWhere.driverRows": "0"},
        )
    assert (split_files(Path(hourly)), IndexTable.open(hourly).version) == (before, 0)


def test_rows_outside_leave_nothing_behind(spark: Any, table: str) -> None:
    before = split_files(Path(table))
    bad = frame(spark, "(20, 2023, '11'), (21, 2024, '11'), (22, NULL, '11')").repartition(1)
    with pytest.raises(RowsOutsideError, match="2 new rows do not satisfy it, for example year=") as error:
        save(bad, table, replaceWhere="year = 2023", **{"optimizeWrite.enabled": "false"})
    assert "year=2024" in str(error.value)
    assert (split_files(Path(table)), IndexTable.open(table).version) == (before, 0)


REFUSED: list[tuple[dict[str, str], type[IndexTablesError], str]] = [
    ({"replaceWhere": "id = 1"}, InvalidPredicateError, "'id' is not a partition column"),
    ({"replaceWhere": ""}, InvalidPredicateError, "there is none"),
    ({"replaceWhere": "yaer = 1"}, PartitionColumnNotFoundError, "partitioned by year, month"),
    ({"replaceWhere": "year = 'abc'"}, TypeMismatchError, "'year'"),
    ({"replaceWhere": "UPPER(month) = 'A'"}, UnsupportedOperatorError, "UPPER"),
    ({"replaceWhere": "year = 2023", "partitionOverwriteMode": "dynamic"}, ConfigError, "give one of them"),
    ({"mode": "append", "replaceWhere": "year = 2023"}, ConfigError, "needs mode overwrite"),
    ({"mode": "ignore", "replaceWhere": "year = 2023"}, ConfigError, "needs mode overwrite"),
    ({"mode": "replaceWhere"}, ConfigError, "needs a condition"),
    ({"replaceWhere": "year = 2023", "partitionBy": "month"}, IndexTablesError, "partitioned by year, month"),
]


def test_refused_before_any_file(spark: Any, table: str, path: str) -> None:
    before, data = split_files(Path(table)), frame(spark, "(1, 2023, '01')")
    for options, error, message in REFUSED:
        mode = options.get("mode", "overwrite")
        rest = {key: value for key, value in options.items() if key != "mode"}
        with pytest.raises(error, match=message):
            save(data, table, mode, **rest)
    assert (split_files(Path(table)), IndexTable.open(table).version) == (before, 0)
    new = f"{path}-new"
    with pytest.raises(NonPartitionedTableError, match="not partitioned"):
        save(data, new, replaceWhere="year = 2023")
    assert not Path(new).exists()
    save(data, new, replaceWhere="year = 2023", partitionBy="year")
    assert ids(new) == [1]


def test_partitions_of_the_frame(spark: Any, table: str, session: Callable[[str, str], None]) -> None:
    save(frame(spark, "(20, 2023, '11'), (21, NULL, '12')"), table, partitionOverwriteMode="dynamic")
    assert ids(table) == [1, 3, 4, 5, 20, 21]
    session("spark.sql.sources.partitionOverwriteMode", "dynamic")  # Spark's own means the same
    save(frame(spark, "(22, 2024, '11')"), table)
    save(frame(spark, "(22, 2024, '11')").filter("id < 0"), table)
    assert (ids(table), IndexTable.open(table).version) == ([1, 3, 5, 20, 21, 22], 2)
    save(frame(spark, "(23, 2023, '07')"), table, replaceWhere="year = 2023")  # stronger than the session
    assert ids(table) == [5, 21, 22, 23]
    session("spark.indextables.partitionOverwriteMode", "static")
    save(frame(spark, "(24, 2020, '01')"), table)
    assert ids(table) == [24]
    session("spark.indextables.partitionOverwriteMode", "dynamic")
    save(frame(spark, "(25, 2021, '01')"), table)
    save(frame(spark, "(26, 2021, '01')"), table, partitionOverwriteMode="static")
    assert ids(table) == [26]


def test_without_enable(spark: Any, table: str) -> None:
    from pyspark.sql.readwriter import DataFrameWriter  # noqa: PLC0415

    def plain(rows: str, mode: str, **options: str) -> None:
        DataFrameWriter(frame(spark, rows)).format("indextables").mode(mode).options(**options).save(table)

    plain("(20, 2023, '11')", "overwrite", replaceWhere="year = 2023")
    assert ids(table) == [4, 5, 6, 20]
    plain("(21, 2024, '12')", "overwrite", partitionOverwriteMode="dynamic")
    assert ids(table) == [4, 6, 20, 21]
    with pytest.raises(Exception, match="needs mode overwrite"):
        plain("(20, 2023, '11')", "append", replaceWhere="year = 2023")


def test_several_conditions_in_one_commit(spark: Any, path: str, session: Callable[[str, str], None]) -> None:
    made = IndexTable.create(path, {"day": pa.string(), "n": pa.int64()}, partition_by="day")
    made.append([{"day": day, "n": 1} for day in ("mon", "tue", "wed")])
    writer = spark.sql("SELECT 'mon' AS day, 2L AS n").write.format("indextables").mode("overwrite")
    writer.option("replaceWhere", ["day = 'mon'", "day IN ('tue')"]).save(path)
    assert contents(path) == [("mon", 2), ("wed", 1)]
    log = (Path(path) / "_transaction_log" / f"{2:018}.json").read_text()
    assert [
        json.loads(line)["replaceWhere"]["predicate"] for line in log.splitlines() if '{"replaceWhere"' in line
    ] == [
        "day = 'mon'",
        "day IN ('tue')",
    ]
    session("spark.indextables.replaceWhere", """["day = 'mon'", "day = 'wed'"]""")
    writer = spark.sql("SELECT 'wed' AS day, 3L AS n").write.format("indextables").mode("overwrite")
    writer.save(path)
    assert contents(path) == [("wed", 3)]
    for conditions, error in [
        (["day = 'mon'", "day <> 'tue'"], OverlappingPredicatesError),
        ([], InvalidPredicateError),
        ("[day = 'mon']", InvalidPredicateError),
        (["day = 'mon'", "n = 3"], InvalidPredicateError),
    ]:
        with pytest.raises(error):
            writer.option("replaceWhere", conditions).save(path)
    assert contents(path) == [("wed", 3)]


def contents(path: str) -> list[tuple[str, int]]:
    return sorted((row["day"], row["n"]) for row in IndexTable.open(path).scan().to_arrow().to_pylist())
