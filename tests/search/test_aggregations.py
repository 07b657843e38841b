"""Every aggregation of rows against Python."""

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import SearchQueryError
from indextables.search import (
    Aggregation,
    bind,
    date_histogram,
    histogram,
    merge,
    over_rows,
    parse,
    ranges,
    resolve,
    stats,
    terms,
)
from tests.search.indexes import found, index_of

ROWS = 400
DAY = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "message": [["alpha beta", "beta", "gamma", None][n % 4] for n in range(ROWS)],
        "level": [["INFO", "INFO", "WARN", "ERROR", "", None][n % 6] for n in range(ROWS)],
        "n": pa.array([None if n % 7 == 0 else (n * 37) % 101 - 50 for n in range(ROWS)], pa.int32()),
        "big": [(2**62 if n % 2 else -(2**62)) + n for n in range(ROWS)],
        "ratio": [math.nan if n % 11 == 0 else math.inf if n % 13 == 0 else n / 8 for n in range(ROWS)],
        "ok": [n % 3 == 0 for n in range(ROWS)],
        "price": pa.array([Decimal(n * 13 - 900) / 100 for n in range(ROWS)], pa.decimal128(9, 2)),
        "wide": pa.array([Decimal(n * 13 - 900) * 10**18 for n in range(ROWS)], pa.decimal128(30, 2)),
        "day": [DAY + dt.timedelta(days=n % 40 - 20) for n in range(ROWS)],
        "ts": [None if n % 9 == 0 else NOON + dt.timedelta(minutes=7 * n, microseconds=n) for n in range(ROWS)],
        "before": pa.array([-n * 1_700_000_001 for n in range(ROWS)], pa.timestamp("us")),
    }
)
RULES = resolve(TABLE.schema, {"message": "text"})
PARTS = [TABLE.slice(start, 150) for start in (0, 150, 300)]
INDEXES = [index_of(part, RULES) for part in PARTS]
QUERIES = ["*:*", "message:beta", "NOT message:beta", "level:(INFO OR WARN) AND n:>0", "message:absent"]


def from_rows(aggregation: Aggregation, text: str) -> pa.Table:
    bound = bind(aggregation, TABLE.schema, RULES)
    return merge(bound, [over_rows(bound, rows[bound.field]) for rows in hits_of(text)])


def hits_of(text: str) -> list[pa.Table]:
    query = parse(text, schema=TABLE.schema, rules=RULES)
    rows = [pa.array(found(query, index), pa.int64()) for index in INDEXES]
    return [part.take(hits) for part, hits in zip(PARTS, rows, strict=True)]


def values(column: str, text: str) -> list[Any]:
    return [value for rows in hits_of(text) for value in rows[column].to_pylist() if value is not None]


def floored(value: Any, step: Any, origin: Any) -> Any:
    return origin + (value - origin) // step * step


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("column", ["level", "n", "big", "ok", "price", "wide", "day", "ts", "before"])
def test_terms_are_counted(column: str, text: str) -> None:
    expected = sorted(Counter(values(column, text)).items(), key=lambda pair: (-pair[1], pair[0]))
    answer = from_rows(terms(column, size=None), text)
    assert answer.schema.field("key").type == TABLE.schema.field(column).type
    assert list(zip(*answer.to_pydict().values(), strict=True)) == expected
    assert from_rows(terms(column, size=3), text).num_rows == min(3, len(expected))


def test_not_a_number_is_a_term() -> None:
    answer = from_rows(terms("ratio", size=2), "*:*").to_pydict()
    assert (str(answer["key"]), answer["count"]) == ("[nan, inf]", [37, 28])


