import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest

from indextables.errors import InvalidPredicateError, PredicateError, UnsupportedOperatorError
from indextables.predicate import IndexQuery, Literal, Predicate, col, parse, parse_condition

x = col("x")


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("x = 1", x == 1),
        ("x == 1", x == 1),
        ("x != 1", x != 1),
        ("x <> 1", x != 1),
        ("5 < x", x > 5),
        ("5 >= (x)", x <= 5),
        ("x <=> NULL", x.eq_null_safe(None)),
        ("1 <=> x", x.eq_null_safe(1)),
        ("x IN (1, NULL, 'a')", x.isin(1, None, "a")),
        ("x NOT IN (1)", ~x.isin(1)),
        ("x BETWEEN 1 AND 2 AND y = 3", (x >= 1) & (x <= 2) & (col("y") == 3)),
        ("x NOT BETWEEN 1 AND 2", ~x.between(1, 2)),
        ("x IS NULL", x.is_null()),
        ("x IS NOT NULL", x.is_not_null()),
        ("x IS TRUE", x.eq_null_safe(value=True)),
        ("coalesce(x, false)", x.eq_null_safe(value=True)),
        ("x IS DISTINCT FROM 1", ~x.eq_null_safe(1)),
        ("isnull(x)", x.is_null()),
        ("isnotnull(x)", x.is_not_null()),
        ("5 BETWEEN x AND y", (x <= 5) & (col("y") >= 5)),
        ("x LIKE 'a%'", x.like("a%")),
        ("x NOT LIKE 'a%'", ~x.like("a%")),
        ("x LIKE 'a!%' ESCAPE '!'", x.like("a!%", escape="!")),
        (
            "startswith(x, 'a') OR endswith(x, 'b') OR CONTAINS(x, 'c')",
            x.startswith("a") | x.endswith("b") | x.contains("c"),
        ),
        ("x = 1 OR y = 2 AND NOT z = 3", (x == 1) | ((col("y") == 2) & ~(col("z") == 3))),
        ("(x = 1 OR y = 2) AND z = 3", ((x == 1) | (col("y") == 2)) & (col("z") == 3)),
        ("TRUE AND FALSE OR NULL", (Literal(True) & Literal(False)) | Literal(None)),
        ("x", x == True),  # noqa: E712
        ("1 = 1", Literal(True)),
        ("1 > 2", Literal(False)),
        ("`a b.c` = 1", col("a b.c") == 1),
        ("`a``b` = 1", col("a`b") == 1),
        ("date = 1 AND year = 2", (col("date") == 1) & (col("year") == 2)),
        ("x = 1 -- the first", x == 1),
        ("x /* odd */ = 1", x == 1),
        ("x = 1;", x == 1),
    ],
)
def test_what_is_understood(text: str, predicate: Predicate) -> None:
    assert parse(text) == predicate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", pa.scalar(5, pa.int32())),
        ("-2147483648", pa.scalar(-(2**31), pa.int32())),
        ("2147483648", pa.scalar(2**31, pa.int64())),
        ("9223372036854775808", pa.scalar(Decimal(2**63), pa.decimal128(19, 0))),
        ("1.50", pa.scalar(Decimal("1.50"), pa.decimal128(3, 2))),
        ("15BD", pa.scalar(Decimal(15), pa.decimal128(2, 0))),
        ("5L", pa.scalar(5, pa.int64())),
        ("-128Y", pa.scalar(-128, pa.int8())),
        ("5S", pa.scalar(5, pa.int16())),
        ("1e3", pa.scalar(1000.0)),
        ("-1.5D", pa.scalar(-1.5)),
        ("1.5F", pa.scalar(1.5, pa.float32())),
        ("'O''Brien'", pa.scalar("O'Brien")),
        (r"'O\'Brien'", pa.scalar("O'Brien")),
        ("'a' 'b'", pa.scalar("ab")),
        ('"quoted"', pa.scalar("quoted")),
        (r"'tab\t \\ \u00e9 \d'", pa.scalar("tab\t \\ é d")),
        (r"'100\%'", pa.scalar(r"100\%")),
        (r"r'a\n'", pa.scalar(r"a\n")),
        ("'a AND b, c'", pa.scalar("a AND b, c")),
        ("TRUE", pa.scalar(value=True)),
        ("X'01aF'", pa.scalar(b"\x01\xaf")),
        ("DATE '2024-2-1'", pa.scalar(19754, pa.int32()).cast(pa.date32())),
        ("TIMESTAMP '2024-01-01 00:00:00'", pa.scalar(1704092400000000).cast(pa.timestamp("us", "UTC"))),
        ("TIMESTAMP '2024-01-01 00:00:00Z'", pa.scalar(1704067200000000).cast(pa.timestamp("us", "UTC"))),
        ("TIMESTAMP_NTZ '2024-01-01 00:00:00'", pa.scalar(1704067200000000).cast(pa.timestamp("us"))),
    ],
)
def test_literals(text: str, value: pa.Scalar) -> None:
    assert parse(f"x = {text}", time_zone="-07:00") == (x == value)


@pytest.mark.parametrize(
    ("text", "field", "query"),
    [
        ("message INDEXQUERY 'timeout AND NOT retry'", "message", "timeout AND NOT retry"),
        ("indexquery(message, 'it''s')", "message", "it's"),
        ("indexquery('a b', 'q')", "a b", "q"),
        ("* INDEXQUERY 'q'", None, "q"),
        ("* indexquery 'q'", None, "q"),
    ],
)
def test_index_queries(text: str, field: str | None, query: str) -> None:
    assert parse(text) == IndexQuery(field, query)
    assert parse(f"x = 1 AND NOT {text}") == (x == 1) & ~IndexQuery(field, query)


