"""Looking values up in an index: it may name too many rows, and never too few."""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.predicate import Column, Comparison, In, Op, Predicate, bind, conjunction, evaluate
from indextables.predicate.literals import literal
from indextables.read.index_lookup import look_up, point_conditions
from indextables.split import SplitOptions, SplitReader
from indextables.split.exact_index import Kind, is_hashable
from tests.laws.conditions import LITERALS, SCHEMA, VALUES, columns, predicates
from tests.split.samples import split_of

_CHANCE = random.Random(7)
ROWS = pa.table(
    {field.name: pa.array(_CHANCE.choices([None, *VALUES[field.name]], k=300), field.type) for field in SCHEMA}
)


@pytest.fixture(scope="module", params=[Kind.DICTIONARY, Kind.HASH])
def split(request: pytest.FixtureRequest) -> Iterator[SplitReader]:
    hashable = [field.name for field in SCHEMA if is_hashable(field.type) and not pa.types.is_binary(field.type)]
    kinds = dict.fromkeys(hashable, request.param)
    with TemporaryDirectory() as directory:
        yield split_of(ROWS, Path(directory), options=SplitOptions(exact=kinds))


@st.composite
def wanted_values(draw: st.DrawFn) -> Predicate:
    name = draw(columns)
    values = [literal(value) for value in draw(st.lists(st.sampled_from(LITERALS[name]), min_size=1, max_size=4))]
    return draw(st.sampled_from([Comparison(Column(name), Op.EQ, values[0]), In(Column(name), tuple(values))]))


@given(wanted=wanted_values(), others=st.lists(predicates, max_size=1))
def test_no_row_is_left_out(split: SplitReader, wanted: Predicate, others: list[Predicate]) -> None:
    bound = bind(conjunction(wanted, *others), SCHEMA)
    found = look_up(split, point_conditions(bound))
    if found is None:  # then all rows are looked at
        return
    satisfied = pc.indices_nonzero(pc.fill_null(evaluate(bound, ROWS), fill_value=False)).to_pylist()
    assert set(satisfied) <= set(found.tolist())
