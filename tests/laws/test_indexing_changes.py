"""However a column was indexed when rows were written, searches find what they find in a table with the current rules."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import SearchQueryError
from tests.laws.effort import each_writes_tables

SCHEMA = pa.schema({"part": pa.int32(), "n": pa.int64(), "a": pa.string(), "b": pa.string(), "count": pa.int64()})
TEXTS = ("a", "b")
words = st.sampled_from(["disk", "Disk", "full", "running", "runs", "É", "a-b", "c" * 40, "x*"])
lines = st.lists(words, max_size=5).map(" ".join)
rows = st.fixed_dictionaries(
    {
        "part": st.integers(0, 1),
        "a": st.none() | lines,
        "b": st.none() | words | lines,
        "count": st.none() | st.integers(-2, 2),
    }
)
batches = st.lists(st.lists(rows, min_size=1, max_size=5), min_size=1, max_size=3)
text_rules = st.sampled_from(["text", "text:en_stem", "text:whitespace", "text:raw", "string"])
rules = st.fixed_dictionaries({"a": text_rules, "b": text_rules, "count": st.just("long")})
written_rules = st.fixed_dictionaries(
    {"a": text_rules | st.just("none"), "b": text_rules | st.just("none"), "count": st.sampled_from(["long", "none"])}
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    column, word = draw(st.sampled_from(TEXTS)), draw(words.filter(lambda word: word.isalpha()))
    leaf = draw(
        st.sampled_from(
            [
                f"{column}:{word}",
                f'{column}:"{word} full"',
                f'{column}:"disk {word}"~2',
                f"{column}:{word[:2]}*",
                f"{column}:*{word[1:]}",
                f"{column}:{word}~1",
                f"{column}:/{word[:1]}.*/",
                f"{column}:[disk TO {word}]",
                f"{column}:*",
                f"{column}:{word}^2",
                "count:1",
                "count:[0 TO 2]",
                "*:*",
                word,
            ]
        )
    )
    return leaf if draw(st.booleans()) else f"({leaf})"


combined = st.recursive(
    queries(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" AND ".join).map("({})".format),
        st.tuples(inner, inner).map(" OR ".join).map("({})".format),
        inner.map("(NOT {})".format),
        st.tuples(inner, inner).map(lambda both: f"(+{both[0]} {both[1]})"),
    ),
    max_leaves=4,
)


def numbered(parts: list[list[dict[str, Any]]]) -> list[pa.Table]:
    """The batches with a number for each row."""
    first, tables = 0, []
    for part in parts:
        tables.append(pa.Table.from_pylist([{**row, "n": first + place} for place, row in enumerate(part)], SCHEMA))
        first += len(part)
    return tables


def answer(table: IndexTable, query: str) -> object:
    """The rows that a search finds, by their numbers, with their scores; the number that a count finds, and under NOT."""
    try:
        best = table.search(query, columns=["n"], limit=100)
        others = table.scan(where=f"NOT indexqueryall('{query}')".replace("\\", "\\\\"), columns=["n"]).to_arrow()
    except SearchQueryError as error:
        return str(error)
    scores = dict(zip(best["n"].to_pylist(), best["_score"].to_pylist(), strict=True))
    found = sorted(table.scan(query=query, columns=["n"]).to_arrow()["n"].to_pylist())
    return scores, found, sorted(others["n"].to_pylist()), table.count(query=query)


def kept(table: IndexTable) -> list[str]:
    """What stays as it is of each split: its rows, its partitions and their statistics."""
    splits = table.splits().select(
        ["num_records", "spec_id", "partition", "num_merge_ops", "logical_partitions", "min"]
    )
    return sorted(map(repr, splits.to_pylist()))


def created(fields: Mapping[str, str], options: Mapping[str, str]) -> IndexTable:
    return IndexTable.create(f"memory://{uuid4()}", SCHEMA, partition_by="part", fields=fields, options=options)


@each_writes_tables
@given(
    parts=batches.map(numbered),
    before=st.lists(written_rules, min_size=3, max_size=3),
    after=rules,
    asked=st.lists(combined, min_size=1, max_size=6),
    only=st.sampled_from([None, ["a"], ["b", "count"]]),
)
def test_searches_do_not_depend_on_the_rules_that_rows_were_written_under(
    parts: list[pa.Table],
    before: list[dict[str, str]],
    after: dict[str, str],
    asked: list[str],
    only: list[str] | None,
) -> None:
    options = {"coalesce.enabled": str(only is not None)}
    changed, current = created(before[0], options), created(after, options)
    for some, written_under in zip(parts, before, strict=False):
        changed.set_indexing(written_under)
        changed.append(some)
        current.append(some)
    changed.set_indexing(after)
    expected = [answer(current, query) for query in asked]
    assert [answer(changed, query) for query in asked] == expected
    assert changed.check(deep=True, sample=None).ok
    splits = kept(changed)
    changed.reindex(only)
    assert [answer(changed, query) for query in asked] == expected
    changed.reindex()
    assert [answer(changed, query) for query in asked] == expected
    assert (changed.reindex().reindexed, changed.reindex(dry_run=True).splits) == (0, 0)
    assert kept(changed) == splits
    assert changed.check(deep=True, sample=None).ok
