"""What is kept of splits from one question to the next. A split never changes, so nothing here can be out of date."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock

import tantivy
from cachetools import LRUCache

from indextables.config import Config
from indextables.split.format import Footer
from indextables.split.index import open_index
from indextables.storage.cache import DirectoryCache, default_directory

Identity = tuple[object, ...]
_OPEN_INDEXES = 128
_FOOTER_BYTES = 64 * 1024 * 1024


class SplitCache:
    """Indexes on local disk, shared with other processes; the indexes and footers last used, in this process.

    Measured for 1,000,000 log lines: unpacking an index takes 60 ms, opening it 0.4 ms; reading a footer 5 ms.
    """

    def __init__(self, directories: DirectoryCache) -> None:
        self.directories = directories
        self._indexes: LRUCache[Identity, tantivy.Index] = LRUCache(_OPEN_INDEXES)
        self._footers: LRUCache[Identity, Footer] = LRUCache(_FOOTER_BYTES, getsizeof=_bytes)
        self._lock = Lock()

    @classmethod
    def configured(cls, config: Config) -> "SplitCache":
        directory = Path(config.cache_directory, "indextables") if config.cache_directory else default_directory()
        return cls(DirectoryCache(directory, max_bytes=config.cache_max_size))

    def index(self, identity: Identity, fill: Callable[[Path], object], *, name: str) -> tantivy.Index:
        """The index of this identity, unpacked by `fill` if it is nowhere yet; `name` is for messages."""
        with self._lock:
            if identity in self._indexes:
                return self._indexes[identity]
        index = self.directories.opened(identity, fill, partial(open_index, name=name))
        with self._lock:
            self._indexes[identity] = index
        return index

    def footer(self, identity: Identity, read: Callable[[], Footer]) -> Footer:
        """The footer of this identity, read if it is not here."""
        with self._lock:
            if identity in self._footers:
                return self._footers[identity]
        footer = read()
        if _bytes(footer) <= _FOOTER_BYTES:
            with self._lock:
                self._footers[identity] = footer
        return footer


def _bytes(footer: Footer) -> int:
    return int(footer.metadata.serialized_size)
