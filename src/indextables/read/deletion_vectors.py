"""The deleted rows of a split, from the bitmap in the log or in a file beside the splits."""

from functools import lru_cache
from zlib import crc32

import numpy as np

from indextables.errors import DamagedSplitError
from indextables.log.actions import DeletionVector
from indextables.split.deletion_bitmap import RowNumbers, decode_bitmap
from indextables.storage import Store

NO_ROWS: RowNumbers = np.array([], np.int64)


def deleted_rows(vector: DeletionVector | None, store: Store) -> RowNumbers:
    """The numbers of the deleted rows, ascending; a DamagedSplitError where the bitmap is not what was written."""
    if vector is None or not vector.cardinality:
        return NO_ROWS
    if vector.bitmap is not None:
        return _decoded(vector, vector.bitmap, store)
    return _from_file(vector, store)


def read_vector(vector: DeletionVector, store: Store) -> RowNumbers:
    """The same, read from where it is, whatever this process remembers."""
    if vector.bitmap is not None:
        return _decoded(vector, vector.bitmap, store)
    offset = vector.offset or 0
    data = store.read_range(vector.file or "", offset, offset + (vector.length or 0)).to_pybytes()
    return _decoded(vector, data, store)


_from_file = lru_cache(maxsize=1024)(read_vector)


def _decoded(vector: DeletionVector, data: bytes, store: Store) -> RowNumbers:
    if vector.crc32 not in (None, crc32(data)):
        raise _damaged(vector, store, "its bitmap does not have the checksum that the log says")
    try:
        rows = decode_bitmap(data)
    except ValueError as error:
        raise _damaged(vector, store, f"its bitmap cannot be read: {error}") from error
    if len(rows) != vector.cardinality:
        raise _damaged(vector, store, f"its bitmap has {len(rows)} rows where the log says {vector.cardinality}")
    return rows


def _damaged(vector: DeletionVector, store: Store, reason: str) -> DamagedSplitError:
    name = store.name_of(vector.file or vector.path)
    return DamagedSplitError(
        f"the deletion vector of {vector.path} in {name} is damaged: {reason}", path=name, reason=reason
    )
