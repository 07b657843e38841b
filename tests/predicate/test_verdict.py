from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg_core import transform

from indextables.predicate import Bounds, ColumnBounds, ColumnImage, Verdict, judge, parse_condition

NEVER, SOMETIMES, ALWAYS = Verdict
INSTANT = pa.timestamp("us", "UTC")
NAN = float("nan")


def identity(values: list[Any], kind: pa.DataType) -> ColumnBounds:
    """A file per value, all rows of which have it; null means that all rows are null."""
    array = pa.array(values, kind)
    return ColumnBounds(array, array, may_be_null=pc.is_null(array), may_be_value=pc.is_valid(array), may_be_nan=False)


def verdicts(where: str, fact: ColumnBounds | ColumnImage, kind: pa.DataType, column: str = "p") -> list[Verdict]:
    files = len(fact.lower if isinstance(fact, ColumnBounds) else fact.values)
    judged = judge(parse_condition(where, pa.schema({column: kind, "x": pa.int64()})), Bounds(files, {column: (fact,)}))
    return [Verdict(verdict) for verdict in judged.to_pylist()]


def kept(where: str, values: list[Any], kind: pa.DataType) -> list[Any]:
    judged = verdicts(where, identity(values, kind), kind)
    return [value for value, verdict in zip(values, judged, strict=True) if verdict]


@pytest.mark.parametrize(
    ("where", "months"),
    [
        ("p > 9", {10, 11, 12}),
        ("p BETWEEN 2 AND 11", set(range(2, 12))),
        ("p < 10", set(range(1, 10))),
        ("p > 2.5 AND p <= '4'", {3, 4}),
        ("p IN (3, 99)", {3}),
        ("p NOT IN (3, 99)", set(range(1, 13)) - {3}),
        ("p NOT IN (3, NULL)", set()),
        ("p = 1 AND p = 2", set()),
        ("false", set()),
        ("p = 1000000000000", set()),
        ("p < 1000000000000", set(range(1, 13))),
        ("p IN (1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10)", {1, 2, 3, 4, 5, 6, 7, 8, 10}),
    ],
)
def test_partition_values_are_compared_as_numbers(where: str, months: set[int]) -> None:
    assert set(kept(where, list(range(1, 13)), pa.int32())) == months


def test_more_partition_values() -> None:
    assert kept("p < 100", [99, 100], pa.int32()) == [99]
    assert kept("p < -5", [-10, -1], pa.int32()) == [-10]
    assert kept("p = 1.1", [Decimal("1.10"), Decimal("1.11")], pa.decimal128(5, 2)) == [Decimal("1.10")]
    assert kept("p LIKE 'E%'", ["EU", "eu"], pa.string()) == ["EU"]
    assert kept("p LIKE '%U'", ["EU", "US"], pa.string()) == ["EU"]
    assert kept("p LIKE '_S'", ["EU", "US"], pa.string()) == ["US"]
    assert kept("contains(p, 'U')", ["EU", "eu"], pa.string()) == ["EU"]
    assert kept("p LIKE '2%'", [2024, 1999], pa.int32()) == [2024]


@pytest.mark.parametrize("year", ["2024.0", "2024L", "'2024'"])
def test_a_year_in_any_type(year: str) -> None:
    assert kept(f"p = {year}", [2023, 2024, 2025], pa.int32()) == [2024]


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("p <> 'a'", ["b"]),
        ("NOT p = 'a'", ["b"]),
        ("p <=> NULL", [None]),
        ("p IS NULL", [None]),
        ("NOT p <=> 'a'", ["b", None]),
        ("p IS NOT NULL", ["a", "b"]),
        ("p NOT LIKE 'a%'", ["b"]),
    ],
)
def test_null_partitions(where: str, values: list[str | None]) -> None:
    assert kept(where, ["a", "b", None], pa.string()) == values


def test_identity_is_decided_without_looking() -> None:
    years = identity([2023, 2024, None], pa.int32())
    assert verdicts("p >= 2024", years, pa.int32()) == [NEVER, ALWAYS, NEVER]
    assert verdicts("p <=> 2024", years, pa.int32()) == [NEVER, ALWAYS, NEVER]
    assert verdicts("NOT p <=> 2024", years, pa.int32()) == [ALWAYS, NEVER, ALWAYS]
    assert verdicts("p IS NULL", years, pa.int32()) == [NEVER, NEVER, ALWAYS]


