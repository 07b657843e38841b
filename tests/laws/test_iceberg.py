"""PyIceberg as the oracle: what it computes value by value, the transforms compute by the column."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from indextables.layout import Bucket, Calendar, Truncate
from tests.laws import strategies as its

ICEBERG = {
    pa.int8(): IntegerType(),
    pa.int16(): IntegerType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.string(): StringType(),
    pa.date32(): DateType(),
    pa.timestamp("us"): TimestampType(),
    pa.timestamp("us", "UTC"): TimestamptzType(),
}
CALENDAR = {"year": YearTransform(), "month": MonthTransform(), "day": DayTransform(), "hour": HourTransform()}
DAYS_OF_PYTHON = (-719_162, 2_932_896)
widths = st.one_of(st.integers(1, 20), st.integers(1, 2**31 - 1))
hashable = st.one_of(its.integer_types, its.instant_types, its.decimal_types(), st.just(pa.string()))
truncatable = st.one_of(its.integer_types, its.decimal_types(), st.just(pa.string()))


def iceberg_type(type_: pa.DataType) -> IcebergType:
    return DecimalType(type_.precision, type_.scale) if pa.types.is_decimal(type_) else ICEBERG[type_]


def plain(array: pa.Array) -> list[Any]:
    """Dates and timestamps as the counts that they are."""
    bits = its.INSTANTS.get(array.type)
    counts: list[Any] = (array.cast({32: pa.int32(), 64: pa.int64()}[bits]) if bits else array).to_pylist()
    return counts


@given(its.arrays(hashable), widths)
def test_bucket(array: pa.Array, n: int) -> None:
    oracle = BucketTransform(n).transform(iceberg_type(array.type))
    assert Bucket(n).apply(array).to_pylist() == [oracle(value) for value in plain(array)]


@given(its.arrays(truncatable.filter(lambda type_: not pa.types.is_decimal(type_))), widths)
def test_truncate(array: pa.Array, width: int) -> None:
    oracle = TruncateTransform(width).transform(iceberg_type(array.type))
    expected = [oracle(value) for value in array.to_pylist()]
    if pa.types.is_integer(array.type):
        expected = [None if result is None else max(result, -(2**63)) for result in expected]
    assert Truncate(width).apply(array).to_pylist() == expected


@given(its.arrays(its.decimal_types()), widths)
def test_truncate_decimals(array: pa.Array, width: int) -> None:
    oracle = TruncateTransform(width).transform(LongType())
    unscaled = [None if n is None else int(n) for n in array.view(pa.decimal128(38, 0)).to_pylist()]
    expected = [None if n is None else max(oracle(n), 1 - 10**38) for n in unscaled]
    results = Truncate(width).apply(array).view(pa.decimal128(38, 0))
    assert [None if n is None else int(n) for n in results.to_pylist()] == expected


@pytest.mark.parametrize("unit", CALENDAR)
@given(data=st.data())
def test_calendar(unit: str, data: st.DataObject) -> None:
    type_ = data.draw(its.instant_types.filter(lambda type_: Calendar(unit).accepts(type_)))  # type: ignore[arg-type]
    first, last = DAYS_OF_PYTHON
    scale = 1 if type_ == pa.date32() else 86_400_000_000
    counts = data.draw(st.lists(st.none() | st.integers(first * scale, (last + 1) * scale - 1), max_size=12))
    results = Calendar(unit).apply(pa.array(counts, type_))  # type: ignore[arg-type]
    oracle = CALENDAR[unit].transform(iceberg_type(type_))
    assert results.to_pylist() == [oracle(count) for count in counts]
    names = [CALENDAR[unit].to_human_string(IntegerType(), result) for result in results.to_pylist()]
    assert [Calendar(unit).name_for(result) for result in results.to_pylist()] == names  # type: ignore[arg-type]
