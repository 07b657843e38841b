from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import SchemaError
from indextables.values import decode, encode

UTC_TIMESTAMP = pa.timestamp("us", "UTC")
WALL_CLOCK = pa.timestamp("us")
LOWEST, HIGHEST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (pa.bool_(), True, "true"),
        (pa.bool_(), False, "false"),
        (pa.int8(), -128, "-128"),
        (pa.int16(), 32_767, "32767"),
        (pa.int32(), 42, "42"),
        (pa.int64(), LOWEST, "-9223372036854775808"),
        (pa.int64(), HIGHEST, "9223372036854775807"),
        (pa.float32(), 3.14, "3.14"),
        (pa.float32(), 1e10, "1.0E10"),
        (pa.float32(), 3.4028234663852886e38, "3.4028235E38"),
        (pa.float32(), 2**-149, "1.4E-45"),
        (pa.float64(), 1e10, "1.0E10"),
        (pa.float64(), 100.0, "100.0"),
        (pa.float64(), 9_999_999.0, "9999999.0"),
        (pa.float64(), -1e7, "-1.0E7"),
        (pa.float64(), 0.001, "0.001"),
        (pa.float64(), 0.00099, "9.9E-4"),
        (pa.float64(), 0.1 + 0.2, "0.30000000000000004"),
        (pa.float64(), 2.0**-1074, "4.9E-324"),
        (pa.float64(), 1.7976931348623157e308, "1.7976931348623157E308"),
        (pa.float64(), float("inf"), "Infinity"),
        (pa.float64(), float("-inf"), "-Infinity"),
        (pa.decimal128(38, 10), Decimal("1E-10"), "0.0000000001"),
        (pa.decimal128(38, 10), Decimal(0), "0.0000000000"),
        (pa.decimal128(9, 2), Decimal("-0.05"), "-0.05"),
        (pa.decimal128(9, 2), Decimal("1.1"), "1.10"),
        (pa.decimal128(38, 0), Decimal("9" * 38), "9" * 38),
        (pa.decimal128(38, 38), Decimal("-0." + "9" * 38), "-0." + "9" * 38),
        (pa.string(), "", ""),
        (pa.string(), " true\n", " true\n"),
        (pa.date32(), 19_723, "2024-01-01"),
        (pa.date32(), -1, "1969-12-31"),
        (pa.date32(), date(1, 1, 1), "0001-01-01"),
        (pa.date32(), date(9999, 12, 31), "9999-12-31"),
        (pa.date32(), 2_932_897, "+10000-01-01"),
        (pa.date32(), -719_163, "0000-12-31"),
        (pa.date32(), -719_529, "-0001-12-31"),
        (pa.date32(), 2**31 - 1, "+5881580-07-11"),
        (pa.date32(), -(2**31), "-5877641-06-23"),
        (UTC_TIMESTAMP, 1_704_067_200_000_000, "2024-01-01T00:00:00Z"),
        (UTC_TIMESTAMP, 1_704_067_200_123_456, "2024-01-01T00:00:00.123456Z"),
        (UTC_TIMESTAMP, 1_704_067_200_500_000, "2024-01-01T00:00:00.500000Z"),
        (UTC_TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z"),
        (UTC_TIMESTAMP, datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (UTC_TIMESTAMP, LOWEST, "-290308-12-21T19:59:05.224192Z"),
        (UTC_TIMESTAMP, HIGHEST, "+294247-01-10T04:00:54.775807Z"),
        (WALL_CLOCK, datetime(9999, 12, 31, 23, 59, 59, 999_999), "9999-12-31T23:59:59.999999"),  # noqa: DTZ001
        (WALL_CLOCK, LOWEST, "-290308-12-21T19:59:05.224192"),
    ],
)
def test_a_value_and_its_text_are_each_others_inverse(type_: pa.DataType, value: Any, text: str) -> None:
    array = pa.array([value, None], type_)
    assert encode(array).to_pylist() == [text, None]
    assert decode(pa.array([text, None]), type_).equals(array)


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_nan_is_one_value_and_zero_has_no_sign(type_: pa.DataType) -> None:
    odd = pa.array([float("nan"), float("-nan"), -0.0, 0.0], type_)
    assert encode(odd).to_pylist() == ["NaN", "NaN", "0.0", "0.0"]
    assert encode(decode(pa.array(["NaN", "-0.0"]), type_)).to_pylist() == ["NaN", "0.0"]