def test_a_column_without_bounds_stops_an_or_and_not_an_and() -> None:
    letters = identity(["a", "b", "c"], pa.string())
    assert verdicts("p = 'a' OR x = 5", letters, pa.string()) == [ALWAYS, SOMETIMES, SOMETIMES]
    assert verdicts("p = 'a' AND x = 5", letters, pa.string()) == [SOMETIMES, NEVER, NEVER]
    assert kept("(p = 'a' AND x = 5) OR (p = 'b' AND x = 6)", ["a", "b", "c"], pa.string()) == ["a", "b"]
    assert kept("NOT (p = 'a' AND x = 5)", ["a", "b"], pa.string()) == ["a", "b"]


def test_texts_that_a_cast_cannot_read_are_kept() -> None:
    assert verdicts("p = 1", identity(["1", "abc", "2"], pa.string()), pa.string()) == [ALWAYS, SOMETIMES, NEVER]
    assert verdicts("p = 1 OR p = 'abc'", identity(["abc"], pa.string()), pa.string()) == [SOMETIMES]
    assert verdicts("p = 'abc' OR p = 1", identity(["abc"], pa.string()), pa.string()) == [ALWAYS]
    assert verdicts("p = 1", identity(["01", "2"], pa.string()), pa.string()) == [ALWAYS, NEVER]


def test_a_text_that_try_cast_cannot_read_is_null() -> None:
    texts = identity(["1", "abc", "2", None], pa.string())
    assert verdicts("TRY_CAST(p AS INT) = 1", texts, pa.string()) == [ALWAYS, NEVER, NEVER, NEVER]
    assert verdicts("NOT TRY_CAST(p AS INT) IN (1, 5)", texts, pa.string()) == [NEVER, NEVER, ALWAYS, NEVER]
    assert verdicts("TRY_CAST(p AS INT) IS NULL", texts, pa.string()) == [NEVER, ALWAYS, NEVER, ALWAYS]
    assert verdicts("NOT TRY_CAST(p AS INT) <=> 1", texts, pa.string()) == [NEVER, ALWAYS, ALWAYS, ALWAYS]


def test_the_order_of_texts_is_not_that_of_numbers() -> None:
    texts = ColumnBounds(pa.array(["10", "3"]), pa.array(["9", "3"]), may_be_null=False)
    assert verdicts("p = 5", texts, pa.string()) == [SOMETIMES, NEVER]
    assert verdicts("TRY_CAST(p AS INT) > 100", texts, pa.string()) == [SOMETIMES, NEVER]


def test_index_queries_are_never_decided() -> None:
    letters = identity(["a", "b"], pa.string())
    assert verdicts("p INDEXQUERY 'x'", letters, pa.string()) == [SOMETIMES, SOMETIMES]
    assert verdicts("NOT p INDEXQUERY 'x' AND p = 'a'", letters, pa.string()) == [SOMETIMES, NEVER]


def test_a_cut_maximum_keeps_the_file() -> None:
    value = "x" * 40
    cut = ColumnBounds(pa.array(["x" * 32]), pa.array(["x" * 31 + "y"]), may_be_null=False)
    assert verdicts(f"p = '{value}'", cut, pa.string()) == [SOMETIMES]


def test_files_without_statistics_are_kept() -> None:
    unknown = ColumnBounds(pa.array([None, 1], pa.int64()), pa.array([None, 2], pa.int64()))
    assert verdicts("p > 100", unknown, pa.int64()) == [SOMETIMES, NEVER]
    assert verdicts("p < 100", unknown, pa.int64()) == [SOMETIMES, SOMETIMES]
    assert verdicts("p IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", unknown, pa.int64()) == [SOMETIMES, SOMETIMES]


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(9, 2), pa.float64()])
def test_long_lists_are_compared_with_ranges(kind: pa.DataType) -> None:
    least, greatest = (pa.array(ends.split()).cast(kind) for ends in ("10 21 30 95", "10 29 30 99"))
    fact = ColumnBounds(least, greatest, may_be_null=False, may_be_nan=False)
    tens = ", ".join(str(10 * i) for i in range(10))
    gap = SOMETIMES if pa.types.is_decimal(kind) else NEVER  # decimals are compared with the list's ends only
    assert verdicts(f"p IN ({tens})", fact, kind) == [ALWAYS, gap, ALWAYS, NEVER]
    assert verdicts(f"p NOT IN ({tens})", fact, kind) == [NEVER, SOMETIMES if gap else ALWAYS, NEVER, ALWAYS]


