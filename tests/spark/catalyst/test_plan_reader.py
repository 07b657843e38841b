"""Plans of Spark in the planner's language."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.predicate import to_sql


@pytest.fixture(scope="module")
def frame(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("plans") / "t"
    schema = {"id": pa.int64(), "day": pa.string(), "price": pa.float64(), "at": pa.timestamp("us", "UTC")}
    return spark.read.format("indextables").load(IndexTable.create(path, schema).path)


def outline(plan: Any) -> str:
    """The kinds of nodes, from the top down."""
    from indextables.spark.planner.plan import children_of  # noqa: PLC0415 - only where PySpark is

    below = ", ".join(map(outline, children_of(plan)))
    return type(plan).__name__ + (f"({below})" if below else "")


def read(frame: Any) -> Any:
    from indextables.spark.catalyst.query_planning import Query  # noqa: PLC0415 - only where PySpark is

    query = Query.of(frame)
    assert query is not None
    return query.plans[0]


CASES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda f: f.select("id"), "Project(Relation)"),
    (lambda f: f.alias("a").filter("id = 1"), "Filter(Pass(Relation))"),
    (lambda f: f.limit(3), "Limit(Limit(Relation))"),
    (lambda f: f.groupBy("day").count(), "Aggregate(Relation)"),
    (lambda f: f.orderBy("id").distinct(), "Pass(Pass(Relation))"),
    (lambda f: f.union(f), "SetOperation(Relation, Relation)"),
    (lambda f: f.select("id").join(f.select("id"), "id"), "Project(Join(Project(Relation), Project(Relation)))"),
    (lambda f: f.sample(0.5, seed=1), "Pass(Relation)"),
    (lambda f: f.select("id", "day").unpivot("id", ["day"], "k", "v"), "Opaque(Project(Relation))"),
]


@pytest.mark.parametrize(("query", "expected"), CASES)
def test_nodes(frame: Any, query: Callable[[Any], Any], expected: str) -> None:
    assert outline(read(query(frame))) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id BETWEEN 1 AND 3", ["id >= 1L", "id <= 3L"]),
        ("NOT (id = 1 OR day LIKE 'm%')", ["NOT (id = 1L OR day LIKE 'm%')"]),
        ("CAST(at AS DATE) = '2024-05-01'", ["CAST(at AS DATE) = DATE '2024-05-01'"]),
        ("day IN ('a', NULL) AND price > 1", ["day IN ('a', NULL)", "price > 1.0D"]),
        ("5 > id", ["id < 5L"]),
        ("length(day) > 1", [None]),
        ("day COLLATE UTF8_LCASE = 'a'", [None]),
        ("rand() > 2", [None]),
    ],
)
def test_conditions(frame: Any, condition: str, expected: list[str | None]) -> None:
    plan = read(frame.filter(condition))
    names = {f"#{number}": name for number, name in zip(plan.columns, frame.columns, strict=True)}

    def text(predicate: Any) -> str | None:
        from indextables.spark.planner.column_names import renamed  # noqa: PLC0415 - only where PySpark is

        return None if predicate is None else to_sql(renamed(predicate, names))

    found = [text(one.predicate) for one in plan.conditions]
    assert found == expected


def test_what_is_random_is_not_deterministic(frame: Any) -> None:
    assert not read(frame.filter("rand() > 2")).conditions[0].is_deterministic
    assert not read(frame.selectExpr("id", "uuid() AS u")).items[1].is_deterministic


def test_columns_that_are_others_and_columns_that_are_computed(frame: Any) -> None:
    plan = read(frame.selectExpr("id", "day AS d", "id + 1 AS next", "'day#1' AS text"))
    ids = dict(zip(frame.columns, plan.child.columns, strict=True))
    assert [item.source for item in plan.items] == [ids["id"], ids["day"], None, None]
    assert [item.references for item in plan.items] == [{ids["id"]}, {ids["day"]}, {ids["id"]}, frozenset()]


def test_equal_columns_of_joins_are_keys_unless_they_are_floating(frame: Any) -> None:
    other = frame.selectExpr("id AS i", "price AS p")
    join = read(frame.join(other, (frame.id == other.i) & (frame.price == other.p)))
    assert join.equalities == ((join.left.columns[0], join.right.columns[0]),)
