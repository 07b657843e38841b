import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.search.ordinals import from_ordinals, ordinals, term_texts
from indextables.values import in_table_type


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([True, False]), [1, 0]),
        (pa.array([-128, 127], pa.int8()), [-128, 127]),
        (pa.array([-(2**63), 2**63 - 1]), [-(2**63), 2**63 - 1]),
        (pa.array([dt.date(1969, 12, 31), dt.date(1970, 1, 2)]), [-1, 1]),
        (pa.array([-1, 5], pa.timestamp("us", "UTC")), [-1, 5]),
        (pa.array([-1, 5], pa.timestamp("ms")), [-1000, 5000]),
        (pa.array([Decimal("-1.10"), Decimal("2.2")], pa.decimal128(18, 2)), [-110, 220]),
        (pa.array([0.0, -0.0]), [0, 0]),
    ],
)
def test_values_become_integers_and_values_again(column: pa.Array, values: list[Any]) -> None:
    table = in_table_type(column)
    assert ordinals(table).to_pylist() == values
    assert from_ordinals(ordinals(table), table.type).equals(table)


def test_wide_decimals_are_ordered_as_text() -> None:
    largest = Decimal("9" * 36 + ".99")
    ordered = [largest.copy_negate(), Decimal("-0.01"), Decimal(0), Decimal("0.01"), largest]
    texts = term_texts(pa.array(ordered, pa.decimal128(38, 2))).to_pylist()
    assert texts == sorted(texts)
    assert {len(text) for text in texts} == {39}


@given(st.lists(st.floats()))
def test_floats_are_ordered_and_not_a_number_comes_last(values: list[float]) -> None:
    numbers = ordinals(in_table_type(pa.array(values, pa.float64()))).to_pylist()
    assert sorted(numbers) == [numbers[values.index(v)] for v in sorted(values, key=lambda v: (v != v, v))]  # noqa: PLR0124
