"""The store contract, over obstore."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import obstore
import pyarrow as pa
from obstore.exceptions import PreconditionError

from indextables.config import Config
from indextables.errors import FileReplacedError, NotFoundError, StorageError
from indextables.storage.error_translation import translate_errors
from indextables.storage.location import Location, checked_key
from indextables.storage.traffic import Meter, Traffic

_AT_ONCE = 16
PAGE = 1000  # files per page of a listing in an object store
logger = logging.getLogger(__name__)

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file; two that are equal have the same content. `tag` is what the store calls this content, if it does.

    On local disk a key may be a symbolic link: `link` is true then.
    """

    key: str
    size: int
    modified: datetime
    tag: str | None = None
    link: bool = False


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

    is_remote = False
    """Whether a request costs so much that what was read is kept on local disk."""

    def __init__(
        self, location: Location, backend: Any, *, secrets: Sequence[str] = (), meter: Meter | None = None
    ) -> None:
        self.location = location
        self.meter = meter or Meter()
        self._secrets = secrets
        self._backend = backend
        self._prefix = _prefix_of(location)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.location)!r})"

    def read(self, key: str) -> pa.Buffer:
        with self._metered(key):
            content = pa.py_buffer(obstore.get(self._backend, self._path(key)).bytes())
        self.meter.add(1, read=content.size)
        return content

    def read_all(self, keys: Sequence[str]) -> list[pa.Buffer]:
        """The contents of several files, read in parallel."""
        return self.in_parallel(self.read, keys)

    def in_parallel(self, request: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """The results of a request for each item, in order; the requests are made in parallel.

        All parallel requests of the log and of a vacuum are made here, so that a store can make them one by one.
        """
        if len(items) <= 1:
            return [request(item) for item in items]
        with ThreadPoolExecutor(min(len(items), _AT_ONCE)) as pool:
            return list(pool.map(request, items))

    def read_range(self, key: str, start: int, end: int) -> pa.Buffer:
        """Bytes `start` up to but not including `end`, fewer if the file ends before."""
        with self._metered(key):
            content = pa.py_buffer(obstore.get_range(self._backend, self._path(key), start=start, end=end))
        self.meter.add(1, read=content.size)
        return content

    def read_ranges(self, key: str, ranges: Sequence[tuple[int, int]], *, tag: str | None = None) -> list[pa.Buffer]:
        """Several ranges of one file; with a tag of `read_tagged`, a FileReplacedError if it is another file by now."""
        with self._metered(key):
            if tag is None:
                starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
                chunks = obstore.get_ranges(self._backend, self._path(key), starts=starts, ends=ends, coalesce=0)
                contents = [pa.py_buffer(chunk) for chunk in chunks]
            else:
                contents = self.in_parallel(lambda some: self._read_tagged(key, some, tag)[0], ranges)
        self.meter.add(len(contents), read=sum(content.size for content in contents))
        return contents

    def read_tagged(self, key: str, start: int, end: int) -> tuple[pa.Buffer, str | None]:
        """A range of a file, and what the store calls the content of the file."""
        with self._metered(key):
            content, tag = self._read_tagged(key, (start, end), None)
        self.meter.add(1, read=content.size)
        return content, tag

    def _read_tagged(self, key: str, wanted: tuple[int, int], tag: str | None) -> tuple[pa.Buffer, str | None]:
        options: Any = {"range": wanted} if tag is None else {"range": wanted, "if_match": tag}
        try:
            found = obstore.get(self._backend, self._path(key), options=options)
        except PreconditionError as error:
            name = self.name_of(key)
            self.head(key)  # where it is gone, that is the error: some stores look at the tag first
            raise FileReplacedError(f"{name} was replaced by another file after it was read", path=name) from error
        return pa.py_buffer(found.bytes()), found.meta["e_tag"]

    def free_tag(self, key: str) -> str | None:
        """What the store calls the content of a file, where that costs no request; None otherwise, or without a file."""
        with suppress(FileNotFoundError):
            return obstore.head(self._backend, self._path(key))["e_tag"]
        return None

    def read_joined(self, key: str, ranges: Sequence[tuple[int, int]], *, tag: str | None = None) -> pa.Buffer:
        """Several ranges of one file, one after the other; shorter if the file ends before."""
        return pa.py_buffer(b"".join(self.read_ranges(key, ranges, tag=tag)))

    def open_file(self, key: str, ranges: Sequence[tuple[int, int]]) -> pa.NativeFile | None:  # noqa: ARG002 - for stores that have files here
        """The file, to read some ranges of it; None where it is not on this machine."""
        return None

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        """Writes a file, in place of one that may be there."""
        with self._metered(key):
            obstore.put(self._backend, self._path(key), _to_bytes(data), use_multipart=False)
        self.meter.add(1, written=len(data))

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        """Writes a file that must not be there yet."""
        with self._metered(key):
            obstore.put(self._backend, self._path(key), _to_bytes(data), mode="create", use_multipart=False)
        self.meter.add(1, written=len(data))

    def put_file(self, key: str, source: Path) -> None:
        """Copies a local file into the table."""
        with self._metered(key):
            obstore.put(self._backend, self._path(key), source)
        self.meter.add(1, written=source.stat().st_size)

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        """Every file whose path starts with the directories of `prefix`, in no particular order.

        Symbolic links below it are listed and not followed. With `after`, only keys that sort after it, which most object
        stores find without listing the others.
        """
        self.meter.add(1)
        under = self._under(prefix)
        with translate_errors(str(self.location), secrets=self._secrets), suppress(FileNotFoundError):
            for number, page in enumerate(self._pages(under, self._prefix + after if after else None)):
                self.meter.add(number > 0)
                for meta in page:
                    key = meta["path"].removeprefix(self._prefix)
                    if key > after:  # some stores list all keys nevertheless
                        yield Entry(key, meta["size"], meta["last_modified"], meta["e_tag"])

    def head(self, key: str) -> Entry:
        self.meter.add(1)
        with self._metered(key):
            meta = obstore.head(self._backend, self._path(key))
            return Entry(key, meta["size"], meta["last_modified"], meta["e_tag"])

    def find(self, key: str) -> Entry | None:
        """A file; None where there is none."""
        try:
            return self.head(key)
        except NotFoundError:
            return None

    def missing(self, keys: Sequence[str]) -> Sequence[str]:
        """The keys for which there is no file."""
        return [key for key, found in zip(keys, self.in_parallel(self.find, keys), strict=True) if found is None]

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.meter.add(1)
            with suppress(NotFoundError), self._metered(key):
                obstore.delete(self._backend, self._path(key))

    def delete_unchanged(self, entries: Iterable[Entry]) -> None:
        """Deletes files of a listing in their order, each only if it is still the one that was listed."""
        for entry in entries:
            if self._is_unchanged(entry):
                self.delete([entry.key])

    def _is_unchanged(self, entry: Entry) -> bool:
        now = self.find(entry.key)
        return now is not None and _version_of(now) == _version_of(entry)

    def discard(self, keys: Iterable[str]) -> None:
        """Deletes files after a failure; a file that cannot be deleted is logged, so that the first error is raised."""
        for key in keys:
            try:
                self.delete([key])
            except StorageError:
                logger.warning("%s was left behind", self.name_of(key), exc_info=True)

    @property
    def traffic(self) -> Traffic:
        """The requests to the store so far."""
        return self.meter.traffic

    def configured(self, config: Config) -> "Store":  # noqa: ARG002 - for stores that have settings
        """The same store with other settings; requests to both are counted together."""
        return self

    def verify_put_if_absent(self) -> None:
        """Raises an UnsafeStoreError where the store may overwrite a file that is there; disk and memory never do."""

    def name_of(self, key: str) -> str:
        """The key with the table's location before it, for messages."""
        return f"{self.location}/{key}"

    def at(self, location: Location) -> "Store":
        """The same store with another root; requests to both are counted together."""
        other = copy(self)
        other.location = location
        other._prefix = _prefix_of(location)  # noqa: SLF001 - it is one of ours
        return other

    def _under(self, prefix: str) -> str:
        return self._prefix + (checked_key(prefix.rstrip("/"), root=self.location) if prefix else "")

    def _pages(self, under: str, offset: str | None) -> Iterator[Sequence[Any]]:
        yield from obstore.list(self._backend, prefix=under or None, offset=offset, chunk_size=PAGE)

    def _metered(self, key: str) -> AbstractContextManager[None]:
        return translate_errors(self.name_of(key), secrets=self._secrets)

    def _path(self, key: str) -> str:
        return self._prefix + checked_key(key, root=self.location)


def _version_of(entry: Entry) -> tuple[int, str | datetime]:
    """What a store calls the content of a file: in listings of Azure, the tag is without quotes."""
    return entry.size, entry.tag.strip('"') if entry.tag else entry.modified.replace(microsecond=0)


def _prefix_of(location: Location) -> str:
    return f"{location.path.strip('/')}/".lstrip("/")


def _to_bytes(data: bytes | pa.Buffer) -> memoryview:
    """The data without a copy, as the unsigned bytes that obstore insists on; Arrow calls its bytes signed."""
    return memoryview(data).cast("B")
