from typing import Any

import pyarrow as pa
import pytest

from indextables.errors import CastInvalidInputError, UnsupportedOperatorError
from indextables.predicate import IndexQuery, col, evaluate, parse_condition

NAN = float("nan")


def answers(where: str, values: list[Any], kind: pa.DataType | None = None) -> list[bool | None]:
    rows = pa.record_batch({"x": pa.array(values, kind)})
    return evaluate(parse_condition(where, rows.schema), rows).to_pylist()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x = 1", [True, False, None]),
        ("x <> 1", [False, True, None]),
        ("NOT x = 1", [False, True, None]),
        ("x <=> 1", [True, False, False]),
        ("x <=> NULL", [False, False, True]),
        ("x IN (1, NULL)", [True, None, None]),
        ("x NOT IN (1, NULL)", [False, None, None]),
        ("x IN (2, 3)", [False, True, None]),
        ("x IS NULL", [False, False, True]),
        ("x = 1 OR NULL", [True, None, None]),
        ("x = 1 AND NULL", [None, False, None]),
        ("x = 1 OR x IS NULL", [True, False, True]),
        ("TRUE", [True, True, True]),
        ("x < 1000000000000", [True, True, None]),
    ],
)
def test_three_valued_logic(where: str, expected: list[bool | None]) -> None:
    assert answers(where, [1, 2, None], pa.int32()) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x = 'NaN'", [True, False, False, False]),
        ("x > 1e300", [True, False, False, False]),
        ("x >= 'NaN'", [True, False, False, False]),
        ("x < 'NaN'", [False, True, True, True]),
        ("x <> 'NaN'", [False, True, True, True]),
        ("x = 0", [False, True, True, False]),
        ("x IN (0D, 7D)", [False, True, True, False]),
        ("x IN ('NaN', 1)", [True, False, False, True]),
        ("x < 0", [False, False, False, False]),
    ],
)
def test_doubles_are_ordered_as_in_spark(where: str, expected: list[bool]) -> None:
    assert answers(where, [NAN, 0.0, -0.0, 1.0]) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x LIKE 'a_c'", ["abc", "a\nc", "a😀c"]),
        ("x LIKE 'a%'", ["abc", "a\nc", "a😀c", "a%"]),
        ("x LIKE 'a!%' ESCAPE '!'", ["a%"]),
        ("x LIKE 'A%'", ["ABC"]),
        ("x LIKE '%.%'", ["x.y"]),
        ("x LIKE '_._'", ["x.y"]),
        ("x >= 'a'", ["abc", "a\nc", "a😀c", "a%", "x.y"]),
        ("endswith(x, 'c')", ["abc", "a\nc", "a😀c"]),
    ],
)
def test_texts(where: str, expected: list[str]) -> None:
    values = ["abc", "ABC", "a\nc", "a😀c", "a%", "x.y"]
    assert [v for v, yes in zip(values, answers(where, values), strict=True) if yes] == expected


def test_a_text_that_is_no_number_is_an_error_of_the_row() -> None:
    assert answers("x = 1", ["01", " 1 ", "2", None]) == [True, True, False, None]
    with pytest.raises(CastInvalidInputError, match=r"CAST_INVALID_INPUT.*'abc'") as caught:
        answers("x = 1", ["1", "abc"])
    assert (caught.value.value, caught.value.expected_type) == ("abc", "long")


@pytest.mark.parametrize(
    ("where", "bad"),
    [
        ("x = 1", "99999999999999999999"),
        ("x = 1", "1.0"),
        ("x = 1", ""),
        ("x = 1.5", "1.5.5"),
        ("x = TRUE", "maybe"),
        ("x = DATE '2024-01-01'", "2024-13-01"),
        ("x = TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01 25:00:00"),
    ],
)
def test_the_value_that_cannot_be_cast_is_named(where: str, bad: str) -> None:
    with pytest.raises(CastInvalidInputError) as caught:
        answers(where, [None, bad])
    assert caught.value.value == bad


def test_tables_and_dictionaries() -> None:
    names = pa.chunked_array([["a", "b"], [None]]).dictionary_encode()
    rows = pa.table({"x": names, "n": pa.chunked_array([["1"], ["2", None]])})
    schema = pa.schema({"x": pa.string(), "n": pa.string()})
    assert evaluate(parse_condition("x = 'a' AND n = 1", schema), rows).to_pylist() == [True, False, None]


def test_an_empty_batch() -> None:
    assert answers("x = 1 AND x IN (1, 2)", [], pa.int64()) == []


def test_index_queries_are_answered_from_outside() -> None:
    query = IndexQuery("x", "hello")
    rows = pa.record_batch({"x": ["a", "b"]})
    hits = {query: pa.array([True, False])}
    assert evaluate(~query | (col("x") == "a"), rows, index_hits=hits).to_pylist() == [True, True]
    with pytest.raises(UnsupportedOperatorError, match="INDEXQUERY 'hello'"):
        evaluate(query, rows)


@pytest.mark.parametrize(
    ("condition", "answers"),
    [
        ("kind = 'number' AND text = 7", [True, False, None]),
        ("kind <> 'number' OR text = 7", [True, True, None]),
        ("NOT (kind <> 'number' OR text <> 7)", [True, False, None]),
        ("TRY_CAST(text AS INT) = 7", [True, None, None]),
        ("TRY_CAST(text AS INT) IS NULL", [False, True, True]),
    ],
)
def test_a_text_is_converted_only_where_the_answer_depends_on_it(condition: str, answers: list[bool | None]) -> None:
    rows = pa.table({"kind": ["number", "word", None], "text": pa.array([" 7", "abc", None])})
    assert evaluate(parse_condition(condition, rows.schema), rows).to_pylist() == answers
