r"""Term filters: a Bloom filter of the terms of one split, which the log keeps with the split.

A filter says of a term that the split does not have it, or that it may have it. About one absent term in 250 is taken for
present. docs/format.md has the bytes: a header with the columns that are covered, and the bits.

The terms are collected while the rows of a split are written. Words come first, then strings, then integers, and columns
with few values before others. A column of which not all terms fit is left out.

>>> terms = {"message": pa.array(["disk", "full"]), "trace_id": pa.array(["a1"])}
>>> some = build(terms, columns=["id", "message", "trace_id"], max_bytes=64)
>>> filters = TermFilters.of(pa.chunked_array([pa.array([some, None], pa.large_binary())]))
>>> message, untold = np.array([1, 1]), np.array([0, 0])
>>> covered = filters.covers(message, columns=np.array([3, 3]))
>>> covered.tolist(), filters.covers(untold, columns=np.array([3, 3])).tolist()
([True, False], [False, False])
>>> filters.may_contain(term_hashes("message", ["full"]), among=covered).tolist()
[True, True]
>>> filters.may_contain(term_hashes("message", ["empty"]), among=covered).tolist()
[False, True]
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import cast_to
from indextables.layout import iceberg
from indextables.search.field_rules import NONE, STRING, TEXT, FieldRule
from indextables.search.murmur3 import murmur3
from indextables.values import table_type

BITS_PER_TERM = 11.5
PROBES = 7
_VERSION = 1
_HEADER = 7  # bytes: the version, the number of columns in two, and the salt in four
_MOST_COLUMNS = 2**16 - 1
_HASHES = 2**31 - 1
_STEP = 0x9E3779B9
_ROWS_PER_TERM = 4
"""A split of more rows for each term that fits has too many words: they are not even listed."""
_MAX_TEXT = 2**20  # bytes of the distinct values of a column: a hash reads them all

Flags: TypeAlias = npt.NDArray[np.bool_]
Hashes: TypeAlias = npt.NDArray[np.uint32]
Numbers: TypeAlias = npt.NDArray[np.int64]


def term_hashes(column: str, terms: Iterable[str]) -> Hashes:
    """The hash of each of a few terms of a column.

    >>> term_hashes("message", ["disk", "full"]).tolist()
    [837531118, 1906591196]
    >>> term_hashes("message", ["disk"]) == hashes_of_columns({"message": pa.array(["disk"])})
    array([ True])
    """
    keys = (f"{column}\0{term}".encode() for term in terms)
    return np.array([(murmur3(key) & _HASHES) % _HASHES for key in keys], np.uint32)


def hashes_of_columns(terms: Mapping[str, pa.Array]) -> Hashes:
    """The hashes of many terms: Iceberg's `bucket[2147483647]` of the column's name, NUL and the term."""
    nul = pa.scalar("\0")
    keys = [pc.binary_join_element_wise(pa.scalar(column), distinct, nul) for column, distinct in terms.items()]
    hashes: Hashes = iceberg.bucket(pa.concat_arrays(keys), _HASHES).to_numpy().astype(np.uint32)
    return hashes


def capacity(max_bytes: int, *, columns: int) -> int:
    """How many terms fit into a filter of so many bytes, for a split of so many columns."""
    if columns > _MOST_COLUMNS:
        return 0
    return max(0, int((max_bytes - _HEADER - _bytes(columns)) * 8 / BITS_PER_TERM))


def build(terms: Mapping[str, pa.Array], *, columns: Collection[str], max_bytes: int) -> bytes | None:
    """The filter of the distinct terms of some of the columns of a split; None without terms, or where it is too large."""
    count = sum(map(len, terms.values()))
    if not 0 < count <= capacity(max_bytes, columns=len(columns)):
        return None
    covered = np.array([column in terms for column in sorted(columns)])
    bits = np.zeros(8 * _bytes(int(count * BITS_PER_TERM)), np.bool_)
    hashes = hashes_of_columns(terms)
    salt = np.bitwise_xor.reduce(hashes)
    for number in range(PROBES):
        bits[(_probe(hashes ^ salt, number) * len(bits)) >> 32] = True
    header = bytes([_VERSION]), len(columns).to_bytes(2, "little"), int(salt).to_bytes(4, "little")
    return b"".join([*header, *(np.packbits(some, bitorder="little").tobytes() for some in (covered, bits))])


@dataclass(frozen=True, slots=True, eq=False)
class TermFilters:
    """The filters of many splits. Of a split without a filter, or with one of another version, nothing is known.

    `start` and `end` are those of each filter in `data`, `columns` and `salt` are in its header, and `bits` is where its
    bits begin. Without a salt, common words would set the same bits in all splits, and a term that shares them would be
    taken for present in many.
    """

    data: npt.NDArray[np.uint8]
    start: Numbers
    end: Numbers
    columns: Numbers
    salt: Hashes
    bits: Numbers
    readable: Flags

    @staticmethod
    def of(filters: pa.ChunkedArray) -> "TermFilters":
        """From a column of type `large_binary`."""
        array = filters.combine_chunks()
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        start, end = ends[:-1], ends[1:]
        content = np.frombuffer(data if data and len(data) > _HEADER else bytes(_HEADER), np.uint8)
        present = array.is_valid().to_numpy(zero_copy_only=False) & (end - start > _HEADER)
        at = np.where(present, start, 0)
        version, low, high, *salts = (_at(content, at + place) for place in range(_HEADER))
        columns = low + 256 * high
        salt = sum((byte << 8 * place for place, byte in enumerate(salts)), np.zeros(len(at), np.int64))
        bits = start + _HEADER + (columns + 7) // 8
        readable = present & (version == _VERSION) & (bits < end)
        return TermFilters(content, start, end, columns, salt.astype(np.uint32), bits, readable)

    def covers(self, number: Numbers, *, columns: Numbers) -> Flags:
        """Where a filter has the terms of a column: the one of this number among the `columns` of its split, by name.

        A negative number is no column. A header with another number of columns is about other columns: nothing is known.
        """
        known = self.readable & (number >= 0) & (number < columns) & (self.columns == columns)
        covered = np.zeros(len(known), np.bool_)
        covered[known] = _is_set(self.data, self.start[known] + _HEADER, number[known])
        return covered

    def may_contain(self, terms: Hashes, *, among: Flags) -> Flags:
        """False where a filter `among` those that cover the column excludes all of the terms, given by their hashes."""
        found = ~among
        for term in terms:
            left = np.flatnonzero(~found)
            for number in range(PROBES):
                bits, end = self.bits[left], self.end[left]
                probe = _probe(term ^ self.salt[left], number)
                left = left[_is_set(self.data, bits, (probe * 8 * (end - bits)) >> 32)]
            found[left] = True
        return found

    def may_contain_each(self, terms: Hashes) -> Flags:
        """Of many terms, whether the filter of the only split may have each of them."""
        bits, salt = np.repeat(self.bits[0], len(terms)), self.salt[0]
        length = 8 * int(self.end[0] - self.bits[0])
        found = np.ones(len(terms), np.bool_)
        for number in range(PROBES):
            found &= _is_set(self.data, bits, (_probe(terms ^ salt, number) * length) >> 32)
        return found


class SplitTerms:
    """The distinct values of the columns of one split that have strings and integers, as long as they are few."""

    def __init__(self, schema: pa.Schema, rules: Mapping[str, FieldRule], *, max_bytes: int) -> None:
        self._columns = list(rules)
        self._max_bytes = max_bytes
        self._capacity = capacity(max_bytes, columns=len(rules))
        self._texts = [name for name in schema.names if rules[name].type == TEXT]
        exact = [field for field in schema if _is_exact(field, rules[field.name])] if self._capacity else []
        self._values = {field.name: pa.array([], table_type(field.type)) for field in exact}
        self._rows = 0

    def observe(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Collects the values of some batches."""
        for batch in batches:
            self._rows += batch.num_rows
            for name, known in list(self._values.items()):
                values = _distinct(known, batch[name])
                if self._fits(values):
                    self._values[name] = values
                else:
                    del self._values[name]

    def term_filter(self, words: Callable[[str], pa.Array]) -> bytes | None:
        """The filter of the split; `words` gives the distinct words of a text column."""
        chosen: dict[str, pa.Array] = {}
        left = self._capacity
        for name, terms in self._candidates(words):
            if len(terms) <= left and self._fits(terms):
                chosen[name] = terms
                left -= len(terms)
        return build(chosen, columns=self._columns, max_bytes=self._max_bytes)

    def _candidates(self, words: Callable[[str], pa.Array]) -> Iterator[tuple[str, pa.Array]]:
        if self._rows <= _ROWS_PER_TERM * self._capacity:
            yield from ((name, words(name)) for name in self._texts)
        for name, values in sorted(self._values.items(), key=_strings_and_small_columns_first):
            yield name, values.cast(pa.string())

    def _fits(self, values: pa.Array) -> bool:
        return len(values) <= self._capacity and values.nbytes <= _MAX_TEXT


