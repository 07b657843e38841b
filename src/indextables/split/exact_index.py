"""Exact indexes: the rows of a value of one column, built and read with Arrow.

>>> from indextables.search.queries import Prefix
>>> index = build(pa.chunked_array([["b", "a", None, "b"]]), Kind.DICTIONARY)
>>> index.rows_of(Term("name", "b")).tolist()
[0, 3]
>>> parse_index(index.to_bytes()).rows_of(Prefix("name", "a")).tolist()
[1]

| kind | contents | for |
|---|---|---|
| `dictionary` | the distinct values in order, and the rows of each | values that repeat |
| `hash` | hashes of 24 bits in order, and their rows | identifiers |
| none | | values that page bounds or a scan of the column find as fast |

A hash index gives candidates: the values of these rows are read and compared. See `choose` for how a column gets its kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError, SchemaError
from indextables.kernels import ascends, flat
from indextables.layout.iceberg import bucket
from indextables.schema import available_columns_hint, type_name
from indextables.search.exact_values import matches
from indextables.search.field_rules import FieldRule
from indextables.search.murmur3 import murmur3
from indextables.search.queries import Leaf, Range, Term
from indextables.search.row_matching import Numbers
from indextables.search.text_fields import Shape, shape
from indextables.values import in_table_type

_HASHES = 2**24
_POSITIVE = 2**31 - 1
_LOW_BITS = 16  # of row numbers, which have no order in a hash index: the bits above them are compressed on their own
_FEW_ROWS = 4096  # as many as a page: the column is read as fast as an index
_FEW_VALUES = 256  # Parquet's own dictionary is then small, and a scan compares bytes
_SAMPLE = 8192
_KIND = b"kind"
_FEW_TEXTS = 16


class Kind(StrEnum):
    AUTO = "auto"
    DICTIONARY = "dictionary"
    HASH = "hash"
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryIndex:
    """`values` ascend; the rows of value `i` are `rows[starts[i]:starts[i + 1]]`, ascending."""

    values: pa.Array
    starts: Numbers
    rows: np.ndarray[Any, np.dtype[np.uint32]]

    kind = Kind.DICTIONARY

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.starts.nbytes + self.rows.nbytes)

    def rows_of(self, leaf: Leaf) -> Numbers:
        """The rows whose value satisfies a query, ascending."""
        return self._rows(np.flatnonzero(matches(leaf, self.values)))

    def rows_with(self, values: pa.Array) -> Numbers:
        """The rows that have one of these values, ascending."""
        return self._rows(np.flatnonzero(pc.is_in(self.values, in_table_type(values)).to_numpy(zero_copy_only=False)))

    def _rows(self, found: Numbers) -> Numbers:
        if len(found) == 1:
            return self.rows[self.starts[found[0]] : self.starts[found[0] + 1]].astype(np.int64)
        parts = [self.rows[self.starts[i] : self.starts[i + 1]] for i in found]
        return np.sort(np.concatenate(parts)).astype(np.int64) if parts else np.array([], np.int64)

    def to_bytes(self) -> pa.Buffer:
        gaps = np.diff(self.rows, prepend=np.uint32(0))
        firsts = self.starts[:-1]
        gaps[firsts] = self.rows[firsts]
        rows = pa.ListArray.from_arrays(pa.array(self.starts, pa.int32()), _smallest(gaps))
        return _serialized({"value": self.values, "rows": rows}, self.kind)

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "DictionaryIndex":
        values, lists = batch.columns
        starts = lists.offsets.to_numpy().astype(np.int64)
        gaps = lists.values.to_numpy(zero_copy_only=False).astype(np.int64)
        sums = np.cumsum(gaps)
        lengths = np.diff(starts)
        before = np.repeat(sums[starts[:-1]] - gaps[starts[:-1]], lengths)  # each list begins anew
        return cls(values, starts, (sums - before).astype(np.uint32))


@dataclass(frozen=True, slots=True, eq=False)
class HashIndex:
    """`hashes` ascend, and `rows` has the row of each."""

    hashes: np.ndarray[Any, np.dtype[np.int32]]
    rows: np.ndarray[Any, np.dtype[np.uint32]]

    kind = Kind.HASH

    @property
    def nbytes(self) -> int:
        return int(self.hashes.nbytes + self.rows.nbytes)

    def candidates(self, values: pa.Array) -> Numbers:
        """The rows that may have one of these values, which are of the column's type; ascending."""
        found = np.searchsorted(self.hashes, _hash_bounds(values))
        found = found[found[:, 0] < found[:, 1]]
        starts, counts = found[:, 0], found[:, 1] - found[:, 0]
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.unique(self.rows[np.repeat(starts, counts) + inside]).astype(np.int64)

    def to_bytes(self) -> pa.Buffer:
        gaps = np.diff(self.hashes, prepend=np.int32(0))
        high, low = _smallest(self.rows >> _LOW_BITS), pa.array(self.rows.astype(np.uint16))
        return _serialized({"hash": _smallest(gaps), "high": high, "low": low}, self.kind)

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "HashIndex":
        gaps, high, low = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        return cls(np.cumsum(gaps, dtype=np.int32), high.astype(np.uint32) << _LOW_BITS | low)


