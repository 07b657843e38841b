"""The addresses of rows that a scan has read: the split of each, and its number there."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.read.scan_spec import ADDRESS
from indextables.split.deletion_bitmap import RowNumbers


class RowAddresses:
    """Collects the addresses of rows, batch by batch.

    >>> addresses = RowAddresses()
    >>> addresses.add(pa.table({ADDRESS[0]: ["a", "b", "a"], ADDRESS[1]: [4, 0, 2]}))
    >>> addresses.rows()
    {'a': array([2, 4]), 'b': array([0])}
    """

    def __init__(self) -> None:
        self._found: dict[str, list[RowNumbers]] = {}

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        paths, numbers = rows[ADDRESS[0]], np.asarray(rows[ADDRESS[1]])
        for path in pc.unique(paths).to_pylist():
            selected = np.asarray(pc.equal(paths, path))
            self._found.setdefault(path, []).append(numbers[selected])

    def rows(self) -> dict[str, RowNumbers]:
        """The numbers of the rows in each split, ascending."""
        return {path: np.sort(np.concatenate(numbers)) for path, numbers in self._found.items()}
