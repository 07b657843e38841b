import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import LayoutError
from indextables.layout import Bucket, Calendar, Identity, Transform, Truncate, Void

UTC_TIMESTAMP = pa.timestamp("us", "UTC")
WALL_CLOCK = pa.timestamp("us")
INSTANTS = [UTC_TIMESTAMP, WALL_CLOCK]
LOWEST, HIGHEST = -(2**63), 2**63 - 1
EVERY_HASH = Bucket(2**31 - 1)  # a bucket per hash: what is left is the hash without its sign


def applied(text: str, values: list[Any], type_: pa.DataType) -> list[Any]:
    results: list[Any] = Transform.parse(text).apply(pa.array(values, type_)).to_pylist()
    return results


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("identity", Identity()),
        ("year", Calendar("year")),
        ("days", Calendar("day")),
        (" Hour ", Calendar("hour")),
        ("bucket[16]", Bucket(16)),
        ("BUCKET ( 16 )", Bucket(16)),
        ("truncate[4]", Truncate(4)),
        ("void", Void()),
    ],
)
def test_parse(text: str, transform: Transform) -> None:
    assert Transform.parse(text) == transform
    assert Transform.parse(str(transform)) == transform
    assert pickle.loads(pickle.dumps(transform)) == transform


@pytest.mark.parametrize(
    "text", ["", "bucket", "bucket[]", "bucket[16", "bucket[16)", "day[3]", "week", "bucket[0]", "truncate[-1]"]
)
def test_parse_refuses_what_is_no_transform(text: str) -> None:
    with pytest.raises(LayoutError):
        Transform.parse(text)


@pytest.mark.parametrize(
    ("type_", "value", "value_hash"),
    [
        (pa.int32(), 34, 2017239379),
        (pa.int64(), 34, 2017239379),
        (pa.int8(), 34, 2017239379),
        (pa.int32(), 1, 1392991556),
        (pa.decimal128(9, 2), Decimal("14.20"), -500754589),
        (pa.date32(), date(2017, 11, 16), -653330422),
        (UTC_TIMESTAMP, datetime.fromisoformat("2017-11-16T22:31:08+00:00"), -2047944441),
        (UTC_TIMESTAMP, datetime.fromisoformat("2017-11-16T14:31:08-08:00"), -2047944441),
        (WALL_CLOCK, datetime(2017, 11, 16, 22, 31, 8), -2047944441),  # noqa: DTZ001
        (UTC_TIMESTAMP, datetime.fromisoformat("2017-11-16T22:31:08.000001+00:00"), -1207196810),
        (pa.string(), "iceberg", 1210000089),
        (pa.string(), "", 0),
        (pa.binary(), bytes.fromhex("00010203"), -188683207),
    ],
)
def test_bucket_hashes_as_iceberg_specifies(type_: pa.DataType, value: Any, value_hash: int) -> None:
    assert EVERY_HASH.apply(pa.array([value, None], type_)).to_pylist() == [value_hash & 0x7FFFFFFF, None]


@pytest.mark.parametrize(
    ("text", "type_", "value", "result"),
    [
        ("bucket[100]", pa.int64(), 34, 79),
        ("bucket[100]", pa.date32(), 17486, 26),
        ("bucket[100]", UTC_TIMESTAMP, datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC), 7),
        ("bucket[100]", pa.string(), "iceberg", 89),
        ("bucket[128]", pa.binary(), bytes.fromhex("00010203"), 57),
        ("bucket[16]", pa.string(), "val", 14),
        ("bucket[16]", pa.string(), "", 0),
        ("year", pa.date32(), date(2017, 12, 1), 47),
        ("month", pa.date32(), date(2017, 12, 1), 575),
        ("day", pa.date32(), date(2017, 12, 1), 17501),
        ("day", pa.date32(), -1, -1),
        ("month", pa.date32(), 2**31 - 1, 70555326),
        ("identity", pa.float64(), 1.5, 1.5),
        ("void", pa.string(), "anything", None),
    ],
)
def test_apply(text: str, type_: pa.DataType, value: Any, result: Any) -> None:
    assert applied(text, [value, None], type_) == [result, None]


