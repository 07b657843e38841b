"""Queries on columns with exact values, evaluated on the values.

>>> matches(nodes.Range("status", pa.scalar(500), None), pa.array([200, 503, None])).tolist()
[False, True, False]

Arrow compares. Regular expressions and fuzzy words are run by tantivy over the distinct values, so that they mean the same
as in columns of words.
"""

from typing import Any, assert_never

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tantivy

from indextables.errors import SearchQueryError
from indextables.kernels import cast_to, flat
from indextables.search import queries as nodes
from indextables.search import wildcards
from indextables.search.index_documents import index_in_memory
from indextables.search.ordinals import keys_of
from indextables.search.queries import Leaf
from indextables.search.to_lucene import to_text
from indextables.values import in_table_type

Mask = np.ndarray[Any, np.dtype[np.bool_]]
_LONGEST_TERM = 65_530  # bytes; tantivy leaves longer values out
_FIELD = "value"
_MEMORY = 64_000_000


def matches(leaf: Leaf, values: pa.Array | pa.ChunkedArray) -> Mask:
    """Whether each value satisfies a query; null satisfies none. Dictionary arrays are evaluated on their dictionary."""
    array = flat(values)
    if isinstance(array, pa.DictionaryArray):
        return _in_dictionary(leaf, array)
    return flags(_compare(leaf, in_table_type(array)))


def _in_dictionary(leaf: Leaf, array: pa.DictionaryArray) -> Mask:
    if isinstance(leaf, nodes.MatchAll | nodes.MatchNone):
        return np.full(len(array), isinstance(leaf, nodes.MatchAll))
    found = np.append(matches(leaf, array.dictionary), values=False)
    result: Mask = found[pc.fill_null(array.indices, len(array.dictionary)).to_numpy(zero_copy_only=False)]
    return result


def flags(result: pa.BooleanArray) -> Mask:
    """Truth values, of which null is false."""
    known = pc.fill_null(result, fill_value=False) if result.null_count else result
    return np.asarray(known.to_numpy(zero_copy_only=False), np.bool_)


def _compare(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:  # noqa: PLR0911 - one for each kind
    match leaf:
        case nodes.MatchAll() | nodes.MatchNone():
            return pa.repeat(pa.scalar(isinstance(leaf, nodes.MatchAll)), len(values))
        case nodes.Exists():
            return values.is_valid()
        case nodes.Term(_, text):
            return pc.equal(values, pa.scalar(text))
        case nodes.Prefix(_, text):
            return pc.starts_with(values, text)
        case nodes.Wildcard(_, pattern):
            return pc.match_substring_regex(values, rf"\A(?:{wildcards.wildcard(pattern)})\z")
        case nodes.Range():
            return _between(leaf, values)
        case nodes.Regex() | nodes.Fuzzy():
            return _by_automaton(leaf, values)
        case nodes.Phrase():
            raise AssertionError("a phrase needs a text column")
        case _:
            assert_never(leaf)


def _between(range_: nodes.Range, values: pa.Array) -> pa.BooleanArray:
    kind = next(end.type for end in (range_.lower, range_.upper) if end is not None)
    keys = keys_of(cast_to(values, kind))
    result = values.is_valid()
    if range_.lower is not None:
        above = pc.greater_equal if range_.includes_lower else pc.greater
        result = pc.and_(result, above(keys, _key(range_.lower)))
    if range_.upper is not None:
        below = pc.less_equal if range_.includes_upper else pc.less
        result = pc.and_(result, below(keys, _key(range_.upper)))
    return result


def _key(end: pa.Scalar) -> pa.Scalar:
    return keys_of(in_table_type(pa.array([end], end.type)))[0]


def _by_automaton(leaf: nodes.Regex | nodes.Fuzzy, values: pa.Array) -> pa.BooleanArray:
    """By an index in memory with a document for each distinct value."""
    encoded = values.dictionary_encode()
    lengths = pc.binary_length(encoded.dictionary)
    if isinstance(leaf, nodes.Regex) and pc.any(pc.greater(lengths, _LONGEST_TERM)).as_py():
        raise _too_long(leaf)
    index = _index_of(encoded.dictionary)
    hits = index.searcher().search(_automaton(leaf, index.schema), limit=max(1, len(encoded.dictionary))).hits
    found = np.zeros(len(encoded.dictionary), np.bool_)
    found[[address.doc for _, address in hits]] = True
    return pa.array(found).take(encoded.indices)


def _index_of(texts: pa.Array) -> tantivy.Index:
    schema = tantivy.SchemaBuilder().add_text_field(_FIELD, tokenizer_name="raw", index_option="basic").build()
    rows = (msgspec.json.encode({_FIELD: text}).decode() for text in texts.to_pylist())
    return index_in_memory(schema, rows, memory=_MEMORY)


def _automaton(leaf: nodes.Regex | nodes.Fuzzy, schema: tantivy.Schema) -> tantivy.Query:
    if isinstance(leaf, nodes.Regex):
        return tantivy.Query.regex_query(schema, _FIELD, f"(?s){leaf.pattern}")
    return tantivy.Query.fuzzy_term_query(schema, _FIELD, leaf.text, leaf.distance)


def _too_long(leaf: nodes.Regex) -> SearchQueryError:
    reason = f"{leaf.field!r} has values of more than {_LONGEST_TERM:,} bytes, too long for a regular expression"
    return SearchQueryError(
        f"the search {to_text(leaf)} cannot be run: {reason}; search for a prefix or a wildcard instead",
        query=to_text(leaf),
        reason=reason,
        field=leaf.field,
    )
