"""Numbers that are written to a column of another type: accepted exactly where no value changes."""

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import SchemaError
from indextables.write.conform_schema import cast_numbers, first_misfit

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
DECIMALS = [pa.decimal128(5, 2), pa.decimal128(38, 0), pa.decimal128(38, 38), pa.decimal128(20, 1)]
EDGES = [0, 1, -1, 127, 128, 999, 1000, 2**24, 2**24 + 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1]
WHOLE = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
FLOATS = WHOLE.map(float) | st.floats() | st.floats(width=32)
SOURCES = {
    pa.int64(): WHOLE,
    pa.uint64(): st.integers(0, 2**64 - 1) | st.integers(0, 300),
    pa.float64(): FLOATS,
    pa.decimal128(38, 3): st.decimals(-(10**30), 10**30, places=3) | WHOLE.map(Decimal),
}
PAIRS = [
    *((source, target) for source in SOURCES for target in INTEGERS),
    *((source, target) for source in (pa.int64(), pa.uint64(), pa.decimal128(38, 3)) for target in DECIMALS),
    *((source, target) for source in (pa.int64(), pa.float64()) for target in (pa.float32(), pa.float64())),
]


def fits(value: float | Decimal | None, target: pa.DataType) -> bool:
    """Whether a column of the type has this very value; integers only where floats have all their neighbours."""
    if value is None:
        return True
    if pa.types.is_integer(target):
        bits = target.bit_width - 1
        return math.isfinite(value) and value == int(value) and -(2**bits) <= value < 2**bits
    if pa.types.is_decimal(target):
        scaled = Decimal(value).scaleb(target.scale)
        return scaled == int(scaled) and abs(scaled) < 10**target.precision
    if isinstance(value, int):
        return abs(value) <= (2**24 if target == pa.float32() else 2**53)
    return math.isnan(value) or pa.scalar(value, target).as_py() == value


@given(st.data())
def test_a_cast_is_refused_where_a_value_would_change(data: st.DataObject) -> None:
    source, target = data.draw(st.sampled_from(PAIRS))
    values = data.draw(st.lists(SOURCES[source] | st.none(), max_size=6))
    column = pa.array(values, source)
    misfit = next((row for row, value in enumerate(column.to_pylist()) if not fits(value, target)), None)
    assert first_misfit(column, target) == misfit
    if misfit is None:
        cast = cast_numbers(column, target)
        assert cast.type == target
        for before, after in zip(column.to_pylist(), cast.to_pylist(), strict=True):
            assert before == after or (math.isnan(before) and math.isnan(after))


def test_decimals_that_overflow_128_bits_are_refused() -> None:
    column = pa.array([Decimal("0.5"), None, Decimal(256)], pa.decimal128(10, 2))  # 256 * 10^38 has 135 bits
    assert first_misfit(column, pa.decimal128(38, 38)) == 2


def test_the_first_row_that_does_not_fit_is_named_in_all_of_the_data() -> None:
    table = IndexTable.create("memory://casts/rows", {"n": pa.int32()})
    batches = [pa.record_batch({"n": [1, 2]}), pa.record_batch({"n": [3, 1 << 40, 1 << 50]})]
    with pytest.raises(SchemaError, match=r"'n' is integer, and the data has 1099511627776 \(long\) in row 3"):
        table.append(batches)
    assert (table.refresh().version, table.count()) == (0, 0)


@pytest.mark.parametrize("how", ["append", "overwrite", "replace_where"])
def test_numbers_that_fit_are_written(how: str) -> None:
    table = IndexTable.create(
        f"memory://casts/{how}",
        {"day": "string", "n": "int", "price": "decimal(6,2)", "share": "float"},
        partition_by="day",
    )
    rows = pa.table(
        {"day": ["mon", "tue"], "n": [1.0, None], "price": pa.array([5, 6], pa.uint64()), "share": [0.5, -2.0]}
    )
    match how:
        case "append":
            table.append(rows)
        case "overwrite":
            table.overwrite(rows)
        case _:
            table.replace_where(rows, "day > 'a'")
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == [
        {"day": "mon", "n": 1, "price": Decimal("5.00"), "share": 0.5},
        {"day": "tue", "n": None, "price": Decimal("6.00"), "share": -2.0},
    ]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())])
def test_text_in_any_form_of_arrow_is_written(kind: pa.DataType) -> None:
    table = IndexTable.create(f"memory://casts/{kind.id}", {"word": "string"})
    table.append(pa.table({"word": pa.array(["a", None, "b"]).cast(kind)}))
    assert table.scan().to_arrow()["word"].to_pylist() == ["a", None, "b"]
