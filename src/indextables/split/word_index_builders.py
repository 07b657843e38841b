"""The builders of word indexes of one task: reused from split to split, one for each that is built at the same time."""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from types import TracebackType
from typing import Self

import pyarrow as pa

from indextables.search.field_rules import FieldRule
from indextables.split.word_index import WordIndexBuilder
from indextables.storage.local import TEMPORARY

_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - Linux's disk in memory; a directory of our own is made in it
_INDEX_PER_BYTE = 16  # more than any index takes for a byte of its rows
_SPARE_MEMORY = 16 * 1024 * 1024
_LARGE = 32 * 1024 * 1024  # bytes of rows


class WordIndexBuilders:
    """Builders for the splits of one table. At the end of the `with` block, their threads and files are gone."""

    def __init__(self, scratch: Path, *, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> None:
        self._scratch = scratch
        self._schema = schema
        self._rules = rules
        self._idle: dict[Path, list[WordIndexBuilder]] = defaultdict(list)
        self._all: list[WordIndexBuilder] = []
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for builder in self._all:
            try:
                builder.close()
            finally:
                _delete(builder.directory)

    @contextmanager
    def lease(self, nbytes: int) -> Iterator[WordIndexBuilder]:
        """A builder for a split with rows of so many bytes. After a failure it is not used again."""
        place = _place(nbytes, otherwise=self._scratch)
        with self._lock:
            builder = self._idle[place].pop() if self._idle[place] else self._create(place)
        builder.start()
        yield builder
        with self._lock:
            self._idle[place].append(builder)

    def _create(self, place: Path) -> WordIndexBuilder:
        directory = Path(mkdtemp(prefix=TEMPORARY, dir=place))
        try:
            builder = WordIndexBuilder(directory, schema=self._schema, rules=self._rules)
        except BaseException:
            _delete(directory)
            raise
        self._all.append(builder)
        return builder


def _place(nbytes: int, *, otherwise: Path) -> Path:
    """Where the index of a split is built: in memory, unless it is large.

    tantivy flushes its files to disk, which took 100 of the 115 ms that a split of 100 rows needs.
    """
    if nbytes > _LARGE or not os.access(_MEMORY_DISK, os.W_OK):
        return otherwise
    needed = _INDEX_PER_BYTE * nbytes + _SPARE_MEMORY
    return _MEMORY_DISK if shutil.disk_usage(_MEMORY_DISK).free > needed else otherwise


def _delete(directory: Path) -> None:
    """Deletes a directory. tantivy's last thread may still create a lock file while it is deleted: try again."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)
