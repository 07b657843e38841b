"""One list of conditions through every door: SQL text, the SQL of DuckDB, Spark's plans, and the messages of Spark Connect.

What a door pushes down is true for the same rows as the condition is where an engine evaluates it on the plain rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from indextables.errors import UnsupportedOperatorError
from indextables.predicate import Predicate, evaluate, parse_condition
from indextables.query import DuckDBSession

DAYS = [date(2024, 1, 1), date(2024, 1, 2), None, date(2024, 3, 10)]
TIMES = [datetime(2024, 1, day, hour) for day in (1, 2, 3) for hour in (0, 12)]  # noqa: DTZ001 - of a wall, too
ROWS = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "n": pa.array([None, -1, 0, 1, 2, 3, 5, 7, 10, None, 100, 2], pa.int32()),
        "level": ["ERROR", "INFO", None, "WARN", "error", "ERR%R", "E_", "", "INFO", "a\\b", None, "ERRORS"],
        "digits": ["7", "12", "x", None] * 3,
        "flag": [True, False, None] * 4,
        "price": [0.5, float("nan"), None, 2.25] * 3,
        "cost": pa.array([Decimal("1.50"), Decimal("-0.25"), None] * 4, pa.decimal128(10, 2)),
        "day": pa.array(DAYS * 3, pa.date32()),
        "ts": pa.array([time.replace(tzinfo=UTC) for time in TIMES] * 2, pa.timestamp("us", "UTC")),
        "wall": pa.array([None, *TIMES[1:]] * 2, pa.timestamp("us")),
    }
)
SQL, DUCKDB, CLASSIC, CONNECT = "SQL text", "DuckDB", "classic Spark", "Spark Connect"
EVERYONE = (SQL, DUCKDB, CLASSIC, CONNECT)


@dataclass(frozen=True)
class Case:
    """A condition in Spark's SQL, in DuckDB's if that differs, and of Spark's columns. Some doors leave it to the engine."""

    spark: str
    duckdb: str = ""
    column: Callable[[Any, Any], Any] | None = None
    left_by: tuple[str, ...] = ()

    @property
    def in_duckdb(self) -> str:
        return self.duckdb or self.spark


