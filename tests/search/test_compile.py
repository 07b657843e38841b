"""Every construct of the query language over log lines: the index finds what a look at every row finds."""

import csv
import os
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.errors import SearchQueryError
from indextables.search import parse, resolve
from indextables.split.exact_index import Kind
from tests.search.brute import rows_of
from tests.search.indexes import MemorySplit, found, index_of, scored

LOGHUB = Path(os.environ.get("LOGHUB", "loghub"))  # CSV files with real log lines, optional
SCHEMA = pa.schema(
    {
        "message": pa.string(),
        "raw_message": pa.string(),
        "component": pa.string(),
        "level": pa.string(),
        "status": pa.int32(),
        "bytes": pa.int64(),
        "ratio": pa.float64(),
        "ok": pa.bool_(),
        "price": pa.decimal128(9, 2),
        "wide": pa.decimal128(30, 2),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "wall": pa.timestamp("us"),
    }
)
RULES = resolve(SCHEMA, {"message": "text", "raw_message": "text:whitespace"})
MADE_UP = [
    "Failed password for invalid user admin from 10.0.0.1 port 22 ssh2",
    "Accepted password for root from 10.0.0.2 port 2222 ssh2",
    "instruction cache parity error corrected",
    "mod_jk child workerEnv in error state 6",
    "pam_unix(sshd:auth): authentication failure; logname= uid=0 user=root",
    "Connection closed by 173.234.31.186 [preauth]",
    'quoted "text" with \\ and \t tab',
    "naïve Überraschung 日本語 straße ÉCOLE",
    "a" * 45 + " error",
    "error error error",
    "the error in the cache: error corrected, parity lost",
    "--- !!! ---",
    "",
]


def lines() -> Iterator[str]:
    yield from MADE_UP
    for path in sorted(LOGHUB.glob("*.csv")):
        with path.open(newline="") as file:
            yield from (row["Content"] for row in list(csv.DictReader(file))[::4])


