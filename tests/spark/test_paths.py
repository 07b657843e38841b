"""Tables that statements name by their paths: one rule, whatever the statement and whatever the path looks like."""

from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, IndexTablesError, StatementError
from tests.tiers import slow

READS = [
    "SELECT id FROM {t}",
    "SELECT a.id FROM {t} a, {t} b WHERE a.id = b.id",
    "SELECT id FROM ({t})",
    "SELECT id FROM ({t} a JOIN {t} b USING (id))",
    "SELECT id FROM VALUES (1), (2) AS v(id) LEFT ANTI JOIN {t} USING (id)",
    "SELECT id FROM {t} WHERE s INDEXQUERY 'full' AND id IN (SELECT id FROM {t} VERSION AS OF 1)",
    "TABLE {t}",
    "FROM {t} |> SELECT id",
    "DESCRIBE {t}",
    "DESC {t}",
    "DESCRIBE TABLE {t}",
    "DESCRIBE EXTENDED {t}",
    "DESCRIBE FORMATTED {t}",
    "DESCRIBE TABLE EXTENDED {t}",
    "DESC FORMATTED {t} id",
    "DESCRIBE HISTORY {t}",
    "DESCRIBE DETAIL {t}",
    "SHOW PARTITIONS {t}",
    "SHOW TBLPROPERTIES {t}",
    "SHOW COLUMNS IN {t}",
    "SHOW COLUMNS FROM {t}",
    "SHOW CREATE TABLE {t}",
    "REFRESH TABLE {t}",
    "CACHE LAZY TABLE {t}",
    "UNCACHE TABLE {t}",
    "UNCACHE TABLE IF EXISTS {t}",
    "CREATE TABLE IF NOT EXISTS {t} (id INT)",
]
CHANGES = [
    "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'web')",
    "INSERT INTO {t} VALUES (4, 'new')",
    "INSERT OVERWRITE TABLE {t} TABLE {t}",
    "DELETE FROM {t} WHERE id = 4",
    "UPDATE {t} SET s = 'other' WHERE id = 1",
    "MERGE INTO {t} x USING {t} y ON x.id = y.id + 10 WHEN NOT MATCHED THEN INSERT (id, s) VALUES (y.id + 20, y.s)",
    "OPTIMIZE {t}",
    "VACUUM {t} DRY RUN",
    "TRUNCATE TABLE {t}",
    "CREATE OR REPLACE TABLE {t} (id INT, s STRING) PARTITIONED BY (id)",
    "RESTORE TABLE {t} TO VERSION AS OF 1",
]
COMMANDS = ("DESCRIBE HISTORY", "DESCRIBE DETAIL", "VACUUM", "OPTIMIZE", "RESTORE")
OF_NAMES = [
    "DROP TABLE {t}",
    "DROP TABLE IF EXISTS {t}",
    "ALTER TABLE {t} RENAME TO other",
    "COMMENT ON TABLE {t} IS 'mine'",
    "CREATE TEMPORARY VIEW v AS SELECT * FROM {t}",
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The kinds of paths, all of one table."""
    home = tmp_path_factory.mktemp("paths")
    table = IndexTable.create(home / "orders", {"id": "int", "s": "string"}, partition_by="id", fields=["s"])
    table.append([{"id": 1, "s": "disk full"}, {"id": 2, "s": "all is well"}])
    (home / "here").mkdir()
    return {"absolute": table.path, "name": "orders", "relative": "here/../orders", "uri": f"file:{table.path}"}


def rows(spark: Any, statement: str, path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(map(str, row)) for row in spark.sql(statement.format(t=f"indextables.`{path}`")).collect())


@pytest.mark.parametrize(
    "kind",
    ["name", pytest.param("relative", marks=slow("another path")), pytest.param("uri", marks=slow("another path"))],
)
def test_statements_read_a_table_by_any_path(
    spark: Any, paths: dict[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(paths["absolute"]).parent)
    for statement in READS:
        assert rows(spark, statement, paths[kind]) == rows(spark, statement, paths["absolute"]), statement
    assert rows(spark, "SELECT id FROM ({t})", paths[kind]) == [("1",), ("2",)]
    assert [view.name for view in spark.catalog.listTables()] == []


def test_statements_change_a_table_by_any_path(
    spark: Any, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(paths["absolute"]).parent)
    kinds = ["name", "relative", "uri"]
    for number, statement in enumerate(CHANGES):
        rows(spark, statement, paths[kinds[number % len(kinds)]])
    assert rows(spark, "SELECT * FROM {t}", "orders") == [("1", "disk full"), ("2", "all is well")]


def test_statements_about_names_refuse_paths(spark: Any, paths: dict[str, str]) -> None:
    for statement in OF_NAMES:
        with pytest.raises(StatementError, match="path"):
            rows(spark, statement, paths["absolute"])
    assert spark.catalog.listTables() == []
    for statement, what in [
        ("CREATE TABLE {t} (id INT)", "there is a table at"),
        ("CREATE TABLE {t} (id INT) USING parquet", "another format"),
        ("CREATE TABLE {t} (id INT) LOCATION '/elsewhere'", "a LOCATION"),
        ("CREATE TABLE {t} (id INT COMMENT 'x')", "the catalog keeps comments"),
    ]:
        with pytest.raises(IndexTablesError, match=what):
            rows(spark, statement, paths["absolute"])


def test_tables_in_memory_are_refused_by_every_statement(spark: Any) -> None:
    for statement in (*READS, *CHANGES):
        if statement.startswith(COMMANDS):  # they are run by this process, whose memory it is
            continue
        with pytest.raises(ConfigError, match="in the memory of this process"):
            rows(spark, statement, "memory://orders")


def test_a_column_of_a_table_that_is_called_like_the_format(spark: Any) -> None:
    query = "SELECT 1, indextables.`id` FROM VALUES (7) AS indextables(id) ORDER BY 1, indextables.`id`"
    assert [tuple(row) for row in spark.sql(query).collect()] == [(1, 7)]
    assert spark.sql("SELECT 1 IS DISTINCT FROM indextables.`id` FROM VALUES (7) AS indextables(id)").first()[0]
