"""Opens splits that the log lists. The store may not have those of old versions, after a vacuum (PURGE)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial

from indextables.config import Config, ReadConfig
from indextables.errors import NotFoundError, SplitNotFoundError
from indextables.events import log_event
from indextables.log.actions import DeletionVector
from indextables.read.deletion_vectors import deleted_rows
from indextables.split import SplitCache, SplitReader
from indextables.split.format import Renamed
from indextables.storage import Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SplitRef:
    """A reference to a split: what is needed to open it; it is pickled to executors."""

    path: str
    size: int
    num_records: int | None
    footer: tuple[int, int] | None
    deletion_vector: DeletionVector | None = None
    renamed: Renamed = ()

    @property
    def num_deleted(self) -> int:
        return 0 if self.deletion_vector is None else self.deletion_vector.cardinality

    @property
    def live_rows(self) -> int | None:
        """The number of rows that are not deleted; None where it is not known."""
        return None if self.num_records is None else self.num_records - self.num_deleted


@dataclass(frozen=True, slots=True)
class SplitOpener:
    store: Store
    cache: SplitCache

    @classmethod
    def of(cls, store: Store, config: Config) -> "SplitOpener":
        return cls(store, _cache(config.read.cache_directory, config.read.cache_max_size))

    def open(self, split: SplitRef) -> SplitReader:
        """The reader of a split; nothing is read yet."""
        return SplitReader(
            self.store,
            split.path,
            size=split.size,
            num_records=split.num_records,
            footer=split.footer,
            num_deleted=split.num_deleted,
            deleted=partial(deleted_rows, split.deletion_vector, self.store),
            renamed=split.renamed,
            cache=self.cache,
        )

    def log_use(self, splits: int) -> None:
        """Logs, at DEBUG, the requests of the store's handle so far, and how this process used the cache of indexes."""
        if logger.isEnabledFor(logging.DEBUG):
            cache, traffic = self.cache.use, self.store.traffic
            log_event(
                logger,
                "Splits read",
                level=logging.DEBUG,
                table=str(self.store.location),
                splits=splits,
                requests=traffic.requests,
                bytes_read=traffic.bytes_read,
                index_cache_hits=cache.hits,
                index_cache_misses=cache.misses,
            )


@lru_cache(maxsize=8)
def _cache(directory: str | None, max_size: int) -> SplitCache:
    """One cache per process and directory, so that indexes stay open from one scan to the next."""
    return SplitCache.configured(Config(read=ReadConfig(cache_directory=directory, cache_max_size=max_size)))


@contextmanager
def missing_split_errors(split: SplitRef, store: Store, version: int) -> Iterator[None]:
    """Within it, a NotFoundError for the split's file becomes a SplitNotFoundError that names the version."""
    try:
        yield
    except NotFoundError as error:
        name = store.name_of(split.path)
        if error.path != name:
            raise
        raise SplitNotFoundError(
            f"version {version} of {store.location} lists {split.path}, but the file does not exist; if the version is old, "
            "the file was purged: read a newer version. If the table was created anew, open it again. Otherwise, "
            "restore the file",
            path=name,
            version=version,
        ) from error
