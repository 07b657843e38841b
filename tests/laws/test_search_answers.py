"""One search has one answer: whoever is asked, the rows are those that a look at each row finds."""

from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from indextables import IndexTable
from indextables.search import queries as n
from indextables.search import terms, to_text
from indextables.serve.api_answers import Api
from indextables.serve.query_threads import Cancellation
from indextables.serve.served_tables import ServedTables
from tests.laws.effort import each_writes_tables, is_full
from tests.laws.search_rows import (
    CONDITIONS,
    LEAVES,
    MEMOS,
    PORTS,
    RULES,
    Row,
    number_rows,
    rows,
    searches,
    write_parts,
)
from tests.search.brute import satisfies
from tests.tiers import slow_after

MANY = 300  # rows of a split, too many to look each of them up


def numbers(table: pa.Table) -> list[int]:
    return sorted(table["nr"].to_pylist())


def ports(values: list[Any], counts: list[int]) -> dict[str, int]:
    return {value: count for value, count in zip(values, counts, strict=True) if value is not None}


def condition(query: str, where: str | None) -> str:
    quoted = query.replace("\\", "\\\\").replace("'", "\\'")
    return f"indexqueryall('{quoted}')" + ("" if where is None else f" AND ({where})")


def found_numbers(table: IndexTable, query: str, where: str | None) -> dict[str, list[int]]:
    """The numbers of the rows of a search, by everyone who lists them."""
    asked, every = {"query": query, "where": where, "columns": ["nr"]}, table.count() + 1
    return {
        "scan": numbers(table.scan(query=query, where=where).to_arrow()),
        "scan of one column": numbers(table.scan(**asked).to_arrow()),
        "scan with scores": numbers(table.scan(query=query, where=where, columns=["nr", "_score"]).to_arrow()),
        "scan by a condition": numbers(table.scan(where=condition(query, where), columns=["nr"]).to_arrow()),
        "search": numbers(table.search(**asked, limit=every)),
        "search in an order": numbers(table.search(**asked, limit=every, order_by="nr")),
    }


def found_counts(table: IndexTable, query: str, where: str | None) -> dict[str, int]:
    """How many rows a search has, by everyone who counts them."""
    page, params = Api(ServedTables([table])), page_params(query, where)
    return {
        "count": table.count(where, query=query),
        "count by a condition": table.count(condition(query, where)),
        "page": page.count(params, Cancellation(60))["total"],
        "delete": table.delete(condition(query, where), dry_run=True).rows,
    }


def found_ports(table: IndexTable, query: str, where: str | None) -> dict[str, dict[str, int]]:
    """How many rows of a search have each port, by everyone who groups them."""
    scan, page = table.scan(query=query, where=where), Api(ServedTables([table]))
    facet = page.facets(page_params(query, where), Cancellation(60))["facets"][0]["values"]
    return {
        "group by": ports(*scan.group_by("port").count().to_pydict().values()),
        "aggregate": ports(*scan.aggregate(terms("port")).to_pydict().values()),
        "facet of the page": ports([value["value"] for value in facet], [value["count"] for value in facet]),
    }


def page_params(query: str, where: str | None) -> QueryParams:
    return QueryParams([("q", query), ("column", "port"), *([] if where is None else [("where", where)])])


def hold_to(rows: list[Row], table: IndexTable, query: n.Query, where: str | None) -> None:
    """Compares all answers to one search with a look at each row."""
    kept = [row for row in rows if satisfies(query, row, RULES) and CONDITIONS[where](row)]
    text = to_text(query)
    listed, by_port = [row["nr"] for row in kept], Counter(row["port"] for row in kept if row["port"] is not None)
    for answers, expected in (
        (found_numbers(table, text, where), listed),
        (found_counts(table, text, where), len(listed)),
        (found_ports(table, text, where), dict(by_port)),
    ):
        assert answers == dict.fromkeys(answers, expected), text


@each_writes_tables
@given(
    parts=st.lists(st.lists(rows, min_size=1, max_size=9), min_size=1, max_size=3),
    repeat=st.sampled_from([1, 1, 1, 40]),
    asked=st.lists(st.tuples(searches, st.sampled_from(list(CONDITIONS))), min_size=1, max_size=2),
    deleted=st.none() | searches,
)
def test_every_answer_to_a_search_is_that_of_a_look_at_each_row(
    parts: list[list[Row]], repeat: int, asked: list[tuple[n.Query, str | None]], deleted: n.Query | None
) -> None:
    numbered = number_rows(parts, repeat=repeat)
    table, left = write_parts(numbered), [row for part in numbered for row in part]
    for query, where in asked:
        hold_to(left, table, query, where)
    if deleted is not None:
        table.delete(query=to_text(deleted))
        left = [row for row in left if not satisfies(deleted, row, RULES)]
        for query, where in asked:
            hold_to(left, table, query, where)


SHAPES = {
    "A AND NOT B": lambda a, b: n.And((a, n.Not(b))),
    "A AND (B OR NOT A)": lambda a, b: n.And((a, n.Or((b, n.Not(a))))),
    "word AND NOT (A AND NOT B)": lambda a, b: n.And((n.Term("memo", "crane"), n.Not(n.And((a, n.Not(b)))))),
    "exact AND (A OR NOT B)": lambda a, b: n.And((n.Term("port", "Porto"), n.Or((a, n.Not(b))))),
}


@pytest.fixture(
    scope="module",
    params=slow_after(1, [1, MANY // 16], "pairs of leaves over many rows"),
    ids=["few rows", "many rows"],
)
def pairs(request: pytest.FixtureRequest) -> tuple[IndexTable, list[Row]]:
    """Rows with many pairs of values, in two splits, the first of which lacks some columns."""
    values = [
        {"memo": memo, "port": [None, *PORTS][place % 4], "load": [None, 4, 5, 6, 5][place % 5]}
        | {"note": MEMOS[-place % 8], "berth": [None, *PORTS][place % 3]}
        for place, memo in enumerate([*MEMOS, None] * 2)
    ]
    parts = number_rows([values[:9], values[9:]], repeat=request.param)
    return write_parts(parts), [row for part in parts for row in part]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pair_of_leaves_finds_its_rows(pairs: tuple[IndexTable, list[Row]], shape: str) -> None:
    """Each pair in one shape; in all shapes with the full number of examples."""
    table, every = pairs
    shapes = list(SHAPES)
    for place, (a, b) in enumerate(product(LEAVES, repeat=2)):
        if not is_full and shapes[place % len(shapes)] != shape:
            continue
        query = SHAPES[shape](a, b)
        expected = [row["nr"] for row in every if satisfies(query, row, RULES)]
        assert table.scan(query=to_text(query), columns=["nr"]).to_arrow()["nr"].to_pylist() == expected, to_text(query)
