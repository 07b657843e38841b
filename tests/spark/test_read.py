"""Reading a table through Spark's data source."""

import inspect
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import SchemaError
from tests.spark.samples import rows, written


@pytest.fixture(scope="module")
def registered(spark: Any) -> Any:
    """A session that knows the data source and nothing else of ours."""
    from indextables import IndexTablesDataSource  # noqa: PLC0415 - only where PySpark is

    spark.dataSource.register(IndexTablesDataSource)
    return spark


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    return written(tmp_path_factory.mktemp("read") / "table")


def by_the_source_alone(frame: Any) -> list[Any]:
    """The rows of a frame that Spark plans and runs without a hook of ours."""
    return inspect.unwrap(type(frame).collect)(frame)


def load(spark: Any, table: IndexTable, **options: str) -> Any:
    return spark.read.format("indextables").options(**options).load(table.path)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def found(table: IndexTable, **scan_spec: Any) -> list[int]:
    return sorted(table.scan(**scan_spec).to_arrow()["id"].to_pylist())


def test_every_type_comes_back_as_it_was_written(registered: Any, table: IndexTable) -> None:
    read = load(registered, table).sort("id").toArrow()
    assert str(read.to_pylist()) == str(rows().to_pylist())  # as text, because NaN is not equal to itself


@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_filters_of_one_frame_do_not_meet(registered: Any, table: IndexTable, pushdown: str) -> None:
    before = registered.conf.get("spark.sql.python.filterPushdown.enabled")
    registered.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
    frame = load(registered, table)
    both = frame.filter("level = 'ERROR'").union(frame.filter("number > 2"))
    expected = [*found(table, where="level = 'ERROR'"), *found(table, where="number > 2")]
    assert ids(both) == sorted(expected)
    assert ids(frame) == list(range(60))
    registered.conf.set("spark.sql.python.filterPushdown.enabled", before)


@pytest.mark.parametrize(
    ("options", "scan_spec"),
    [
        ({"where": "level = 'ERROR' OR number = 2"}, {"where": "level = 'ERROR' OR number = 2"}),
        ({"query": "message:timeout AND NOT message:retry"}, {"query": "message:timeout AND NOT message:retry"}),
        ({"where": "message INDEXQUERY 'full'", "query": "level:ERROR"}, {"query": "message:full AND level:ERROR"}),
    ],
)
def test_options_ask_for_rows(registered: Any, table: IndexTable, options: dict[str, str], scan_spec: Any) -> None:
    assert ids(load(registered, table, **options)) == found(table, **scan_spec) != []


def test_times_without_a_zone_are_in_the_time_zone_of_the_options(registered: Any, table: IndexTable) -> None:
    there = load(registered, table, where="at = '2024-01-01 00:00:00.000001'", timeZone="America/Los_Angeles")
    assert ids(there) == found(table, where="at = '2024-01-01 08:00:00.000001'") != []


def test_a_schema_chooses_columns_in_any_order(registered: Any, table: IndexTable) -> None:
    frame = registered.read.format("indextables").schema("NUMBER int, id long").load(table.path)
    read = frame.filter("NUMBER = 7").toArrow()
    assert read.column_names == ["NUMBER", "id"]
    assert sorted(read["id"].to_pylist()) == found(table, where="number = 7") != []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("id long, colour string", "there is no column 'colour'; the table has id, day"),
        ("id string", "column 'id' is of type long, and the read asks for string"),
    ],
)
def test_a_schema_that_the_table_has_not_is_refused(
    registered: Any, table: IndexTable, schema: str, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        registered.read.format("indextables").schema(schema).load(table.path)
    from pyspark.sql.readwriter import DataFrameReader  # noqa: PLC0415 - only where PySpark is

    with pytest.raises(Exception, match=f"SchemaError: {message}"):
        by_the_source_alone(DataFrameReader(registered).format("indextables").schema(schema).load(table.path))


def test_the_past_is_read(registered: Any, table: IndexTable) -> None:
    frame = load(registered, table, versionAsOf="1")
    assert ids(frame) == list(range(30))
    moment = table.history().to_pylist()[-2]["timestamp"].isoformat()
    assert ids(load(registered, table, timestampAsOf=moment)) == list(range(30))


def test_a_frame_keeps_the_version_that_it_was_made_with(registered: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "table")
    frame = load(registered, table)
    table.append(rows(5))
    assert len(ids(frame)) == 60
    assert len(ids(load(registered, table))) == 65


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versionAsOf": "9"}, "VersionNotFoundError: version 9 of .* does not exist; versions 0 to 2 can be read"),
        ({"versionAsOf": "x"}, "ConfigError: versionAsOf is 'x'"),
        ({"timestampAsOf": "x"}, "ConfigError: timestampAsOf is 'x'"),
        ({"versionAsOf": "1", "timestampAsOf": "2024-01-01"}, "ConfigError: versionAsOf and timestampAsOf"),
        ({"cache.maxSise": "1G"}, "ConfigError: there is no setting 'cache.maxsise'; did you mean"),
        ({"where": "colour = 'red'"}, "InvalidPredicateError: there is no column 'colour'"),
        ({"query": "(timeout"}, "SearchQueryError"),
    ],
)
def test_what_cannot_be_is_named(registered: Any, table: IndexTable, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of our own class, or Spark's with ours in its message
        load(registered, table, **options).collect()
    assert re.search(message, f"{type(caught.value).__name__}: {caught.value}")


def test_a_path_without_a_table_is_named(registered: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        registered.read.format("indextables").load(str(tmp_path))
    assert "TableNotFoundError: there is no table at" in f"{type(caught.value).__name__}: {caught.value}"


def test_a_relative_path_is_that_of_this_process(
    registered: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (20, 60):  # two tables of one name
        table = written(tmp_path / str(count) / "logs", count=count)
        monkeypatch.chdir(tmp_path / str(count))
        frame = registered.read.format("indextables").load("logs")
        assert len(frame.collect()) == len(by_the_source_alone(frame)) == table.count() == count


def test_an_empty_table_has_no_rows(registered: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "table", rows().schema)
    assert load(registered, table).filter("id > 5").collect() == []


def test_columns_that_older_splits_have_not_are_null(registered: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "table", rows().schema.remove(2))
    table.append(rows(3).drop_columns("level"))
    table.append(rows(3), options={"mergeSchema": "true"})
    levels = load(registered, table).sort("id").toArrow()["level"].to_pylist()
    assert sorted(map(str, levels)) == ["ERROR", "INFO", "None", "None", "None", "WARN"]
    assert ids(load(registered, table).filter("level IS NULL")) == [0, 1, 2]


def test_rows_after_an_empty_batch_are_kept(spark: Any) -> None:
    """Spark's own createDataFrame loses them."""
    from indextables.spark.catalyst.local_relation import local_frame  # noqa: PLC0415 - only where PySpark is

    batches = [pa.record_batch({"id": pa.array(ids, pa.int64())}) for ids in ([1], [], [2, 3])]
    assert [row.id for row in local_frame(spark, pa.Table.from_batches(batches)).collect()] == [1, 2, 3]
