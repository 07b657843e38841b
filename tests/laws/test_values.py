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