@pytest.fixture(scope="module")
def table() -> pa.Table:
    chance = random.Random(11)
    messages = list(lines()) * (1 if LOGHUB.exists() else 20)

    def some(*values: object) -> list[object]:
        return [chance.choice([*values, None]) for _ in messages]

    columns = {
        "message": [chance.choice([message] * 9 + [None]) for message in messages],
        "raw_message": messages,
        "component": some("web", "Web", "web server", "db*", "", "日本", 'a"b\\c', "a:b/c"),
        "level": some("INFO", "WARN", "ERROR"),
        "status": [chance.choice([*range(195, 205), *range(495, 605), -1, None]) for _ in messages],
        "bytes": some(0, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
        "ratio": some(0.1, 0.30000000000000004, -1.5, 1e23, 123456789.123456789, float("inf"), float("nan"), 0.0, -0.0),
        "ok": some(True, False),
        "price": some(*(Decimal(cents) / 100 for cents in (-110, 109, 110, 111, 219, 220, 221))),
        "wide": some(
            Decimal("-99999999999999999999.99"), Decimal("-0.01"), Decimal(0), Decimal("12345678901234567890.12")
        ),
        "day": pa.array(some(-1, 0, 19782, 19783), pa.int32()).view(pa.date32()),
        "ts": pa.array(some(-1, 0, 1_704_067_200_000_000, 1_704_067_200_123_456), pa.timestamp("us", "UTC")),
        "wall": pa.array(some(-1, 0, 1_704_067_200_123_456, 250_000_000_000_000_000), pa.timestamp("us")),
    }
    return pa.table(columns, SCHEMA)


@pytest.fixture(scope="module", params=[Kind.NONE, Kind.DICTIONARY, Kind.HASH])
def index(table: pa.Table, request: pytest.FixtureRequest) -> MemorySplit:
    return index_of(table, RULES, request.param)


QUERIES = [
    # words
    "error",
    "ERROR",
    "message:error",
    "raw_message:error",
    "raw_message:user=root",
    "message:10.0.0.1",
    "message:pam_unix",
    "component:web",
    'component:"web server"',
    'component:""',
    r"component:db\*",
    r'component:"a\"b\\c"',
    r"component:a\:b\/c",
    "component:日本",
    "überraschung",
    "école",
    "message:straße",
    "absent",
    '"---"',
    # phrases
    '"invalid user"',
    '"user invalid"',
    '"error error"',
    '"password from"~2',
    '"from password"~3',
    '"error the"~2',
    '"error corrected parity"~2',
    '"cache error corrected"~4',
    '"parity error cache"~3',
    '"error error error"~1',
    '"for user from"~3',
    # patterns
    "err*",
    "component:web*",
    "component:W*",
    "*rror",
    "p?rity",
    "*",
    "component:*e?",
    "component:d*",
    "/par[a-z]+/",
    "/[0-9]{1,3}/",
    "component:/[wW]eb.*/",
    "errr~1",
    "eror~",
    "reror~1",
    "component:wbe~1",
    "日本語~1",
    # logic
    "error AND corrected",
    "error AND NOT corrected",
    "error NOT corrected",
    "NOT error",
    "NOT (NOT error)",
    "NOT (error OR password)",
    "NOT (NOT error AND NOT password)",
    "error OR NOT level:INFO",
    "+error cache -corrected",
    "-error -password",
    "(error OR password) AND level:(INFO OR WARN) AND NOT status:[500 TO 599]",
    "error && !corrected || password",
    "error^3 OR password",
    "*:*",
    "NOT *:*",
    "*:* AND NOT error",
    # values
    "level:*",
    "NOT level:*",
    "message:*",
    "ok:true",
    "ok:[false TO true}",
    "status:200",
    "status:-1",
    "status:[500 TO 599]",
    "status:{500 TO 599}",
    "status:>=600",
    "status:<-0",
    "bytes:9007199254740993",
    "bytes:>9007199254740992",
    "bytes:[-9223372036854775808 TO -1]",
    "bytes:{-9223372036854775808 TO 9223372036854775807}",
    "ratio:0.1",
    "ratio:0.3",
    "ratio:0.30000000000000004",
    "ratio:123456789.12345679",
    "ratio:0",
    "ratio:NaN",
    "ratio:>=1e23",
    "ratio:{0 TO Infinity}",
    "ratio:<=0",
    "price:1.10",
    "price:[1.10 TO 2.20]",
    "price:{1.10 TO 2.20}",
    "price:<0",
    "wide:12345678901234567890.12",
    "wide:[-0.01 TO 0]",
    "wide:<0",
    "wide:>-0.01",
    "day:1969-12-31",
    "day:[1970-01-01 TO 2024-02-29]",
    "ts:2024-01-01T00:00:00.123456Z",
    "ts:[2024-01-01 TO 2024-01-01T00:00:00.123455Z]",
    "ts:<1970-01-01",
    'wall:"2024-01-01 00:00:00.123456"',
    "wall:>9000-01-01",
    "component:[a TO web}",
    "component:>=web",
    "component:{* TO web]",
    "message:[corrected TO error]",
]


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_finds_its_rows(text: str, table: pa.Table, index: MemorySplit) -> None:
    query = parse(text, schema=SCHEMA, rules=RULES, default_fields=["message"])
    assert found(query, index) == rows_of(query, table, RULES)


def test_the_queries_above_find_something_and_not_everything(table: pa.Table, index: MemorySplit) -> None:
    counts = [len(found(parse(text, schema=SCHEMA, rules=RULES), index)) for text in QUERIES]
    assert sum(0 < count < table.num_rows for count in counts) > len(QUERIES) * 0.85


SMALL = pa.table({"message": ["rare common", "common common other", "common", None], "n": [1, 2, None, 4]})
SMALL_RULES = resolve(SMALL.schema, {"message": "text"})


def scores(text: str) -> dict[int, float]:
    query = parse(text, schema=SMALL.schema, rules=SMALL_RULES)
    return dict(scored(query, index_of(SMALL, SMALL_RULES)))


def test_rare_words_and_short_texts_score_higher() -> None:
    assert scores("rare OR common")[0] > scores("rare OR common")[2] > 0
    assert scores("common")[2] > scores("common")[0]


def test_a_wish_raises_the_score_and_decides_nothing() -> None:
    plain, wished = scores("common"), scores("+common other")
    assert plain.keys() == wished.keys()
    assert wished[1] > plain[1]
    assert wished[2] == plain[2]


def test_a_boost_multiplies() -> None:
    assert scores("common^2")[2] == pytest.approx(2 * scores("common")[2])


@pytest.mark.parametrize("text", ["com*", "/com.*/", "c?mmon", "commn~1", "n:>0", "n:1", "message:*", "*:*"])
def test_what_is_not_about_words_scores_one(text: str) -> None:
    assert set(scores(text).values()) == {1.0}


def test_a_column_that_the_index_does_not_have_is_null_in_all_its_rows() -> None:
    wider = SMALL.append_column("late", pa.array([None] * 4, pa.string()))
    rules = resolve(wider.schema, {"message": "text"})
    index = index_of(SMALL, SMALL_RULES)
    rows = {
        text: found(parse(text, schema=wider.schema, rules=rules), index) for text in ("late:x", "late:*", "NOT late:*")
    }
    assert rows == {"late:x": [], "late:*": [], "NOT late:*": [0, 1, 2, 3]}


LONG = pa.table({"value": ["x" * 70_000 + "z", "x" * 70_000, "y", None]})


def long_rows(text: str) -> list[int]:
    rules = resolve(LONG.schema)
    return found(parse(text, schema=LONG.schema, rules=rules), index_of(LONG, rules))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("value:*", [0, 1, 2]),
        ("value:xxx*", [0, 1]),
        ("value:" + "x" * 30_000, []),
        ("value:>x", [0, 1, 2]),
        ("value:<y", [0, 1]),
        ("NOT value:y", [0, 1, 3]),
        ("value:x~2", [2]),
        ("value:*z", [0]),
    ],
)
def test_long_values_are_found_exactly(text: str, rows: list[int]) -> None:
    assert long_rows(text) == rows


