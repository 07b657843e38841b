"""Laws of predicates: what must hold for every predicate, every row and every set of files."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.errors import PredicateError
from indextables.predicate import Not, Predicate, Verdict, bind, columns, evaluate, judge, parse, push_negations, to_sql
from indextables.predicate.nodes import Column, Comparison, IndexQuery, Op
from tests.laws import naive
from tests.laws.conditions import SCHEMA, bounds, combined, leaves, predicates, rows

files = st.lists(rows(min_size=1), min_size=1, max_size=4)


@given(predicates, rows())
def test_rows_are_answered_as_one_by_one(predicate: Predicate, table: pa.Table) -> None:
    answers = evaluate(bind(predicate, SCHEMA), table).to_pylist()
    assert answers == [naive.answer(predicate, row) for row in table.to_pylist()]


@given(predicates, rows())
def test_pushing_negations_changes_no_answer(predicate: Predicate, table: pa.Table) -> None:
    bound = bind(predicate, SCHEMA)
    assert evaluate(push_negations(bound), table).to_pylist() == evaluate(bound, table).to_pylist()


@given(predicates)
def test_not_not_is_nothing(predicate: Predicate) -> None:
    assert push_negations(Not(Not(predicate))) == push_negations(predicate)


@given(predicates)
def test_negations_stop_at_the_leaves(predicate: Predicate) -> None:
    pushed = push_negations(Not(predicate))
    assert push_negations(pushed) == pushed


@given(predicates, files, st.data())
def test_no_verdict_is_wrong(predicate: Predicate, tables: list[pa.Table], data: st.DataObject) -> None:
    bound = bind(predicate, SCHEMA)
    verdicts = judge(bound, data.draw(bounds(tables, columns(predicate)))).to_pylist()
    for verdict, table in zip(verdicts, tables, strict=True):
        answers = evaluate(bound, table).to_pylist()
        assert verdict != Verdict.NEVER or True not in answers
        assert verdict != Verdict.ALWAYS or set(answers) == {True}


@given(predicates, files, st.data())
def test_what_always_holds_is_never_false(predicate: Predicate, tables: list[pa.Table], data: st.DataObject) -> None:
    known = data.draw(bounds(tables, columns(predicate)))
    verdicts = judge(bind(predicate, SCHEMA), known).to_pylist()
    opposite = judge(bind(Not(predicate), SCHEMA), known).to_pylist()
    assert all(no == Verdict.NEVER for yes, no in zip(verdicts, opposite, strict=True) if yes == Verdict.ALWAYS)


names = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["date", "timestamp", "Select", "x.y", "`", "in", "group", "*"]
)
texts = st.text(max_size=8) | st.sampled_from(["'", "\\", "\\%", "''", '"', "--", "/*", "\n"])
written = combined(
    leaves().filter(lambda leaf: "nan" not in repr(leaf).lower())
    | st.builds(Comparison, st.builds(Column, names), st.sampled_from(Op), st.builds(pa.scalar, texts))
    | st.builds(IndexQuery, st.none() | names, texts)
)


@given(written)
def test_text_is_read_back_as_it_was_meant(predicate: Predicate) -> None:
    assert parse(to_sql(predicate)) == predicate


def read_or_refuse(text: str) -> Any:
    try:
        return parse(text)
    except PredicateError as error:
        return error


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)


words = """x name `a b` ( ) [ ] { } , . * 5 -5 1.5 5L 1e3 0x1F 'a' "b" = <> < >= <=> == AND OR NOT IN BETWEEN LIKE ILIKE
RLIKE IS NULL TRUE DATE TIMESTAMP INTERVAL CASE WHEN END CAST AS ESCAPE INDEXQUERY indexquery( SELECT ; -- /* */ :"""


@given(st.lists(st.sampled_from(words.split()), max_size=14))
def test_any_words_are_read_or_refused(drawn: list[str]) -> None:
    read_or_refuse(" ".join(drawn))


@given(written, st.integers(0, 200), st.integers(0, 3), st.text(max_size=3))
def test_mutilated_text_is_read_or_refused(predicate: Predicate, at: int, removed: int, put: str) -> None:
    text = to_sql(predicate)
    at = min(at, len(text))
    read_or_refuse(text[:at] + put + text[at + removed :])


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3_000 + "x = 1" + ")" * 3_000,
        "NOT " * 3_000 + "x = 1",
        "NOT (" * 3_000,
        "CASE WHEN " * 3_000,
        "x = " + "- " * 3_000 + "5",
        "a." * 3_000 + "b = 1",
        "x + " * 3_000 + "1 = 2",
        "x" + "::int" * 2_000,
        "interval " * 3_000,
        "cast(x as " + "map<int," * 2_000,
        "x = '" + "a" * 1_000_000 + "'",
        "'" * 100_001,
        "x IN (" + "1," * 500_000,
    ],
    ids=lambda text: text[:12],
)
def test_huge_and_deep_text_is_refused(text: str) -> None:
    assert isinstance(read_or_refuse(text), PredicateError)


def test_long_chains_are_not_deep() -> None:
    assert len(parse(" AND ".join(["x = 1"] * 5_000)).terms) == 5_000