@pytest.mark.parametrize("type_", INSTANTS)
@pytest.mark.parametrize(
    ("unit", "ordinals", "names"),
    [
        ("year", [47, -1, 0], ["2017", "1969", "1970"]),
        ("month", [575, -1, 0], ["2017-12", "1969-12", "1970-01"]),
        ("day", [17501, -1, 0], ["2017-12-01", "1969-12-31", "1970-01-01"]),
        ("hour", [420042, -1, 0], ["2017-12-01-18", "1969-12-31-23", "1970-01-01-00"]),
    ],
)
def test_calendar(type_: pa.DataType, unit: str, ordinals: list[int], names: list[str]) -> None:
    transform = Transform.parse(unit)
    results = transform.apply(pa.array([1_512_151_975_038_194, -1, 0], type_))
    assert results.equals(pa.array(ordinals, pa.int32()))
    assert [transform.name_for(ordinal) for ordinal in ordinals] == names
    assert transform.to_text(results).to_pylist() == names
    assert transform.from_text(pa.array(names), type_).equals(results)


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [
        ("year", -292278, 292277),
        ("month", -3507325, 3507324),
        ("day", -106751992, 106751991),
        ("hour", -(2**31), 2**31 - 1),
    ],
)
def test_calendar_neither_wraps_nor_loses_an_instant(unit: str, first: int, last: int) -> None:
    assert applied(unit, [LOWEST, HIGHEST], WALL_CLOCK) == [first, last]


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour"])
def test_every_ordinal_has_a_name_of_its_own(unit: str) -> None:
    transform = Transform.parse(unit)
    ordinals = pa.array([-(2**31), -719_529, -719_162, -25, -1, 0, 2_932_896, 70_389_527, 2**31 - 1, None], pa.int32())
    assert transform.from_text(transform.to_text(ordinals), WALL_CLOCK).equals(ordinals)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("year", "47"),
        ("year", "2017-01"),
        ("month", "2017-13"),
        ("month", "2017-1x"),
        ("day", "2017-02-29"),
        ("day", "17501"),
        ("hour", "2017-12-01-24"),
        ("hour", "2017-12-01"),
        ("hour", "+999999-12-01-00"),
        ("year", "9999999999"),
    ],
)
def test_a_malformed_calendar_name_is_null(unit: str, text: str) -> None:
    assert Transform.parse(unit).from_text(pa.array([text, None]), WALL_CLOCK).to_pylist() == [None, None]


