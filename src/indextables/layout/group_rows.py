"""Rows grouped by the partition they belong to.

>>> rows = pa.table({"region": ["eu", None, "eu", ""], "id": [1, 2, 3, 4]})
>>> for part in group(rows, Layout.parse("region")):
...     print(part.texts, part.rows["id"].to_pylist())
{'region': 'eu'} [1, 3]
{'region': None} [2]
{'region': ''} [4]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import ascends
from indextables.layout.layout import Layout, PartitionField
from indextables.layout.partition_paths import directory
from indextables.layout.transforms import Void

Rows: TypeAlias = pa.Table | pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one partition, in the order in which they came."""

    values: pa.RecordBatch  # one row: the partition values, typed, named as the layout names them
    texts: dict[str, str | None]  # the same as text, as the log has them
    rows: Rows

    @property
    def key(self) -> tuple[str | None, ...]:
        """The partition as a value that can be hashed; equal for the same partition of another batch."""
        return tuple(self.texts.values())

    @property
    def directory(self) -> str:
        return directory(self.texts.keys(), self.texts.values())


def group(rows: Rows, layout: Layout) -> Iterator[Group]:
    """One group per tuple of partition values, in order of appearance; none where there are no rows.

    The layout must be bound to the schema of the rows (`Layout.bind`). Rows that come partition by partition are not
    copied.
    """
    if not rows.num_rows:
        return
    results = [_result(field, rows) for field in layout.fields]
    ids = _tuple_ids(results, rows.num_rows)
    sizes = ids.value_counts().field("counts")
    starts = pc.subtract(pc.cumulative_sum(sizes), sizes)
    order = pc.array_sort_indices(ids)  # stable, and by counting rather than comparing
    tuples = [result.take(order.take(starts)) for result in results]
    gathered = rows if ascends(ids) else _gather(rows, order)
    slices = map(gathered.slice, starts.to_pylist(), sizes.to_pylist())
    yield from map(Group, _values(layout, tuples, len(sizes)), _texts(layout, tuples, len(sizes)), slices)


def _result(field: PartitionField, rows: Rows) -> pa.Array:
    """The partition values of rows; the column of a void field may have been dropped."""
    if field.transform == Void():
        return pa.nulls(rows.num_rows, pa.string())
    return field.transform.apply(rows.column(field.source))


def _tuple_ids(results: Sequence[pa.Array], length: int) -> pa.Array:
    """The same small integer for the same tuple, counted from zero in order of appearance."""
    columns = [result.dictionary_encode(null_encoding="encode") for result in results]
    return reduce(_combine_ids, columns).indices if columns else pa.repeat(pa.scalar(0, pa.int32()), length)


def _combine_ids(left: pa.DictionaryArray, right: pa.DictionaryArray) -> pa.DictionaryArray:
    pairs = pc.multiply(left.indices.cast(pa.int64()), len(right.dictionary))
    return pc.add(pairs, right.indices.cast(pa.int64())).dictionary_encode()


def _gather(rows: Rows, order: pa.Array) -> Rows:
    if isinstance(rows, pa.RecordBatch):
        return rows.take(order)
    batches = rows.combine_chunks().to_batches()
    if len(batches) > 1:  # more text than one array can hold
        return rows.take(order)
    return pa.Table.from_batches([batches[0].take(order)])  # half the time of taking from chunks


def _values(layout: Layout, tuples: Sequence[pa.Array], count: int) -> Iterator[pa.RecordBatch]:
    batch = pa.RecordBatch.from_arrays(list(tuples), names=list(layout.names))
    return (batch.slice(index, 1) for index in range(count))


def _texts(layout: Layout, tuples: Sequence[pa.Array], count: int) -> Iterator[dict[str, str | None]]:
    if not layout.fields:
        return repeat({}, count)
    columns = [field.transform.to_text(part).to_pylist() for field, part in zip(layout.fields, tuples, strict=True)]
    names = layout.names
    return (dict(zip(names, texts, strict=True)) for texts in zip(*columns, strict=True))
