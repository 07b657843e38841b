"""Pushdown: whatever a scan leaves out, the rows of the query stay the same."""

from indextables.predicate import col
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import Condition, Filter, Item, Join, JoinType, Limit, Pass, Plan, Project, Relation
from indextables.spark.planner.pushdown import ScanRequest, push_down

A, B = Relation(0, (1, 2), 0), Relation(1, (3, 4), 1)


def condition(column: int, value: int) -> Condition:
    return Condition(frozenset({column}), col(name_of(column)) == value)


def requested(plan: Plan) -> dict[int, ScanRequest]:
    return {table: request for table, (request,) in push_down(plan).items()}


def test_a_condition_moves_through_projections_joins_and_sorts() -> None:
    renamed = Project(2, (Item(9, frozenset({1}), 1), Item(8, frozenset({2}))), A)
    join = Join(3, JoinType.INNER, (), (), Pass(4, frozenset({9}), (), renamed), B)
    found = requested(Filter(5, (condition(9, 7), condition(4, 8), condition(8, 1)), join))
    assert found[0].conditions == (col("#1") == 7,)
    assert found[1].conditions == (col("#4") == 8,)
    assert found[0].required == {1, 2}


def test_what_holds_for_a_key_holds_for_its_partner() -> None:
    for kind in (JoinType.INNER, JoinType.LEFT_OUTER, JoinType.LEFT_SEMI, JoinType.LEFT_ANTI):
        found = requested(Filter(5, (condition(1, 7),), Join(2, kind, (), ((1, 3),), A, B)))
        assert found[1].conditions == (col("#3") == 7,), kind
    full = requested(Filter(5, (condition(1, 7),), Join(2, JoinType.RIGHT_OUTER, (), ((1, 3),), A, B)))
    assert full[1].conditions == (col("#3") == 7,)  # no row of nulls passes the filter: the join is an inner one


def test_an_equality_above_an_inner_join_is_as_good_as_its_own() -> None:
    equal = Condition(frozenset({1, 3}), equality=(1, 3))
    found = requested(Filter(5, (equal, condition(1, 7)), Join(2, JoinType.INNER, (), (), A, B)))
    assert found[1].conditions == (col("#3") == 7,)
    found = requested(Filter(5, (equal, condition(1, 7)), Join(2, JoinType.FULL_OUTER, (), (), A, B)))
    assert found[1].conditions == ()


def test_a_condition_does_not_pass_a_limit_and_a_limit_passes_no_unknown_condition() -> None:
    def limited(child: Plan) -> Plan:
        return Limit(8, 5, True, Limit(9, 5, False, child))

    assert requested(Filter(2, (condition(1, 7),), limited(A)))[0] == ScanRequest(
        (), frozenset({1, 2}), frozenset({1}), 5
    )
    assert requested(limited(Filter(2, (condition(1, 7),), A)))[0].limit == 5
    assert requested(limited(Filter(2, (Condition(frozenset({1})),), A)))[0].limit is None
    assert requested(limited(Pass(2, frozenset({1}), (), A)))[0].limit is None  # a sort decides which rows are first


def test_nothing_moves_below_what_is_not_deterministic() -> None:
    numbered = Project(2, (Item(1, frozenset({1}), 1), Item(9, frozenset(), None, is_deterministic=False)), A)
    assert requested(Filter(3, (condition(1, 7),), numbered))[0].conditions == ()
    random = Filter(2, (condition(2, 1), Condition(frozenset({1}), None, is_deterministic=False)), A)
    assert requested(Filter(3, (condition(1, 7),), random))[0].conditions == ()


def test_a_side_that_a_join_keeps_whole_is_not_filtered_by_what_matches() -> None:
    on_left, on_right = (condition(1, 7),), (condition(3, 7),)
    for kind, conditions in ((JoinType.RIGHT_OUTER, on_left), (JoinType.FULL_OUTER, on_left)):
        assert requested(Join(2, kind, conditions, ((1, 3),), A, B))[1].conditions == (), kind
    for kind, conditions in (
        (JoinType.LEFT_OUTER, on_left),
        (JoinType.LEFT_OUTER, on_right),
        (JoinType.LEFT_ANTI, on_left),
        (JoinType.LEFT_ANTI, on_right),
        (JoinType.FULL_OUTER, on_right),
    ):
        assert requested(Join(2, kind, conditions, ((1, 3),), A, B))[0].conditions == (), kind


def test_rows_without_a_match_are_found_by_their_nulls() -> None:
    """`r.x IS NULL` over an outer join asks for rows without a match: right rows with a value are what makes a match."""
    is_null = Condition(frozenset({4}), col("#4").is_null())
    assert requested(Filter(5, (is_null,), Join(2, JoinType.LEFT_OUTER, (), ((1, 3),), A, B)))[1].conditions == ()
    is_null = Condition(frozenset({2}), col("#2").is_null())
    assert requested(Filter(5, (is_null,), Join(2, JoinType.RIGHT_OUTER, (), ((1, 3),), A, B)))[0].conditions == ()
