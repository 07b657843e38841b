"""The column of a search: where a scan can have it, every row above has what a look at the value of the row says."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given

from indextables.predicate import IndexQuery, col
from indextables.spark.planner.plan import (
    ADDED,
    Condition,
    Filter,
    Item,
    Join,
    JoinType,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    children_of,
    with_children,
)
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.search_sources import NoSourceError, Search, SearchSources, Source
from indextables.spark.planner.table_relation import TableRelation
from tests.planner.naive import Tables, rows_of, same
from tests.planner.plans import TABLES, plans, tables

FLAG = 9_999  # the column of the search
OPTIONS = ReadOptions.of({"path": "/data/logs"})
SOURCES = SearchSources(
    {table: TableRelation(OPTIONS, {one: f"c{one}" for one in columns}) for table, columns in TABLES.items()},
    lambda _: (),
    str,
)
LOGS, MORE = (Relation(number, TABLES[number], number) for number in (0, 1))


def is_found(value: int | None) -> bool:
    return value is not None and value % 2 == 0


def sources(plan: Plan) -> Iterator[tuple[int, Source]]:
    for column in plan.columns:
        try:
            yield column, SOURCES.of_search(Filter(ADDED, (), plan), Search((column,), "even"))
        except NoSourceError:
            continue


def carrying(source: Source) -> Plan:
    """The node with the column of the source: relations have it, and the nodes that pass it on list it."""
    plan = source.node
    if isinstance(plan, Relation):
        return replace(plan, columns=(*plan.columns, FLAG))
    own = {one.node.number: carrying(one) for one in source.below}
    children = tuple(own.get(child.number, child) for child in children_of(plan))
    if isinstance(plan, SetOperation):
        both = zip(children, plan.branches, strict=True)
        branches = (Project(ADDED, tuple(map(item, (*old.columns, FLAG))), new) for new, old in both)
        return replace(plan, columns=(*plan.columns, FLAG), branches=tuple(branches))
    if isinstance(plan, Project):
        plan = replace(plan, items=(*plan.items, item(FLAG)))
    return with_children(plan, children)


def item(column: int) -> Item:
    return Item(column, frozenset({column}), column)


def searched(tables: Tables, source: Source) -> Tables:
    columns = {scan.node.table: int(scan.result.field.removeprefix("c")) for scan in source.scans}
    return {
        table: [{**row, FLAG: int(is_found(row[columns[table]]))} for row in rows] if table in columns else rows
        for table, rows in tables.items()
    }


@given(plans(), tables())
def test_a_scan_answers_what_the_function_says_of_each_row(plan: Plan, tables: Tables) -> None:
    for column, source in sources(plan):
        scans = [(scan.node.table, scan.result) for scan in source.scans]
        if len(set(scans)) > len({table for table, _ in scans}):
            continue  # a table searched in two columns has two columns of searches
        rows = rows_of(carrying(source), searched(tables, source))
        assert [bool(row[FLAG]) for row in rows] == [is_found(row[column]) for row in rows]
        assert source.is_nullable or all(row[FLAG] is not None for row in rows)
        assert same([{c: v for c, v in row.items() if c != FLAG} for row in rows], rows_of(plan, tables))


def satisfied(relation: Relation, query: str) -> Filter:
    condition = Condition(frozenset(), IndexQuery(f"#{relation.columns[0]}", query))
    return Filter(ADDED - 1 - relation.number, (condition,), relation)


def test_a_score_is_of_the_one_table_that_is_searched() -> None:
    join = Join(10, JoinType.LEFT_OUTER, (), (), satisfied(LOGS, "disk"), MORE)
    found = SOURCES.of_score(satisfied_above(join, "full"))
    (scan,) = found.scans
    assert (scan.node, scan.result.searches) == (LOGS, (IndexQuery("c100", "disk"), IndexQuery("c100", "full")))
    with pytest.raises(NoSourceError, match="2 tables of a join are searched"):
        SOURCES.of_score(Filter(11, (), replace(join, right=satisfied(MORE, "x"))))
    flag = Condition(frozenset({100}), col("#100") == True)  # noqa: E712 - a column of the table, and of no search
    with pytest.raises(NoSourceError, match="no search that every row"):
        SOURCES.of_score(Filter(11, (flag,), LOGS))


def satisfied_above(plan: Plan, query: str) -> Filter:
    return Filter(11, (Condition(frozenset(), IndexQuery("#100", query)),), plan)


def test_distinct_rows_stay_distinct() -> None:
    """A further column would tell equal rows apart."""
    distinct = Pass(12, frozenset(LOGS.columns), (), LOGS, is_distinct=True)
    with pytest.raises(NoSourceError, match="between it and the rows of a table stands 12"):
        SOURCES.of_search(Filter(13, (), distinct), Search((100,), "disk"))
