import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.search import documents, resolve
from indextables.search.text_fields import NULL, field_name, null_field_name


def encoded(column: pa.Array, name: str = "c") -> list[dict[str, Any]]:
    batch = pa.record_batch([column], names=[name])
    return [json.loads(line) for line in documents(batch, resolve(batch.schema, {name: "text"}))]


@given(st.lists(st.none() | st.text(), min_size=1), st.text(min_size=1))
def test_any_text_and_any_name_is_said_exactly(texts: list[str | None], name: str) -> None:
    rows = encoded(pa.array(texts, pa.string()), name)
    assert [row.get(field_name(name)) for row in rows] == texts
    assert [row.get(null_field_name(name)) for row in rows] == [NULL if text is None else None for text in texts]


def test_texts_of_a_dictionary_are_in_the_documents() -> None:
    assert [row[field_name("c")] for row in encoded(pa.array(["a", "", "a"]).dictionary_encode())] == ["a", "", "a"]


def test_only_columns_of_words_are_in_the_documents() -> None:
    batch = pa.record_batch({"a": pa.array([b"x"]), "b": pa.array(["x"]), "c": pa.array(["x"]), "n": pa.array([1])})
    assert [json.loads(line) for line in documents(batch, resolve(batch.schema, {"b": "none"}))] == [{":": []}]
    assert list(documents(batch.slice(0, 0), resolve(batch.schema))) == []
