"""Rows of splits as the pages that hold them; pages of many splits are decoded together."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

from indextables.split.format import damaged
from indextables.split.pages import PageSelection, decode

_MANY_CHUNKS = 24  # column chunks that are decoded faster by two threads


@dataclass(frozen=True, slots=True, eq=False)
class FetchedRows:
    """Rows of one split (`name`), in pages that are not decoded yet."""

    name: str
    schema: pa.Schema
    num_rows: int
    selections: Sequence[PageSelection]
    buffers: Sequence[pa.Buffer]
    dictionaries: Sequence[str]

    def parts(self, column: int) -> Sequence[pa.Buffer]:
        """The bytes of a column."""
        before = sum(len(selection.ranges) for selection in self.selections[:column])
        return self.buffers[before : before + len(self.selections[column].ranges)]

    @property
    def format(self) -> tuple[object, ...]:
        """Rows of the same format can be decoded together."""
        return *(selection.leaf for selection in self.selections), *self.dictionaries, self.schema.names


def decode_rows(fetched: Sequence[FetchedRows]) -> list[pa.Table]:
    """The rows of each split, in the order in which they were given."""
    groups: dict[str, list[int]] = {}
    for number, rows in enumerate(fetched):
        groups.setdefault(repr(rows.format), []).append(number)
    tables: dict[int, pa.Table] = {}
    for numbers in groups.values():
        tables.update(zip(numbers, _decode([fetched[number] for number in numbers]), strict=True))
    return [tables[number] for number in range(len(fetched))]


def _decode(fetched: Sequence[FetchedRows]) -> list[pa.Table]:
    first = fetched[0]
    try:
        arrays = _columns(fetched)
    except (OSError, ValueError) as error:
        if len(fetched) > 1:  # find out which of them is damaged
            return [table for rows in fetched for table in _decode([rows])]
        raise damaged(first.name, f"its pages cannot be read: {error}") from error
    columns = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, first.schema, strict=True)]
    whole = pa.table(columns, schema=first.schema)
    if len(fetched) == 1:
        return [whole]
    starts = accumulate((rows.num_rows for rows in fetched), initial=0)
    return [whole.slice(start, rows.num_rows) for start, rows in zip(starts, fetched, strict=False)]


def _columns(fetched: Sequence[FetchedRows]) -> list[pa.ChunkedArray]:
    columns = len(fetched[0].selections)
    if columns == 1 or columns * len(fetched) < _MANY_CHUNKS:
        return _some_columns(fetched, range(columns))
    half = range(0, columns, 2), range(1, columns, 2)
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(_some_columns, fetched, half[1])
        arrays = dict(zip(half[0], _some_columns(fetched, half[0]), strict=True))
        arrays |= dict(zip(half[1], later.result(), strict=True))
    return [arrays[column] for column in range(columns)]


def _some_columns(fetched: Sequence[FetchedRows], columns: Sequence[int]) -> list[pa.ChunkedArray]:
    names = [fetched[0].schema.names[column] for column in columns]
    return decode(
        [[rows.selections[column] for column in columns] for rows in fetched],
        [[part for column in columns for part in rows.parts(column)] for rows in fetched],
        dictionaries=[name for name in fetched[0].dictionaries if name in names],
    )
