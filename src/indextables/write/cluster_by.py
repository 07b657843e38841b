"""Rows of a split sorted by some columns (`clusterBy`), so that each page has narrow bounds.

>>> rows = [pa.record_batch({"n": [3, 1]}), pa.record_batch({"n": [2, None]})]
>>> [batch["n"].to_pylist() for batch in clustered(rows, ("N",))]
[[1, 2, 3, None]]
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.schema import column_named


def clustered(rows: list[pa.RecordBatch], columns: Sequence[str]) -> list[pa.RecordBatch]:
    """The same rows, sorted by the columns; the sort is stable."""
    if not columns:
        return rows
    table = pa.Table.from_batches(rows)
    keys = dict.fromkeys(column_named(table.schema, column) for column in columns)
    order = pc.sort_indices(table.select(list(keys)), sort_keys=[(key, "ascending") for key in keys])
    if order.equals(pa.array(np.arange(len(table)), order.type)):
        return rows
    ordered: list[pa.RecordBatch] = table.take(order).to_batches()
    return ordered
