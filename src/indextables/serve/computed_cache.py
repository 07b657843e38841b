"""A cache of computed values that threads share: a value is computed once, and the least recently used ones go first."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar, cast

from cachetools import LRUCache

T = TypeVar("T")


class ComputedCache:
    """Holds values up to a total size.

    >>> cache = ComputedCache(100, getsizeof=len)
    >>> cache.get("a", lambda: "computed"), cache.get("a", lambda: "not computed again")
    ('computed', 'computed')
    """

    def __init__(self, max_size: float, getsizeof: Callable[[Any], float] | None = None) -> None:
        self._values: LRUCache[Hashable, Any] = LRUCache(max_size, getsizeof)
        self._computing: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of a key, computed if there is none. A second thread that asks for it meanwhile waits for the first."""
        with self._lock:
            if key in self._values:
                return cast("T", self._values[key])
            computing = self._computing.setdefault(key, Lock())
        with computing:
            with self._lock:
                if key in self._values:
                    return cast("T", self._values[key])
            try:
                value = compute()
                self._put(key, value)
            finally:
                with self._lock:
                    self._computing.pop(key, None)
        return value

    def _put(self, key: Hashable, value: object) -> None:
        with self._lock:
            size = 1 if self._values.getsizeof is None else self._values.getsizeof(value)
            if size <= self._values.maxsize / 4:
                self._values[key] = value
