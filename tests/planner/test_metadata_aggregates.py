"""Metadata aggregates: what is answered without a split is what the rows would give."""

from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.predicate import col
from indextables.spark.planner.metadata_aggregates import aggregate_rows, count_rows
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Item,
    Limit,
    Output,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    SetOperator,
)
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.table_relation import TableRelation

DAY, ID, NAME = 1, 2, 3
TABLE = Relation(0, (DAY, ID, NAME), 0)


@pytest.fixture
def tables(tmp_path: Path) -> dict[int, TableRelation]:
    """Only the log of the table is left: whoever opens a split fails."""
    table = IndexTable.create(
        tmp_path / "t", {"day": pa.string(), "id": pa.int64(), "name": pa.string()}, partition_by="day"
    )
    table.append({"day": ["mon", "mon", "tue"], "id": [1, 5, 3], "name": ["a", None, "c"]})
    for split in (tmp_path / "t").rglob("*.split"):
        split.unlink()
    options = ReadOptions.of({"path": table.path, "versionAsOf": str(table.version)})
    return {0: TableRelation(options, {DAY: "day", ID: "id", NAME: "name"})}


def on_monday(child: Plan) -> Plan:
    return Filter(9, (Condition(frozenset({DAY}), col("#1") == "mon"),), child)


def output(column: int, function: Function, argument: int | None = None) -> Output:
    return Output(column, function, frozenset() if argument is None else frozenset({argument}), argument)


def test_counts(tables: dict[int, TableRelation]) -> None:
    renamed = Project(8, (Item(7, frozenset({DAY}), DAY), Item(6, frozenset({NAME}))), TABLE)
    both = SetOperation(5, SetOperator.UNION, (10, 11, 12), (TABLE, on_monday(TABLE)))
    assert count_rows(TABLE, tables) == 3
    assert count_rows(on_monday(Pass(8, frozenset(), (), TABLE, passes_limit=True)), tables) == 2
    assert count_rows(renamed, tables) == 3
    assert count_rows(both, tables) == 5
    assert count_rows(Limit(7, 2, True, Limit(8, 2, False, TABLE)), tables) == 2
    assert count_rows(Filter(9, (Condition(frozenset({NAME})),), TABLE), tables) is None
    assert count_rows(Filter(9, (Condition(frozenset({ID}), col("#2") > 3),), TABLE), tables) is None


def test_groups(tables: dict[int, TableRelation]) -> None:
    grouped = Aggregate(
        4, (DAY,), frozenset({DAY}), (output(DAY, Function.KEY, DAY), output(9, Function.COUNT_ROWS)), TABLE
    )
    rows = aggregate_rows(grouped, tables)
    assert rows is not None
    assert [tuple(row.values()) for row in rows.to_pylist()] == [("mon", 2), ("tue", 1)]


def test_totals(tables: dict[int, TableRelation]) -> None:
    outputs = (
        output(9, Function.COUNT_ROWS),
        output(10, Function.COUNT_VALUES, NAME),
        output(11, Function.MIN, ID),
        output(12, Function.MAX, ID),
    )
    rows = aggregate_rows(Aggregate(4, (), frozenset(), outputs, on_monday(TABLE)), tables)
    assert rows is not None
    assert list(rows.to_pylist()[0].values()) == [2, 1, 1, 5]


def test_what_metadata_has_not_is_left(tables: dict[int, TableRelation]) -> None:
    other = Output(9, Function.OTHER, frozenset({ID}))
    assert aggregate_rows(Aggregate(4, (), frozenset(), (other,), TABLE), tables) is None
    by_name = (output(NAME, Function.KEY, NAME), output(9, Function.COUNT_ROWS))
    assert aggregate_rows(Aggregate(4, (NAME,), frozenset({NAME}), by_name, TABLE), tables) is None
    assert aggregate_rows(Aggregate(4, None, frozenset({ID}), by_name[1:], TABLE), tables) is None