SEVEN = dt.timedelta(microseconds=7)
HISTOGRAMS = [
    (histogram("n", interval=10), 10, 0),
    (histogram("price", interval=0.25), Decimal("0.25"), Decimal(0)),
    (histogram("big", interval=2**60), 2**60, 0),
    (date_histogram("day", "1w"), dt.timedelta(weeks=1), dt.date(1970, 1, 1)),
    (date_histogram("ts", "1h"), dt.timedelta(hours=1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
    (
        date_histogram("ts", dt.timedelta(microseconds=7)),
        dt.timedelta(microseconds=7),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
    ),
    (date_histogram("before", "15m"), dt.timedelta(minutes=15), dt.datetime(1970, 1, 1)),  # noqa: DTZ001
]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize(("aggregation", "step", "origin"), HISTOGRAMS)
def test_histograms_count_what_is_in_each_interval(aggregation: Aggregation, step: Any, origin: Any, text: str) -> None:
    expected = sorted(Counter(_bucket(v, step, origin) for v in values(aggregation.field, text)).items())
    answer = from_rows(aggregation, text)
    assert answer.schema.field("key").type == TABLE.schema.field(aggregation.field).type
    assert list(zip(*answer.to_pydict().values(), strict=True)) == expected


def _bucket(value: Any, step: Any, origin: Any) -> Any:
    if isinstance(value, Decimal):
        return math.floor(value / step) * step
    return floored(value, step, origin)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ([0, 10, 100], r"write \[\(0, 10\), \(10, 100\)\]"),
        ([(1, 2), 3], "3 is not a pair"),
        ([(1, 2, 3)], "is not a pair"),
    ],
)
def test_ranges_of_no_pairs_say_how_they_are_written(given: Any, written: str) -> None:
    with pytest.raises(SearchQueryError, match=written):
        ranges("n", given)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize(
    ("column", "pairs"),
    [
        ("n", [(None, 0), (0, 10), (5, 20), (10, None), (None, None), (3, 3)]),
        ("big", [(None, 0), (2**62 + 1, 2**62 + 3)]),
        ("ratio", [(None, 1.5), (1.5, math.inf), (math.inf, None)]),
        ("price", [(Decimal("-1.10"), Decimal("1.10")), (None, Decimal(0))]),
        ("wide", [(Decimal(0), None), (None, Decimal(10**19))]),
        ("level", [("", "INFO"), ("INFO", "WARN"), ("WARN", None)]),
        ("day", [(DAY, None), (DAY - dt.timedelta(days=3), DAY)]),
        ("ts", [(NOON, NOON + dt.timedelta(hours=1)), (None, NOON)]),
    ],
)
def test_ranges_count_from_their_start_up_to_their_end(column: str, pairs: list[tuple[Any, Any]], text: str) -> None:
    found_values = values(column, text)

    def count(lower: Any, upper: Any) -> int:
        after = [v for v in found_values if lower is None or v >= lower or v != v]  # noqa: PLR0124 - NaN comes last
        return sum(upper is None or v < upper for v in after if not (upper is not None and v != v))  # noqa: PLR0124

    expected = [(lower, upper, count(lower, upper)) for lower, upper in pairs]
    answer = from_rows(ranges(column, pairs), text)
    assert list(zip(*answer.to_pydict().values(), strict=True)) == expected


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("column", ["n", "big", "price", "wide", "day", "ts", "before"])
def test_statistics_are_exact(column: str, text: str) -> None:
    found_values = values(column, text)
    (row,) = from_rows(stats(column), text).to_pylist()
    assert (row["count"], row["min"], row["max"]) == (
        len(found_values),
        min(found_values, default=None),
        max(found_values, default=None),
    )
    if "sum" in row:
        assert row["sum"] == (sum(found_values) if found_values else None)
        assert row["avg"] == pytest.approx(float(sum(found_values) / len(found_values)) if found_values else None)


def test_statistics_of_floats_have_the_largest_last() -> None:
    (row,) = from_rows(stats("ratio"), "*:*").to_pylist()
    assert (row["count"], row["min"]) == (ROWS, 1 / 8)
    assert math.isnan(row["max"])


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal128(38, 0), pa.decimal128(19, 0), pa.int64()])
def test_sums_have_room_for_the_largest_values(kind: pa.DataType) -> None:
    digits = "9" * 38
    whole = 2**63 - 1 if pa.types.is_integer(kind) else digits[: kind.precision - kind.scale]
    largest = Decimal(f"{whole}.{'' if pa.types.is_integer(kind) else digits[: kind.scale]}")
    schema = pa.schema({"n": kind})
    bound = bind(stats("n"), schema, resolve(schema))
    column = pa.array([largest if pa.types.is_decimal(kind) else int(largest)] * 50, kind)
    (row,) = merge(bound, [over_rows(bound, column), over_rows(bound, column)]).to_pylist()
    assert Fraction(row["sum"]) == 100 * Fraction(largest)


def test_nothing_merges_to_nothing() -> None:
    for aggregation in (terms("level"), histogram("n", interval=5)):
        assert merge(bind(aggregation, TABLE.schema, RULES), []).num_rows == 0
    assert merge(bind(stats("n"), TABLE.schema, RULES), []).to_pylist()[0]["count"] == 0
    assert merge(bind(ranges("n", [(1, 2)]), TABLE.schema, RULES), [])["count"].to_pylist() == [0]


@pytest.mark.parametrize(
    ("aggregation", "message"),
    [
        (terms("levle"), "did you mean 'level'"),
        (terms("message"), "it is indexed as text; index it as string"),
        (terms("level", size=0), "at least 1"),
        (histogram("level", interval=5), "it has type string"),
        (histogram("ts", interval=5), "it has type timestamp"),
        (histogram("n", interval=0), "above zero"),
        (histogram("n", interval=1.5), "a multiple of the smallest step"),
        (histogram("price", interval=0.001), "a multiple of the smallest step"),
        (histogram("n", interval=math.nan), "above zero"),
        (date_histogram("n", "1h"), "it has type integer"),
        (date_histogram("day", "1h"), "a multiple of the smallest step"),
        (stats("level"), "it has type string"),
        (stats("ok"), "it has type boolean"),
        (ranges("n", [("a", 5)]), "an end of its ranges is not of type integer"),
        (ranges("n", [(2**40, 5)]), "an end of its ranges is not of type integer"),
    ],
)
def test_what_cannot_be_aggregated_is_said(aggregation: Aggregation, message: str) -> None:
    with pytest.raises(SearchQueryError, match=message) as error:
        bind(aggregation, TABLE.schema, RULES)
    assert error.value.field == aggregation.field


@pytest.mark.parametrize("interval", ["", "1", "h", "0h", "1month", "-1h"])
def test_what_is_no_interval_is_said(interval: str) -> None:
    with pytest.raises(SearchQueryError, match="write 30s, 15m, 1h, 1d or 1w"):
        date_histogram("ts", interval)
