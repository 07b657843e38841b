"""Spark gives the same answers: every kind of column against every kind of literal, row by row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.errors import CastInvalidInputError, IndexTablesError, TypeMismatchError
from indextables.predicate import evaluate, parse_condition

NAN, INFINITY = float("nan"), float("inf")
COLUMNS = {
    "flag": pa.array([True, False, None, True, False, None]),
    "tiny": pa.array([-128, 0, 1, 5, 127, None], pa.int8()),
    "small": pa.array([-32768, 0, 1, 2024, 32767, None], pa.int16()),
    "year": pa.array([-(2**31), 2023, 2024, 2025, 2**31 - 1, None], pa.int32()),
    "id": pa.array([-(2**63), 2**53, 2**53 + 1, 2024, 2**63 - 1, None]),
    "ratio": pa.array([0.1, -0.0, NAN, INFINITY, 2024.5, None], pa.float32()),
    "price": pa.array([0.1, -0.0, NAN, -INFINITY, 2024.5, None]),
    "cost": pa.array(["0.10", "-0.01", "2024.50", "2024.00", "99999999.99", None]).cast(pa.decimal128(10, 2)),
    "name": pa.array(["", "O'Brien", "2024", "Été", "a%b_c\\", None]),
    "digits": pa.array([" 2024 ", "-1", "0", "+7", "2025", None]),
    "number": pa.array(["2024.5", "1e3", "NaN", "-Infinity", ".5", None]),
    "word": pa.array(["true", "F", "yes", "0", " t ", None]),
    "day_text": pa.array(["2024-01-01", "2024-3", "2024", "2024-03-10 x", "1969-12-31", None]),
    "time_text": pa.array(
        ["2024-01-01", "2024-03-10 02:30:00", "2024-11-03T01:30:00.123456789", "2024-1-1 0:0:0Z",
         "2024-01-01 01:02:03 +08:00", None]
    ),
    "raw": pa.array([b"", b"2024", b"\x01", b"\xff", b"abc", None]),
    "day": pa.array(["0001-01-01", "1969-12-31", "2024-01-01", "2024-03-10", "9999-12-31", None]).cast(pa.date32()),
    "at": pa.array(
        ["1969-12-31 23:59:59.999999Z", "2024-01-01 00:00Z", "2024-01-01 08:00Z", "2024-03-10 10:30Z",
         "2024-11-03 08:30Z", None]
    ).cast(pa.timestamp("us", "UTC")),
    "wall": pa.array(
        ["1969-12-31 23:59:59.999999", "2024-01-01", "2024-03-10 02:30", "2024-03-10 03:00", "2024-11-03 01:30", None]
    ).cast(pa.timestamp("us")),
}  # fmt: skip
LITERALS = [
    "0", "2024", "-128", "128", "3000000000", "9007199254740993", "9223372036854775807", "2024.0", "2024.5",
    "2024.005", "0.1", "-0.01", "1e3", "0.1D", "0.1F", "9007199254740992D", "1e300", "-0.0D", "'2024'", "' 2024'",
    "'2024.0'", "'0.1'", "'abc'", "''", "'true'", "'NaN'", "'Infinity'", "'99999999999999999999'", "'2024-01-01'",
    "'2024-3-10'", "'2024-01-01 08:00:00'", "'2024-03-10 02:30:00'", "'2024-11-03T01:30:00Z'", "'O''Brien'", "'Été'",
    "true", "false", "NULL", "X'01'", "X''", "DATE '2024-01-01'", "DATE '2024-03-10'",
    "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-03-10 02:30:00'", "TIMESTAMP '2024-01-01 00:00:00Z'",
    "TIMESTAMP '2024-11-03 01:30:00'", "TIMESTAMP '2024-11-03 09:30:00Z'", "TIMESTAMP_NTZ '2024-01-01 00:00:00'",
    "TIMESTAMP_NTZ '2024-03-10 02:30:00'",
]  # fmt: skip
OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
OTHERS = [
    "price < 99999999999999999999", "cost < 99999999999999999999", "digits < 99999999999999999999",
    "year IN (2024, 2025.0, NULL)", "year IN (2024.5, '2025')", "id IN (9007199254740992D, 5)",
    "ratio IN (0.1, 2024.5)", "price IN (0, 'NaN')", "ratio IN (0.1F)", "tiny NOT IN (1, 300)",
    "tiny NOT IN (1, NULL)", "name IN ('2024', '')", "digits IN (2024, -1)", "digits IN (2024, 7.4)",
    "digits IN ('0', 7)", "day IN ('2024-01-01', DATE '2024-03-10')",
    "day IN (TIMESTAMP '2024-01-01 00:00:00', DATE '2024-03-10')", "at IN ('2024-01-01', DATE '2024-03-10')",
    "cost IN (0.1, 2024, 1.005)", "cost IN ('0.1', 2024)", "year BETWEEN 2023.5 AND '2024'",
    "NOT year BETWEEN 2024 AND 2025", "day BETWEEN '2024-01-01' AND TIMESTAMP '2024-03-10 00:00:00'", "name LIKE '%'",
    "name LIKE '_té'", "name LIKE 'O''%'", "name LIKE 'a!%b!_c%' ESCAPE '!'", r"name LIKE 'a\\%b%'", "name LIKE ''",
    "name NOT LIKE '%2%'", "name LIKE '%0_4'", r"name LIKE r'%\\'", "year LIKE '20%'", "flag LIKE 't%'",
    "day LIKE '2024%'", "startswith(name, 'O')", "endswith(name, 'té')", "contains(name, '%')",
    "contains(year, '02')", "flag", "NOT flag", "flag IS TRUE", "name IS NULL OR name = ''",
    "NOT (year > 2023 AND price < 1)", "year = 2024 AND NULL", "year = 2024 OR NULL", "NOT (year = 2024 OR NULL)",
    r"name = 'a%b_c\\'", 'name = "O\'Brien"', "name = 'O' '\\'Brien'", "5 < tiny", "NULL <=> tiny", "`year` = +2024",
    "name > 'z'", "name < 'É'", "CAST(digits AS INT) > 5", "CAST(digits AS SMALLINT) IN (7, 0L)",
    "CAST(digits AS INT) < 7.5",
    "CAST(digits AS TINYINT) = 0", "TRY_CAST(digits AS TINYINT) IS NULL", "NOT TRY_CAST(name AS INT) < 5",
    "TRY_CAST(name AS INT) <=> 2024", "TRY_CAST(word AS BOOLEAN)", "TRY_CAST(digits AS FLOAT) = 7",
    "NOT TRY_CAST(name AS FLOAT) > 2023",
    "CAST(number AS DOUBLE) >= 1000", "CAST(name AS INT) = 1",
    "CAST(at AS DATE) = '2024-03-10'", "CAST(at AS DATE) <> DATE '2024-01-01'", "CAST(at AS DATE) <=> '2024-11-03'",
    "CAST(wall AS DATE) IN ('2024-03-10', '1969-12-31')", "CAST(year AS STRING) >= '2024'", "CAST(flag AS STRING) = 'true'",
    "CAST(tiny AS BIGINT) = 5L", "CAST(day AS TIMESTAMP) > '2024-03-09 12:00:00'", "CAST(day_text AS DATE) < '2024-01-02'",
]  # fmt: skip


def conditions() -> list[str]:
    """Every column with every literal, the operators taking turns so that each pair of types meets several."""
    pairs = [(column, literal) for column in COLUMNS for literal in LITERALS]
    turns = (f"{column} {OPERATORS[i % len(OPERATORS)]} {literal}" for i, (column, literal) in enumerate(pairs))
    return [*turns, *OTHERS]


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    return spark.read.parquet(str(path))


@pytest.fixture(params=["UTC", "America/Los_Angeles"])
def time_zone(request: pytest.FixtureRequest, spark: Any) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


def ours(condition: str, time_zone: str) -> list[bool | None] | type[IndexTablesError]:
    rows = pa.table(COLUMNS)
    try:
        return evaluate(parse_condition(condition, rows.schema, time_zone=time_zone), rows).to_pylist()
    except (TypeMismatchError, CastInvalidInputError) as error:
        return type(error)


def sparks(conditions: list[str], frame: Any) -> list[list[bool | None]]:
    answers = frame.selectExpr(*(f"({c}) AS c{i}" for i, c in enumerate(conditions))).collect()
    return [list(column) for column in zip(*answers, strict=True)]


def spark_refuses(condition: str, frame: Any) -> bool:
    from pyspark.errors import PySparkException  # noqa: PLC0415  (only where Spark is)

    try:
        frame.selectExpr(condition).collect()
    except PySparkException as error:
        return error.getCondition().startswith(("CAST_INVALID_INPUT", "DATATYPE_MISMATCH"))
    return False


def test_answers_are_sparks(frame: Any, time_zone: str) -> None:
    mine = {condition: ours(condition, time_zone) for condition in conditions()}
    answered = [condition for condition, answer in mine.items() if isinstance(answer, list)]
    chunks = [answered[i : i + 100] for i in range(0, len(answered), 100)]
    theirs = {c: answer for chunk in chunks for c, answer in zip(chunk, sparks(chunk, frame), strict=True)}
    assert {c: mine[c] for c in answered} == theirs


def test_what_we_refuse_spark_refuses(frame: Any) -> None:
    refused = [condition for condition in conditions() if isinstance(ours(condition, "UTC"), type)]
    assert len(refused) > 400
    refused = refused[::7]  # each is a query of its own
    assert [condition for condition in refused if not spark_refuses(condition, frame)] == []
