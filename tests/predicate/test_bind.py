import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import InvalidPredicateError, TypeMismatchError
from indextables.predicate import bind, col, parse_condition, to_sql

SCHEMA = pa.schema(
    {
        "tiny": pa.int8(),
        "Year": pa.int32(),
        "id": pa.int64(),
        "ratio": pa.float32(),
        "price": pa.float64(),
        "cost": pa.decimal128(10, 2),
        "part": pa.decimal128(38, 38),
        "name": pa.string(),
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "wall": pa.timestamp("us"),
    }
)


@pytest.mark.parametrize(
    ("written", "bound"),
    [
        ("year = 2024.0", "Year = 2024"),
        ("year = 2024.5", "Year IS NULL AND NULL"),
        ("year <> 2024.5", "Year IS NOT NULL OR NULL"),
        ("year < 2024.5", "Year < 2025"),
        ("year >= 2024.5", "Year >= 2025"),
        ("year = '2024'", "Year = 2024"),
        ("tiny < 1000", "tiny IS NOT NULL OR NULL"),
        ("tiny > 1000", "tiny IS NULL AND NULL"),
        ("tiny = 127L", "tiny = 127Y"),
        ("id = 9007199254740992D", "id >= 9007199254740992L AND id < 9007199254740994L"),
        ("id <= 1e300", "id IS NOT NULL OR NULL"),
        ("ratio = 0.1", "ratio IS NULL AND NULL"),
        ("ratio < 0.1", "ratio < 0.10000000149011612F"),
        ("ratio = 0.5", "ratio = 0.5F"),
        ("price = 1", "price = 1.0D"),
        ("cost = 1.1", "cost = 1.10"),
        ("cost > 1.005", "cost >= 1.01"),
        ("cost = '1.1'", "cost = 1.10"),
        ("name = 1", "CAST(name AS BIGINT) = 1L"),
        ("name = 1.5", "CAST(name AS DOUBLE) = 1.5D"),
        ("name = DATE '2024-01-01'", "CAST(name AS DATE) = DATE '2024-01-01'"),
        ("flag = 'yes'", "flag = TRUE"),
        ("raw = 'a'", "raw = X'61'"),
        ("day = '2024-2-1'", "day = DATE '2024-02-01'"),
        ("day < TIMESTAMP '2024-01-01 08:00:01Z'", "day < DATE '2024-01-02'"),
        ("day = TIMESTAMP '2024-01-01 00:00:00'", "day = DATE '2024-01-01'"),
        ("day = TIMESTAMP '2024-01-01 00:00:01'", "day IS NULL AND NULL"),
        ("at >= DATE '2024-01-01'", "at >= TIMESTAMP '2024-01-01 08:00:00.000000Z'"),
        ("at >= '2024-01-01'", "at >= TIMESTAMP '2024-01-01 08:00:00.000000Z'"),
        ("wall < TIMESTAMP '2024-01-01 08:00:00Z'", "wall < TIMESTAMP_NTZ '2024-01-01 00:00:00.000000'"),
        (
            "wall = TIMESTAMP '2024-11-03 09:30:00Z'",
            "CAST(wall AS TIMESTAMP) = TIMESTAMP '2024-11-03 09:30:00.000000Z'",
        ),
        ("year = NULL", "NULL"),
        ("year <=> NULL", "Year IS NULL"),
        ("year <=> 2024.5", "Year IS NULL AND NULL AND Year IS NOT NULL"),
        ("year IN (1, 2.0, '3')", "Year IN (1, 2, 3)"),
        ("year IN (1, 2.5)", "Year = 1 OR Year IS NULL AND NULL"),
        ("year IN (1, NULL)", "Year = 1 OR NULL"),
        ("tiny IN ('1', '2', '300')", "tiny IN (1Y, 2Y) OR tiny IS NULL AND NULL"),
        ("year IN (NULL)", "NULL"),
        ("name LIKE 'ab%'", "startswith(name, 'ab')"),
        ("name LIKE '%ab'", "endswith(name, 'ab')"),
        ("name LIKE '%ab%'", "contains(name, 'ab')"),
        ("name LIKE 'a!%b' ESCAPE '!'", "name = 'a%b'"),
        ("name LIKE ''", "name = ''"),
        ("name LIKE 'a_'", "name LIKE 'a_'"),
        ("NAME INDEXQUERY 'x'", "name INDEXQUERY 'x'"),
    ],
)
def test_literals_become_values_of_the_column(written: str, bound: str) -> None:
    assert to_sql(parse_condition(written, SCHEMA, time_zone="America/Los_Angeles")) == bound