@pytest.mark.parametrize("text", ["value:/.*z/", "value:y OR NOT value:/.*z/"])
def test_a_regular_expression_over_values_that_are_too_long_is_refused(text: str) -> None:
    with pytest.raises(SearchQueryError, match="'value' has values of more than 65,530 bytes") as error:
        long_rows(text)
    assert error.value.field == "value"


def test_exact_strings_score_as_words_of_a_field_of_one_word() -> None:
    """The scores are those of an index in which tantivy has every column."""
    table = pa.table(
        {
            "message": ["rare common", "common common other", "common", None, "other"],
            "level": ["INFO", "ERROR", None, "INFO", "INFO"],
        }
    )
    mixed = resolve(table.schema, {"message": "text"})
    reference = resolve(table.schema, {"message": "text", "level": "text:raw"})
    for text in (
        "level:INFO",
        "level:ERROR common",
        "common AND level:INFO",
        "common AND NOT level:INFO",
        "+common level:ERROR",
        "(level:INFO OR level:ERROR)^3 AND common",
        "level:INFO AND NOT common",
        "NOT level:INFO",
        "common OR NOT level:ERROR",
    ):
        expected = scored(
            parse(text, schema=table.schema, rules=reference, default_fields=["message"]), index_of(table, reference)
        )
        for kind in Kind.NONE, Kind.DICTIONARY, Kind.HASH:
            query = parse(text, schema=table.schema, rules=mixed, default_fields=["message"])
            answer = scored(query, index_of(table, mixed, kind))
            assert [row for row, _ in answer] == [row for row, _ in expected], text
            assert [score for _, score in answer] == pytest.approx([score for _, score in expected]), text
