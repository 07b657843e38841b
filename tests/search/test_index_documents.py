import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.search import documents, resolve
from indextables.search.index_terms import CUT, LONGEST_TEXT, NULL, field_name, state_name


def encoded(column: pa.Array, rule: str | None = None, name: str = "c") -> list[dict[str, Any]]:
    batch = pa.record_batch([column], names=[name])
    rules = resolve(batch.schema, {name: rule} if rule else {})
    return [json.loads(line) for line in documents(batch, rules)]


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
        (pa.array(["a", ""]).dictionary_encode(), ["a", ""]),
    ],
)
def test_values_are_in_the_documents(column: pa.Array, values: list[Any]) -> None:
    assert [row[field_name("c")] for row in encoded(column)] == values


def test_wide_decimals_are_ordered_as_text() -> None:
    largest = Decimal("9" * 36 + ".99")
    ordered = [largest.copy_negate(), Decimal("-0.01"), Decimal(0), Decimal("0.01"), largest]
    texts = [row[field_name("c")] for row in encoded(pa.array(ordered, pa.decimal128(38, 2)))]
    assert texts == sorted(texts)
    assert {len(text) for text in texts} == {39}


@given(st.lists(st.floats()))
def test_floats_are_ordered_and_not_a_number_comes_last(values: list[float]) -> None:
    ordinals = [row[field_name("c")] for row in encoded(pa.array(values, pa.float64()))]
    assert sorted(ordinals) == [ordinals[values.index(v)] for v in sorted(values, key=lambda v: (v != v, v))]  # noqa: PLR0124


@given(st.lists(st.none() | st.text(), min_size=1), st.text(min_size=1), st.sampled_from(["text", "string"]))
def test_any_text_and_any_name_is_said_exactly(texts: list[str | None], name: str, rule: str) -> None:
    rows = encoded(pa.array(texts, pa.string()), rule, name)
    assert [row.get(field_name(name)) for row in rows] == texts
    assert [row.get(state_name(name)) for row in rows] == [NULL if text is None else None for text in texts]


def test_a_string_too_long_for_the_index_is_cut_between_characters_and_marked() -> None:
    fits, longer = "é" * (LONGEST_TEXT // 2), "x" + "é" * (LONGEST_TEXT // 2)
    rows = encoded(pa.array([fits, longer, None]))
    assert [row.get(field_name("c")) for row in rows] == [fits, longer[:-1], None]
    assert [row.get(state_name("c")) for row in rows] == [None, CUT, NULL]


def test_what_is_not_indexed_is_not_said() -> None:
    batch = pa.record_batch({"a": pa.array([b"x"]), "b": pa.array(["x"])})
    assert [json.loads(line) for line in documents(batch, resolve(batch.schema, {"b": "none"}))] == [{":": []}]
    assert list(documents(batch.slice(0, 0), resolve(batch.schema))) == []