@pytest.mark.parametrize(
    ("column", "value", "bound"),
    [
        ("at", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "at = TIMESTAMP '2024-01-01 00:00:00.000000Z'"),
        ("at", dt.datetime(2024, 1, 1), "at = TIMESTAMP '2024-01-01 05:00:00.000000Z'"),  # noqa: DTZ001
        ("cost", Decimal("1.1"), "cost = 1.10"),
        ("ratio", pa.scalar(0.1, pa.float32()), "ratio = 0.10000000149011612F"),
        ("id", pa.scalar(5, pa.uint8()), "id = 5L"),
        ("price", float("nan"), "price = CAST('nan' AS DOUBLE)"),
    ],
)
def test_python_values(column: str, value: Any, bound: str) -> None:
    assert to_sql(bind(col(column) == value, SCHEMA, time_zone="GMT-5")) == bound


def test_names_follow_sparks_case_rules() -> None:
    assert to_sql(parse_condition("YEAR = 1", SCHEMA)) == "Year = 1"
    with pytest.raises(InvalidPredicateError, match="'YEAR'") as caught:
        parse_condition("YEAR = 1", SCHEMA, case_sensitive=True)
    assert caught.value.columns == SCHEMA.names


@pytest.mark.parametrize(
    ("written", "column", "actual"),
    [
        ("year = 'abc'", "Year", "string"),
        ("year = '2024.0'", "Year", "string"),
        ("year = TRUE", "Year", "boolean"),
        ("day = 5", "day", "integer"),
        ("day = 'soon'", "day", "string"),
        ("flag = 1", "flag", "integer"),
        ("at IN ('2024-01-01', 5)", "at", "integer"),
        ("at IN ('2024-01-01', 'soon')", "at", "string"),
        ("raw = 5", "raw", "integer"),
        ("price LIKE '1%'", "price", "string"),
        ("part < 256", "part", "integer"),
        ("part IN (0.5, 12)", "part", "integer"),
    ],
)
def test_comparisons_that_cannot_be(written: str, column: str, actual: str) -> None:
    with pytest.raises(TypeMismatchError, match=column) as caught:
        parse_condition(written, SCHEMA)
    assert (caught.value.column, caught.value.actual_type) == (column, actual)


@pytest.mark.parametrize("pattern", ["a\\", "a\\b"])
def test_an_escape_before_nothing_to_escape(pattern: str) -> None:
    with pytest.raises(InvalidPredicateError, match="escape"):
        bind(col("name").like(pattern), SCHEMA)


def test_values_that_no_column_could_hold() -> None:
    with pytest.raises(InvalidPredicateError, match="list"):
        col("x") == [1]  # noqa: B015


@pytest.mark.parametrize("zone", ["Mars/Base", "PST"])
@pytest.mark.parametrize(
    "condition",
    ["at > '2024-01-01'", "wall > TIMESTAMP '2024-01-01 00:00:00Z'", "day < TIMESTAMP '2024-01-01 00:00:00Z'"],
)
def test_a_time_zone_that_is_none(zone: str, condition: str) -> None:
    with pytest.raises(InvalidPredicateError, match=zone):
        parse_condition(condition, SCHEMA, time_zone=zone)


def test_a_time_zone_that_is_an_offset_to_java() -> None:
    assert (
        to_sql(parse_condition("at > '1900-01-01'", SCHEMA, time_zone="EST"))
        == "at > TIMESTAMP '1900-01-01 05:00:00.000000Z'"
    )


def test_a_list_whose_values_have_no_common_type() -> None:
    """Each of them could be compared with the column, but not all of them together."""
    schema = pa.schema({"message": pa.string()})
    with pytest.raises(TypeMismatchError, match="'message' of type string cannot be compared"):
        parse_condition("message IN (TRUE, DATE '1970-01-02')", schema)


def test_many_equalities_of_a_column_are_one_list() -> None:
    schema = pa.schema({"n": pa.int64(), "x": pa.float64()})
    terms = " OR ".join(f"n = {n} OR x = {n}" for n in range(2000))
    shown = to_sql(parse_condition(terms, schema))
    assert shown.startswith("n IN (0L, 1L, 2L, ")
    assert shown.count("n = ") == 0
    assert shown.count("x = ") == 2000  # NaN and negative zero are special


def test_a_few_stay_as_they_are() -> None:
    schema = pa.schema({"n": pa.int64()})
    assert to_sql(parse_condition("n = 1 OR n = 2", schema)) == "n = 1L OR n = 2L"


@pytest.mark.parametrize("words", ["disk", "disk AND NOT flag", "disk full"])
def test_words_are_no_condition_and_belong_into_the_query(words: str) -> None:
    with pytest.raises(InvalidPredicateError, match=r"to search for (a word, give it|words, give them) as the query"):
        parse_condition(words, SCHEMA)
