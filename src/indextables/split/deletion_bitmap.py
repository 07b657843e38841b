"""Deleted rows of a split as a roaring bitmap, in the portable format that other implementations read too.

>>> import numpy as np
>>> data = encode_bitmap(np.array([3, 7, 70_000]))
>>> decode_bitmap(data).tolist()
[3, 7, 70000]
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

RowNumbers: TypeAlias = npt.NDArray[np.int64]


def encode_bitmap(rows: RowNumbers) -> bytes:
    """The bitmap of some row numbers."""
    bitmap = BitMap(rows.astype(np.uint32))
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def decode_bitmap(data: bytes) -> RowNumbers:
    """The row numbers in a bitmap, ascending; a ValueError where it is damaged."""
    return np.asarray(BitMap.deserialize(data).to_array(), np.int64)
