"""Where rows are kept never changes an answer: small partitions that share splits, beside a table where they do not."""

from collections import Counter
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.predicate import Predicate
from tests.laws import naive
from tests.laws.conditions import SCHEMA, VALUES, predicates, rows

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


def filled(layout: str, given: list[tuple[pa.Table, dict[str, str]]], **options: str) -> IndexTable:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by=layout)
    for part, chosen in given:
        table.append(part, options={**chosen, **options})
    return table


def values(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@given(layouts, writes, st.lists(predicates, min_size=1, max_size=6), st.sampled_from(sorted(VALUES)))
def test_a_coalesced_table_answers_as_a_plain_one(
    layout: tuple[str, str], given: list[tuple[pa.Table, dict[str, str]]], asked: list[Predicate], key: str
) -> None:
    shared = filled(layout[0], given, **{"coalesce.columns": layout[1]})
    plain = filled(layout[0], given, **{"coalesce.enabled": "false"})
    stored = [row for part, _ in given for row in part.to_pylist()]
    for where in asked:
        expected = [row for row in stored if naive.answer(where, row)]
        for table in (shared, plain):
            scan = table.scan(where=where)
            assert values(scan.to_arrow().to_pylist()) == values(expected)
            assert scan.count() == len(expected)
        groups = [table.scan(where=where).group_by(key).count().to_pylist() for table in (shared, plain)]
        assert repr(groups[0]) == repr(groups[1])
