"""Statements of Spark's SQL beyond SELECT and INSERT: scripts, EXECUTE IMMEDIATE, pipes, views."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import indextables
from indextables import IndexTable
from indextables.errors import ConfigError, UnsupportedOperatorError


@pytest.fixture
def lines(spark: Any, tmp_path: Path) -> Iterator[str]:
    """The path of a table `lines` of two rows."""
    path = str(tmp_path / "lines")
    spark.sql(
        "CREATE TABLE lines (id INT, p STRING, message STRING) USING indextables OPTIONS ('indexing.typemap.message' 'text')"
        f" PARTITIONED BY (p) LOCATION '{path}'"
    )
    spark.sql("INSERT INTO lines VALUES (1, 'a', 'disk full'), (2, 'b', 'all is well')")
    yield path
    spark.sql("DROP TABLE IF EXISTS lines")


def rows(spark: Any, text: str, **options: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.sql(text, **options).collect())


def test_a_table_is_inserted_into_itself(spark: Any, lines: str) -> None:
    spark.sql("INSERT INTO lines TABLE lines")
    assert rows(spark, "SELECT id, count(*) FROM lines GROUP BY id") == [(1, 2), (2, 2)]
    assert IndexTable.open(lines).count() == 4


def test_scripts_read_and_write(spark: Any, lines: str) -> None:
    script = "BEGIN INSERT INTO lines VALUES (3, 'c', 'new'); SELECT max(id), count(*) FROM lines; END"
    assert rows(spark, script) == [(3, 3)]
    spark.sql("CREATE TABLE days (day STRING, n INT) USING indextables PARTITIONED BY (day)")
    inserts = "INSERT INTO days VALUES ('mon', 1), ('tue', 2); INSERT OVERWRITE days VALUES ('mon', 3)"
    assert rows(spark, f"BEGIN {inserts}; SELECT * FROM days; END") == [("mon", 3)]
    with pytest.raises(UnsupportedOperatorError, match=r"in a script .*run the query on its own"):
        spark.sql("BEGIN INSERT INTO lines TABLE lines; SELECT id FROM lines WHERE message INDEXQUERY 'disk'; END")
    assert IndexTable.open(lines).count() == 3


def test_execute_immediate_is_the_statement_itself(spark: Any, lines: str) -> None:
    assert rows(spark, "EXECUTE IMMEDIATE 'SELECT id FROM lines WHERE message INDEXQUERY ''disk'''") == [(1,)]
    assert rows(spark, f"EXECUTE IMMEDIATE 'SELECT count(*) FROM indextables.`{lines}`'") == [(2,)]
    assert rows(spark, "EXECUTE IMMEDIATE 'SELECT id FROM lines WHERE p = ?' USING 'b'") == [(2,)]
    spark.sql("EXECUTE IMMEDIATE 'INSERT INTO lines VALUES (3, ''c'', ''new'')'")
    with pytest.raises(ConfigError, match="USING or INTO cannot do a search or a write"):
        spark.sql("EXECUTE IMMEDIATE 'INSERT INTO lines VALUES (?, ''c'', ''new'')' USING 4")
    assert IndexTable.open(lines).count() == 3


def test_pipes_search_and_count(spark: Any, lines: str) -> None:
    found = "FROM lines |> WHERE message INDEXQUERY :q |> SELECT id, p |> WHERE p < 'z'"
    assert rows(spark, found, args={"q": "disk"}) == [(1, "a")]
    assert rows(spark, "FROM {t} |> WHERE message INDEXQUERY 'well' |> SELECT id", t=spark.table("lines")) == [(2,)]
    for split in Path(lines).rglob("*.split"):
        split.unlink()
    assert rows(spark, "FROM lines |> WHERE p = 'a' |> AGGREGATE count(*) AS n GROUP BY p") == [("a", 1)]


def test_a_view_over_a_column_that_was_widened(spark: Any, lines: str) -> None:
    spark.sql("CREATE VIEW seen AS SELECT * FROM lines")
    try:
        spark.sql(f"ALTER INDEXTABLE '{lines}' WIDEN COLUMN id TO BIGINT")
        assert rows(spark, "SELECT id + 1, p FROM seen WHERE id = 2") == [(3, "b")]
    finally:
        spark.sql("DROP VIEW seen")


@pytest.mark.usefixtures("lines")
def test_a_persistent_view_searches_in_enabled_sessions(spark: Any) -> None:
    spark.sql("CREATE VIEW seen AS SELECT id, p FROM lines WHERE message INDEXQUERY 'disk OR well'")
    try:
        assert rows(spark, "SELECT id FROM seen WHERE p = 'b'") == [(2,)]
        assert "without the index" not in indextables.explain(spark.table("seen"))
        other = spark.newSession()
        with pytest.raises(AnalysisException, match="routine `indexquery`"):
            other.sql("SELECT id FROM seen").collect()
        assert rows(indextables.enable(other), "SELECT id FROM seen WHERE p = 'b'") == [(2,)]
        spark.sql("INSERT INTO lines VALUES (3, 'b', 'another disk')")
        assert rows(spark, "SELECT id FROM seen WHERE p = 'b'") == [(2,), (3,)]
    finally:
        spark.sql("DROP VIEW seen")
