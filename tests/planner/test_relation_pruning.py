"""A relation is planned once for the same conditions, whoever asks."""

from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.predicate import col
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Join,
    JoinType,
    Output,
    Plan,
    Relation,
)
from indextables.spark.planner.planner import plan_query
from indextables.spark.planner.pushdown import ScanRequest
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.relation_pruning import exact_plan, prune
from indextables.spark.planner.scan_builder import build_scan
from indextables.spark.planner.table_relation import TableRelation

DAY, ID = 1, 2
FACTS, DAYS = Relation(0, (1, 2), 0), Relation(1, (3, 4), 1)
ON_MONDAY = Condition(frozenset({DAY}), col("#1") == "mon")


@pytest.fixture
def tables(tmp_path: Path) -> dict[int, TableRelation]:
    table = IndexTable.create(tmp_path / "t", {"day": pa.string(), "id": pa.int64()}, partition_by="day")
    table.append({"day": ["mon", "tue", "wed", "thu", "fri"], "id": [1, 2, 3, 4, 5]})
    options = ReadOptions.of({"path": table.path, "versionAsOf": str(table.version)})
    return {0: TableRelation(options, {1: "day", 2: "id"}), 1: TableRelation(options, {3: "day", 4: "id"})}


def test_the_same_conditions_have_one_plan(tables: dict[int, TableRelation]) -> None:
    one, other = col("#1") == "mon", col("#2") < 9
    exact = exact_plan(tables[0], [one, other])
    assert exact is not None
    scan = build_scan(tables[0], [ScanRequest((other, one), frozenset({ID}))])
    assert scan.plan.split_verdicts is exact.split_verdicts
    assert scan.plan.scan_spec.columns == ("id",)
    assert scan.bytes == exact.bytes == sum(task.split.size for task in scan.tasks)
    assert len(scan.tasks) == exact.num_tasks == 1
    assert build_scan(tables[0], [ScanRequest((one,))]).plan.split_verdicts is not exact.split_verdicts


def test_another_query_plans_again(tables: dict[int, TableRelation]) -> None:
    again = TableRelation(tables[0].options, tables[0].columns)
    assert again == tables[0]
    assert prune(again, [()]) is not prune(tables[0], [()])


def test_how_often_a_query_plans_its_relations(tables: dict[int, TableRelation]) -> None:
    """Aggregates look for rows in the log, joins for splits to prune, and then there are scans: one plan for each table."""
    total = Output(9, Function.OTHER, frozenset({ID}), ID)
    join = Join(2, JoinType.INNER, (Condition(frozenset({1, 3})),), ((1, 3),), Filter(3, (ON_MONDAY,), FACTS), DAYS)
    plan: Plan = Aggregate(4, (), frozenset({ID}), (total,), join)
    assert len(plan_query([plan], tables, evaluate=lambda *_: None).scans) == 2
    assert [len(table.pruned) for table in tables.values()] == [1, 1]
    counted = Output(9, Function.COUNT_VALUES, frozenset({ID}), ID)
    plan_query([Aggregate(4, (), frozenset({ID}), (counted,), Filter(3, (ON_MONDAY,), FACTS))], tables)
    assert [len(table.pruned) for table in tables.values()] == [1, 1]
