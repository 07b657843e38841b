"""The few functions on Arrow arrays that `pyarrow.compute` does not have."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def flat(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values in one piece."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def sum_of(numbers: pa.Array | pa.ChunkedArray) -> int:
    """The sum of whole numbers, or how many of some flags are true; 0 where there are none."""
    return int(pc.sum(numbers).as_py() or 0)


def ascends(array: pa.Array) -> bool:
    """Whether no value is less than the one before it."""
    return bool(pc.all(pc.less_equal(array.slice(0, len(array) - 1), array.slice(1))).as_py())


def concat_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of batches, at least one, as one batch; `pyarrow.concat_batches` is there since version 19."""
    columns = zip(*(batch.columns for batch in batches), strict=True)
    return pa.RecordBatch.from_arrays([pa.concat_arrays(pieces) for pieces in columns], schema=batches[0].schema)


def gather_batches(batches: Iterable[pa.RecordBatch], *, at_least: int) -> Iterator[pa.Table]:
    """The rows in tables of at least `at_least` bytes; the last one may be smaller.

    >>> [len(table) for table in gather_batches([pa.record_batch({"n": [1, 2]})] * 3, at_least=20)]
    [4, 2]
    """
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= at_least:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def cast_to(array: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """The values in another type; Arrow's own cast takes its time even where there is nothing to do."""
    return array if array.type == wanted else array.cast(wanted)


def over_distinct(function: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    """`function(array)`, where each distinct value is worked on once.

    >>> over_distinct(pc.utf8_upper, pa.array(["a", None, "a"])).to_pylist()
    ['A', None, 'A']
    """
    encoded = array.dictionary_encode()
    return function(encoded.dictionary).take(encoded.indices)


def where(condition: pa.Array, array: pa.Array) -> pa.Array:
    """The values for which the condition holds; null elsewhere.

    >>> where(pa.array([True, False, None]), pa.array([1, 2, 3])).to_pylist()
    [1, None, None]
    """
    return pc.if_else(condition, array, pa.scalar(None, array.type))


def within(array: pa.Array, lowest: int, highest: int) -> pa.Array:
    """The numbers between two limits, which belong to them; null elsewhere.

    >>> within(pa.array([-129, -128, 127, 128]), -128, 127).to_pylist()
    [None, -128, 127, None]
    """
    low, high = pa.scalar(lowest, array.type), pa.scalar(highest, array.type)
    return where(pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high)), array)


def clamp(array: pa.Array, lowest: int, highest: int) -> pa.Array:
    """The numbers, or the limit that they exceed.

    >>> clamp(pa.array([-129, 0, 128, None]), -128, 127).to_pylist()
    [-128, 0, 127, None]
    """
    low, high = pa.scalar(lowest, array.type), pa.scalar(highest, array.type)
    return pc.min_element_wise(pc.max_element_wise(array, low, skip_nulls=False), high, skip_nulls=False)


def floor_divide(dividend: pa.Array, divisor: int) -> pa.Array:
    """The quotient rounded down, where Arrow rounds toward zero.

    >>> floor_divide(pa.array([-1, 0, 7]), 4).to_pylist()
    [-1, 0, 1]
    """
    quotient = pc.divide(dividend, divisor)
    short = pc.less(dividend, pc.multiply(quotient, divisor))
    return pc.subtract(quotient, pc.cast(short, dividend.type))


def remainder(dividend: pa.Array, divisor: int) -> pa.Array:
    """What is left of a quotient rounded down: never negative. On the way it may wrap, there and back.

    >>> remainder(pa.array([-1, 0, 7]), 4).to_pylist()
    [3, 0, 3]
    """
    return pc.subtract(dividend, pc.multiply(floor_divide(dividend, divisor), divisor))


def mixed_radix(first: pa.Array, *places: tuple[int, pa.Array]) -> pa.Array:
    """The number that has these digits, each with the base of its place; an overflow is an error.

    >>> mixed_radix(pa.array([1]), (24, pa.array([2])), (60, pa.array([3]))).to_pylist()  # minutes of 1 day, 2 h, 3 min
    [1563]
    """
    for base, digit in places:
        first = pc.add_checked(pc.multiply_checked(first, base), digit)
    return first


def join(*pieces: pa.Array | str) -> pa.Array:
    """Texts put together, row by row.

    >>> join(pa.array(["a", "b"]), "-", pa.array(["1", "2"])).to_pylist()
    ['a-1', 'b-2']
    """
    return pc.binary_join_element_wise(*pieces, "")


def extract(text: pa.Array, pattern: str) -> pa.StructArray:
    r"""The named groups of a pattern that matches all of a text; null where it does not, '' for a group left out.

    >>> extract(pa.array(["1-2", "1", "1\n"]), r"(?P<a>[0-9])(?:-(?P<b>[0-9]))?").to_pylist()
    [{'a': '1', 'b': '2'}, {'a': '1', 'b': ''}, None]
    """
    return pc.extract_regex(text, rf"\A(?:{pattern})\z")


def captured_number(captures: pa.StructArray, name: str) -> pa.Array:
    """One group of an extracted pattern as 64-bit integers; a group left out is zero."""
    text = pc.utf8_ltrim(pc.struct_field(captures, name), "+")
    return pc.if_else(pc.equal(text, ""), "0", text).cast(pa.int64())
