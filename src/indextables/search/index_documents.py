r"""Rows as the documents that tantivy's writer takes: one line of JSON each, put together by Arrow.

>>> from indextables.search import resolve
>>> schema = pa.schema({"level": pa.string(), "status": pa.int32()})
>>> batch = pa.record_batch([["a \"b\"", None], [200, None]], schema=schema)
>>> print(*documents(batch, resolve(schema)), sep="\n")
{":":[],"=level":"a \"b\"","=status":200}
{":":[],"?level":0,"?status":0}

Measured on 200,000 log lines with one text, three strings, an instant and a number, on one core: 480,000 to 680,000
rows/s, against 310,000 rows/s with msgspec over `to_pylist()`, and 157,000 rows/s with `Document.from_dict`.
"""

from collections.abc import Iterator, Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.search.field_rules import FieldRule
from indextables.search.index_terms import (
    CUT,
    LONGEST_TEXT,
    NULL,
    PLACEHOLDER,
    Shape,
    field_name,
    ordinals,
    shape,
    state_name,
    term_texts,
)
from indextables.values import in_table_type

_SLICE = 8192  # rows whose JSON is in memory at a time
_QUOTED = {"\\": "\\\\", '"': '\\"'}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
_ANY_CONTROL = r"[\x00-\x1f]"


def documents(batch: pa.RecordBatch, rules: Mapping[str, FieldRule]) -> Iterator[str]:
    """A document for every row, in order, for `tantivy.IndexWriter.add_json`. Nulls are left out of it."""
    for start in range(0, batch.num_rows, _SLICE):
        yield from _lines(batch.slice(start, _SLICE), rules).to_pylist()


def _lines(batch: pa.RecordBatch, rules: Mapping[str, FieldRule]) -> pa.Array:
    members: list[pa.Array | str] = [f'{{"{PLACEHOLDER}":[]']
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        members += _members(name, in_table_type(column), rules[name])
    members += ["}" if len(members) > 1 else pa.repeat(_large("}"), batch.num_rows)]
    return _join(members)


def _members(name: str, column: pa.Array, rule: FieldRule) -> list[pa.Array | str]:
    """The pieces of JSON with the values of one column, in each document."""
    is_null = _key(state_name(name)) + str(NULL)
    match shape(column.type, rule):
        case Shape.NOTHING:
            return []
        case Shape.ORDINAL:
            return _or_else(is_null, column, [_key(field_name(name)), ordinals(column).cast(pa.large_string())])
        case Shape.TERM | Shape.WORDS as kind:
            return _or_else(is_null, column, _text_members(name, term_texts(column), cut=kind == Shape.TERM))


def _text_members(name: str, texts: pa.Array, *, cut: bool) -> list[pa.Array | str]:
    texts = texts.cast(pa.large_string())
    too_long = pc.greater(pc.binary_length(texts), LONGEST_TEXT)
    state: list[pa.Array | str] = []
    if cut and pc.any(too_long).as_py():
        texts = pc.replace_with_mask(texts, too_long, _starts(texts.filter(too_long)))
        state = [pc.if_else(too_long, _large(_key(state_name(name)) + str(CUT)), _large(""))]
    return [_key(field_name(name)) + '"', _escape(texts), '"', *state]


def _starts(texts: pa.Array) -> pa.Array:
    """The prefixes of texts that are too long, cut at whole characters."""
    cut = (text.encode()[:LONGEST_TEXT].decode(errors="ignore") for text in texts.to_pylist())
    return pa.array(cut, texts.type)


def _or_else(missing: str, column: pa.Array, pieces: list[pa.Array | str]) -> list[pa.Array | str]:
    return [pc.fill_null(_join(pieces), missing)] if column.null_count else pieces


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
