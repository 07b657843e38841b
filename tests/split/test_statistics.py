from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.split.statistics import Statistics

NAN, INFINITY = float("nan"), float("inf")
LAST = "\U0010ffff"

BOUNDS = [
    ([3, None, -1], pa.int32(), -1, 3),
    ([2**63 - 1, -(2**63)], pa.int64(), -(2**63), 2**63 - 1),
    ([True, None], pa.bool_(), True, True),
    ([False, True], pa.bool_(), False, True),
    ([1.5, NAN, None], pa.float64(), 1.5, 1.5),
    ([NAN, 2.0, -3.0], pa.float32(), -3.0, 2.0),
    ([-0.0], pa.float64(), 0.0, 0.0),
    ([INFINITY, 1.0, -INFINITY], pa.float64(), "-Infinity", "Infinity"),
    ([Decimal("1.10"), Decimal("-0.05")], pa.decimal128(9, 2), "-0.05", "1.10"),
    ([date(2024, 2, 29), date(1969, 12, 31)], pa.date32(), "1969-12-31", "2024-02-29"),
    ([2_932_897, -719_529], pa.date32(), "-0001-12-31", "+10000-01-01"),
    (
        [-1, 1_704_067_200_123_456],
        pa.timestamp("us", "UTC"),
        "1969-12-31T23:59:59.999999Z",
        "2024-01-01T00:00:00.123456Z",
    ),
    ([0], pa.timestamp("us"), "1970-01-01T00:00:00", "1970-01-01T00:00:00"),
    (["", "é", "z"], pa.string(), "", "é"),
    (["\uffff", "\U00010000"], pa.string(), "\uffff", "\U00010000"),
    (["x" * 32], pa.string(), "x" * 32, "x" * 32),
    (["x" * 33], pa.string(), "x" * 32, "x" * 31 + "y"),
    (["😀" * 40], pa.string(), "😀" * 32, "😀" * 31 + "😁"),
    (["x" + LAST * 40], pa.string(), "x" + LAST * 31, "y"),
    (["x" * 31 + "\ud7ff" + "x"], pa.string(), "x" * 31 + "\ud7ff", "x" * 31 + "\ue000"),
]


@pytest.mark.parametrize(("given", "kind", "lowest", "highest"), BOUNDS)
def test_bounds_as_the_log_has_them(given: list[Any], kind: pa.DataType, lowest: Any, highest: Any) -> None:
    statistics = Statistics.of(pa.record_batch({"c": pa.array(given, kind)}))
    assert (statistics.min_values(), statistics.max_values()) == ({"c": lowest}, {"c": highest})
    assert str(statistics.min_values()["c"]) == str(lowest)  # 0.0 and -0.0, 1 and True are equal, but not the same


@pytest.mark.parametrize(
    "column",
    [
        pa.array([None, None], pa.int64()),
        pa.array([NAN, None]),
        pa.array([b"a", b"b"]),
        pa.array([], pa.string()),
        pa.array([], pa.float32()),
    ],
)
def test_no_bounds_where_there_is_nothing_to_compare(column: pa.Array) -> None:
    statistics = Statistics.of(pa.record_batch({"c": column}))
    assert (statistics.min_values(), statistics.max_values()) == ({}, {})
    assert statistics.null_counts() == {"c": column.null_count}


def test_a_greatest_text_that_cannot_be_rounded_up_is_left_out() -> None:
    statistics = Statistics.of(pa.record_batch({"c": [LAST * 33, LAST * 40]}))
    assert statistics.min_values() == {"c": LAST * 32}
    assert statistics.max_values() == {}


def test_the_time_range_is_that_of_the_first_timestamp() -> None:
    batch = pa.record_batch(
        {
            "on": pa.array([0, 1], pa.date32()),
            "at": pa.array([None, -5], pa.timestamp("us")),
            "later": pa.array([8, 9], pa.timestamp("us", "UTC")),
        }
    )
    assert Statistics.of(batch).time_range() == ("1969-12-31T23:59:59.999995Z",) * 2
    assert Statistics.of(batch.select(["on"])).time_range() == ("1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z")
    assert Statistics.of(batch.slice(0, 1).select(["at", "on"])).time_range() is None
    assert Statistics.of(pa.record_batch({"n": [1]})).time_range() is None