ExactIndex: TypeAlias = DictionaryIndex | HashIndex


def parse_index(data: pa.Buffer) -> ExactIndex:
    """The index of these bytes; ValueError where they are none."""
    batch = pa.ipc.open_stream(data).read_next_batch()
    batch.validate(full=True)  # Arrow would follow offsets to wherever they lead
    match (batch.schema.metadata or {}).get(_KIND, b"").decode():
        case Kind.DICTIONARY.value if batch.num_rows:
            return DictionaryIndex.of(batch)
        case Kind.HASH.value if batch.num_rows:
            return HashIndex.of(batch)
        case kind:
            raise ValueError(f"it is no exact index, or of an unknown kind {kind!r}")


def checked_index(index: ExactIndex, arrow: pa.DataType, *, num_rows: int) -> ExactIndex:
    """The index itself; ValueError where it cannot be that of a column of this type and so many rows."""
    if isinstance(index, DictionaryIndex):
        if index.values.type != arrow or index.values.null_count:
            raise ValueError(f"it has values of type {index.values.type}, or nulls, and the column is {arrow}")
        if index.starts[0] != 0 or index.starts[-1] != len(index.rows) or (np.diff(index.starts) <= 0).any():
            raise ValueError("its lists of rows do not follow each other")
    elif not is_hashable(arrow):
        raise ValueError(f"it has hashes, and the column is {arrow}")
    if len(index.rows) and index.rows.max() >= num_rows:
        raise ValueError("it names rows that are not there")
    return index


def is_hashable(arrow: pa.DataType) -> bool:
    """Whether values of this type can be in a hash index."""
    return not (pa.types.is_floating(arrow) or pa.types.is_boolean(arrow) or pa.types.is_binary(arrow))


def equal_values(leaf: Leaf, arrow: pa.DataType) -> pa.Array | None:
    """The values that a query asks for, if it asks for equality, in the column's type."""
    match leaf:
        case Term(_, text):
            return pa.array([text], arrow)
        case Range(_, lower, upper, True, True) if lower is not None and upper is not None and lower.equals(upper):
            try:
                return pa.array([lower]).cast(arrow)
            except pa.ArrowInvalid:  # a column that was narrower when the split was written
                return pa.array([], arrow)
        case _:
            return None


def choose(column: pa.ChunkedArray) -> Kind:
    """The kind of index for the values of a column.

    None for few rows, for types that are mostly compared by ranges, for values in order (bounds of pages find them), for
    numbers that repeat (a scan of them takes as long as reading an index) and for few distinct values; a hash index if most
    values differ; else a dictionary.
    """
    kind, rows = column.type, len(column)
    if rows < _FEW_ROWS or not (pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return Kind.NONE
    if is_mostly_unique(column.slice(0, _SAMPLE)):
        return Kind.NONE if _is_sorted(column) else Kind.HASH
    if not pa.types.is_string(kind):
        return Kind.NONE
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if distinct <= _FEW_VALUES:
        return Kind.NONE
    return Kind.DICTIONARY if 4 * distinct <= rows else Kind.HASH


def build(column: pa.ChunkedArray, kind: Kind) -> ExactIndex | None:
    """The index of a column; None where its values need none."""
    kind = choose(column) if kind is Kind.AUTO else kind
    if kind is Kind.NONE or column.null_count == len(column):
        return None
    values = in_table_type(column)
    return _dictionary_index(values) if kind is Kind.DICTIONARY else _hash_index(values)


def _dictionary_index(values: pa.Array) -> DictionaryIndex:
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.argsort(order.to_numpy())
    rows, codes = _valid(values, encoded.indices)
    codes = ranks[codes].astype(np.min_scalar_type(len(ranks)))
    by_value = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(ranks))
    return DictionaryIndex(encoded.dictionary.take(order), np.append(0, np.cumsum(counts)), rows[by_value])


