"""Whatever is asked of whatever rows, the index finds what a look at every row finds."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import SearchQueryError
from indextables.search import parse, resolve, to_text
from indextables.search import queries as n
from indextables.search.analysis import too_long
from indextables.search.analysis import words as words_of
from indextables.search.field_rules import TOKENIZERS
from indextables.search.row_matching import match_rows, score_rows
from indextables.search.text_fields import field_name
from indextables.split.exact_index import Kind
from tests.search.brute import rows_of
from tests.search.indexes import found, index_of, scored

SCHEMA = pa.schema(
    {
        "message": pa.string(),
        "line": pa.string(),
        "level": pa.string(),
        "flag": pa.bool_(),
        "count": pa.int64(),
        "ratio": pa.float64(),
        "single": pa.float32(),
        "price": pa.decimal128(9, 2),
        "wide": pa.decimal128(38, 3),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
    }
)
RULES = resolve(SCHEMA, {"message": "text", "line": "text:whitespace"})
WORDED, STRINGS = ["message", "line"], ["message", "line", "level"]

letters = st.sampled_from("aabbcé0")
words = st.text(letters, min_size=1, max_size=4)
lines = st.lists(words | st.sampled_from(["B", "-", "É", "c" * 40]), max_size=6).map(" ".join)
strings = st.text(st.sampled_from('ab*?\\"é \n\U0010ffff'), max_size=4) | words
few_days = st.dates(dt.date(1969, 12, 30), dt.date(1970, 1, 3))
moments = st.datetimes(dt.datetime(1969, 12, 31, 23), dt.datetime(1970, 1, 1, 1))  # noqa: DTZ001
floats = st.sampled_from([0.0, -0.0, 0.1, -1.5, 1e23, 5e-324, float("inf"), float("-inf"), float("nan")]) | st.floats()
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "message": lines,
    "line": lines,
    "level": strings,
    "flag": st.booleans(),
    "count": st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]),
    "ratio": floats,
    "single": st.floats(width=32),
    "price": st.decimals(-2, 2, places=2, allow_nan=False),
    "wide": st.decimals(-2, 2, places=3) | st.sampled_from([Decimal("9" * 35 + ".999"), Decimal("-" + "9" * 35)]),
    "day": few_days,
    "at": moments.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    "local": moments,
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    row = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})
    return pa.Table.from_pylist(draw(st.lists(row, max_size=12)), SCHEMA)


@st.composite
def ranges(draw: st.DrawFn) -> n.Query:
    name = draw(st.sampled_from(SCHEMA.names))
    kind = SCHEMA.field(name).type
    values = words if name in WORDED else VALUES[name]
    lower, upper = (draw(st.none() | values.map(lambda v: pa.scalar(v, kind))) for _ in range(2))
    if lower is None and upper is None:
        return n.Exists(name)
    return n.Range(name, lower, upper, draw(st.booleans()) or lower is None, draw(st.booleans()) or upper is None)


worded, stringy = st.sampled_from(WORDED), st.sampled_from(STRINGS)
leaves = st.one_of(
    st.just(n.MatchAll()),
    st.sampled_from(SCHEMA.names).map(n.Exists),
    st.builds(n.Term, worded, words),
    st.builds(n.Term, st.just("level"), strings),
    st.builds(n.Phrase, worded, st.lists(words, min_size=2, max_size=4).map(tuple), st.integers(0, 3)),
    st.builds(n.Prefix, stringy, words),
    st.builds(n.Wildcard, stringy, st.text(st.sampled_from("ab*?é"), min_size=1, max_size=5)),
    st.builds(n.Regex, stringy, st.sampled_from(["a+", "[ab]{2}", "(a|b)*c?", ".", "é.*", "a?b?"])),
    st.builds(n.Fuzzy, stringy, words, st.integers(1, 2)),
    ranges(),
    ranges(),
)
queries = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda terms: n.And(tuple(terms))),
        st.lists(inner, min_size=1, max_size=3).map(lambda terms: n.Or(tuple(terms))),
        st.builds(n.Not, inner),
        st.builds(n.Prefer, inner, st.lists(inner, min_size=1, max_size=2).map(tuple)),
        st.builds(n.Boost, inner, st.floats(0.5, 4)),
    ),
    max_leaves=6,
)


kinds = st.sampled_from([Kind.NONE, Kind.DICTIONARY, Kind.HASH])


@given(tables(), st.lists(queries, min_size=1, max_size=5), kinds)
def test_the_index_finds_the_rows_that_satisfy_a_query(table: pa.Table, some: list[n.Query], kind: Kind) -> None:
    index = index_of(table, RULES, kind)
    assert [found(query, index) for query in some] == [rows_of(query, table, RULES) for query in some]


@given(tables(), st.lists(queries, min_size=1, max_size=5), kinds, st.data())
def test_some_rows_are_matched_and_scored_as_all_rows_are(
    table: pa.Table, some: list[n.Query], kind: Kind, data: st.DataObject
) -> None:
    index = index_of(table, RULES, kind)
    chosen = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    for query in some:
        matches = match_rows(query, index.rows, chosen)
        assert chosen[matches].tolist() == [row for row in rows_of(query, table, RULES) if row in chosen]
        scores = dict(scored(query, index))
        expected = [scores[row] for row in chosen[matches].tolist()]
        assert score_rows(query, index.rows, chosen[matches]).tolist() == pytest.approx(expected)


def read(text: str) -> n.Query:
    return parse(text, schema=SCHEMA, rules=RULES)


SIGNS = [
    "*",
    "?",
    "~",
    "~1",
    "^",
    "^2",
    '"',
    "/",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "!",
    "+",
    "-",
    ">",
    ">=",
    "<",
    "\\",
    ":",
    ".",
]
WORDS = [
    "a",
    "b",
    "é",
    "message:",
    "level:",
    "count:",
    "at:",
    "TO",
    "AND",
    "OR",
    "NOT",
    "&&",
    "||",
    "5",
    "2024-01-01",
    "0.5",
]
pieces = st.sampled_from([*SIGNS, *WORDS, "*:*"])
texts = st.one_of(
    st.text(max_size=30), st.lists(pieces, max_size=14).map(" ".join), st.lists(pieces, max_size=14).map("".join)
)


@given(texts)
def test_any_text_is_a_query_or_a_search_query_error(text: str) -> None:
    error, query = outcome(text)
    if query is not None:
        assert found(query, EMPTY) == []
    else:
        assert error is not None
        assert error.query == text
        assert error.position is None or 0 <= error.position <= len(text)


def outcome(text: str) -> tuple[SearchQueryError | None, n.Query | None]:
    try:
        return None, read(text)
    except SearchQueryError as error:
        return error, None


EMPTY = index_of(SCHEMA.empty_table(), RULES)


@given(texts)
def test_a_query_that_was_read_is_read_again_from_its_text(text: str) -> None:
    _, query = outcome(text)
    assert query is None or read(to_text(query)) == query


signs = st.text(st.sampled_from("ab0 \t&|=<>!'\"()[]{}^~*?:/\\+-_.,;#@$%é") | st.characters(codec="utf-8"), max_size=6)


@given(signs)
def test_every_value_can_be_written_as_a_word_of_a_search(value: str) -> None:
    assert read(to_text(n.Term("level", value))) == n.Term("level", value)


@given(st.lists(st.text(max_size=20) | lines, max_size=8), st.sampled_from(TOKENIZERS))
def test_a_query_has_the_words_that_the_index_has(rows: list[str], tokenizer: str) -> None:
    table = pa.table({"text": pa.array(rows, pa.string())})
    index = index_of(table, resolve(table.schema, {"text": f"text:{tokenizer}"}))
    indexed = {word for word, _ in index.words.searcher().terms_with_prefix(field_name("text"), "")}
    short = [" ".join(filter(lambda word: not too_long(word, tokenizer), row.split(" "))) for row in rows]
    kept = rows if tokenizer == "raw" else short
    assert indexed == {word for row in kept for word in words_of(row, tokenizer)}
