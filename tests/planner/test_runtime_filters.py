"""Runtime filters: a join whose small side is evaluated first has the same rows."""

import pyarrow as pa

from indextables.predicate import In, col
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import Condition, Filter, Join, JoinType, Plan, Relation, Rows, walk
from indextables.spark.planner.pushdown import push_down
from indextables.spark.planner.runtime_filters import with_runtime_filters
from tests.planner.naive import EqualColumns, Tables, rows_of


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