@pytest.mark.parametrize("type_", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_truncate_rounds_integers_down(type_: pa.DataType) -> None:
    assert applied("truncate[10]", [1, 9, 10, 11, -1, -10, -12, None], type_) == [0, 0, 10, 10, -10, -10, -20, None]


@pytest.mark.parametrize(
    ("type_", "lowest", "result"),
    [(pa.int8(), -128, -130), (pa.int32(), -(2**31), -2147483650), (pa.int64(), LOWEST, LOWEST)],
)
def test_truncate_does_not_wrap(type_: pa.DataType, lowest: int, result: int) -> None:
    assert applied("truncate[10]", [lowest], type_) == [result]


@pytest.mark.parametrize(
    ("width", "value", "result"),
    [
        (10, "12.34", "12.30"),
        (10, "0.05", "0.00"),
        (10, "-0.05", "-0.10"),
        (50, "10.65", "10.50"),
        (50, "-9999999.99", "-10000000.00"),
    ],
)
def test_truncate_rounds_decimals_down(width: int, value: str, result: str) -> None:
    results = Truncate(width).apply(pa.array([Decimal(value)], pa.decimal128(9, 2)))
    assert results.equals(pa.array([Decimal(result)], pa.decimal128(38, 2)))


def test_truncate_does_not_leave_38_digits() -> None:
    lowest = Decimal("-" + "9" * 38)
    assert applied("truncate[50]", [lowest], pa.decimal128(38, 0)) == [lowest]


def test_truncate_counts_code_points() -> None:
    assert applied("truncate[2]", ["a😀b", "é", "", "abc", None], pa.string()) == ["a😀", "é", "", "ab", None]


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64()])
def test_identity_has_one_nan_and_one_zero(type_: pa.DataType) -> None:
    results = Identity().apply(pa.array([float("nan"), float("-nan"), -0.0, 0.0], type_))
    assert len(results.dictionary_encode().dictionary) == 2
    assert Identity().to_text(results).to_pylist() == ["NaN", "NaN", "0.0", "0.0"]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("hour", pa.date32()),
        ("year", pa.string()),
        ("day", pa.int64()),
        ("truncate[4]", pa.date32()),
        ("truncate[4]", UTC_TIMESTAMP),
        ("truncate[4]", pa.float64()),
        ("truncate[4]", pa.bool_()),
        ("truncate[4]", pa.binary()),
        ("bucket[4]", pa.float64()),
        ("bucket[4]", pa.float32()),
        ("bucket[4]", pa.bool_()),
        ("identity", pa.binary()),
        ("identity", pa.list_(pa.int32())),
    ],
)
def test_a_type_that_has_no_such_results_is_refused(text: str, type_: pa.DataType) -> None:
    transform = Transform.parse(text)
    assert not transform.accepts(type_)
    if not pa.types.is_nested(type_):
        for refused in (lambda: transform.apply(pa.array([], type_)), lambda: transform.result_type(type_)):
            with pytest.raises(LayoutError, match="cannot be applied"):
                refused()


@pytest.mark.parametrize(
    ("text", "source", "result"),
    [
        ("identity", pa.decimal128(9, 2), pa.decimal128(9, 2)),
        ("day", pa.date32(), pa.int32()),
        ("hour", UTC_TIMESTAMP, pa.int32()),
        ("bucket[4]", pa.int16(), pa.int32()),
        ("truncate[4]", pa.int8(), pa.int64()),
        ("truncate[4]", pa.string(), pa.string()),
        ("truncate[4]", pa.decimal128(9, 2), pa.decimal128(38, 2)),
        ("void", pa.string(), pa.string()),
    ],
)
def test_result_type_is_the_type_of_the_results(text: str, source: pa.DataType, result: pa.DataType) -> None:
    transform = Transform.parse(text)
    assert transform.result_type(source) == result
    assert transform.apply(pa.array([None], source)).type == result


@pytest.mark.parametrize(
    ("text", "value", "name"),
    [
        ("identity", None, "null"),
        ("identity", True, "true"),
        ("identity", date(2024, 1, 1), "2024-01-01"),
        ("identity", pa.scalar(3.14, pa.float32()), "3.14"),
        ("identity", pa.scalar(None, pa.string()), "null"),
        ("day", None, "null"),
        ("bucket[16]", 7, "7"),
        ("truncate[4]", "logs", "logs"),
        ("truncate[10]", Decimal("12.30"), "12.30"),
        ("void", None, "null"),
    ],
)
def test_name_for(text: str, value: Any, name: str) -> None:
    assert Transform.parse(text).name_for(value) == name


