"""Predicates that are said to exclude each other do: no row satisfies both."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

from indextables.maintain.disjoint import are_disjoint
from indextables.predicate import Not, Predicate, bind, evaluate, parse_condition
from tests.laws.conditions import SCHEMA, predicates, rows


@given(predicates, predicates, rows(max_size=12))
def test_no_row_satisfies_both(one: Predicate, other: Predicate, table: pa.Table) -> None:
    one, other = bind(one, SCHEMA), bind(other, SCHEMA)
    if are_disjoint(one, other):
        both = pc.and_kleene(evaluate(one, table), evaluate(other, table))
        assert True not in both.to_pylist()


@given(predicates)
def test_the_order_does_not_matter(predicate: Predicate) -> None:
    bound = bind(predicate, SCHEMA)
    assert are_disjoint(bound, Not(bound)) == are_disjoint(Not(bound), bound)


COLUMNS = pa.schema({"p": pa.string(), "n": pa.int32(), "x": pa.float64(), "ts": pa.timestamp("us", "UTC")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("p = 'a'", "p = 'b'"),
        ("p = 'a'", "p IS NULL"),
        ("p = 1", "p = 2"),
        ("p IN ('a', 'c')", "p IN ('b', 'd')"),
        ("n > 1 AND n <= 3", "n > 3"),
        ("n < 3", "n >= 3"),
        ("n BETWEEN 1 AND 5", "n IN (0, 6) OR n IS NULL"),
        ("n = 1", "n <> 1"),
        ("NOT (n = 1 OR p = 'a')", "n = 1"),
        ("p = 'a' AND n = 1", "p = 'a' AND n = 2"),
        ("x > 1", "x <= 1"),
        ("ts < '2024-01-01'", "ts >= '2024-01-01'"),
        ("1 = 2", "n = 1"),
    ],
)
def test_what_can_be_proved(one: str, other: str) -> None:
    assert are_disjoint(parse_condition(one, COLUMNS), parse_condition(other, COLUMNS))


@pytest.mark.parametrize(
    ("one", "other"),
    [("p = 'a'", "n = 1"), ("n >= 3", "n <= 3"), ("p = 'a'", "p = 'a'"), ("TRUE", "n = 1"), ("p = '1'", "p = 2")],
)
def test_what_cannot(one: str, other: str) -> None:
    assert not are_disjoint(parse_condition(one, COLUMNS), parse_condition(other, COLUMNS))


def test_too_many_alternatives_are_not_looked_at() -> None:
    lists = [f"n IN ({', '.join(map(str, range(start, start + 100)))})" for start in (0, 1000, 2000)]
    one = " AND ".join(f"({numbers} OR p = '{i}')" for i, numbers in enumerate(lists))
    assert not are_disjoint(parse_condition(one, COLUMNS), parse_condition(f"NOT ({one})", COLUMNS))
