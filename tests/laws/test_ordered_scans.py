"""The first rows of an order are those of the sorted table, however many splits were left out on the way."""

from collections import Counter
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.predicate import Predicate
from tests.laws.conditions import SCHEMA, predicates, rows
from tests.laws.effort import each_writes_tables
from tests.laws.naive import spark_order
from tests.laws.test_evolution import BEFORE, EARLY, LATE, NARROW, narrowed

COALESCED = {"coalesce.enabled": "true", "coalesce.minRows": "100", "targetRecordsPerSplit": "2"}
FIRST = [name.replace("cost", "cents") for name in BEFORE.names]
NULLS = {"": None, " nulls first": True, " NULLS LAST": False}
Terms = list[tuple[str, str, str]]
terms = st.tuples(st.sampled_from(SCHEMA.names), st.sampled_from(["", " asc", " DESC"]), st.sampled_from(list(NULLS)))
orders = st.lists(terms, min_size=1, max_size=3, unique_by=lambda term: term[0])
some_rows = rows(max_size=5)


def naive_sort(found: list[dict[str, Any]], order: Terms) -> list[dict[str, Any]]:
    for name, direction, nulls in reversed(order):
        descending = direction.strip().lower() == "desc"
        empty = [row for row in found if row[name] is None]
        values = sorted(
            (row for row in found if row[name] is not None),
            key=lambda row: spark_order(row[name]),
            reverse=descending,
        )
        first = NULLS[nulls] if NULLS[nulls] is not None else not descending
        found = [*empty, *values] if first else [*values, *empty]
    return found


def keys(found: list[dict[str, Any]], order: Terms) -> list[str]:
    """What rows are sorted by; there is one zero, and one NaN."""
    return [repr([r[name] + 0.0 if isinstance(r[name], float) else r[name] for name, _, _ in order]) for r in found]


def evolved(layouts: tuple[str, str], parts: tuple[pa.Table, ...]) -> IndexTable:
    """Splits of two layouts and three schemas, with deleted rows, and some that are shared by partitions."""
    first, second = (narrowed(part).rename_columns(FIRST) for part in parts[:2])
    table = IndexTable.create(f"memory://{uuid4().hex}/t", first.schema, partition_by=layouts[0])
    table.append(first, options=COALESCED)
    table.append(second, options={"targetRecordsPerSplit": "2"})
    table.rename_column("cents", "cost")
    table.add_column("name", "string")
    for name in NARROW:
        table.widen_column(name, SCHEMA.field(name).type)
    table.evolve_layout(layouts[1])
    table.append(parts[2], options=COALESCED)
    table.append(parts[3])
    table.delete("small = 1 OR flag", options={"deletionVectors.maxDeletedShare": "1.0"})
    return table


@each_writes_tables
@given(
    st.tuples(st.sampled_from(EARLY), st.sampled_from(LATE)),
    st.tuples(some_rows, some_rows, some_rows, some_rows),
    st.lists(st.tuples(orders, st.none() | predicates, st.integers(1, 4)), min_size=1, max_size=4),
)
def test_pages_of_an_order_are_the_sorted_rows(
    layouts: tuple[str, str], parts: tuple[pa.Table, ...], asked: list[tuple[Terms, Predicate | None, int]]
) -> None:
    table = evolved(layouts, parts)
    for order, where, size in asked:
        found = table.scan(where=where).to_arrow().to_pylist()
        order_by = ["".join(term) for term in order]
        total = table.scan(where=where, order_by=order_by).to_arrow().to_pylist()
        assert Counter(map(repr, total)) == Counter(map(repr, found))
        assert keys(total, order) == keys(naive_sort(found, order), order)
        pages = [
            table.scan(where=where, order_by=", ".join(order_by), limit=size, offset=start).to_arrow().to_pylist()
            for start in range(0, len(total) + size, size)
        ]
        assert repr([row for page in pages for row in page]) == repr(total)


WORDS = ["disk", "full", "net", "error"]
messages = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
log_rows = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["INFO", "WARN"]), st.none() | messages), max_size=12)
searches = st.sampled_from(
    ["disk", "disk OR net", "+disk full", "level:WARN AND NOT net", "err*", "disk^2 level:INFO", "*:*"]
)
LOGS = pa.schema({"ts": pa.int64(), "level": pa.string(), "message": pa.string()})


@each_writes_tables
@given(
    st.lists(log_rows, min_size=1, max_size=3),
    searches,
    st.integers(1, 5),
    st.none() | st.just("ts > 1 OR level = 'INFO'"),
)
def test_hits_in_an_order_are_all_hits_sorted(
    parts: list[list[tuple[int, str, str]]], query: str, size: int, where: str | None
) -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", LOGS, fields={"message": "text"})
    for part in parts:
        table.append([dict(zip(LOGS.names, row, strict=True)) for row in part])
    table.delete("ts = 3", options={"deletionVectors.maxDeletedShare": "1.0"})
    best = table.search(query, where=where, limit=1000).to_pylist()
    assert best == sorted(best, key=lambda row: -row["_score"])
    hits = table.search(query, where=where, limit=1000, order_by="ts desc").to_pylist()
    assert [row["ts"] for row in hits] == sorted((row["ts"] for row in best), reverse=True)
    rounded = [Counter((*list(row.values())[:3], round(row["_score"], 3)) for row in rows) for rows in (best, hits)]
    assert rounded[0] == rounded[1]
    for expected, order_by in ((best, None), (hits, "ts desc")):
        pages = [
            table.search(query, where=where, limit=size, offset=start, order_by=order_by).to_pylist()
            for start in range(0, len(hits) + size, size)
        ]
        assert [row for page in pages for row in page] == expected
