"""A file of which only some ranges are here, for readers that want a file."""

import io
from bisect import bisect_right
from collections.abc import Sequence

import pyarrow as pa


class SparseFile(io.RawIOBase):
    """Reads what was fetched; OSError for anything else.

    >>> file = SparseFile([(4, pa.py_buffer(b"abcd")), (100, pa.py_buffer(b"xyz"))], size=200)
    >>> _ = file.seek(101)
    >>> file.read(2)
    b'yz'
    >>> file.read(1)
    Traceback (most recent call last):
    OSError: bytes 103 to 104 were not fetched
    """

    def __init__(self, parts: Sequence[tuple[int, pa.Buffer]], *, size: int) -> None:
        super().__init__()
        self._parts = sorted(parts, key=lambda part: part[0])
        self._starts = [start for start, _ in self._parts]
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        return bytes(self.read_buffer(size).to_pybytes())

    def read_buffer(self, size: int) -> pa.Buffer:
        """The next bytes without a copy; pyarrow looks for this method."""
        start, end = self._position, self._position + size
        number = bisect_right(self._starts, start) - 1
        first, data = self._parts[number] if number >= 0 else (0, pa.py_buffer(b""))
        if size < 0 or end > first + data.size:
            raise OSError(f"bytes {start} to {end} were not fetched")
        self._position = end
        return data.slice(start - first, size)
