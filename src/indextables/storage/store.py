"""The store contract, over obstore."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa

from indextables.errors import NotFoundError, StorageError
from indextables.storage.failures import translated
from indextables.storage.location import Location, checked_key

_PARALLEL_READS = 16
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    size: int
    modified: datetime


class Store:
    """The files of one table, by key (their path under the table's root).

    What every store guarantees:

    - a file appears whole or not at all, and once `put`, `put_file` or `put_if_absent` has returned it is durable;
    - of all concurrent `put_if_absent` of one key exactly one succeeds, the others raise AlreadyExistsError;
    - a read or a listing that starts after a write has returned sees it;
    - `delete` of a key that is not there does nothing;
    - a key that leaves the table is refused (UnsafePathError) before anything is touched;
    - everything that goes wrong is a StorageError that names the file.
    """

    def __init__(self, location: Location, backend: Any) -> None:
        self.location = location
        self._backend = backend
        self._prefix = f"{location.path.strip('/')}/".lstrip("/")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.location)!r})"

    def read(self, key: str) -> pa.Buffer:
        with translated(self.name_of(key)):
            return pa.py_buffer(obstore.get(self._backend, self._path(key)).bytes())

    def read_all(self, keys: Sequence[str]) -> list[pa.Buffer]:
        """The contents of several files, read in parallel."""
        if len(keys) <= 1:
            return [self.read(key) for key in keys]
        with ThreadPoolExecutor(min(len(keys), _PARALLEL_READS)) as pool:
            return list(pool.map(self.read, keys))

    def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
        """Bytes `start` up to but not including `end`, fewer if the file ends before."""
        with translated(self.name_of(key)):
            return pa.py_buffer(obstore.get_range(self._backend, self._path(key), start=start, end=end))

    def read_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> list[pa.Buffer]:
        """Several ranges of one file; neighbours are fetched together."""
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        with translated(self.name_of(key)):
            chunks = obstore.get_ranges(self._backend, self._path(key), starts=starts, ends=ends)
            return [pa.py_buffer(chunk) for chunk in chunks]

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        """Writes a file, in place of one that may be there."""
        with translated(self.name_of(key)):
            obstore.put(self._backend, self._path(key), _octets(data))

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        """Writes a file that must not be there yet."""
        with translated(self.name_of(key)):
            obstore.put(self._backend, self._path(key), _octets(data), mode="create", use_multipart=False)

    def put_file(self, key: str, source: Path) -> None:
        """Copies a local file into the table."""
        with translated(self.name_of(key)):
            obstore.put(self._backend, self._path(key), source)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Every file whose path starts with the directories of `prefix`, in no particular order."""
        under = self._prefix + (checked_key(prefix.rstrip("/"), root=self.location) if prefix else "")
        with translated(str(self.location)), suppress(FileNotFoundError):
            for chunk in obstore.list(self._backend, prefix=under or None):
                for meta in chunk:
                    yield Entry(meta["path"].removeprefix(self._prefix), meta["size"], meta["last_modified"])

    def head(self, key: str) -> Entry:
        with translated(self.name_of(key)):
            meta = obstore.head(self._backend, self._path(key))
            return Entry(key, meta["size"], meta["last_modified"])

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(NotFoundError), translated(self.name_of(key)):
                obstore.delete(self._backend, self._path(key))

    def discard(self, keys: Iterable[str]) -> None:
        """Deletes files that nobody needs; what cannot be deleted is logged, since something else went wrong before."""
        for key in keys:
            try:
                self.delete([key])
            except StorageError:
                logger.warning("%s was left behind", self.name_of(key), exc_info=True)

    def name_of(self, key: str) -> str:
        """The key with the table's location before it, for messages."""
        return f"{self.location}/{key}"

    def _path(self, key: str) -> str:
        return self._prefix + checked_key(key, root=self.location)


def _octets(data: bytes | pa.Buffer) -> memoryview:
    """The data without a copy, as the unsigned bytes that obstore insists on; Arrow calls its bytes signed."""
    return memoryview(data).cast("B")