def test_facts_of_the_wrong_type_tell_nothing() -> None:
    odd = ColumnBounds(pa.array(["x"]), pa.array(["y"]))
    assert verdicts("p > 100", odd, pa.int64()) == [SOMETIMES]
    assert verdicts("p IN (100, 200)", odd, pa.int64()) == [SOMETIMES]


@pytest.mark.parametrize(("may_be_nan", "low", "high"), [(True, SOMETIMES, SOMETIMES), (False, ALWAYS, NEVER)])
def test_nan_hides_outside_of_the_bounds(may_be_nan: bool, low: Verdict, high: Verdict) -> None:  # noqa: FBT001
    fact = ColumnBounds(pa.array([1.0]), pa.array([3.0]), may_be_null=False, may_be_nan=may_be_nan)
    assert verdicts("p < 5D", fact, pa.float64()) == [low]
    assert verdicts("p > 100D", fact, pa.float64()) == [high]
    assert verdicts("p <= CAST('NaN' AS DOUBLE)", fact, pa.float64()) == [ALWAYS]
    assert verdicts("p = CAST('NaN' AS DOUBLE)", fact, pa.float64()) == [high]


def test_nan_as_a_bound_is_no_bound() -> None:
    fact = ColumnBounds(pa.array([NAN]), pa.array([NAN]), may_be_null=False, may_be_nan=False)
    assert verdicts("p > 100D", fact, pa.float64()) == [SOMETIMES]


def test_several_facts_are_all_true() -> None:
    statistics = ColumnBounds(pa.array([1, 1]), pa.array([9, 9]), may_be_null=False)
    partition = ColumnBounds(pa.array([0, 5]), pa.array([5, 10]), upper_inclusive=False)
    bounds = Bounds(2, {"p": (statistics, partition)})
    schema = pa.schema({"p": pa.int64()})
    assert judge(parse_condition("p >= 5", schema), bounds).to_pylist() == [NEVER, ALWAYS]
    assert judge(parse_condition("p > 9", schema), bounds).to_pylist() == [NEVER, NEVER]


def test_dictionaries_and_chunks_say_the_same() -> None:
    least, greatest = pa.array(["a", "c", None]), pa.array(["b", "d", None])
    expected = verdicts("p >= 'c'", ColumnBounds(least, greatest), pa.string())
    assert expected == [NEVER, SOMETIMES, SOMETIMES]
    encoded = ColumnBounds(least.dictionary_encode(), greatest.dictionary_encode())
    assert verdicts("p >= 'c'", encoded, pa.string()) == expected
    chunks = [pa.chunked_array([array[:1], array[1:]]) for array in (least, greatest)]
    assert verdicts("p >= 'c'", ColumnBounds(*chunks), pa.string()) == expected
    assert verdicts("p LIKE '%c'", ColumnBounds(*chunks), pa.string()) == [SOMETIMES] * 3


# Hidden partitioning: a partition value as the range of the source column that it came from.


def preimages(values: list[int], unit: int) -> ColumnBounds:
    """Days, hours: from the unit's first microsecond to before the next unit's."""
    lower = pa.array([value * unit for value in values]).cast(INSTANT)
    upper = pa.array([(value + 1) * unit for value in values]).cast(INSTANT)
    return ColumnBounds(lower, upper, upper_inclusive=False, may_be_null=False)


def lifted(
    where: str, values: list[Any], fact: ColumnBounds | ColumnImage, kind: pa.DataType
) -> tuple[set[Any], set[Any]]:
    """The partition values whose files may match, and those whose files match whole."""
    judged = list(zip(values, verdicts(where, fact, kind), strict=True))
    return {value for value, verdict in judged if verdict}, {value for value, verdict in judged if verdict is ALWAYS}


DAY, HOUR = 86_400_000_000, 3_600_000_000
DAYS, HOURS = list(range(19320, 19327)), list(range(463759, 463766))
FIRST, LAST = "2022-11-27 00:00:00", "2022-11-26 23:59:59.999999"


