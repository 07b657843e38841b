from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from indextables.split.statistics import Statistics
from indextables.values import canonical, decode
from tests.laws import strategies as its

floats = st.one_of(st.none(), st.floats(width=32))
columns = st.one_of(
    its.arrays(),
    st.lists(floats, max_size=8).map(lambda given: pa.array(given, pa.float32())),
    st.lists(st.text(its.letters, min_size=30, max_size=36), max_size=4).map(
        lambda given: pa.array(given, pa.string())
    ),
)


def statistics(column: pa.Array) -> Statistics:
    return Statistics.of(pa.record_batch({"c": column}))


def typed(bounds: dict[str, Any], kind: pa.DataType) -> pa.Scalar:
    bound = bounds.get("c")
    text = str(bound).lower() if isinstance(bound, bool) else None if bound is None else str(bound)
    return decode(pa.array([text], pa.string()), kind)[0]


@given(columns)
def test_every_value_is_within_the_bounds(column: pa.Array) -> None:
    found = statistics(column)
    present = column.drop_null()
    if pa.types.is_floating(column.type):
        present = canonical(present).filter(pc.invert(pc.is_nan(present)))
    lower, upper = typed(found.min_values(), column.type), typed(found.max_values(), column.type)
    assert pc.all(pc.greater_equal(present, lower)).as_py() is not False
    assert pc.all(pc.less_equal(present, upper)).as_py() is not False
    assert lower.is_valid == bool(len(present))
    assert found.null_counts() == {"c": column.null_count}


@given(columns, st.data())
def test_merging_the_parts_gives_the_whole(column: pa.Array, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(column)), max_size=3)))
    edges = [0, *cuts, len(column)]
    parts = [statistics(column[start:end]) for start, end in pairwise(edges)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merged(part)
    assert merged == statistics(column)


@given(columns, columns)
def test_the_order_of_merging_does_not_matter(one: pa.Array, other: pa.Array) -> None:
    if one.type == other.type:
        assert statistics(one).merged(statistics(other)) == statistics(other).merged(statistics(one))