@pytest.mark.parametrize(
    ("text", "operator", "position"),
    [
        ("UPPER(p) = 'A'", "UPPER", 0),
        ("year = 1 AND foo(p)", "foo", 13),
        ("x ILIKE 'a'", "ILIKE", 0),
        ("x RLIKE 'a'", "REGEXPLIKE", 0),
        ("x LIKE ANY ('a', 'b')", "ANY", 12),
        ("x IN (SELECT 1)", "IN", 0),
        ("x + 1 = 2", "ADD", 0),
        ("x = current_date()", "CURRENTDATE", 4),
        ("CASE WHEN x = 1 THEN TRUE END", "CASE", 10),
        ("x = ?", "PLACEHOLDER", None),
    ],
)
def test_what_is_not_supported_says_so(text: str, operator: str, position: int | None) -> None:
    with pytest.raises(UnsupportedOperatorError, match="understood are") as caught:
        parse(text)
    assert (caught.value.operator, caught.value.position) == (operator, position)
    assert caught.value.predicate == text


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [("x = y", "if it is a text, write 'y'", 4), ("a.b = 1", "names are not qualified here", 0)],
)
def test_operators_are_listed_only_where_one_is_wrong(text: str, reason: str, position: int) -> None:
    with pytest.raises(UnsupportedOperatorError, match=reason) as caught:
        parse(text)
    assert (caught.value.operator, caught.value.position) == ("COLUMN", position)
    assert "understood are" not in str(caught.value)
    with pytest.raises(InvalidPredicateError, match="'x' is not expected here; understood are =, <>, <, <=, "):
        parse("x = 1 x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("year=", "missing"),
        ("year=1)", "not expected"),
        ("x = 1 x", "not expected"),
        ("x = 1; y = 2", "more than one"),
        ("x = 'abc", "not closed"),
        ("x = /* abc", "not closed"),
        ("x = DATE 'soon'", "'soon'"),
        ("x = 300Y", "300"),
        ("x = 1234567890123456789012345678901234567890", "not a number"),
        ("x LIKE 'a' ESCAPE 'bc'", "one character"),
        ("x INDEXQUERY 5", "text in quotes"),
        ("indexquery(x)", "a column and a query"),
        ('"order id" = 5', "in backticks: `order id`"),
        ('x = 1 AND "host" = "web"', "in backticks: `host`"),
        ("x >= 2024-01-01", "at position 5: a date or time is written in quotes: '2024-01-01'$"),
        ("2024-01-01 < x", "at position 0: .* in quotes: '2024-01-01'$"),
        ("x BETWEEN '2024-01-01' AND 2024-01-31", "at position 27: .* in quotes: '2024-01-31'$"),
        ("x > 2024-01-01 12:30:00 AND y = 1", "in quotes: '2024-01-01 12:30:00'$"),
        ("x > 2024-01-01T12:30:00", "in quotes: '2024-01-01T12:30:00'$"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(InvalidPredicateError, match=reason) as caught:
        parse(text)
    assert caught.value.predicate == text
    assert ("understood are" in str(caught.value)) == (reason == "not expected")


@pytest.mark.parametrize(
    ("text", "written", "position"),
    [
        ("Ordered At >= '2024-03-01'", "`Ordered At`", 0),
        ("n = 1 AND ordered at IS NULL", "`Ordered At`", 10),
        ("'Ordered At' = 'x' AND NOT Order-ID = 5", "`Order-ID`", 27),
        ("a.b = 5", "`a.b`", 0),
    ],
)
def test_names_with_spaces_and_signs_need_backticks(text: str, written: str, position: int) -> None:
    schema = pa.schema({"Ordered At": pa.date32(), "Order-ID": pa.int32(), "a.b": pa.int32(), "n": pa.int32()})
    with pytest.raises(InvalidPredicateError, match=f"is written in backticks: {written}$") as caught:
        parse_condition(text, schema)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("`status` > 1 AND\nlevle = 'x'", "there is no column 'levle'; did you mean 'level'? The table has", 17),
        ("level = 'colour' AND colour = 1", "there is no column 'colour'; the table has status, level", 21),
        ("status > 1 ADN level = 'x'", "'ADN' is not expected here; did you mean AND?", 11),
        (
            "status betwen 1 and 2",
            "'betwen' is not expected here; to search for words, give them as the query; did you mean BETWEEN?",
            7,
        ),
        ("starts_wth(level, 'a')", "there is no function 'starts_wth' here; did you mean startswith()?", 0),
        ("uper(level) = 'A'", "there is no function 'uper' here", 0),
    ],
)
def test_misspelled_names_get_a_suggestion(text: str, reason: str, position: int) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_condition(text, pa.schema({"status": pa.int32(), "level": pa.string()}))
    assert caught.value.reason.startswith(reason)
    assert (caught.value.predicate, caught.value.position) == (text, position)


def test_positions_count_characters_over_lines() -> None:
    with pytest.raises(PredicateError) as caught:
        parse("x = 1\nAND y = 2 )")
    assert caught.value.position == len("x = 1\nAND y = 2 ")


def test_sqlglot_is_loaded_by_the_first_text_only() -> None:
    script = (
        "import sys; from indextables.predicate import col, parse; col('x') == 1; before = 'sqlglot' in sys.modules; "
        "parse('x = 1'); print(before, 'sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