@pytest.mark.parametrize(
    ("where", "days"),
    [
        (f"p < '{FIRST}'", {d for d in DAYS if d <= 19322}),
        (f"p <= '{FIRST}'", {d for d in DAYS if d <= 19323}),
        (f"p > '{LAST}'", {d for d in DAYS if d >= 19323}),
        (f"p >= '{LAST}'", {d for d in DAYS if d >= 19322}),
        ("p = '2022-11-27 10:00:00'", {19323}),
        (f"p IN ('{FIRST}', '{LAST}')", {19322, 19323}),
        (f"p <> '{FIRST}'", set(DAYS)),
        (f"p NOT IN ('{FIRST}', '{LAST}')", set(DAYS)),
    ],
)
def test_days(where: str, days: set[int]) -> None:
    assert lifted(where, DAYS, preimages(DAYS, DAY), INSTANT)[0] == days


def test_hours() -> None:
    hours = preimages(HOURS, HOUR)
    assert lifted("p < '2022-11-27 10:00:00'", HOURS, hours, INSTANT)[0] == {h for h in HOURS if h <= 463761}
    assert lifted("p <= '2022-11-27 10:00:00'", HOURS, hours, INSTANT)[0] == {h for h in HOURS if h <= 463762}


def test_months() -> None:
    edges = pa.array([datetime(2023, 12, 1), datetime(2024, 1, 1), datetime(2024, 2, 1), datetime(2024, 3, 1)], INSTANT)  # noqa: DTZ001
    months = ColumnBounds(edges[:-1], edges[1:], upper_inclusive=False, may_be_null=False)
    where = "p >= '2024-01-31 23:59:59.999999' AND p < '2024-02-01'"
    assert lifted(where, [647, 648, 649], months, INSTANT)[0] == {648}


@pytest.mark.parametrize(
    ("where", "whole"),
    [
        ("p < '2017-12-31'", {"2017-11"}),
        ("p <= '2017-12-31'", {"2017-11", "2017-12"}),
        ("p >= '2017-12-31'", {"2018-01"}),
    ],
)
def test_months_that_match_whole(where: str, whole: set[str]) -> None:
    edges = pa.array([date(2017, 11, 1), date(2017, 12, 1), date(2018, 1, 1), date(2018, 2, 1)])
    months = ColumnBounds(edges[:-1], edges[1:], upper_inclusive=False, may_be_null=False)
    assert lifted(where, ["2017-11", "2017-12", "2018-01"], months, pa.date32())[1] == whole


TENS = list(range(-20, 130, 10))


def tens() -> ColumnBounds:
    lower = pa.array(TENS)
    return ColumnBounds(lower, pc.add(lower, 10), upper_inclusive=False, may_be_null=False)


@pytest.mark.parametrize(
    ("where", "may_match", "whole"),
    [
        ("p < 10", {v for v in TENS if v <= 0}, {v for v in TENS if v < 10}),
        ("p > 9", {v for v in TENS if v >= 10}, {v for v in TENS if v > 0}),
        ("p IN (15, 16)", {10}, set()),
        ("p < 100", {v for v in TENS if v <= 90}, {v for v in TENS if v < 100}),
        ("p <= 100", {v for v in TENS if v <= 100}, {v for v in TENS if v < 100}),
        ("p >= 100", {v for v in TENS if v >= 100}, {v for v in TENS if v > 90}),
        ("p < 99", {v for v in TENS if v <= 90}, {v for v in TENS if v < 90}),
        ("p <> 15", set(TENS), set(TENS) - {10}),
    ],
)
def test_truncated_numbers(where: str, may_match: set[int], whole: set[int]) -> None:
    assert lifted(where, TENS, tens(), pa.int64()) == (may_match, whole)


PAIRS = ["", "h", "ha", "he", "hf", "i"]


def pairs() -> ColumnBounds:
    """truncate[2]: a shorter value is a whole text, a value of two characters is all that starts with it."""
    upper = ["", "h", "hb", "hf", "hg", "i"]
    inclusive = pa.array([len(value) < 2 for value in PAIRS])
    return ColumnBounds(pa.array(PAIRS), pa.array(upper), upper_inclusive=inclusive, may_be_null=False)


