r"""Rows as the documents that tantivy's writer takes: one line of JSON each with the `text` columns, built by Arrow.

>>> from indextables.search import resolve
>>> schema = pa.schema({"message": pa.string(), "status": pa.int32()})
>>> batch = pa.record_batch([["a \"b\"", None], [200, 404]], schema=schema)
>>> print(*documents(batch, resolve(schema, {"message": "text"})), sep="\n")
{":":[],"=message":"a \"b\""}
{":":[],"?message":0}
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.search.field_rules import FieldRule
from indextables.search.text_fields import NULL, PLACEHOLDER, Shape, field_name, null_field_name, shape

_SLICE = 8192  # rows whose JSON is in memory at a time
_QUOTED = {"\\": "\\\\", '"': '\\"'}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_ANY_CONTROL = r"[\x00-\x1f]"


def documents(batch: pa.RecordBatch, rules: Mapping[str, FieldRule]) -> Iterator[str]:
    """A document for every row, in order, for `tantivy.IndexWriter.add_json`. Nulls are left out of it."""
    for start in range(0, batch.num_rows, _SLICE):
        yield from _lines(batch.slice(start, _SLICE), rules).to_pylist()


def index_in_memory(schema: tantivy.Schema, rows: Iterable[str], *, memory: int) -> tantivy.Index:
    """An index of such documents, which has one segment if they are few for the `memory` of the writer."""
    index = tantivy.Index(schema)
    writer = index.writer(memory, num_threads=1)
    for row in rows:
        writer.add_json(row)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def _lines(batch: pa.RecordBatch, rules: Mapping[str, FieldRule]) -> pa.Array:
    members: list[pa.Array | str] = [f'{{"{PLACEHOLDER}":[]']
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if shape(rules[name]) is Shape.WORDS:
            members += _members(name, column.cast(pa.large_string()))
    members += ["}" if len(members) > 1 else pa.repeat(_large("}"), batch.num_rows)]
    return _join(members)


def _members(name: str, texts: pa.Array) -> list[pa.Array | str]:
    """The pieces of JSON with the values of one column, in each document."""
    pieces = [_key(field_name(name)) + '"', _escape(texts), '"']
    missing = _key(null_field_name(name)) + str(NULL)
    return [pc.fill_null(_join(pieces), missing)] if texts.null_count else pieces


def _escape(texts: pa.Array) -> pa.Array:
    """The inside of a JSON string."""
    controls = _CONTROLS if pc.any(pc.match_substring_regex(texts, _ANY_CONTROL)).as_py() else {}
    for character, escape in (_QUOTED | controls).items():
        texts = pc.replace_substring(texts, character, escape)
    return texts


def _join(pieces: list[pa.Array | str]) -> pa.Array:
    """The pieces of each row put together. Many long texts exceed 32-bit offsets."""
    return pc.binary_join_element_wise(*(_large(p) if isinstance(p, str) else p for p in pieces), _large(""))


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _key(field: str) -> str:
    return f",{msgspec.json.encode(field).decode()}:"
