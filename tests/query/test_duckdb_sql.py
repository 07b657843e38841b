"""SELECT without Spark: what it finds, what it pushes down to the scans, and what it refuses."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import DamagedSplitError, IndexTablesError, SchemaError, StatementError, TableNotFoundError
from indextables.predicate import IndexQuery
from indextables.query import DuckDBSession
from indextables.query.query_table import Relation

SCHEMA = {"level": pa.string(), "message": pa.string(), "n": pa.int64(), "ts": pa.timestamp("us", "UTC")}
ROWS = {
    "level": ["WARN", "ERROR", "ERROR", None],
    "message": ["disk slow", "disk full", "timeout", None],
    "n": [1, 2, 3, 4],
    "ts": [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 5)],
}


@pytest.fixture(scope="module")
def logs() -> IndexTable:
    table = IndexTable.create("memory://sql/logs", SCHEMA, fields={"message": "text"})
    table.append(pa.table(ROWS, schema=pa.schema(SCHEMA)))
    return table


def relations_of(text: str, logs: IndexTable) -> Sequence[Relation]:
    with DuckDBSession() as session:
        return session.plan(text, lambda _: logs.scan(), ["logs"]).relations


def rows(text: str, logs: IndexTable, *, time_zone: str = "UTC") -> list[tuple[object, ...]]:
    found = IndexTable.sql(text, tables={"logs": logs}, time_zone=time_zone)
    return list(zip(*found.to_pydict().values(), strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT level, count(*) FROM logs WHERE message INDEXQUERY 'disk' GROUP BY 1 ORDER BY 1",
         [("ERROR", 1), ("WARN", 1)]),
        ("SELECT n FROM logs WHERE message INDEXQUERY 'disk' OR n = 3", [(1,), (2,), (3,)]),
        ("SELECT n FROM logs WHERE message NOT INDEXQUERY 'disk' ORDER BY n", [(3,), (4,)]),
        ("SELECT * EXCLUDE (ts) FROM logs l WHERE NOT l.message TEXTSEARCH 'disk'",
         [("ERROR", "timeout", 3), (None, None, 4)]),
        ("SELECT l.* EXCLUDE (ts, n) FROM logs l WHERE indexquery(l.message, 'slow') IS true", [("WARN", "disk slow")]),
        ("SELECT message INDEXQUERY 'disk' AS hit, sum(n) FROM logs GROUP BY hit ORDER BY hit", [(False, 7), (True, 3)]),
        ("SELECT count(*) FROM logs WHERE * INDEXQUERY 'disk AND NOT level:WARN'", [(1,)]),
        ("SELECT a.n, b.message INDEXQUERY 'disk' FROM logs a LEFT JOIN logs b ON a.n = b.n + 1 ORDER BY 1",
         [(1, False), (2, True), (3, True), (4, False)]),
        ("SELECT a.n FROM logs a LEFT JOIN logs b ON a.n = b.n AND b.message INDEXQUERY 'disk' WHERE b.n IS NULL ORDER BY 1",
         [(3,), (4,)]),
        ("WITH q AS (SELECT n FROM logs WHERE message INDEXQUERY 'disk') SELECT count(*) FROM q, q r", [(4,)]),
        ("SELECT n FROM logs WHERE n IN (SELECT n FROM 'memory://sql/logs' x WHERE x.message INDEXQUERY 'full')", [(2,)]),
        ("SELECT count(*) FROM logs VERSION AS OF 0", [(0,)]),
        ("FROM logs SELECT max(ts) WHERE ts < '2024-01-03'", [(ROWS["ts"][1],)]),
        ("SELECT level.n, message FROM logs AS level WHERE message INDEXQUERY 'full' OR level = 'WARN' ORDER BY n",
         [(1, "disk slow"), (2, "disk full")]),
        ("SELECT logs FROM logs WHERE n = 1", [({name: values[0] for name, values in ROWS.items()},)]),
    ],
)  # fmt: skip
def test_a_query_finds_what_it_says(logs: IndexTable, text: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(text, logs) == expected


def test_what_a_scan_does_not_need_to_read_is_not_read(logs: IndexTable) -> None:
    text = "SELECT level FROM logs WHERE message INDEXQUERY 'disk' AND ts >= '2024-01-02' AND n % 2 = 0"
    (relation,) = relations_of(text, logs)
    assert relation.columns == ("level", "n", "ts")
    assert relation.flags == {}
    searched, since = relation.predicate.terms  # type: ignore[union-attr] - an AND
    assert (searched, since) == (
        IndexQuery("message", "disk"),
        logs.scan(where="ts >= '2024-01-02'").scan_spec.predicate,
    )
    assert relation.scan().count() == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.n FROM logs b LEFT JOIN logs a ON a.n = b.n WHERE a.n = 1",
        "SELECT a.n FROM logs b POSITIONAL JOIN logs a WHERE a.n = 1",
        "SELECT a.n FROM logs b ASOF JOIN logs a ON b.n >= a.n WHERE a.n = 1",
        "SELECT a.n FROM logs b FULL JOIN logs a ON a.n = b.n WHERE a.n = 1",
        "SELECT n FROM logs a WHERE n = 1 USING SAMPLE 2 ROWS",
        "SELECT n FROM logs a TABLESAMPLE 1 ROWS WHERE n = 1",
        "SELECT a.x FROM logs AS a(w, x, n, z) WHERE a.n = 1",
        "SELECT n FROM logs a WHERE n = 1 OR random() < 2",
        "SELECT n FROM logs a WHERE level = 1 OR n = 1.5 OR n = '1'",
    ],
)
def test_a_condition_is_not_pushed_below_what_it_filters(logs: IndexTable, text: str) -> None:
    relations = relations_of(text, logs)
    assert [relation.scan().count() for relation in relations] == [4] * len(relations)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT mesage FROM logs", "no column 'mesage'; did you mean 'message'"),
        ("SELECT n FROM logs WHERE mesage INDEXQUERY 'x'", "no column 'mesage'; did you mean 'message'"),
        ("SELECT n FROM logs WHERE upper(message) INDEXQUERY 'x'", "needs a column"),
        ("SELECT n FROM logs WHERE message INDEXQUERY level", "is a string literal"),
        ("SELECT a.n FROM logs a, logs b WHERE message INDEXQUERY 'x'", "write the alias"),
        ("SELECT n FROM (SELECT * FROM logs) s WHERE s.message INDEXQUERY 'x'", "its own SELECT reads"),
        ("SELECT COLUMNS('n') FROM logs WHERE message INDEXQUERY 'x' OR n = 1", "name the columns"),
        ("FROM logs WHERE message INDEXQUERY 'x' OR n = 1", "needs SELECT before FROM"),
        ("SELECT n FRO logs", "at position 13: 'logs' is not expected here"),
        ("SELECT 'x FROM logs", "not closed"),
        ("DELETE FROM logs", "only queries are run here"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        (
            "SELECT score() FROM logs WHERE message INDEXQUERY 'x'",
            r"score\(\) needs Spark; .*IndexTable.search give hits",
        ),
        ("COPY (SELECT 1) TO 'x.csv'", "a query writes no file; `indextables export TABLE FILE`"),
        ("WITH logs AS (SELECT 1) SELECT * FROM logs", "both called 'logs'"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled"),
        ("SELECT 'x'::INT FROM logs", "could not convert"),
    ],
)
def test_what_cannot_be_run_says_why(logs: IndexTable, text: str, message: str) -> None:
    with pytest.raises(StatementError, match=message):
        rows(text, logs)


def test_an_unknown_table_says_how_to_name_one(logs: IndexTable) -> None:
    with pytest.raises(TableNotFoundError, match="write its path in single quotes"):
        rows("SELECT * FROM lgos", logs)


def test_a_query_cannot_reach_files_that_are_not_tables(logs: IndexTable, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for text in (f"SELECT * FROM '{secret}'", f'SELECT * FROM "{secret}"', "SELECT * FROM glob('/*')"):
        with pytest.raises(IndexTablesError):
            rows(text, logs)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("time", ["'2024-01-02 21:00'", "TIMESTAMP '2024-01-03 03:00:00'", "DATE '2024-01-03'"])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_times_without_a_zone_are_in_that_of_the_session(logs: IndexTable, zone: str, time: str, op: str) -> None:
    pushed, evaluated = (
        f"SELECT n FROM logs WHERE {ts} {op} {time} ORDER BY n" for ts in ("ts", "(ts + INTERVAL 0 DAY)")
    )
    assert rows(pushed, logs, time_zone=zone) == rows(evaluated, logs, time_zone=zone)


def test_names_of_columns_are_unique_and_sums_are_integers(logs: IndexTable) -> None:
    found = IndexTable.sql(
        "SELECT a.n, b.n, sum(a.n) OVER () AS total FROM logs a JOIN logs b USING (level)", tables={"logs": logs}
    )
    assert found.column_names == ["n", "n_1", "total"]
    assert found.schema.field("total").type == pa.int64()


def test_errors_of_a_scan_keep_their_type(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", {"n": pa.int64()})
    table.append(pa.table({"n": [1, 2]}))
    (split,) = (tmp_path / "t").rglob("*.split")
    split.write_bytes(bytes(split.stat().st_size))
    with pytest.raises(DamagedSplitError):
        IndexTable.sql(f"SELECT sum(n) FROM '{tmp_path / 't'}'")


TEAMS = {"name": ["WARN", "ERROR"], "team": ["ops", "dev"]}


@pytest.mark.parametrize(
    "data_of",
    [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, lambda columns: pa.table(columns).to_reader(),
     lambda columns: duckdb.from_arrow(pa.table(columns)),
     lambda columns: IndexTable.write("memory://sql/teams", columns, mode="overwrite").scan(where="team < 'z'")],
    ids=["pandas", "polars", "lazy polars", "arrow", "stream", "duckdb", "scan"],
)  # fmt: skip
def test_data_in_memory_is_a_table_of_the_query(
    logs: IndexTable, data_of: Callable[[dict[str, list[str]]], Any]
) -> None:
    text = """SELECT n, c.team, d.team FROM logs JOIN C ON level = c.name CROSS JOIN c AS d
              WHERE message INDEXQUERY 'disk' AND c.team = 'dev' AND n < 3 ORDER BY ALL"""
    found = IndexTable.sql(text, tables={"logs": logs, "c": data_of(TEAMS)})
    assert [tuple(row.values()) for row in found.to_pylist()] == [(2, "dev", "dev"), (2, "dev", "ops")]


def test_conditions_are_pushed_down_beside_data_in_memory(logs: IndexTable) -> None:
    tables = {"logs": logs.scan(), "c": pa.table(TEAMS)}
    with DuckDBSession() as session:
        text = "SELECT n FROM logs, c WHERE message INDEXQUERY 'disk' AND n < 2 AND team = 'ops' AND level = name"
        (relation, _) = session.plan(text, lambda reference: tables[reference.name], tables).relations
    assert relation.scan().count() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM c VERSION AS OF 1", "'c' is data in memory, which has no versions"),
        ("SELECT * FROM c WHERE name INDEXQUERY 'x'", "'c' is data in memory, and a search is on a table"),
        ("SELECT nmae FROM c", "no column 'nmae'; did you mean 'name'"),
    ],
)
def test_data_in_memory_is_no_table_with_versions_and_an_index(text: str, message: str) -> None:
    with pytest.raises(IndexTablesError, match=message):
        IndexTable.sql(text, tables={"c": pa.table(TEAMS)})


def test_hits_can_be_queried_with_their_scores(logs: IndexTable) -> None:
    hits = logs.search("disk OR full", limit=1000)
    found = IndexTable.sql("SELECT message FROM hits WHERE _score > 0 ORDER BY _score DESC", tables={"hits": hits})
    assert found["message"].to_pylist() == ["disk full", "disk slow"]


def test_two_tables_of_one_name_are_refused(logs: IndexTable) -> None:
    with pytest.raises(IndexTablesError, match="'c' and 'C' have the same name but for case"):
        IndexTable.sql("SELECT 1", tables={"c": logs, "C": pa.table(TEAMS)})


def test_a_value_that_is_no_table_says_what_may_be_one() -> None:
    with pytest.raises(SchemaError, match="a int is no data for a table; give a DataFrame of pandas or Polars"):
        IndexTable.sql("SELECT 1", tables={"c": 3})  # type: ignore[dict-item]
