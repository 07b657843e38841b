from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import assume, given
from hypothesis import strategies as st

from indextables.errors import LayoutError
from indextables.layout import (
    Bucket,
    Calendar,
    Identity,
    Layout,
    PartitionField,
    Transform,
    Truncate,
    Void,
    directory,
    escape,
    group,
    unescape,
)
from tests.laws import strategies as its

widths = st.one_of(st.integers(1, 20), st.integers(1, 2**31 - 1))
transforms: st.SearchStrategy[Transform] = st.one_of(
    st.just(Identity()),
    st.sampled_from(["year", "month", "day", "hour"]).map(Calendar),
    widths.map(Bucket),
    widths.map(Truncate),
    st.just(Void()),
)
names = st.text(min_size=1, max_size=8)
fields = st.builds(PartitionField, names, transforms, st.just("") | names)
layouts = st.lists(fields, max_size=4).map(lambda fields: Layout(tuple(fields)))


@st.composite
def transformed(draw: st.DrawFn) -> tuple[Transform, pa.Array]:
    """A transform and values that it accepts, at least one of them not null."""
    transform = draw(transforms)
    array = draw(its.arrays(its.types.filter(transform.accepts), min_size=1))
    assume(array.null_count < len(array))
    return transform, array


@given(layouts)
def test_a_layout_survives_being_written(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert Layout.from_json(layout.to_json()) == layout
    assert Layout.of(*map(str, layout.fields)) == layout


@given(st.text(max_size=30) | st.text("ab`,() \n12[]AS", max_size=30))
def test_any_text_is_a_layout_or_is_refused(text: str) -> None:
    try:
        layout = Layout.parse(text)
    except LayoutError:
        return
    assert Layout.parse(str(layout)) == layout


@given(transformed())
def test_results_survive_the_log(case: tuple[Transform, pa.Array]) -> None:
    transform, array = case
    results = transform.apply(array)
    assert results.type == transform.result_type(array.type)
    assert transform.from_text(transform.to_text(results), array.type).equals(results)


@given(transformed())
def test_null_and_only_null_becomes_null(case: tuple[Transform, pa.Array]) -> None:
    transform, array = case
    assume(transform.preserves_null)
    assert transform.apply(array).is_valid().equals(array.is_valid())


@given(transformed())
def test_a_preimage_holds_the_values_of_its_result_and_no_others(case: tuple[Transform, pa.Array]) -> None:
    transform, array = case
    assume(not isinstance(transform, Bucket | Void))
    array = array.drop_null()
    result = transform.apply(array).slice(0, 1)
    inside = _inside(transform, result, array)
    assert inside.equals(pc.equal(transform.apply(array), result[0]))
    assert inside[0].as_py()


@given(transformed())
def test_a_preimage_ends_where_another_result_begins(case: tuple[Transform, pa.Array]) -> None:
    transform, array = case
    assume(not isinstance(transform, Bucket | Void) and not pa.types.is_floating(array.type))
    result = transform.apply(array.drop_null()).slice(0, 1)
    preimage = transform.preimage(result, array.type)
    edges = _around(preimage.lower[0], preimage.upper[0], array.type)
    assert _inside(transform, result, edges).equals(pc.equal(transform.apply(edges), result[0]))


def _inside(transform: Transform, result: pa.Array, values: pa.Array) -> pa.Array:
    preimage = transform.preimage(result, values.type)
    lower, upper, inclusive = preimage.lower[0], preimage.upper[0], preimage.upper_inclusive[0].as_py()
    everywhere = pa.repeat(pa.scalar(value=True), len(values))
    above = pc.greater_equal(values, lower) if lower.is_valid else everywhere
    compare = pc.less_equal if inclusive else pc.less
    return pc.and_(above, compare(values, upper) if upper.is_valid else everywhere)


def _around(lower: pa.Scalar, upper: pa.Scalar, type_: pa.DataType) -> pa.Array:
    """The bounds, the values next to them where the type has such, and the limits of the type."""
    if type_ in its.COUNTED:
        highest = 2 ** (its.COUNTED[type_] - 1) - 1
        counted = pa.int32() if type_ == pa.date32() else pa.int64()
        bounds = pa.array([lower, upper], type_).cast(counted).drop_null().to_pylist()
    elif pa.types.is_decimal(type_):
        highest = 10**type_.precision - 1
        bounds = [int(n) for n in pa.array([lower, upper], type_).view(pa.decimal128(38, 0)).drop_null().to_pylist()]
    else:
        return pa.array([lower, upper], type_).drop_null()
    lowest = -highest if pa.types.is_decimal(type_) else -highest - 1
    near = [bound + step for bound in bounds for step in (-1, 0, 1)]
    return its.array([n for n in [*near, lowest, highest] if lowest <= n <= highest], type_)


@given(its.texts)
def test_unescaping_is_the_inverse_of_escaping(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not set(escape(text)) & set("/\\:*?\"<>|'#{[]^= \0\n")


long_prefixes = st.sampled_from(["", "x" * 250, "/" * 90, "日" * 84])
labels = st.tuples(long_prefixes, st.text(min_size=1, max_size=8)).map("".join)


@given(names, st.lists(labels, min_size=2, max_size=2, unique=True))
def test_different_values_have_different_directories(name: str, texts: list[str]) -> None:
    one, other = (directory([name], [text]) for text in texts)
    assert one != other
    assert "/" not in one
    assert len(one.encode()) <= 255


@st.composite
def partitioned_rows(draw: st.DrawFn) -> tuple[pa.Table, Layout]:
    length = draw(st.integers(1, 20))
    types = draw(st.lists(its.types, min_size=1, max_size=3))
    columns = {f"c{n}": draw(_column(type_, length)) for n, type_ in enumerate(types)}
    choices = [draw(transforms.filter(lambda t, type_=type_: t.accepts(type_))) for type_ in types]
    fields = [PartitionField(name, transform) for name, transform in zip(columns, choices, strict=True)]
    return pa.table(columns | {"row": range(length)}), Layout(tuple(fields))


@st.composite
def _column(draw: st.DrawFn, type_: pa.DataType, length: int) -> pa.Array:
    few = draw(st.lists(st.none() | its.values(type_), min_size=1, max_size=3))
    return its.array(draw(st.lists(st.sampled_from(few), min_size=length, max_size=length)), type_)


@given(partitioned_rows())
def test_grouping_is_what_a_loop_over_rows_would_do(case: tuple[pa.Table, Layout]) -> None:
    rows, layout = case
    expected: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    results = [field.transform.apply(rows[field.source]) for field in layout.fields]
    for row, values in enumerate(
        zip(*(result.cast(_storage(result.type)).to_pylist() for result in results), strict=True)
    ):
        expected[values].append(row)
    groups = list(group(rows, layout))
    assert [part.rows["row"].to_pylist() for part in groups] == list(expected.values())
    assert pa.Table.from_batches([part.values for part in groups]).to_batches()
    assert len({part.key for part in groups}) == len(groups)


def _storage(type_: pa.DataType) -> pa.DataType:
    """Python has no dates before the year 1 and after 9999."""
    return {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64(), pa.timestamp("us", "UTC"): pa.int64()}.get(
        type_, type_
    )
