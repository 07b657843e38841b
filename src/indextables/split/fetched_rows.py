"""Rows of splits as the pages that hold them; pages of many splits are decoded together."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import pyarrow as pa

from indextables.kernels import cast_to
from indextables.split.format import damaged
from indextables.split.pages import PageSelection, decode

T = TypeVar("T")
R = TypeVar("R")
_BUNDLE = 512 * 1024  # bytes of pages that are decoded together


@dataclass(frozen=True, slots=True, eq=False)
class FetchedRows:
    """Rows of one split (`name`), in pages that are not decoded yet."""

    name: str
    schema: pa.Schema
    num_rows: int
    selections: Sequence[PageSelection]
    data: pa.Buffer
    dictionaries: Sequence[str]

    @property
    def format(self) -> tuple[object, ...]:
        """Rows of the same format can be decoded together."""
        return *(selection.leaf for selection in self.selections), *self.dictionaries, self.schema.names


def decode_rows(fetched: Sequence[FetchedRows], *, threads: int = 1) -> list[pa.Table]:
    """The rows of each split, in the order in which they were given."""
    groups: dict[str, list[int]] = {}
    for number, rows in enumerate(fetched):
        groups.setdefault(repr(rows.format), []).append(number)
    bundles = [bundle for numbers in groups.values() for bundle in _bundles(fetched, numbers)]
    decoded = _in_threads(lambda bundle: _decode([fetched[number] for number in bundle]), bundles, threads)
    tables = {
        number: table
        for bundle, some in zip(bundles, decoded, strict=True)
        for number, table in zip(bundle, some, strict=True)
    }
    return [tables[number] for number in range(len(fetched))]


def _bundles(fetched: Sequence[FetchedRows], numbers: Sequence[int]) -> Iterator[list[int]]:
    """Splits whose pages are decoded together: as many as fit into the caches of a processor."""
    bundle, size = list[int](), 0
    for number in numbers:
        if size > _BUNDLE:
            yield bundle
            bundle, size = [], 0
        bundle.append(number)
        size += fetched[number].data.size
    yield bundle


def _in_threads(work: Callable[[T], R], parts: Sequence[T], threads: int) -> list[R]:
    if len(parts) <= 1 or threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return list(pool.map(work, parts))


def _decode(fetched: Sequence[FetchedRows]) -> list[pa.Table]:
    first = fetched[0]
    try:
        arrays = decode(
            [rows.selections for rows in fetched],
            [rows.data for rows in fetched],
            dictionaries=first.dictionaries,
        )
        columns = [cast_to(array, field.type) for array, field in zip(arrays, first.schema, strict=True)]
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:  # codes beyond a dictionary are IndexErrors
        if len(fetched) > 1:  # find out which of them is damaged
            return [table for rows in fetched for table in _decode([rows])]
        raise damaged(first.name, f"its pages cannot be read: {error}") from error
    whole = pa.table(columns, schema=first.schema)
    if len(fetched) == 1:
        return [whole]
    starts = accumulate((rows.num_rows for rows in fetched), initial=0)
    return [whole.slice(start, rows.num_rows) for start, rows in zip(starts, fetched, strict=False)]