@pytest.mark.parametrize(
    ("type_", "text", "same"),
    [
        (pa.bool_(), "TRUE", "true"),
        (pa.int32(), "01", "1"),
        (pa.int32(), "-007", "-7"),
        (pa.int32(), "+5", "5"),
        (pa.float64(), "1", "1.0"),
        (pa.float64(), "+1e-3", "0.001"),
        (pa.float64(), "-.5", "-0.5"),
        (pa.decimal128(9, 2), "1.1", "1.10"),
        (pa.decimal128(9, 2), "+0001.100", "1.10"),
        (pa.decimal128(9, 2), "-7", "-7.00"),
        (pa.date32(), "2024-1-9", "2024-01-09"),
        (UTC_TIMESTAMP, "2024-01-01 10:30:00", "2024-01-01T10:30:00Z"),
        (UTC_TIMESTAMP, "2024-01-01 10:30:00.5", "2024-01-01T10:30:00.500000Z"),
        (UTC_TIMESTAMP, "2024-01-01T10:30:00+02:00", "2024-01-01T08:30:00Z"),
        (UTC_TIMESTAMP, "2024-01-01T10:30:00-0830", "2024-01-01T19:00:00Z"),
        (UTC_TIMESTAMP, "2024-01-01", "2024-01-01T00:00:00Z"),
        (WALL_CLOCK, "2024-01-01 10:30", "2024-01-01T10:30:00"),
    ],
)
def test_other_spellings_of_a_value_are_read(type_: pa.DataType, text: str, same: str) -> None:
    assert encode(decode(pa.array([text]), type_)).to_pylist() == [same]


@pytest.mark.parametrize(
    ("type_", "texts"),
    [
        (pa.bool_(), ["", "yes", "1", "true "]),
        (pa.int8(), ["", "abc", "128", "-129", "1.0", "9" * 50, "1_000", "٣", "1\n"]),
        (pa.int64(), ["9223372036854775808", "-9223372036854775809"]),
        (pa.float64(), ["", ".", "e5", "1e", "nan", "inf", "0x1p3", "1,5"]),
        (pa.decimal128(9, 2), ["", "1.005", "12345678", "1e2", ".5", "-"]),
        (
            pa.date32(),
            ["", "2023-02-29", "2024-13-01", "2024-00-10", "24-01-01", "2024-01-01T00:00:00", "+9999999-01-01"],
        ),
        (UTC_TIMESTAMP, ["", "now", "2024-01-01T24:00:00Z", "2024-01-01T10:60:00Z", "2024-01-01T10:00:00.1234567Z"]),
        (
            UTC_TIMESTAMP,
            ["+294247-01-10T04:00:54.775808Z", "-290308-12-21T19:59:05.224191Z", "+999999-01-01T00:00:00Z"],
        ),
        (WALL_CLOCK, ["2024-01-01T00:00:00Z", "2024-02-30 00:00:00"]),
    ],
)
def test_malformed_text_is_null_and_never_raises(type_: pa.DataType, texts: list[str]) -> None:
    assert decode(pa.array(texts), type_).to_pylist() == [None] * len(texts)


def test_malformed_text_does_not_touch_its_neighbours() -> None:
    assert decode(pa.array(["1", "abc", None, "1"]), pa.int32()).to_pylist() == [1, None, None, 1]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pa.chunked_array([["a"], ["b", None]]), ["a", "b", None]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array(["a"], pa.large_string()), ["a"]),
        (pa.array([1_000], pa.timestamp("ms", "Europe/Berlin")), ["1970-01-01T00:00:01Z"]),
        (pa.array([], pa.date32()), []),
        (pa.array([None, None], pa.decimal128(9, 2)), [None, None]),
        (pa.array([1, 2, 3]).slice(1), ["2", "3"]),
    ],
)
def test_other_shapes_of_a_table_type_are_encoded(given: pa.Array, text: list[str | None]) -> None:
    assert encode(given).to_pylist() == text


@pytest.mark.parametrize("type_", [pa.binary(), pa.decimal128(9, -2), pa.list_(pa.int32())])
def test_a_type_without_text_is_refused(type_: pa.DataType) -> None:
    with pytest.raises(SchemaError):
        encode(pa.array([], type_))
    with pytest.raises(SchemaError):
        decode(pa.array(["x"]), type_)