def _hash_index(values: pa.Array) -> HashIndex:
    rows, hashes = _valid(values, bucket(_widened(values), _HASHES))
    order = np.argsort(hashes, kind="stable")
    return HashIndex(hashes[order], rows[order])


def _valid(values: pa.Array, numbers: pa.Array) -> tuple[Any, Any]:
    """The rows that are not null, and their numbers."""
    if not values.null_count:
        return np.arange(len(values), dtype=np.uint32), numbers.to_numpy()
    rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)).astype(np.uint32)
    return rows, numbers.drop_null().to_numpy()


def _hash_bounds(values: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The hash of each value that is not null, and the one above it; few texts without pyiceberg-core, slow to load."""
    present = values.drop_null() if values.null_count else values
    if pa.types.is_string(present.type) and len(present) <= _FEW_TEXTS:
        texts = (value.as_buffer().to_pybytes() for value in present)
        found = np.array([(murmur3(text) & _POSITIVE) % _HASHES for text in texts], np.int32)
    else:
        found = bucket(_widened(present), _HASHES).to_numpy()
    return np.stack([found, found + 1], axis=-1)


def _widened(values: pa.Array) -> pa.Array:
    """Small integers as `bucket` takes them; its hashes of all integers agree."""
    return values.cast(pa.int32()) if values.type in (pa.int8(), pa.int16()) else values


def is_mostly_unique(column: pa.ChunkedArray) -> bool:
    """Whether more than half of the values are different ones."""
    return bool(2 * pc.count_distinct(column, mode="only_valid").as_py() > len(column) - column.null_count > 0)


def _is_sorted(column: pa.ChunkedArray) -> bool:
    values = flat(column)
    return not values.null_count and ascends(values.slice(0, _SAMPLE)) and ascends(values)


def _smallest(numbers: np.ndarray[Any, Any]) -> pa.Array:
    """The numbers, none of which is negative, in as few bytes as they need."""
    return pa.array(numbers.astype(np.min_scalar_type(int(numbers.max(initial=0)))))


def _serialized(columns: dict[str, pa.Array], kind: Kind) -> pa.Buffer:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    batch = batch.replace_schema_metadata({_KIND: kind.encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def kinds(given: Mapping[str, str], schema: pa.Schema, rules: Mapping[str, FieldRule]) -> dict[str, Kind]:
    """The kinds that settings ask for, by column; a ConfigError or SchemaError where one cannot be.

    >>> from indextables.search import resolve
    >>> schema = pa.schema({"id": pa.string(), "price": pa.float64()})
    >>> kinds({"ID": "Hash"}, schema, resolve(schema))
    {'id': <Kind.HASH: 'hash'>}
    >>> kinds({"price": "hash"}, schema, resolve(schema))
    Traceback (most recent call last):
    indextables.errors.SchemaError: column 'price' has type double and cannot have a hash index; use dictionary, none or auto
    """
    by_name = {name.lower(): name for name in schema.names}
    return {by_name.get(name.lower(), name): _kind(name, text, schema, rules, by_name) for name, text in given.items()}


def _kind(name: str, text: str, schema: pa.Schema, rules: Mapping[str, FieldRule], by_name: Mapping[str, str]) -> Kind:
    column = by_name.get(name.lower())
    if column is None:
        raise SchemaError(
            f"there is no column {name!r} to index; {available_columns_hint(name, schema.names)}", column=name
        )
    if text.strip().lower() not in list(Kind):
        raise ConfigError(
            f"indexing.exact.{column} is {text!r}; use {', '.join(Kind)}", key=f"indexing.exact.{column}", value=text
        )
    kind, arrow = Kind(text.strip().lower()), schema.field(column).type
    if kind is Kind.HASH and not is_hashable(arrow):
        raise SchemaError(
            f"column {column!r} has type {type_name(arrow)} and cannot have a hash index; use dictionary, none or auto",
            column=column,
        )
    if kind in (Kind.HASH, Kind.DICTIONARY) and shape(rules[column]) is not Shape.EXACT:
        raise SchemaError(
            f"column {column!r} is indexed as {rules[column]} and has no exact index; leave indexing.exact.{column} out",
            column=column,
        )
    return kind
