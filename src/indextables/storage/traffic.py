"""Metrics of the requests to a store."""

from dataclasses import dataclass
from threading import Lock
from typing import Self


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests and bytes, since the store was opened. A request that was sent again after a failure counts once.

    >>> Traffic(requests=3, bytes_read=4_200_000) - Traffic(requests=1, bytes_read=4_000_000)
    Traffic(requests=2, bytes_read=200000, bytes_written=0)
    >>> print(Traffic(requests=3, bytes_read=4_200_000))
    3 requests, 4,200,000 bytes read, 0 bytes written
    """

    requests: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: Self) -> "Traffic":
        return Traffic(
            self.requests + other.requests,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )

    def __sub__(self, earlier: Self) -> "Traffic":
        return Traffic(
            self.requests - earlier.requests,
            self.bytes_read - earlier.bytes_read,
            self.bytes_written - earlier.bytes_written,
        )

    def __str__(self) -> str:
        return f"{self.requests:,} requests, {self.bytes_read:,} bytes read, {self.bytes_written:,} bytes written"


class Meter:
    """Counts traffic; threads may share it."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._lock = Lock()

    def add(self, requests: int, *, read: int = 0, written: int = 0) -> None:
        with self._lock:
            self.traffic += Traffic(requests, read, written)
