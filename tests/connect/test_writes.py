"""Writes, statements and commands over Spark Connect."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import indextables
from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    SchemaError,
    StatementError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedOperatorError,
    UnsupportedStatementError,
)
from indextables.log import TransactionLog
from indextables.spark.options import REQUEST


def frame_of(spark: Any, count: int = 12) -> Any:
    return spark.range(0, count, 1, 2).selectExpr("id", "concat('d', id % 3) AS day", "concat('line ', id) AS message")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def writer_of(frame: Any) -> Any:
    return frame.write.format("indextables").option("indexing.typemap.message", "text")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def table(spark: Any, path: str) -> Iterator[str]:
    """A table of the catalog with twelve rows."""
    writer_of(frame_of(spark)).partitionBy("day").option("path", path).saveAsTable("connect_table")
    yield "connect_table"
    spark.sql("DROP TABLE IF EXISTS connect_table")


def test_modes(spark: Any, path: str) -> None:
    frame = frame_of(spark)
    frame.write.format("indextables").option("text", "auto").save(path)
    assert IndexTable.open(path).fields["message"].type == "text"
    with pytest.raises(TableExistsError):
        writer_of(frame).save(path)
    writer_of(frame).mode("ignore").save(path)
    assert IndexTable.open(path).count() == 12
    writer_of(frame).mode("append").save(path)
    assert IndexTable.open(path).count() == 24
    writer_of(frame.limit(2)).mode("overwrite").save(path)
    assert IndexTable.open(path).count() == 2


def test_layouts_and_settings(spark: Any, path: str) -> None:
    spark.conf.set("spark.indextables.optimizeWrite.targetRecordsPerSplit", "2")
    try:
        writer_of(frame_of(spark)).partitionBy("day", "bucket(2, id)").save(path)
    finally:
        spark.conf.unset("spark.indextables.optimizeWrite.targetRecordsPerSplit")
    table = IndexTable.open(path)
    assert str(table.layout) == "day, bucket(2, id)"
    assert max(table.splits()["num_records"].to_pylist()) <= 2
    assert ids(spark.read.format("indextables").load(path)) == list(range(12))


def test_an_optimized_write_makes_few_splits(spark: Any, path: str) -> None:
    frame = frame_of(spark, 1000).repartition(8)
    writer_of(frame).partitionBy("day").save(path)
    assert len(IndexTable.open(path).splits()) == 3


def test_rows_are_replaced(spark: Any, path: str) -> None:
    writer_of(frame_of(spark)).partitionBy("day").save(path)
    new = frame_of(spark).filter("id = 1")
    writer_of(new).mode("overwrite").option("replaceWhere", "day = 'd1'").save(path)
    assert ids(spark.read.format("indextables").load(path)) == [0, 1, 2, 3, 5, 6, 8, 9, 11]


def test_a_write_that_is_refused_leaves_nothing(spark: Any, path: str) -> None:
    with pytest.raises(SchemaError, match="nothing"):
        frame_of(spark).write.format("indextables").option("indexing.typemap.nothing", "text").save(path)
    with pytest.raises(SchemaError):
        spark.sql("SELECT array(1) AS a").write.format("indextables").save(path)
    assert not Path(path).exists()


def test_a_write_of_a_search(spark: Any, path: str, tmp_path: Path) -> None:
    from indextables.functions import indexquery  # noqa: PLC0415 - it needs PySpark

    writer_of(frame_of(spark)).save(path)
    found = spark.read.format("indextables").load(path).filter(indexquery("message", "7 OR 8"))
    found.write.parquet(str(tmp_path / "found"))
    writer_of(found).save(str(tmp_path / "copy"))
    assert ids(spark.read.parquet(str(tmp_path / "found"))) == [7, 8]
    assert IndexTable.open(tmp_path / "copy").count() == 2


def test_a_batch_is_written_once(spark: Any, path: str) -> None:
    for _ in range(2):
        writer_of(frame_of(spark)).mode("append").options(txnAppId="app", txnVersion="1").save(path)
    assert IndexTable.open(path).count() == 12


def test_a_table_of_the_catalog(spark: Any, table: str) -> None:
    assert spark.table(table).count() == 12
    assert ids(spark.sql(f"SELECT id FROM {table} WHERE message INDEXQUERY '7'")) == [7]
    assert ids(spark.sql(f"SELECT {table}.id FROM default.{table} WHERE day = 'd0'")) == [0, 3, 6, 9]
    spark.sql(f"INSERT INTO {table} SELECT 50, 'd9', 'line 50'")
    spark.sql(f"INSERT INTO {table} VALUES (51, 'd9', 'line 51')")
    frame_of(spark).limit(0).write.insertInto(table)
    writer_of(frame_of(spark).limit(1)).mode("append").saveAsTable(table)
    assert spark.table(table).count() == 15
    spark.sql(f"INSERT OVERWRITE {table} SELECT 1, 'd1', 'alone'")
    assert ids(spark.table(table)) == [1]
    with pytest.raises(TableExistsError):
        writer_of(frame_of(spark)).saveAsTable(table)


def test_a_name_is_a_qualifier_and_takes_options(spark: Any, table: str) -> None:
    spark.sql(f"INSERT INTO {table} SELECT 50, 'd9', 'line 50'")
    assert spark.table(table).select(f"{table}.id").count() == 13
    assert spark.read.option("versionAsOf", 0).table(table).count() == 12
    assert (
        len(
            spark.sql(
                f"SELECT * FROM {table} x JOIN {table} y ON x.id = y.id WHERE x.message INDEXQUERY 'line'"
            ).columns
        )
        == 6
    )


def test_names_that_mean_something_else(spark: Any, table: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not at"):
        writer_of(frame_of(spark)).mode("append").option("path", str(tmp_path / "other")).saveAsTable(table)
    with pytest.raises(ConfigError, match="parquet"):
        frame_of(spark).write.format("parquet").mode("append").saveAsTable(table)
    spark.range(1).createOrReplaceTempView(table)
    try:
        assert spark.table(table).count() == 1
    finally:
        spark.catalog.dropTempView(table)
    assert spark.table(table).count() == 12


def test_a_named_entry_for_a_table_that_exists(spark: Any, path: str) -> None:
    writer_of(frame_of(spark)).save(path)
    spark.sql(f"CREATE TABLE connect_named USING indextables LOCATION '{path}'")
    try:
        assert ids(spark.sql("SELECT * FROM connect_named WHERE id < 2")) == [0, 1]
    finally:
        spark.sql("DROP TABLE connect_named")
    assert IndexTable.open(path).count() == 12


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {table} ADD COLUMNS (x int)",
        "TRUNCATE TABLE {table} PARTITION (day = 'd1')",
        "CREATE TABLE indextables.`/elsewhere` (id bigint)",
        "CREATE OR REPLACE TABLE {table} (id bigint) USING indextables",
        "INSERT INTO {table} (id, day) SELECT 1, 'd1'",
        "INSERT INTO {table} BY NAME SELECT 1 AS id",
        "INSERT INTO {table} REPLACE WHERE day = 'd1' SELECT 1, 'd1', 'x'",
        "CREATE TABLE connect_new (id bigint) USING indextables",
        "CREATE TABLE connect_new USING indextables AS SELECT 1 AS id",
    ],
)
def test_statements_that_do_not_work(spark: Any, table: str, statement: str) -> None:
    with pytest.raises(UnsupportedStatementError, match="Spark Connect"):
        spark.sql(statement.format(table=table))
    assert spark.table(table).columns == ["id", "day", "message"]
    assert not spark.catalog.tableExists("connect_new")


def test_a_table_is_listed_and_truncated(spark: Any, table: str, path: str) -> None:
    IndexTable.open(path).set_properties({"team": "web"})
    by_path = f"indextables.`{path}`"
    for name, place in ((table, f"LOCATION 'file:{path}'\n"), (by_path, "")):
        assert spark.sql(f"SHOW CREATE TABLE {name}").first()[0] == (
            f"CREATE TABLE {name if name == by_path else f'`{name}`'} (\n  id BIGINT,\n  day STRING,\n  message STRING)\n"
            f"USING indextables\nPARTITIONED BY (day)\n{place}"
            "TBLPROPERTIES (\n  'indexing.typemap.message' = 'text',\n  'team' = 'web')\n"
        )
        assert [tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()] == [("team", "web")]
        assert spark.sql(f"SHOW TBLPROPERTIES {name} ('team')").first()[1] == "web"
        assert sorted(row[0] for row in spark.sql(f"SHOW PARTITIONS {name}").collect()) == [
            "day=d0",
            "day=d1",
            "day=d2",
        ]
    IndexTable.open(path).unset_properties("team")
    assert spark.sql(f"SHOW TBLPROPERTIES {table}").collect() == []
    spark.sql(f"TRUNCATE TABLE {by_path}")
    spark.sql(f"TRUNCATE TABLE {table}")
    assert (spark.table(table).count(), IndexTable.open(path).version) == (0, 3)


def test_write_to_and_new_tables_without_a_place(spark: Any, table: str) -> None:
    with pytest.raises(UnsupportedStatementError, match="insertInto"):
        frame_of(spark).writeTo(table)
    with pytest.raises(ConfigError, match="path"):
        writer_of(frame_of(spark)).saveAsTable("connect_new")


def test_commands(spark: Any, path: str, table: str) -> None:
    for _ in range(3):
        writer_of(frame_of(spark).coalesce(1)).mode("append").save(path)
    merged = spark.sql(f"MERGE SPLITS '{path}'").collect()[0]
    assert (merged.rows, len(IndexTable.open(path).splits())) == (48, 3)
    history = spark.sql(f"DESCRIBE HISTORY {table}")
    assert history.select("operation").collect()[0].operation == "MERGE SPLITS"
    assert spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{path}' WHERE day = 'd0'").collect()
    assert ids(spark.table(table).distinct()) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert spark.sql(f"ALTER TABLE {table} SET INDEXING (message = 'string')").collect()[0].version > 0
    assert spark.sql(f"REINDEX TABLE indextables.`{path}`").collect()[0].reindexed == 2
    other = frame_of(spark).selectExpr("CAST(id AS STRING) AS name", "id % 2 AS odd")
    other.write.format("indextables").mode("overwrite").option("overwriteSchema", "true").partitionBy("odd").save(path)
    assert spark.table(table).columns == ["name", "odd"]


def test_rows_are_changed_by_the_client(spark: Any, path: str, table: str) -> None:
    writer_of(frame_of(spark)).mode("overwrite").save(path)
    assert spark.sql(f"DELETE FROM {table} AS x WHERE x.id = 3 OR x.message INDEXQUERY '4'").collect()[0][0] == 2
    update = f"UPDATE indextables.`{path}` SET message = concat(message, '!'), day = 'new' WHERE id < 2"
    assert spark.sql(update).collect()[0].num_affected_rows == 2
    merged = spark.sql(
        f"MERGE INTO {table} AS t USING (SELECT id + 10 AS id FROM range(0, 3)) AS s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, 'm')"
    )
    assert tuple(merged.collect()[0]) == (3, 0, 2, 1)
    assert ids(spark.table(table)) == [0, 1, 2, 5, 6, 7, 8, 9, 12]
    assert ids(spark.table(table).where("day = 'new'")) == [0, 1]
    for refused in ("DELETE FROM {} WHERE id IN (SELECT 1)", "UPDATE {} SET id = (SELECT max(id) FROM {})"):
        with pytest.raises(UnsupportedStatementError, match="Spark Connect"):
            spark.sql(refused.format(table, table))
    with pytest.raises(UnsupportedStatementError, match="takes no parameters"):
        spark.sql(f"DELETE FROM {table} WHERE id = :id", {"id": 1})


def test_statements_that_change_rows_mean_what_they_mean_in_a_classic_session(
    spark: Any, path: str, table: str
) -> None:
    writer_of(frame_of(spark)).mode("overwrite").save(path)
    new = f"MERGE INTO {table} AS t USING (SELECT 20L AS id) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES"
    assert spark.sql(f"{new} (s.id, DEFAULT, 'new')").collect()[0].num_inserted_rows == 1
    assert (
        spark.sql(f"UPDATE {table} SET {table}.message = upper({table}.message) WHERE {table}.id = 20").collect()[0][0]
        == 1
    )
    assert tuple(spark.table(table).where("id = 20").collect()[0]) == (20, None, "NEW")
    assert spark.sql(f"DELETE FROM default.{table} WHERE {table}.id = 20").collect()[0][0] == 1
    for statement, error, reason in (
        (f"UPDATE {table} SET message.day = 'x'", UnsupportedStatementError, "columns as a whole"),
        (f"UPDATE {table} SET day = 'x', Day = 'y'", StatementError, "day is set twice"),
        (f"{new} (s.id)", StatementError, "1 values for 3 columns"),
        (f"DELETE FROM {table} WHERE rand() < 1", UnsupportedOperatorError, "rand"),
        (f"DELETE FROM {table} WHERE", StatementError, "a condition after WHERE"),
        (f"DELETE FROM indextables.`{path}/none`", TableNotFoundError, "none"),
    ):
        with pytest.raises(error, match=reason):
            spark.sql(statement)
    assert ids(spark.table(table)) == list(range(12))
    assert spark.sql(f"DELETE FROM {table}").collect()[0].num_affected_rows == 12


def test_a_statement_that_changes_rows_opens_the_log_once(
    spark: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client opens it, after one look of the server at the table."""
    opened, looked, open_log, ask = [], [], TransactionLog.open, spark.client.schema
    monkeypatch.setattr(TransactionLog, "open", lambda *given: opened.append(given) or open_log(*given))
    monkeypatch.setattr(spark.client, "schema", lambda plan: looked.append(plan) or ask(plan))
    for statement in (
        "DELETE FROM {} WHERE id = 3",
        "UPDATE {} SET day = 'x' WHERE id = 2",
        "MERGE INTO {} AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET day = 'x'",
    ):
        opened.clear()
        looked.clear()
        assert spark.sql(statement.format(table)).collect()[0].num_affected_rows == 1
        asked = [plan for plan in looked if REQUEST in str(plan)]
        assert (len(opened), len(asked)) == (1, 1)


def test_compaction_by_executors_and_scans_as_frames(spark: Any, path: str) -> None:
    for _ in range(3):
        writer_of(frame_of(spark).coalesce(1)).mode("append").save(path)
    table = IndexTable.open(path)
    assert table.merge_splits(spark=spark).splits_after == 1
    scan = table.scan(where="id < 3 AND message INDEXQUERY 'line'", columns=["id"])
    assert ids(scan.to_spark(spark)) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_sessions(spark: Any, path: str) -> None:
    writer_of(frame_of(spark)).save(path)
    other = indextables.enable(spark.newSession())
    assert indextables.enable(other) is other
    assert ids(other.sql(f"SELECT id FROM indextables.`{path}` WHERE message INDEXQUERY '7'")) == [7]
    indextables.disable(other)
    plain = other.read.format("indextables").option("where", "id < 2").load(path)  # the data source alone
    assert ids(plain) == [0, 1]
    assert spark.read.format("indextables").load(path).count() == 12
