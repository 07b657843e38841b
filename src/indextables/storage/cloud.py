"""Object stores: uploads in parts, reads in few requests, and proof that a file is created only if it is not there."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
from obstore.exceptions import GenericError

from indextables.config import Config
from indextables.errors import AlreadyExistsError, NotFoundError, StorageError, UnsafeStoreError
from indextables.storage.clients import client_for, secrets_of
from indextables.storage.error_translation import translate_errors
from indextables.storage.location import Location
from indextables.storage.store import PAGE, Entry, Store
from indextables.storage.traffic import Meter

_MAX_PARTS = 10_000  # of one file in S3
_DELETED_TOGETHER = 16
_CUT_OFF = "list response body"  # in the message of obstore's error
PROBE_KEY = "_transaction_log/_put_if_absent"
_VERIFIED: set[tuple[str | None, ...]] = set()  # places, by this process


@dataclass(frozen=True, slots=True)
class UploadPolicy:
    """How files are uploaded: in one request below `threshold`, else in parts, of which `concurrency` are in memory.

    >>> policy = UploadPolicy(threshold=100 * 1024**2, part_size=64 * 1024**2, concurrency=4)
    >>> policy.part_of(99 * 1024**2), policy.part_of(500 * 1024**2), policy.part_of(2 * 1024**4)
    (None, 67108864, 219902326)
    """

    threshold: int
    part_size: int
    concurrency: int

    @classmethod
    def configured(cls, config: Config) -> "UploadPolicy":
        threshold = min(config.store.s3_streaming_threshold, config.store.s3_multipart_threshold)
        return cls(threshold, config.store.s3_part_size, config.store.s3_max_concurrency)

    def part_of(self, size: int) -> int | None:
        """The size of the parts; None for a file that is sent at once."""
        return None if size < self.threshold else max(self.part_size, ceil(size / _MAX_PARTS))


class CloudStore(Store):
    is_remote = True

    def __init__(self, location: Location, config: Config, *, meter: Meter | None = None) -> None:
        secrets = secrets_of(config)
        with translate_errors(str(location), secrets=secrets):
            super().__init__(location, client_for(location, config), secrets=secrets, meter=meter)
        self._uploads = UploadPolicy.configured(config)
        self._single_writer = config.store.single_writer
        self._retries = config.store.max_retries
        self._place = (str(location), config.store.s3_endpoint, config.store.azure_endpoint)

    def configured(self, config: Config) -> "CloudStore":
        return CloudStore(self.location, config, meter=self.meter)

    def free_tag(self, key: str) -> str | None:  # noqa: ARG002 - it would be a request
        return None

    def read_ranges(self, key: str, ranges: Sequence[tuple[int, int]], *, tag: str | None = None) -> list[pa.Buffer]:
        """Several ranges of one file, in as many requests as there are ranges far from each other."""
        merged = coalesced(ranges)
        fetched, starts = super().read_ranges(key, merged, tag=tag), [start for start, _ in merged]
        places = [bisect_right(starts, start) - 1 for start, _ in ranges]
        return [
            _slice(fetched[at], start - starts[at], end - starts[at])
            for at, (start, end) in zip(places, ranges, strict=True)
        ]

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        if not self._single_writer:
            super().put_if_absent(key, data)
            return
        if self.find(key) is not None:
            raise AlreadyExistsError(f"{self.name_of(key)} already exists", path=self.name_of(key))
        self.put(key, data)

    def put_file(self, key: str, source: Path) -> None:
        size = source.stat().st_size
        part = self._uploads.part_of(size)
        with self._metered(key):
            if part is None:
                obstore.put(self._backend, self._path(key), source, use_multipart=False)
            else:
                concurrency = self._uploads.concurrency
                obstore.put(self._backend, self._path(key), source, chunk_size=part, max_concurrency=concurrency)
        self.meter.add(1 if part is None else 2 + ceil(size / part), written=size)

    def delete(self, keys: Iterable[str]) -> None:
        """Many at a time; one by one where one of them is not there, which Azure has a mind to report."""
        paths = [self._path(key) for key in keys]
        for some in (paths[at : at + PAGE] for at in range(0, len(paths), PAGE)):
            self.meter.add(1)
            try:
                with translate_errors(str(self.location), secrets=self._secrets):
                    obstore.delete(self._backend, some)
            except NotFoundError:
                super().delete(path.removeprefix(self._prefix) for path in some)

    def delete_unchanged(self, entries: Iterable[Entry]) -> None:
        """Some at a time, so that little time passes between the look at a file and its deletion."""
        waiting = list(entries)
        for some in (waiting[at : at + _DELETED_TOGETHER] for at in range(0, len(waiting), _DELETED_TOGETHER)):
            unchanged = self.in_parallel(self._is_unchanged, some)
            self.delete([entry.key for entry, same in zip(some, unchanged, strict=True) if same])

    def verify_put_if_absent(self) -> None:
        """Has the store refuse a file that is there, once per process: whether it can be trusted with commits."""
        if self._single_writer or self._place in _VERIFIED:
            return
        try:
            for _ in range(2):  # the first may create it
                super().put_if_absent(
                    PROBE_KEY, b"This file shows that the store refuses to create a file that is there.\n"
                )
        except AlreadyExistsError:
            _VERIFIED.add(self._place)
            return
        except StorageError as error:
            if "501 Not Implemented" not in str(error):
                raise
        raise UnsafeStoreError(
            f"{self.location} is in a store without put-if-absent (the condition "
            "If-None-Match of a PUT), so that two writers could overwrite each other's commits; use a store that does, or, "
            "if there is never more than one writer, set spark.indextables.commit.unsafeSingleWriter to true",
            path=str(self.location),
        )

    def _pages(self, under: str, offset: str | None) -> Iterator[Sequence[Any]]:
        """Retries a listing that was cut off before its first page; obstore retries all other requests."""
        for left in range(self._retries, -1, -1):
            pages = super()._pages(under, offset)
            try:
                first = next(pages, ())
            except GenericError as error:
                if left and _CUT_OFF in str(error):
                    continue
                raise
            yield first
            yield from pages
            return


def _slice(data: pa.Buffer, start: int, end: int) -> pa.Buffer:
    """A range of what was fetched; shorter where the file ended before."""
    start, end = min(start, data.size), min(end, data.size)
    return data.slice(start, end - start)


Range = tuple[int, int]
_NEAR = 64 * 1024  # bytes that cost less than another request, whatever is wanted
_FAR = 1024 * 1024  # bytes that cost more than another request


def coalesced(ranges: Sequence[Range], *, near: int = _NEAR, far: int = _FAR) -> list[Range]:
    """Ranges that hold all the given ones, in ascending order.

    Neighbours are put together that are at most `near` bytes apart, or less than what is wanted before the gap and at most
    `far`: a small column that is strewn over a large file does not fetch the file.

    >>> coalesced([(500, 600), (0, 100), (90, 110), (130, 150)], near=20, far=1000)
    [(0, 150), (500, 600)]
    >>> coalesced([(0, 400), (700, 1100), (9000, 9010), (9300, 9310)], near=20, far=1000)
    [(0, 1100), (9000, 9010), (9300, 9310)]
    """
    merged: list[Range] = []
    wanted = 0  # of the last of them
    for start, end in sorted(ranges):
        if merged and start - merged[-1][1] <= max(near, min(far, wanted)):
            wanted += max(0, end - max(start, merged[-1][1]))
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            wanted = end - start
            merged.append((start, end))
    return merged
