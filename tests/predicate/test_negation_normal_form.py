import pytest

from indextables.predicate import Predicate, col, parse, push_negations, to_sql

p = col("p")


@pytest.mark.parametrize(
    ("text", "pushed"),
    [
        ("NOT p = 1", "p <> 1"),
        ("NOT p < 1", "p >= 1"),
        ("NOT p >= 1", "p < 1"),
        ("NOT NOT p = 1", "p = 1"),
        ("NOT (p = 1 AND (q = 2 OR NOT r > 3))", "p <> 1 OR q <> 2 AND r > 3"),
        ("NOT p IN (1)", "NOT p IN (1)"),
        ("NOT p IS NULL", "p IS NOT NULL"),
        ("NOT TRUE", "FALSE"),
        ("NOT NULL", "NULL"),
        ("NOT (p INDEXQUERY 'a' OR q = 1)", "NOT p INDEXQUERY 'a' AND q <> 1"),
    ],
)
def test_negations_go_to_the_leaves(text: str, pushed: str) -> None:
    assert to_sql(push_negations(parse(text))) == pushed


@pytest.mark.parametrize("predicate", [p == 1, (p == 1) & p.is_null(), (p == 1) | ~p.isin(1)])
def test_without_negations_nothing_changes(predicate: Predicate) -> None:
    assert push_negations(predicate) == predicate
