"""Where rows are kept never changes an answer: partitions share splits by settings that change from write to write."""

from collections import Counter
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.layout import Layout
from indextables.predicate import Column, NullSafeEqual, Predicate, conjunction
from indextables.predicate.literals import literal
from tests.laws import naive
from tests.laws.conditions import SCHEMA, VALUES, predicates, rows
from tests.laws.effort import each_writes_tables

LAYOUTS = {  # and the fields that may be coalesced
    "name": ["name"],
    "price": ["price"],
    "cost, flag": ["flag", "cost,flag"],
    "day(at), name": ["name", "day(at), name"],
    "small, bucket(2, id)": ["id_bucket", "small, id_bucket"],
    "day, truncate(1, name), hour(at)": ["at_hour", "name_trunc, at_hour", "day, name_trunc, at_hour"],
}
layouts = st.sampled_from(sorted(LAYOUTS)).flatmap(
    lambda layout: st.tuples(st.just(layout), st.sampled_from(LAYOUTS[layout]))
)
settings_of_a_write = st.fixed_dictionaries(
    {
        "coalesce.enabled": st.sampled_from(["true", "true", "true", "false"]),
        "coalesce.minRows": st.sampled_from(["1", "2", "3", "100"]),
        "coalesce.maxTuples": st.sampled_from(["1", "2", "100"]),
        "targetRecordsPerSplit": st.sampled_from(["1", "2", "3", "1000"]),
        "coalesce.rule.a": st.sampled_from(["", "other", "[#small]"]),
    }
)
writes = st.lists(st.tuples(rows(max_size=8), settings_of_a_write), max_size=3)


def filled(layout: str, columns: str, given: list[tuple[pa.Table, dict[str, str]]]) -> IndexTable:
    fields = dict.fromkeys(SCHEMA.names, "none")  # nothing is searched here
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by=layout, fields=fields)
    for rows_of_it, chosen in given:
        table.append(rows_of_it, options={**chosen, "coalesce.columns": columns})
    return table


def partition_of(row: dict[str, Any], layout: str) -> Predicate:
    """The rows with the same values in the columns of a layout."""
    columns = dict.fromkeys(Layout.parse(layout).sources)
    return conjunction(*(NullSafeEqual(Column(name), literal(row[name])) for name in columns))


def same(value: Any) -> str:
    """A value such that those of one group are equal: there is one zero, and one NaN."""
    return repr(value + 0.0 if isinstance(value, float) else value)


@each_writes_tables
@given(layouts, writes, st.lists(predicates, max_size=3), st.sampled_from(sorted(VALUES)))
def test_a_table_whose_partitions_share_splits_answers_as_its_rows_do(
    layout: tuple[str, str], given: list[tuple[pa.Table, dict[str, str]]], asked: list[Predicate], key: str
) -> None:
    table = filled(*layout, given)
    stored = [row for part, _ in given for row in part.to_pylist()]
    for where in [*asked, *(partition_of(row, layout[0]) for row in stored[:4])]:
        expected = [row for row in stored if naive.answer(where, row)]
        scan = table.scan(where=where)
        assert Counter(map(repr, scan.to_arrow().to_pylist())) == Counter(map(repr, expected))
        assert scan.count() == len(expected)
        groups = {same(group[key]): group["count"] for group in scan.group_by(key).count().to_pylist()}
        assert groups == Counter(same(row[key]) for row in expected)
