import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from indextables.predicate import IndexQuery, Predicate, bind, col, parse, to_sql

x, y = col("x"), col("y")


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        ((x == 1) & (y != "it's"), "x = 1 AND y <> 'it''s'"),
        (((x == 1) | (y == 2)) & ~x.is_null(), "(x = 1 OR y = 2) AND x IS NOT NULL"),
        (~((x == 1) & (y == 2)), "NOT (x = 1 AND y = 2)"),
        (x.isin(1, None), "x IN (1, NULL)"),
        (x.like("a!%", escape="!"), "x LIKE 'a!%' ESCAPE '!'"),
        (x.startswith("a\\b"), r"startswith(x, 'a\\b')"),
        (IndexQuery(None, "q"), "* INDEXQUERY 'q'"),
        (col("select") == 1, "`select` = 1"),
        (col("a`b c") == 1, "`a``b c` = 1"),
        (col("date") == dt.date(2024, 1, 1), "date = DATE '2024-01-01'"),
        (x == dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "x = TIMESTAMP '2024-01-01 00:00:00.000000Z'"),
        (x == Decimal("1.50"), "x = 1.50"),
        (x == Decimal(15), "x = 15BD"),
        (x == 0.1, "x = 0.1D"),
        (x == float("inf"), "x = CAST('inf' AS DOUBLE)"),
        (x == b"\x01", "x = X'01'"),
    ],
)
def test_text_that_is_read_back(predicate: Predicate, text: str) -> None:
    assert to_sql(predicate) == text
    assert parse(text) == predicate


def test_casts_of_a_bound_predicate_are_shown() -> None:
    assert to_sql(bind(x == 1, pa.schema({"x": pa.string()}))) == "CAST(x AS BIGINT) = 1L"
