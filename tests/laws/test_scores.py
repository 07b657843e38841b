"""A scan gives each row the score that a search gives it, whatever else the scan asks for."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import SearchQueryError
from tests.laws.effort import each_writes_tables
from tests.laws.test_indexing_changes import batches, combined, created, numbered, rules, written_rules

conditions = st.sampled_from([None, "count >= 0", "a IS NOT NULL OR n > 3", "part = 1"])
own_searches = st.none() | combined.map("indexqueryall('{}')".format)


def scored(rows: pa.Table) -> dict[int, float]:
    scores = dict(zip(rows["n"].to_pylist(), rows["_score"].to_pylist(), strict=True))
    assert len(scores) == len(rows)
    assert None not in scores.values()
    return scores


def answers(table: IndexTable, asked: dict[str, Any]) -> list[dict[int, float]]:
    """What a search finds, and what a scan finds."""
    streamed = table.scan(**asked, columns=["_score", "n"])
    return [scored(table.search(**asked, columns=["n"], limit=1_000)), scored(streamed.to_arrow())]


@each_writes_tables
@given(
    parts=batches.map(numbered),
    under=st.tuples(written_rules, written_rules, written_rules, rules),
    query=combined,
    conditions=st.tuples(conditions, own_searches),
    deleted=st.sampled_from([None, "n = 0", "n < 3", "count = 1"]),
)
def test_a_scan_gives_the_scores_of_a_search(
    parts: list[pa.Table],
    under: tuple[dict[str, str], ...],
    query: str,
    conditions: tuple[str | None, ...],
    deleted: str | None,
) -> None:
    table = created(under[0], {})
    for some, written_under in zip(parts, under, strict=False):
        table.set_indexing(written_under)
        table.append(some)
    table.set_indexing(under[-1])
    if deleted is not None:
        table.delete(deleted)
    where = " AND ".join(f"({term})" for term in conditions if term is not None)
    asked = {"query": query, "where": where.replace("\\", "\\\\") or None}
    try:
        by_search, by_scan = answers(table, asked)
    except SearchQueryError:
        return
    assert by_scan == by_search
    limited = scored(table.scan(**asked, columns=["n", "_score"], limit=2).to_arrow())
    assert limited.items() <= by_search.items()
    assert len(limited) == min(2, len(by_search))
    in_order = scored(table.scan(**asked, columns=["n", "_score"], order_by="n").to_arrow())
    assert list(in_order.items()) == sorted(by_search.items())
    first = scored(table.scan(**asked, columns=["n", "_score"], order_by="n", limit=2).to_arrow())
    assert list(first.items()) == sorted(by_search.items())[:2]
