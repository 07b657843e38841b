"""The bytes of one split in its store. There must be as many as the log says: a file that was cut or replaced is damaged.

What is cached of a split belongs to one file. Local disks tell without a request whether it is still the same file, by
its tag, which is a part of the identity. Object stores read only the file whose footer was read.
"""

import io
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TypeVar

import pyarrow as pa

from indextables.errors import DamagedSplitError, FileReplacedError, StorageError
from indextables.split.format import damaged
from indextables.storage import Store

Range = tuple[int, int]
T = TypeVar("T")


class SplitFile:
    def __init__(self, store: Store, key: str, *, size: int) -> None:
        self.name = store.name_of(key)
        self.size = size
        self.is_remote = store.is_remote
        self._store = store
        self._key = key
        self._kept: tuple[int, pa.Buffer] | None = None
        self._tag: str | None = None
        self._forget: Callable[[], object] = lambda: None

    @property
    def place(self) -> tuple[object, ...]:
        """What tells this file from others, for caches whose entries have a checksum of their content in the key."""
        return str(self._store.location), self._key, self.size

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """What tells this file from others, and from another one that was in its place, for caches."""
        return *self.place, self._store.free_tag(self._key)

    def fetch_first(self, start: int, end: int) -> tuple[pa.Buffer, str | None]:
        """A range, and the tag that `expect` takes; None where the identity has it."""
        if not self.is_remote:
            return self.fetch(start, end), None
        self._refuse_outside([(start, end)])
        self._tag = None
        read = self._checked(lambda: self._store.read_tagged(self._key, start, end))
        if read is None or read[0].size != end - start:
            raise self._cut()
        self._tag = read[1]
        return read

    def expect(self, tag: str | None, forget: Callable[[], object]) -> None:
        """Lets reads fail if the file is not the one with this tag; what is cached is forgotten then."""
        self._tag, self._forget = tag, forget

    def keep(self, start: int, end: int) -> None:
        """Fetches a range, of which `fetch` then gives parts without a request."""
        self._kept = start, self.fetch(start, end)

    def fetch(self, start: int, end: int) -> pa.Buffer:
        if self._kept is not None:
            first, data = self._kept
            if first <= start and end <= first + data.size:
                return data.slice(start - first, end - start)
        return self.fetch_all([(start, end)])[0]

    def fetch_all(self, ranges: Sequence[Range]) -> list[pa.Buffer]:
        if not ranges:
            return []
        buffers = self._requested(ranges, partial(self._store.read_ranges, tag=self._tag))
        if buffers is None or [buffer.size for buffer in buffers] != [end - start for start, end in ranges]:
            raise self._cut()
        return buffers

    def fetch_joined(self, ranges: Sequence[Range]) -> pa.Buffer:
        """Ranges one after the other, in one buffer."""
        data = self._requested(ranges, partial(self._store.read_joined, tag=self._tag))
        if data is None or data.size != sum(end - start for start, end in ranges):
            raise self._cut()
        return data

    def open(self, ranges: Sequence[Range]) -> pa.NativeFile:
        """A file of which these ranges can be read."""
        self._refuse_outside(ranges)
        file = self._store.open_file(self._key, ranges)
        if file is None:
            parts = zip((start for start, _ in ranges), self.fetch_all(ranges), strict=True)
            return pa.PythonFile(SparseFile(list(parts), size=self.size), mode="r")
        if file.size() != self.size:
            raise self._cut()
        return file

    def _requested(self, ranges: Sequence[Range], read: Callable[[str, Sequence[Range]], T]) -> T | None:
        """What the store has; None if the file has not the size that the log says."""
        self._refuse_outside(ranges)
        return self._checked(lambda: read(self._key, ranges))

    def _checked(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except FileReplacedError as error:
            self._forget()
            raise damaged(self.name, "another file took its place since it was first read") from error
        except StorageError:
            if self._store.head(self._key).size == self.size:
                raise
            return None

    def _refuse_outside(self, ranges: Sequence[Range]) -> None:
        if any(not 0 <= start <= end <= self.size for start, end in ranges):
            raise damaged(self.name, "a part of it would be outside of the file")

    def _cut(self) -> DamagedSplitError:
        return damaged(self.name, f"it is not {self.size} bytes long; it has been cut or replaced")


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
