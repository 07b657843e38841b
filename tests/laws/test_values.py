from datetime import date, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.values import canonical, decode, encode
from tests.laws import strategies as its

plausible_texts = st.one_of(
    st.text(max_size=12),
    st.text("0123456789", max_size=45),
    st.text("0123456789+-.eE", max_size=25),
    st.text("0123456789-:T .Z+", max_size=30),
    st.from_regex(
        r"\A[+-]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,7})?)?(Z|\+02:00)?)?\Z"
    ),
    st.sampled_from(["true", "FALSE", "NaN", "Infinity", "-Infinity", ""]),
)
two_digits = st.integers(0, 61).map("{:02}".format)
dates_and_times = st.builds(
    "{:04}-{}-{}{}{}{}".format,
    st.integers(0, 9999),
    st.integers(0, 13).map("{:02}".format),
    st.integers(0, 32).map("{:02}".format),
    st.builds("T{}:{}:{}".format, st.integers(0, 24).map("{:02}".format), two_digits, two_digits) | st.just(""),
    st.sampled_from(["", ".000000", ".000001", ".5"]),
    st.sampled_from(["", "Z", "ZZ"]),
)


@given(its.arrays())
def test_decoding_is_the_inverse_of_encoding(array: pa.Array) -> None:
    assert decode(encode(array), array.type).equals(canonical(array))


@given(its.arrays())
def test_only_null_has_no_text(array: pa.Array) -> None:
    assert encode(array).is_valid().equals(array.is_valid())


@given(st.lists(st.none() | plausible_texts, max_size=12), its.types)
def test_any_text_can_be_read_and_what_is_read_has_one_text(texts: list[str | None], type_: pa.DataType) -> None:
    read = decode(pa.array(texts, pa.string()), type_)
    assert read.type == type_
    assert len(read) == len(texts)
    read.validate(full=True)
    assert encode(decode(encode(read), type_)).equals(encode(read))


@given(st.lists(st.datetimes(), max_size=12))
def test_the_text_of_an_instant_is_that_of_python(instants: list[datetime]) -> None:
    expected = [instant.isoformat() for instant in instants]
    assert encode(pa.array(instants, pa.timestamp("us"))).to_pylist() == expected
    assert encode(pa.array(instants, pa.timestamp("us", "UTC"))).to_pylist() == [f"{text}Z" for text in expected]


@given(st.lists(st.dates(), max_size=12))
def test_the_text_of_a_date_is_that_of_python(dates: list[date]) -> None:
    assert encode(pa.array(dates, pa.date32())).to_pylist() == [day.isoformat() for day in dates]


@given(its.instant_types, st.lists(st.none() | dates_and_times, max_size=4))
def test_no_text_is_read_or_written_otherwise_for_what_is_beside_it(
    type_: pa.DataType, given: list[str | None]
) -> None:
    texts, beside = pa.array(given, pa.string()), pa.array(["+10000-01-01"])
    read = decode(texts, type_)
    assert decode(pa.concat_arrays([texts, beside]), type_)[: len(texts)].equals(read)
    written = encode(read)
    assert encode(pa.concat_arrays([read, decode(beside, type_)]))[: len(texts)].equals(written)
    assert all(decode(texts.slice(row, 1), type_).equals(read.slice(row, 1)) for row in range(len(texts)))
