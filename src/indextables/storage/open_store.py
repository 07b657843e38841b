"""From a location to its store."""

from functools import cache
from pathlib import Path

from obstore.store import MemoryStore

from indextables.config import Config
from indextables.storage.cloud import CloudStore
from indextables.storage.local import LocalStore
from indextables.storage.location import Location
from indextables.storage.store import Store


def open_store(uri: str | Path | Location, config: Config | None = None) -> Store:
    """The store of a table; nothing is read or created yet.

    >>> store = open_store("memory://example/logs")
    >>> store.put("a/b.txt", b"hello")
    >>> [(entry.key, entry.size) for entry in store.list()]
    [('a/b.txt', 5)]
    >>> open_store("memory://example/logs").read("a/b.txt").to_pybytes()
    b'hello'
    """
    location = uri if isinstance(uri, Location) else Location.parse(uri)
    match location.scheme:
        case "file":
            return LocalStore(location)
        case "memory":
            return Store(location, _memory(location.container))
        case _:
            return CloudStore(location, config or Config())


@cache
def _memory(name: str) -> MemoryStore:  # noqa: ARG001 - the name is the cache's key
    """One memory store per name and process, so that a second open sees what the first wrote."""
    return MemoryStore()