def _is_exact(field: pa.Field, rule: FieldRule) -> bool:
    return rule.type == STRING or (pa.types.is_integer(field.type) and rule.type != NONE)


def _strings_and_small_columns_first(column: tuple[str, pa.Array]) -> tuple[bool, int]:
    _, values = column
    return pa.types.is_integer(values.type), len(values)


def _distinct(known: pa.Array, more: pa.Array) -> pa.Array:
    values = pc.unique(cast_to(more, known.type)).drop_null()
    return pc.unique(pa.concat_arrays([known, values])) if len(known) else values


def _probe(hashes: Hashes, number: int) -> Numbers:
    """A number of 32 bits for each hash: murmur3's finalizer of the hash plus a multiple of a constant."""
    return _mixed(hashes + np.uint32(number * _STEP % 2**32)).astype(np.int64)


def _mixed(numbers: Hashes) -> Hashes:
    numbers = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    numbers = (numbers ^ (numbers >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return numbers ^ (numbers >> np.uint32(16))


def _is_set(data: npt.NDArray[np.uint8], start: Numbers, position: Numbers) -> Flags:
    """Whether a bit is set, counted from the lowest bit of the byte at `start`."""
    is_set: Flags = (_at(data, start + position // 8) >> (position % 8)) % 2 == 1
    return is_set


def _at(data: npt.NDArray[np.uint8], places: Numbers) -> Numbers:
    return data[places].astype(np.int64)


def _bytes(bits: int) -> int:
    return (bits + 7) // 8