@pytest.mark.parametrize(
    ("where", "may_match", "whole"),
    [
        ("p LIKE 'hello%'", {"he"}, set()),
        ("p NOT LIKE 'hello%'", set(PAIRS), set(PAIRS) - {"he"}),
        ("p NOT LIKE 'he%'", set(PAIRS) - {"he"}, set(PAIRS) - {"he"}),
        ("p NOT LIKE 'h%'", {"", "i"}, {"", "i"}),
        ("p LIKE 'h%'", {"h", "ha", "he", "hf"}, {"h", "ha", "he", "hf"}),
        ("p > 'haa'", {"ha", "he", "hf", "i"}, {"he", "hf", "i"}),
        ("p = 'h'", {"h"}, {"h"}),
        ("p = 'hello'", {"he"}, set()),
        ("p < 'he'", {"", "h", "ha"}, {"", "h", "ha"}),
    ],
)
def test_truncated_texts(where: str, may_match: set[str], whole: set[str]) -> None:
    assert lifted(where, PAIRS, pairs(), pa.string()) == (may_match, whole)


BUCKETS: list[int | None] = [*range(16), None]
SIXTEEN = ColumnImage(lambda values: transform.bucket(values, 16), pa.array(BUCKETS, pa.int32()))


@pytest.mark.parametrize(
    ("where", "buckets"),
    [
        ("p = 'val'", {14}),
        ("p IN ('v1', 'v2', 'v3')", {1, 13, 3}),
        ("p < 'val'", set(range(16))),
        ("p BETWEEN 'a' AND 'b'", set(range(16))),
        ("p <> 'val'", set(range(16))),
        ("p NOT IN ('v1', 'v2')", set(range(16))),
        ("p IS NULL", {None}),
        ("p IS NOT NULL", set(range(16))),
        ("p <=> 'val'", {14}),
    ],
)
def test_buckets(where: str, buckets: set[int | None]) -> None:
    assert lifted(where, BUCKETS, SIXTEEN, pa.string())[0] == buckets


def test_other_buckets_match_an_inequality_whole() -> None:
    assert lifted("p <> 'val'", BUCKETS, SIXTEEN, pa.string())[1] == set(range(16)) - {14}
    assert lifted("p = 'val'", BUCKETS, SIXTEEN, pa.string())[1] == set()


def test_unknown_buckets_are_kept() -> None:
    fact = ColumnImage(SIXTEEN.apply, pa.array([1, None], pa.int32()), known=pa.array([True, False]))
    assert verdicts("p = 'val'", fact, pa.string()) == [NEVER, SOMETIMES]
    assert verdicts("p IS NULL", fact, pa.string()) == [NEVER, SOMETIMES]


def lift(op: str, of: Callable[[int], int], value: int) -> tuple[Callable[[int], bool], Callable[[int], bool]]:
    """The lifting table: which partition values may match, and which match whole."""
    at, before, after = of(value), of(value - 1), of(value + 1)
    return {
        "=": (lambda p: p == at, lambda _: False),
        "<": (lambda p: p <= before, lambda p: p < at),
        "<=": (lambda p: p <= at, lambda p: p < after),
        ">": (lambda p: p >= after, lambda p: p > at),
        ">=": (lambda p: p >= at, lambda p: p > before),
        "<>": (lambda _: True, lambda p: p != at),
    }[op]


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">=", "<>"])
@pytest.mark.parametrize("value", [-11, -10, -1, 0, 1, 9, 10, 15, 19, 100])
def test_ranges_agree_with_the_lifting_table(op: str, value: int) -> None:
    may_match, whole = lift(op, lambda v: v - v % 10, value)
    expected = ({p for p in TENS if may_match(p)}, {p for p in TENS if whole(p)})
    assert lifted(f"p {op} {value}", TENS, tens(), pa.int64()) == expected


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">=", "<>"])
@pytest.mark.parametrize("micros", [-1, 0, 1, DAY - 1, DAY, DAY + 1])
def test_days_agree_with_the_lifting_table(op: str, micros: int) -> None:
    days = list(range(-3, 4))
    may_match, whole = lift(op, lambda v: v // DAY, micros)
    expected = ({p for p in days if may_match(p)}, {p for p in days if whole(p)})
    moment = datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001
    assert lifted(f"p {op} TIMESTAMP '{moment}'", days, preimages(days, DAY), INSTANT) == expected