@pytest.mark.parametrize(
    ("text", "type_", "result", "lower", "upper"),
    [
        ("identity", pa.string(), "a", "a", "a"),
        ("day", pa.date32(), 17501, 17501, 17501),
        ("year", pa.date32(), 0, date(1970, 1, 1), date(1970, 12, 31)),
        ("year", pa.date32(), 5_879_610, 2_147_483_455, None),
        ("month", WALL_CLOCK, 648, 1_704_067_200_000_000, 1_706_745_599_999_999),
        ("day", UTC_TIMESTAMP, -1, -86_400_000_000, -1),
        ("hour", UTC_TIMESTAMP, 0, 0, 3_599_999_999),
        ("day", WALL_CLOCK, 106751991, 106751991 * 86_400_000_000, None),
        ("day", WALL_CLOCK, -106751992, None, -106751991 * 86_400_000_000 - 1),
        ("hour", WALL_CLOCK, 2**31 - 1, (2**31 - 1) * 3_600_000_000, None),
        ("hour", WALL_CLOCK, -(2**31), None, (1 - 2**31) * 3_600_000_000 - 1),
        ("truncate[10]", pa.int32(), -10, -10, -1),
        ("truncate[10]", pa.int8(), -130, -128, -121),
        ("truncate[10]", pa.int8(), 120, 120, 127),
        ("truncate[10]", pa.int64(), LOWEST, LOWEST, -9223372036854775801),
        ("truncate[10]", pa.int64(), HIGHEST - 7, HIGHEST - 7, HIGHEST),
        ("truncate[10]", pa.decimal128(9, 2), Decimal("12.30"), Decimal("12.30"), Decimal("12.39")),
        ("truncate[50]", pa.decimal128(4, 2), Decimal("-100.00"), Decimal("-99.99"), Decimal("-99.51")),
        ("truncate[50]", pa.decimal128(4, 2), Decimal("99.50"), Decimal("99.50"), Decimal("99.99")),
        ("truncate[2]", pa.string(), "h", "h", "h"),
        ("truncate[2]", pa.string(), "", "", ""),
        ("bucket[4]", pa.int32(), 3, None, None),
        ("void", pa.int32(), None, None, None),
        ("day", pa.date32(), None, None, None),
    ],
)
def test_preimage(text: str, type_: pa.DataType, result: Any, lower: Any, upper: Any) -> None:
    transform = Transform.parse(text)
    preimage = transform.preimage(pa.array([result], transform.result_type(type_)), type_)
    assert preimage.lower.equals(pa.array([lower], type_))
    assert preimage.upper.equals(pa.array([upper], type_))
    assert preimage.upper_inclusive.to_pylist() == [True]


@pytest.mark.parametrize(
    ("prefix", "after"),
    [
        ("he", "hf"),
        ("h\ud7ff", "h\ue000"),
        ("h\U0010ffff", "i"),
        ("\U0010ffff\U0010ffff", None),
        ("a\uffff", "a\U00010000"),
    ],
)
def test_all_strings_with_a_prefix_end_where_the_next_prefix_begins(prefix: str, after: str | None) -> None:
    preimage = Truncate(2).preimage(pa.array([prefix]), pa.string())
    assert (preimage.lower.to_pylist(), preimage.upper.to_pylist()) == ([prefix], [after])
    assert preimage.upper_inclusive.to_pylist() == [False]


def test_only_void_makes_null_of_a_value() -> None:
    assert [t for t in (Identity(), Calendar("day"), Bucket(4), Truncate(4), Void()) if not t.preserves_null] == [
        Void()
    ]


@pytest.mark.parametrize("text", ["identity", "day", "bucket[4]"])
def test_columns_in_chunks_are_read_like_others(text: str) -> None:
    transform = Transform.parse(text)
    array = pa.array([0, 1, None], pa.date32())
    chunks = pa.chunked_array([array.slice(0, 1), array.slice(1)])
    results = transform.apply(array)
    assert transform.apply(chunks).equals(results)
    chunked = pa.chunked_array([results.slice(0, 2), results.slice(2)])
    assert transform.to_text(chunked).equals(transform.to_text(results))
    assert transform.from_text(pa.chunked_array([transform.to_text(results)]), array.type).equals(results)
    assert transform.preimage(chunked, array.type).upper.equals(transform.preimage(results, array.type).upper)


@pytest.mark.parametrize("text", ["identity", "day", "bucket[4]", "void"])
def test_text_that_is_all_null_needs_no_type(text: str) -> None:
    assert Transform.parse(text).from_text(pa.nulls(2), pa.date32()).to_pylist() == [None, None]
