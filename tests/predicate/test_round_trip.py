from typing import Any

import pyarrow as pa
import pytest

from indextables.predicate import parse_condition, to_sql

SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "year": pa.int16(),
        "price": pa.float64(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "wall": pa.timestamp("us"),
        "cost": pa.decimal128(10, 2),
    }
)


@pytest.mark.parametrize(
    "condition",
    [
        "name = 5", "name < 2.5", "name = DATE '2024-01-01'", "name > TIMESTAMP '2024-01-01 00:00:00'", "name = true",
        "name IN (1, 2, NULL)", "NOT name IN (1, 2)", "name <=> 5", "year LIKE '20%4'", "startswith(year, '2')",
        "year < 2024.5", "price = CAST('NaN' AS DOUBLE)", "day <= TIMESTAMP '2024-01-01 12:00:00'",
        "wall = TIMESTAMP '2024-11-03 08:30:00Z'", "wall > DATE '2024-01-01'", "at IN ('2024-01-01', '2024-01-02')",
        "cost = 1.005 OR NOT (cost > 3 AND name INDEXQUERY 'a OR b')", "* INDEXQUERY 'name:x' OR name IS NULL",
    ],
)  # fmt: skip
@pytest.mark.parametrize("time_zone", ["UTC", "America/Los_Angeles"])
def test_what_is_written_is_bound_to_the_same_again(condition: str, time_zone: Any) -> None:
    bound = parse_condition(condition, SCHEMA, time_zone=time_zone)
    again = parse_condition(to_sql(bound), SCHEMA, time_zone=time_zone)
    assert repr(again) == repr(bound)  # as text, because NaN is not equal to itself
