"""Runtime filters: a join whose small side is evaluated first has the same rows."""

import pyarrow as pa

from indextables.predicate import In, Predicate, col
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import (
    Condition,
    Filter,
    Item,
    Join,
    JoinType,
    Pass,
    Plan,
    Project,
    Relation,
    Rows,
    SparkExpression,
    walk,
)
from indextables.spark.planner.pushdown import push_down
from indextables.spark.planner.runtime_filters import with_runtime_filters
from tests.planner.naive import EqualColumns, Tables, rows_of, same


def rewritten(plan: Plan, tables: Tables) -> Plan:
    def evaluate(part: Plan, columns: frozenset[int]) -> pa.Table:
        rows = rows_of(part, tables)
        return pa.table({name_of(c): pa.array([row[c] for row in rows], pa.int64()) for c in sorted(columns)})

    return with_runtime_filters(plan, lambda table: True, evaluate)


LARGE, SMALL = Relation(0, (1, 2), 0), Relation(1, (3, 4), 1)
ROWS: Tables = {0: [{1: n, 2: n} for n in range(4)], 1: [{3: 1, 4: 1}, {3: 2, 4: 9}, {3: None, 4: 1}]}


def join(kind: JoinType, small: Plan) -> Join:
    return Join(3, kind, (EqualColumns.of((1, 3)),), ((1, 3),), LARGE, small)


def test_the_keys_of_the_small_side_prune_the_large_one() -> None:
    few = Filter(2, (Condition(frozenset({4}), col("#4") == 1),), SMALL)
    found = rewritten(join(JoinType.INNER, few), ROWS)
    (rows,) = [node for node in walk(found) if isinstance(node, Rows)]
    assert rows.number == few.number
    ((request,),) = push_down(found).values()
    (condition,) = request.conditions
    assert isinstance(condition, In)
    assert [value.as_py() for value in condition.values] == [1]


def test_a_side_that_is_kept_whole_is_not_pruned() -> None:
    few = Filter(2, (Condition(frozenset({4}), col("#4") == 1),), SMALL)
    for kind in (JoinType.LEFT_OUTER, JoinType.FULL_OUTER, JoinType.LEFT_ANTI):
        assert rewritten(join(kind, few), ROWS) == join(kind, few)


def test_a_side_that_is_not_filtered_is_not_evaluated() -> None:
    plan = join(JoinType.INNER, SMALL)
    assert rewritten(plan, ROWS) == plan


def of_spark(references: set[int], predicate: Predicate | None = None) -> Condition:
    """A condition that Spark can run in another place."""
    columns = tuple((column, column) for column in sorted(references))
    return Condition(frozenset(references), predicate, expression=SparkExpression(0, columns))


def keys_of(plan: Plan, tables: Tables) -> list[int] | None:
    """The keys by which the large table is pruned."""
    found = rewritten(plan, tables)
    assert same(rows_of(found, tables), rows_of(plan, tables))
    (request,) = push_down(found)[0]
    return next(([v.as_py() for v in one.values] for one in request.conditions if isinstance(one, In)), None)


NAMED = of_spark({4}, col("#4") == 1)


def test_conditions_above_a_join_choose_the_rows_of_its_small_side() -> None:
    assert keys_of(Filter(4, (NAMED,), join(JoinType.INNER, SMALL)), ROWS) == [1]
    assert keys_of(Filter(4, (of_spark({4}),), join(JoinType.INNER, SMALL)), ROWS) == [1]  # 9 is a multiple of 3
    assert keys_of(Filter(4, (NAMED,), join(JoinType.LEFT_OUTER, SMALL)), ROWS) == [1]  # no row without a match passes
    on = Join(3, JoinType.INNER, (EqualColumns.of((1, 3)), NAMED), ((1, 3),), LARGE, SMALL)
    assert keys_of(on, ROWS) == [1]


def test_a_condition_that_only_holds_in_its_place_does_not() -> None:
    for condition in (Condition(frozenset({4}), col("#4") == 1), of_spark({2, 4}), of_spark({4}, col("#4").is_null())):
        kind = JoinType.LEFT_OUTER if condition.predicate is not None else JoinType.INNER
        plan = Filter(4, (condition,), join(kind, SMALL))
        assert rewritten(plan, ROWS) == plan


def test_an_equality_above_joins_tables_that_are_listed_side_by_side() -> None:
    equal = Condition(frozenset({1, 3}), equality=(3, 1))
    product = Join(3, JoinType.INNER, (), (), LARGE, SMALL)
    assert keys_of(Filter(4, (equal, NAMED), product), ROWS) == [1]
    names = Project(5, tuple(Item(10 * n, frozenset({n}), n) for n in (1, 2, 3, 4)), product)
    renamed = Condition(frozenset({10, 30}), equality=(10, 30))
    assert keys_of(Filter(4, (renamed, of_spark({40}, col("#40") == 1)), names), ROWS) == [1]


def test_what_tells_equal_rows_apart_stays_above_a_distinct() -> None:
    """Of 0.0 and -0.0, a distinct keeps one; another function than a comparison may differ between them."""
    distinct = Pass(5, frozenset({1, 2, 3, 4}), (), join(JoinType.INNER, SMALL), movable=frozenset({1, 2, 3, 4}))
    assert keys_of(Filter(4, (NAMED,), distinct), ROWS) == [1]
    assert rewritten(Filter(4, (of_spark({4}),), distinct), ROWS) == Filter(4, (of_spark({4}),), distinct)
