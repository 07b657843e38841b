"""Each function and operator that an expression may have gives what Spark gives."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import ExpressionError
from indextables.expressions import Evaluator, Relation, Scope
from indextables.schema import normalize

ROWS = pa.table(
    {
        "tiny": pa.array([1, -128, None, 127, 0], pa.int8()),
        "i": pa.array([7, -7, None, 100, 3], pa.int32()),
        "j": pa.array([2, 3, 5, -4, None], pa.int32()),
        "l": pa.array([2**40, -5, None, 1, 0], pa.int64()),
        "d": pa.array([1.5, -2.5, None, 0.25, 1234.0], pa.float64()),
        "odd": pa.array([math.nan, math.inf, -math.inf, None, 0.5], pa.float64()),
        "m": pa.array(
            [Decimal("1.25"), Decimal("-1.25"), None, Decimal("99.99"), Decimal("0.00")], pa.decimal128(10, 2)
        ),
        "s": pa.array(["Hello World", "", None, "  a_b%c\u00e9 ", "12"], pa.string()),
        "u": pa.array(["l", "o", "x", "a_b", None], pa.string()),
        "b": pa.array([b"ab", b"", None, "\u00e9".encode(), b"0"], pa.binary()),
        "yes": pa.array([True, False, None, True, False], pa.bool_()),
        "day": pa.array(
            [date(2024, 1, 31), date(2023, 12, 1), None, date(1969, 7, 20), date(2024, 2, 29)], pa.date32()
        ),
        "at": pa.array(
            [
                datetime(2024, 1, 31, 23, 59, 58, 123456, UTC),
                datetime(1969, 12, 31, 1, 2, 3, tzinfo=UTC),
                None,
                datetime(2024, 2, 29, tzinfo=UTC),
                datetime(2000, 1, 1, 12, tzinfo=UTC),
            ],
            pa.timestamp("us", "UTC"),
        ),
    }
)
RESULTS = [
    "i + j", "i - j", "i * j", "i / j", "i div j", "i % j", "-i", "tiny + 1", "tiny * 1000", "l + i", "d * i", "m * 2",
    "m + 0.5", "i & j", "i | j", "i ^ j", "~i", "d / 3", "m - i", "1 + 2 * 3", "7 / 2", "mod(i, 4)", "2147483648 + i",
    "i = j", "i <> j", "i != 7", "i < j", "i >= 7", "i <=> j", "NOT yes", "yes AND i > 0", "yes OR i > 0",
    "s = 'Hello World'", "i IS NULL", "i IS NOT NULL", "i IN (7, 100)", "i IN (7, NULL)", "i NOT IN (7)",
    "i BETWEEN 0 AND 10", "odd = odd", "odd > 1", "s LIKE '%o%'", "s LIKE '%a\\\\_b\\\\%%'", "s LIKE 'h%'",
    "s ILIKE 'h%'", "s RLIKE 'l+o'", "u LIKE '%' || u", "s NOT LIKE '%o%'",
    "CASE WHEN i > 5 THEN 'big' WHEN i < 0 THEN 'negative' END", "CASE i WHEN 7 THEN 1 ELSE 0 END", "if(yes, i, j)",
    "coalesce(i, j)", "nvl(i, 0)", "ifnull(s, 'none')", "nullif(i, 7)", "greatest(i, j, 5)", "least(i, j, 5)",
    "isnull(i)", "isnotnull(i)", "upper(s)", "lower(s)", "trim(s)", "ltrim(s)", "rtrim(s)", "length(s)", "reverse(s)",
    "repeat(u, 2)", "replace(s, 'l', 'L')", "substring(s, 2, 3)", "substring(s, 0, 2)", "substring(s, -3)",
    "substr(s, 2)", "left(s, 2)", "right(s, 2)", "instr(s, 'o')", "concat(s, '-', u)", "s || i", "concat(s, day)",
    "s || at", "s || d", "s || yes", "s || m", "concat(b, X'00FF')", "concat(s, odd)", "startswith(s, 'He')",
    "endswith(s, 'ld')", "contains(s, 'o W')", "locate('o', s)", "regexp_replace(s, 'l+', 'L')", "md5(s)", "abs(i)",
    "abs(d)", "abs(m)", "sign(d)", "round(d)", "round(d, 1)", "round(m, 1)", "round(i, -1)", "floor(d)", "ceil(d)",
    "floor(i)", "sqrt(abs(d))", "power(i, 2)", "pow(d, 2)", "exp(0)", "ln(abs(i))", "isnan(odd)", "floor(m)", "ceil(m)",
    "year(day)", "month(day)", "day(day)", "quarter(day)", "dayofyear(day)", "year(at)", "hour(at)", "minute(at)",
    "second(at)", "date_add(day, 30)", "date_sub(day, 31)", "date_add(day, i)", "datediff(day, DATE '2024-01-01')",
    "datediff(at, day)", "add_months(day, 1)", "add_months(day, -1)", "day + INTERVAL 1 DAY", "at + INTERVAL 36 HOURS",
    "at - INTERVAL '1' MONTH", "to_date('2024-02-03')", "to_date(at)", "DATE '2024-01-01'",
    "TIMESTAMP '2024-01-01 10:00:00'", "at > TIMESTAMP '2000-01-01 00:00:00'", "CAST(d AS INT)", "CAST(m AS INT)",
    "CAST(i AS STRING)", "CAST(yes AS STRING)", "CAST(at AS STRING)", "CAST(day AS STRING)", "CAST(at AS DATE)",
    "CAST(day AS TIMESTAMP)", "CAST(i AS DOUBLE)", "CAST(i AS DECIMAL(10, 1))", "CAST(d AS DECIMAL(10, 1))",
    "CAST('12' AS INT)", "CAST(' 12 ' AS BIGINT)", "CAST('1.5' AS DOUBLE)", "CAST('true' AS BOOLEAN)",
    "CAST('2024-01-01' AS DATE)", "CAST(b AS STRING)", "CAST(s AS BINARY)", "CAST(yes AS INT)", "CAST(i AS BOOLEAN)",
    "CAST(d AS STRING)", "CAST(odd AS STRING)", "CAST('2024-01-01 10:00:00' AS TIMESTAMP)", "TRY_CAST(s AS INT)",
    "TRY_CAST('x' AS DATE)", "CAST(m AS STRING)", "CAST(NULL AS INT)", "'it''s'", "'a\\nb'", '"text"', "X'1F'", "1.5",
    "1e3", "5L", "1.5D", "true", "NULL", "3BD",
]  # fmt: skip
ERRORS = [
    "i / 0", "i % 0", "i div 0", "d / 0", "i + 2147483647", "l * 9223372036854775807", "CAST('x' AS INT)",
    "CAST('1.5' AS INT)", "CAST(l AS INT)", "CAST(odd AS INT)", "CAST('2024-02-30' AS DATE)", "CAST('maybe' AS BOOLEAN)",
    "CAST(i AS TINYINT) * 1000000000", "CAST('abc' AS DOUBLE)", "CAST(m * 1000000 AS DECIMAL(4, 2))",
    "-(i * 0 - 2147483647 - 1)",
]  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(ROWS)


@pytest.mark.parametrize("expression", RESULTS)
def test_results_are_those_of_spark(frame: Any, expression: str) -> None:
    expected = frame.selectExpr(f"{expression} AS result").toArrow()
    kind = normalize(pa.schema([expected.schema.field(0)])).field(0).type if expression != "NULL" else pa.string()
    assert list(map(shown, evaluated(expression, kind))) == list(map(shown, expected["result"].cast(kind).to_pylist()))


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_of_spark_are_errors(frame: Any, expression: str) -> None:
    with pytest.raises(Exception, match="DIVI|OVERFLOW|CAST|REMAINDER|NUMERIC_VALUE_OUT_OF_RANGE"):
        frame.selectExpr(expression).toArrow()
    with pytest.raises(ExpressionError):
        evaluated(expression, None)


def shown(value: Any) -> str:
    """A logarithm may differ in its last digit."""
    return f"{value:.14g}" if isinstance(value, float) else repr(value)


def evaluated(expression: str, kind: pa.DataType | None) -> list[Any]:
    scope = Scope((Relation("t", "t", ROWS.schema),))
    with Evaluator(scope) as evaluator:
        compiled = evaluator.compile(scope.expression(expression), kind)
        (values,) = evaluator.project([compiled], {"t": ROWS})
    return values.to_pylist()
