"""Versions of tables of the catalog in SQL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, UnsupportedStatementError, VersionNotFoundError


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexTable]:
    """The table `shop.t` with the rows 1, 2 and 3 from the versions 1, 2 and 4, and a column of version 3."""
    root: Path = tmp_path_factory.mktemp("past")
    spark.sql(f"CREATE DATABASE shop LOCATION '{root}'")
    spark.sql("USE shop")
    spark.sql("CREATE TABLE t (id INT, s STRING) USING indextables")
    table = IndexTable.open(root / "t")
    table.append([{"id": 1, "s": "a"}])
    table.append([{"id": 2, "s": "b"}])
    table.add_column("extra", "string")
    table.append([{"id": 3, "s": "c", "extra": "x"}])
    yield table
    spark.sql("USE default")
    spark.sql("DROP DATABASE shop CASCADE")


QUERIES = [
    ("SELECT * FROM t VERSION AS OF 1", [(1, "a")]),
    ("SELECT * FROM t FOR VERSION AS OF 2", [(1, "a"), (2, "b")]),
    ("SELECT t.id FROM shop.t FOR SYSTEM_VERSION AS OF '2' WHERE t.id > 1", [(2,)]),
    ("SELECT x.id, extra FROM t VERSION AS OF 3 AS x", [(1, None), (2, None)]),
    ("SELECT n FROM t VERSION AS OF 2 TABLESAMPLE (100 PERCENT) AS x(n, m) WHERE m = 'b'", [(2,)]),
    ("SELECT count(*) FROM t VERSION AS OF 0", [(0,)]),
    (
        "SELECT now.id, old.id FROM t AS now LEFT JOIN t VERSION AS OF 1 AS old ON now.id = old.id",
        [(1, 1), (2, None), (3, None)],
    ),
    (
        "WITH old AS (SELECT * FROM t VERSION AS OF 1) SELECT id FROM t WHERE id > (SELECT max(id) FROM old)",
        [(2,), (3,)],
    ),
    ("SELECT id FROM t WHERE id < (SELECT max(id) FROM t VERSION AS OF 2)", [(1,)]),
    ("SELECT count(*) FROM t TIMESTAMP AS OF current_timestamp()", [(3,)]),
]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_a_table_is_read_as_it_was(spark: Any, query: str, expected: list[tuple[Any, ...]]) -> None:
    assert sorted(map(tuple, spark.sql(query).collect())) == expected


def test_a_version_is_found_by_its_time_in_the_session_s_zone(spark: Any, table: IndexTable) -> None:
    second = next(row["timestamp"] for row in table.history().to_pylist() if row["version"] == 2)
    there = second.isoformat(sep=" ")
    tokyo = f"TIMESTAMP '{there}'"
    assert spark.sql(f"SELECT count(*) FROM t TIMESTAMP AS OF '{there}'").first()[0] == 2
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        local = spark.sql(f"SELECT CAST({tokyo} AS STRING)").first()[0]
        assert spark.sql("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF :at", {"at": local}).first()[0] == 2
        assert spark.sql(f"SELECT count(*) FROM t TIMESTAMP AS OF {tokyo}").first()[0] == 2
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.usefixtures("table")
def test_versions_are_written_to_other_tables(spark: Any) -> None:
    spark.sql("CREATE TABLE copy USING indextables AS SELECT * FROM t VERSION AS OF 1")
    spark.sql("INSERT INTO copy SELECT * FROM t VERSION AS OF :v", {"v": 2})
    spark.sql("CREATE TABLE plain USING parquet AS SELECT id FROM t VERSION AS OF 2")
    assert sorted(row.id for row in spark.table("copy").collect()) == [1, 1, 2]
    assert sorted(row.id for row in spark.table("plain").collect()) == [1, 2]


@pytest.mark.usefixtures("table")
def test_what_has_no_past_is_refused(spark: Any) -> None:
    refused: list[tuple[str, type[Exception], str]] = [
        ("SELECT * FROM t VERSION AS OF 9", VersionNotFoundError, "versions 0 to 4"),
        ("SELECT * FROM t VERSION AS OF 'last'", ConfigError, "must be a version's number"),
        ("SELECT * FROM t TIMESTAMP AS OF '2001-01-01'", VersionNotFoundError, "2001-01-01"),
        ("SELECT * FROM t TIMESTAMP AS OF 'soon'", ConfigError, "'soon' is not a timestamp"),
        ("SELECT * FROM t VERSION AS OF 1 WITH ('cache.maxSize' = '1G')", ConfigError, "cannot be combined"),
        ("SELECT * FROM t WITH ('versionAsOf' = '1')", ConfigError, "VERSION AS OF 3"),
        ("CREATE TEMPORARY VIEW old AS SELECT * FROM t VERSION AS OF 1", UnsupportedStatementError, "createTempView"),
        ("CREATE VIEW old AS SELECT * FROM t VERSION AS OF 1", UnsupportedStatementError, "createTempView"),
        ("CACHE TABLE old AS SELECT * FROM t VERSION AS OF 1", UnsupportedStatementError, "createTempView"),
    ]
    for query, error, message in refused:
        with pytest.raises(error, match=message):
            spark.sql(query)
    assert [view.name for view in spark.catalog.listTables() if view.isTemporary] == []
