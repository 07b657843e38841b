"""A table whose layout and columns have changed answers as one that was always as it is now."""

from collections import Counter
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.predicate import Predicate
from tests.laws import naive
from tests.laws.conditions import SCHEMA, predicates, rows
from tests.laws.effort import each_writes_tables

NARROW = {"id": pa.int32(), "price": pa.float32(), "small": pa.int8()}
BEFORE = pa.schema([f.with_type(NARROW.get(f.name, f.type)) for f in SCHEMA if f.name != "name"])
EARLY = [
    "",
    "day",
    "day(at)",
    "bucket(3, id), flag",
    "truncate(2, id)",
    "small, month(day)",
    "ratio",
    "bucket(2, small)",
]
LATE = [*EARLY, "name", "truncate(1, name), hour(at)", "price", "id"]


def narrowed(table: pa.Table) -> pa.Table:
    """The rows as the first columns can hold them: what does not fit is null, doubles lose digits."""
    columns = []
    for field in BEFORE:
        column = table.column(field.name)
        if pa.types.is_integer(field.type):
            low, high = -(2 ** (field.type.bit_width - 1)), 2 ** (field.type.bit_width - 1) - 1
            column = [v if v is not None and low <= v <= high else None for v in column.to_pylist()]
            columns.append(pa.array(column, field.type))
        else:
            columns.append(column.cast(field.type, safe=False))
    return pa.table(columns, schema=BEFORE)


def widened(table: pa.Table) -> pa.Table:
    names = table.schema.names
    columns = [table[f.name].cast(f.type) if f.name in names else pa.nulls(len(table), f.type) for f in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def fresh(schema: pa.Schema, layout: str, rows: pa.Table) -> IndexTable:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", schema, partition_by=layout)
    table.append(rows)
    return table


def comparable(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(row[name]) for name in SCHEMA.names) for row in rows)


@each_writes_tables
@given(
    st.tuples(st.sampled_from(EARLY), st.sampled_from(EARLY), st.sampled_from(LATE)),
    st.tuples(rows(max_size=3), rows(max_size=3), rows(max_size=3)),
    st.lists(predicates, min_size=1, max_size=4),
    st.sampled_from(SCHEMA.names),
    st.integers(0, 1),
)
def test_three_layouts_and_two_schemas_answer_as_one(
    layouts: tuple[str, str, str],
    parts: tuple[pa.Table, pa.Table, pa.Table],
    asked: list[Predicate],
    column: str,
    checkpoints: int,
) -> None:
    first, second, third = narrowed(parts[0]), narrowed(parts[1]), parts[2]
    table = fresh(BEFORE, layouts[0], first)
    table.evolve_layout(layouts[1])
    table.append(second)
    for _ in range(checkpoints):
        table.checkpoint()
    table.add_column("name", "string")
    for name in NARROW:
        table.widen_column(name, SCHEMA.field(name).type)
    table.evolve_layout(layouts[2])
    table.append(third)
    table = IndexTable.open(table.path)
    together = pa.concat_tables([widened(first), widened(second), third])
    alone = list(map(fresh, [SCHEMA] * 3, layouts, (widened(first), widened(second), third)))
    at_once = fresh(SCHEMA, "", together)
    for predicate in asked:
        expected = [row for row in together.to_pylist() if naive.answer(predicate, row)]
        scan = table.scan(where=predicate, columns=SCHEMA.names)
        assert comparable(scan.to_arrow().to_pylist()) == comparable(expected)
        assert table.count(predicate) == len(expected)
        same = at_once.scan(where=predicate)
        groups = scan.group_by(column).count()
        assert str(groups.to_pylist()) == str(same.group_by(column).count().to_pylist())
        assert str(scan.min(column)) == str(same.min(column))
        assert str(scan.max(column)) == str(same.max(column))
        pruned = [single.scan(where=predicate).explain() for single in alone]
        assert scan.explain().pruned_by_layout == sum(one.pruned_by_layout for one in pruned)
        assert scan.explain().always == sum(one.always for one in pruned)