CASES = [
    Case("n = 5", column=lambda c, _: c.n == 5),
    Case("n == 5"),
    Case("n <> 5", column=lambda c, _: c.n != 5),
    Case("5 < n", column=lambda c, f: f.lit(5) < c.n),
    Case("5 >= n"),
    Case("n <=> 5", "n IS NOT DISTINCT FROM 5", lambda c, _: c.n.eqNullSafe(5)),
    Case("n <=> NULL", "n IS NOT DISTINCT FROM NULL", lambda c, _: c.n.eqNullSafe(None)),
    Case("n IS DISTINCT FROM 5", column=lambda c, _: ~c.n.eqNullSafe(5)),
    Case("n = NULL"),
    Case("n IN (1, 2, 100)", column=lambda c, _: c.n.isin(1, 2, 100)),
    Case("n NOT IN (1, 2)", column=lambda c, _: ~c.n.isin([1, 2])),
    Case("n IN (1, NULL)", column=lambda c, _: c.n.isin(1, None)),
    Case("n NOT IN (1, NULL)"),
    Case("n BETWEEN 1 AND 5", column=lambda c, _: c.n.between(1, 5)),
    Case("n NOT BETWEEN 1 AND 5"),
    Case("5 BETWEEN n AND 7"),
    Case("level LIKE 'ERR%'", column=lambda c, _: c.level.like("ERR%")),
    Case("level LIKE '%R_R'", column=lambda c, _: c.level.like("%R_R")),
    Case("level NOT LIKE '%O%'"),
    Case("level LIKE 'ERR!%%' ESCAPE '!'", left_by=(DUCKDB,)),
    Case(r"level LIKE '%\\\\%'", r"level LIKE '%\%'", left_by=(DUCKDB,)),
    Case("startswith(level, 'ERR')", "starts_with(level, 'ERR')", lambda c, _: c.level.startswith("ERR")),
    Case("endswith(level, 'R')", "ends_with(level, 'R')", lambda c, _: c.level.endswith("R")),
    Case("contains(level, 'RR')", column=lambda c, _: c.level.contains("RR")),
    Case("level IS NULL", column=lambda c, _: c.level.isNull()),
    Case("level IS NOT NULL", column=lambda c, _: c.level.isNotNull()),
    Case("isnull(level)", "level IS NULL", lambda c, f: f.isnull(c.level)),
    Case("flag", column=lambda c, _: c.flag),
    Case("NOT flag", column=lambda c, _: ~c.flag),
    Case("flag IS TRUE", column=lambda c, f: f.expr("flag IS TRUE")),
    Case("flag IS NOT TRUE"),
    Case("flag = false", column=lambda c, _: c.flag == False),  # noqa: E712 - a condition
    Case("coalesce(flag, false)", column=lambda c, f: f.coalesce(c.flag, f.lit(False))),
    Case("NOT coalesce(flag, false)", column=lambda c, f: ~f.coalesce(c.flag, f.lit(False))),
    Case("n = 1 OR level = 'INFO'", column=lambda c, f: (c.n == 1) | f.expr("level = 'INFO'")),
    Case("NOT (n > 1 AND flag)", column=lambda c, _: ~((c.n > 1) & c.flag)),
    Case("n = 5 OR 1 = 1"),
    Case("n = 5 AND NULL"),
    Case("price > 0.5", column=lambda c, _: c.price > 0.5),
    Case("price < 1"),
    Case("cost = 1.50", column=lambda c, _: c.cost == Decimal("1.50")),
    Case("cost > 1"),
    Case("day = DATE '2024-01-02'", column=lambda c, _: c.day == date(2024, 1, 2)),
    Case("day >= '2024-01-02'"),
    Case("ts < TIMESTAMP '2024-01-02 12:00:00'", column=lambda c, _: c.ts < TIMES[3].replace(tzinfo=UTC)),
    Case("ts >= '2024-01-02'"),
    Case("wall > TIMESTAMP_NTZ '2024-01-01 12:00:00'", "wall > TIMESTAMP '2024-01-01 12:00:00'"),
    Case("CAST(ts AS DATE) = DATE '2024-01-02'", column=lambda c, _: c.ts.cast("date") == DAYS[1], left_by=(DUCKDB,)),
    Case("CAST(n AS BIGINT) > 5", column=lambda c, _: c.n.cast("long") > 5, left_by=(DUCKDB,)),
    Case("CAST(n AS STRING) LIKE '1%'", column=lambda c, _: c.n.cast("string").like("1%"), left_by=(DUCKDB, CONNECT)),
    Case("TRY_CAST(digits AS INT) > 5", left_by=(DUCKDB, CONNECT)),
    Case("length(level) > 4", column=lambda c, f: f.length(c.level) > 4, left_by=EVERYONE),
    Case("n + 1 = 3", column=lambda c, _: c.n + 1 == 3, left_by=EVERYONE),
    Case("n = id", column=lambda c, _: c.n == c.id, left_by=EVERYONE),
    Case("level ILIKE 'err%'", left_by=EVERYONE),
    Case("(CASE WHEN flag THEN n ELSE 0 END) = 2", left_by=EVERYONE),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    table = IndexTable.create(tmp_path_factory.mktemp("conditions") / "table", ROWS.schema)
    table.append(ROWS)
    return table


@pytest.fixture(scope="module")
def expected() -> list[list[int]]:
    """The ids of the rows for which each condition is true, by DuckDB alone."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'").register("plain", ROWS)
        texts = (f"SELECT id FROM plain WHERE {case.in_duckdb} ORDER BY id" for case in CASES)
        return [[id_ for (id_,) in connection.sql(text).fetchall()] for text in texts]


def matching(predicate: str | Predicate) -> list[int]:
    """The ids of the rows for which what is pushed down is true."""
    return ROWS.filter(evaluate(parse_condition(predicate, ROWS.schema), ROWS))["id"].to_pylist()


def wanted(case: Case, ids: list[int], door: str) -> list[int]:
    return ROWS["id"].to_pylist() if door in case.left_by else ids


def test_sql_text(expected: list[list[int]]) -> None:
    for case, ids in zip(CASES, expected, strict=True):
        if SQL in case.left_by:
            with pytest.raises(UnsupportedOperatorError):
                matching(case.spark)
        else:
            assert matching(case.spark) == ids, case.spark


def test_sql_of_duckdb(table: IndexTable, expected: list[list[int]]) -> None:
    with DuckDBSession() as session:
        for case, ids in zip(CASES, expected, strict=True):
            text = f"SELECT id FROM rows WHERE {case.in_duckdb} ORDER BY id"
            (relation,) = session.plan(text, lambda _: table.scan(), ["rows"]).relations
            assert matching(relation.predicate) == wanted(case, ids, DUCKDB), text
            assert session.query(text, lambda _: table.scan(), names=["rows"])["id"].to_pylist() == ids, text


def test_spark(spark: Any, pytestconfig: pytest.Config, table: IndexTable, expected: list[list[int]]) -> None:
    """Texts, and expressions of columns: over Spark Connect these are messages of different kinds."""
    from pyspark.sql import functions  # noqa: PLC0415 - only where PySpark is

    door = CONNECT if pytestconfig.getoption("--connect") else CLASSIC
    frame = spark.read.format("indextables").load(table.path)
    plain = spark.createDataFrame(ROWS).selectExpr("id", *(f"({case.spark}) AS c{i}" for i, case in enumerate(CASES)))
    answers = plain.orderBy("id").toArrow()
    for number, (case, ids) in enumerate(zip(CASES, expected, strict=True)):
        assert answers.filter(answers[f"c{number}"])["id"].to_pylist() == ids, case.spark
        columns = [] if case.column is None else [case.column(frame, functions)]
        for condition in [case.spark, *columns]:
            filtered = frame.filter(condition).select("id")
            _, _, pushed = indextables.explain(filtered).partition(" where ")
            found = matching(pushed.partition("\n")[0])
            assert found == wanted(case, ids, door), f"{condition}: {pushed}"
    sample = [case.spark for case in CASES[::6]]
    for number, text in enumerate(sample):
        assert sorted(row.id for row in frame.filter(text).collect()) == expected[number * 6], text
