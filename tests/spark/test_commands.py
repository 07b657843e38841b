"""Commands in SQL do what the methods of IndexTable do, and give it as rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException

from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    IndexTablesError,
    InvalidPredicateError,
    LayoutError,
    RowsOutsideError,
    SchemaError,
    StatementError,
    TableNotFoundError,
)

TIMES = ["2024-01-01T14:00:00", "2024-01-01T16:00:00", "2024-01-02T14:00:00"]


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Iterator[IndexTable]:
    """Four appends of three rows, in partitions of hours and of days, known to the catalog as `logs`."""
    schema = pa.schema({"id": pa.int32(), "app": pa.string(), "ts": pa.timestamp("us", "UTC"), "message": pa.string()})
    path = tmp_path / "it's a table"
    table = IndexTable.create(path, schema, partition_by="app, hour(ts)", fields={"message": "text"})
    times = pa.array(TIMES).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    for i in range(4):
        ids, apps = pa.array(range(3 * i, 3 * i + 3), pa.int32()), ["a", "a", "b"]
        table.append(pa.table({"id": ids, "app": apps, "ts": times, "message": ["disk full"] * 3}))
    location = table.path.replace("'", "\\'")
    spark.sql(f"CREATE TABLE logs USING indextables LOCATION '{location}'")
    yield table
    spark.sql("DROP TABLE logs")
    spark.conf.unset("spark.sql.session.timeZone")


def ids(table: IndexTable) -> list[int]:
    found: list[int] = sorted(table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist())
    return found


def files(table: IndexTable) -> set[str]:
    return {str(file) for file in Path(table.path).rglob("*") if file.is_file()}


def test_the_index_of_a_column_changes(spark: Any, table: IndexTable) -> None:
    def hits(query: str) -> int:
        return int(spark.sql(f"SELECT * FROM logs WHERE app INDEXQUERY '{query}'").count())

    assert (hits("A"), hits("a")) == (0, 8)
    (row,) = spark.sql("ALTER TABLE logs SET INDEXING (app = 'text', MESSAGE = string)").collect()
    assert row.version == 5
    assert (hits("A"), spark.sql("SELECT * FROM logs WHERE message INDEXQUERY 'disk'").count()) == (8, 0)
    (planned,) = spark.sql(f"REINDEX TABLE indextables.`{table.path}` COLUMNS (app) DRY RUN").collect()
    assert (planned.splits, planned.rows, planned.reindexed) == (12, 12, 0)
    (done,) = spark.sql("REINDEX TABLE logs").collect()
    assert (done.reindexed, done.rows, done.conflicts) == (12, 12, [])
    assert (hits("A"), ids(table), spark.sql("REINDEX TABLE logs").collect()[0].reindexed) == (8, list(range(12)), 0)
    spark.sql(f"ALTER TABLE indextables.`{table.path}` SET INDEXING app = string")
    assert hits("A") == 0
    with pytest.raises(SchemaError, match="'id' has type integer"):
        spark.sql("ALTER TABLE logs SET INDEXING (id = text)")
    with pytest.raises(TableNotFoundError, match="no table `nowhere`"):
        spark.sql("ALTER TABLE nowhere SET INDEXING (id = text)")
    with pytest.raises(StatementError, match="column = value"):
        spark.sql("ALTER TABLE logs SET INDEXING (id)")


def test_a_table_is_kept_in_shape(spark: Any, table: IndexTable) -> None:
    def told(text: str) -> Any:
        (row,) = spark.sql(text.format(f'"{table.path}"')).collect()
        return row

    planned = told("MERGE SPLITS {} DRY RUN")
    assert (planned.dry_run, planned.splits_before, planned.conflicts, planned.damaged) == (True, 12, [], [])
    assert table.refresh().version == 4
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # where the second time of the three is on the next day
    assert told("MERGE SPLITS {} WHERE ts < '2024-01-02' DRY RUN").rows == 4
    merged = told("MERGE SPLITS logs WHERE app = 'a' TARGET SIZE 100M CLUSTER BY (id) MAX DEST SPLITS 1")
    assert (merged.version, merged.splits_before, merged.splits_after, merged.rows) == (5, 4, 1, 4)
    told("MERGE SPLITS default.logs MAX SOURCE SPLITS PER MERGE 2 WHERE app = 'b'")
    assert (len(parts(table.refresh(), "b")), ids(table)) == (1, [*range(12)])
    before = table.refresh().version
    dropped = told("DROP INDEXTABLES PARTITIONS FROM {} WHERE ts < '2024-01-02' DRY RUN")
    assert (dropped.dry_run, dropped.rows, table.refresh().version) == (True, 4, before)
    dropped = told("DROP INDEXTABLES PARTITIONS FROM logs WHERE ts < '2024-01-02'")
    assert (dropped.rows, ids(table)) == (4, [1, 2, 4, 5, 7, 8, 10, 11])
    warmed = told("PREWARM INDEXTABLES CACHE {} WHERE app = 'b'")
    assert (warmed.splits, warmed.unpacked <= warmed.splits) == (table.splits().num_rows - len(parts(table, "a")), True)
    kept = files(table)
    purged = told("PURGE INDEXTABLE {} OLDER THAN 14 DAYS DRY RUN")
    assert (purged.dry_run, purged.files, purged.paths, files(table)) == (True, 0, [], kept)
    purged = told("PURGE INDEXTABLE logs OLDER THAN 0 SECONDS FORCE")
    assert (purged.dry_run, purged.files > 0, kept - files(table) != set()) == (False, True, True)
    assert ids(table) == [1, 2, 4, 5, 7, 8, 10, 11]


@pytest.mark.usefixtures("table")
def test_names_are_as_the_session_reads_them(spark: Any) -> None:
    commands = [
        "MERGE SPLITS logs WHERE APP = 'a' DRY RUN",
        "DROP INDEXTABLES PARTITIONS FROM logs WHERE APP = 'a' DRY RUN",
        "PREWARM INDEXTABLES CACHE logs WHERE APP = 'a'",
    ]
    told = [spark.sql(command).first() for command in commands]
    assert (told[0].rows, told[1].rows, told[2].splits) == (8, 8, 8)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for command in commands:
            with pytest.raises(IndexTablesError, match="'APP'"):
                spark.sql(command)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def parts(table: IndexTable, app: str) -> list[Any]:
    return [split for split in table.splits().to_pylist() if split["partition"]["app"] == app]


def test_a_table_changes(spark: Any, table: IndexTable) -> None:
    def told(text: str) -> Any:
        (row,) = spark.sql(text).collect()
        return row

    changed = told("ALTER INDEXTABLE logs PARTITION BY (month(ts), app)")
    assert (changed.version, changed.layout, changed.splits_of_other_layouts) == (5, "month(ts), app", 12)
    assert told("ALTER INDEXTABLE logs ADD COLUMN host STRING").version == 6
    assert told("ALTER INDEXTABLE logs WIDEN COLUMN id TO BIGINT").version == 7
    assert (str(table.refresh().layout), table.schema.field("id").type) == ("month(ts), app", pa.int64())
    assert told("ALTER INDEXTABLE logs RENAME COLUMN host TO server").version == 8
    assert spark.table("logs").columns[-1] == "server"
    assert told("ALTER INDEXTABLE logs DROP COLUMN server").version == 9
    assert told("ALTER INDEXTABLE logs ADD COLUMN host STRING").version == 10
    assert spark.table("logs").dtypes[0] == ("id", "bigint")
    assert spark.sql("SELECT count(*), count(host) FROM logs").first()[:] == (12, 0)
    told("MERGE SPLITS logs REWRITE LAYOUT COALESCE")
    assert (ids(table), len(table.splits())) == ([*range(12)], 1)
    assert told("ALTER INDEXTABLE logs PARTITION BY ()").layout == ""


def test_what_cannot_be_done_is_refused_and_changes_nothing(spark: Any, table: IndexTable) -> None:
    before = files(table)
    refused: list[tuple[str, type[Exception], str]] = [
        ("MERGE SPLITS nowhere", TableNotFoundError, "nowhere"),
        ("MERGE SPLITS '/no/such/table' DRY RUN", TableNotFoundError, "/no/such/table"),
        ("MERGE SPLITS logs WHERE id = 3", InvalidPredicateError, "not a partition column"),
        ("MERGE SPLITS logs WHERE app = DRY RUN", InvalidPredicateError, "app ="),
        ("MERGE SPLITS logs CLUSTER BY (nowhere)", SchemaError, "nowhere"),
        ("DROP INDEXTABLES PARTITIONS FROM logs", StatementError, "WHERE"),
        ("DROP INDEXTABLES PARTITIONS FROM logs WHERE message = 'x'", InvalidPredicateError, "message"),
        ("PURGE INDEXTABLE logs OLDER THAN 1 HOURS", ConfigError, "older_than"),
        ("ALTER INDEXTABLE logs PARTITION BY (week(ts))", LayoutError, "week"),
        ("ALTER INDEXTABLE logs ADD COLUMN id STRING", SchemaError, "id"),
        ("ALTER INDEXTABLE logs ADD COLUMN tags ARRAY<STRING>", SchemaError, "ARRAY<STRING>"),
        ("ALTER INDEXTABLE logs WIDEN COLUMN id TO STRING", SchemaError, "id"),
        ("ALTER INDEXTABLE logs RENAME COLUMN id TO APP", SchemaError, "'app'"),
        ("ALTER INDEXTABLE logs DROP COLUMN nowhere", SchemaError, "nowhere"),
        ("PREWARM INDEXTABLES CACHE logs WHERE nowhere = 1", InvalidPredicateError, "nowhere"),
    ]
    for text, error, message in refused:
        with pytest.raises(error, match=message):
            spark.sql(text)
        assert files(table) == before, text


def test_insert_replaces_the_rows_that_a_condition_chooses(spark: Any, table: IndexTable) -> None:
    """Of the rows that a plain filter chooses, and of no others."""
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    new = "SELECT CAST(100 AS INT), 'a', TIMESTAMP '2024-01-01 23:00:00', 'new' WHERE {}"
    conditions = [
        ("app = 'nobody' OR logs.app IS NULL", False),
        ("app IN ('c', 'b') AND NOT ts BETWEEN '2020-01-01' AND '2020-01-02'", False),
        ("(ts < '2024-01-02') AND app <> 'b'", True),
        ("TRUE", True),
    ]
    for condition, with_new in conditions:
        left = [row.id for row in spark.sql(f"SELECT id FROM logs WHERE ({condition}) IS NOT TRUE").collect()]
        spark.sql(f"INSERT INTO logs REPLACE WHERE {condition} {new.format(with_new)}")
        assert ids(table) == sorted([*left, *[100] * with_new]), condition
    with pytest.raises(RowsOutsideError):
        spark.sql(f"INSERT INTO logs REPLACE WHERE app = 'b' {new.format(True)}")
    spark.sql("INSERT INTO logs (message, app, id) REPLACE WHERE app = 'a' SELECT 'one', 'a', 7")
    assert ids(table) == [7]


def test_commands_of_other_formats_work_on_tables_of_ours(spark: Any, table: IndexTable) -> None:
    path = table.path.replace("'", "\\'")
    assert spark.sql(f"OPTIMIZE '{path}' DRY RUN").first().splits_before == 12
    merged = spark.sql("OPTIMIZE logs WHERE app = 'a'").first()
    assert (merged.version, merged.splits_before, merged.splits_after) == (5, 8, 2)
    spark.sql(f"OPTIMIZE indextables.`{table.path}`")
    assert (len(table.refresh().splits()), ids(table)) == (3, [*range(12)])
    history = spark.sql("DESCRIBE HISTORY default.logs")
    assert [row.version for row in history.collect()] == table.history()["version"].to_pylist()
    assert [row.operation for row in spark.sql("DESC HISTORY `logs` LIMIT 1").collect()] == ["MERGE SPLITS"]
    detail = spark.sql("DESCRIBE DETAIL logs").first()
    assert (detail.format, detail.name, detail.location) == ("indextables", "logs", table.path)
    assert (detail.version, detail.numFiles, detail.numRecords) == (6, 3, 12)
    assert detail.sizeInBytes == sum(table.splits()["size"].to_pylist())
    assert detail.partitionColumns == ["app", "hour(ts)"]
    table.set_properties({"owner": "web"})
    assert spark.sql(f"DESCRIBE DETAIL '{path}'").first().properties == {"owner": "web"}
    before = files(table)
    assert spark.sql("VACUUM logs").first().files == 0
    planned = spark.sql("VACUUM logs RETAIN 0 HOURS FORCE DRY RUN").first()
    assert (planned.past, files(table)) == (12, before)
    assert spark.sql("VACUUM logs RETAIN 0 HOURS FORCE").first().past == 12
    assert ids(table) == [*range(12)]


def test_commands_of_other_formats_are_left_to_spark_for_other_tables(spark: Any, table: IndexTable) -> None:
    before = files(table)
    spark.sql("CREATE TABLE plain (id INT, history INT) USING parquet")
    try:
        for text in ("OPTIMIZE plain", "VACUUM plain RETAIN 0 HOURS", "OPTIMIZE nowhere", "VACUUM delta.`/data`"):
            with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
                spark.sql(text)
        with pytest.raises(AnalysisException, match="HISTORY"):
            spark.sql("DESCRIBE HISTORY plain")
        assert spark.sql("DESCRIBE plain history").first().info_value == "history"
        with pytest.raises(AnalysisException, match="not partitioned|PARTITION"):
            spark.sql("SHOW PARTITIONS plain")
    finally:
        spark.sql("DROP TABLE plain")
    refused: list[tuple[str, type[Exception], str]] = [
        ("OPTIMIZE '/no/such/table'", TableNotFoundError, "/no/such/table"),
        ("OPTIMIZE logs ZORDER BY (id)", StatementError, "CLUSTER BY"),
        ("OPTIMIZE logs FULL", StatementError, "WHERE, DRY RUN"),
        ("OPTIMIZE logs WHERE id = 3", InvalidPredicateError, "not a partition column"),
        ("VACUUM logs RETAIN 1 HOURS", ConfigError, "FORCE in SQL .* deletes them all the same"),
        ("VACUUM logs LITE", StatementError, "RETAIN, FORCE, DRY RUN"),
        ("DESCRIBE DETAIL logs LIMIT 1", StatementError, "nothing is expected"),
    ]
    for text, error, message in refused:
        with pytest.raises(error, match=message):
            spark.sql(text)
        assert files(table) == before, text


def test_partitions_are_listed_as_spark_prints_them(spark: Any, table: IndexTable) -> None:
    def shown(text: str) -> list[str]:
        return [row.partition for row in spark.sql(text).collect()]

    hours = ["app=a/ts_hour=2024-01-01-14", "app=a/ts_hour=2024-01-01-16", "app=b/ts_hour=2024-01-02-14"]
    assert shown("SHOW PARTITIONS logs") == hours
    assert shown("SHOW PARTITIONS logs PARTITION (APP = 'b')") == hours[2:]
    table.merge_splits(coalesce=True)
    assert shown("SHOW PARTITIONS logs") == hours
    table.evolve_layout("app")
    table.append([{"id": 90, "app": "x/y z", "ts": None, "message": None}, {"id": 91, "app": None}])
    named = ["app=__HIVE_DEFAULT_PARTITION__", *hours, "app=x%2Fy z"]
    assert shown(f"SHOW PARTITIONS indextables.`{table.path}`") == named
    assert shown("SHOW PARTITIONS logs PARTITION (app = 'x/y z')") == named[-1:]
    with pytest.raises(LayoutError, match="nowhere is not a partition field"):
        spark.sql("SHOW PARTITIONS logs PARTITION (nowhere = 1)")
    spark.sql("CREATE TABLE flat (id INT) USING indextables")
    try:
        with pytest.raises(LayoutError, match="not partitioned"):
            spark.sql("SHOW PARTITIONS flat")
    finally:
        spark.sql("DROP TABLE flat")
