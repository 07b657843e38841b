"""Thrift's compact protocol: what is written is read."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from indextables.split.thrift import BINARY, I16, I32, I64, LIST, STRUCT, encoded, parse_struct, struct

integers = st.tuples(st.sampled_from([I16, I32, I64]), st.integers(-(2**63), 2**63 - 1))
texts = st.tuples(st.just(BINARY), st.binary(max_size=200))


def _encoded_list(elements: tuple[int, list[Any]]) -> tuple[int, Any]:
    kind, values = elements
    return LIST, (kind, values)


lists = st.one_of(
    st.tuples(st.sampled_from([I32, I64]), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)),
    st.tuples(st.just(BINARY), st.lists(st.binary(max_size=9), max_size=20)),
).map(_encoded_list)
fields = st.recursive(
    st.dictionaries(st.integers(1, 300), st.one_of(integers, texts, lists), max_size=6),
    lambda inner: st.dictionaries(
        st.integers(1, 300), st.one_of(integers, texts, lists, inner.map(lambda f: (STRUCT, f))), max_size=6
    ),
    max_leaves=4,
)


def _bytes(given: dict[int, tuple[int, Any]]) -> bytes:
    return struct([(number, kind, _value(kind, value)) for number, (kind, value) in sorted(given.items())])


def _value(kind: int, value: Any) -> Any:
    if kind == STRUCT:
        return _bytes(value)
    return (value[0], [encoded(value[0], element) for element in value[1]]) if kind == LIST else value


def _plain(given: dict[int, tuple[int, Any]]) -> dict[int, Any]:
    shown = {STRUCT: _plain, LIST: lambda value: value[1]}
    return {number: shown.get(kind, lambda value: value)(value) for number, (kind, value) in given.items()}


@given(given_fields=fields, before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_what_is_written_is_read(given_fields: dict[int, tuple[int, Any]], before: bytes, after: bytes) -> None:
    data = _bytes(given_fields)
    found = parse_struct(before + data + after, len(before))
    assert found == _plain(given_fields)
    assert (found.start, found.end) == (len(before), len(before) + len(data))
