"""IndexTable: a table without Spark.

>>> import pyarrow as pa
>>> table = IndexTable.create("memory://docs/logs", pa.schema({"day": pa.string(), "message": pa.string()}),
...                           partition_by="day", fields={"message": "text"})
>>> table.append(pa.table({"day": ["mon", "mon", "tue"], "message": ["disk full", "all is well", "full again"]}))
1
>>> table.count("day = 'mon'")
2
>>> table.search("message:full", columns=["day"]).column_names
['day', '_score']
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self, TypeAlias

import pyarrow as pa

from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.layout import Layout
from indextables.log import Snapshot, TransactionLog
from indextables.log.log import CheckpointResult
from indextables.log.splits import layouts
from indextables.predicate import Predicate
from indextables.read.listing import list_partitions, list_splits
from indextables.read.opener import SplitOpener
from indextables.read.prewarm import Prewarmed, prewarm
from indextables.read.question import ask
from indextables.read.scan import Scan
from indextables.read.top import search_top
from indextables.search import FieldRule
from indextables.split import CacheUse
from indextables.storage import Traffic
from indextables.write.modes import append, create, overwrite
from indextables.write.plan import current_rules

Data: TypeAlias = pa.Table | pa.RecordBatchReader | pa.RecordBatch | Iterable[pa.RecordBatch]


class IndexTable:
    """A table at a version. What this handle writes moves it on; what others write shows after `refresh()`."""

    def __init__(
        self, log: TransactionLog, snapshot: Snapshot, *, options: Mapping[str, str] | None = None, pinned: bool = False
    ) -> None:
        self._log = log
        self._snapshot = snapshot
        self._options = dict(options or {})
        self._pinned = pinned

    @classmethod
    def create(
        cls,
        path: str | Path,
        schema: pa.Schema,
        *,
        partition_by: str | Sequence[str] | None = None,
        fields: Mapping[str, str | FieldRule] | None = None,
        properties: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Self:
        """A new, empty table.

        `partition_by` is text such as `"region, day(ts)"` or a list of such terms; `fields` says how a column is indexed:
        `text`, `string` or `none`.
        """
        config = Config.resolve(options or {}, properties=properties)
        log = TransactionLog.open(path, config)
        layout = Layout.parse(partition_by) if isinstance(partition_by, str) else Layout.of(*(partition_by or ()))
        rules = {**config.typemap, **(fields or {})}
        snapshot = create(log, schema, layout=layout, fields=rules, properties=properties or {})
        return cls(log, snapshot, options=options)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Self:
        """A table as it is, or as it was after a version or at a moment (text without a zone is UTC)."""
        log = TransactionLog.open(path, Config.resolve(options or {}))
        snapshot = log.snapshot(version, timestamp=_moment(timestamp))
        return cls(log, snapshot, options=options, pinned=version is not None or timestamp is not None)

    @property
    def path(self) -> str:
        return self._log.table

    @property
    def version(self) -> int:
        return self._snapshot.version

    @property
    def schema(self) -> pa.Schema:
        return self._snapshot.metadata.arrow_schema()

    @property
    def layout(self) -> Layout:
        metadata = self._snapshot.metadata
        return layouts(metadata)[metadata.current_spec_id]

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._snapshot.metadata.properties)

    def __repr__(self) -> str:
        return f"IndexTable({self.path!r}, version={self.version})"

    def append(self, data: Data, *, options: Mapping[str, str] | None = None) -> int:
        """Adds rows; gives the new version, or the old one where there was nothing to add."""
        config = self._config(options)
        return self._moved(append(self._log.configured(config), self._writable(), _reader(data), config))

    def overwrite(self, data: Data, *, options: Mapping[str, str] | None = None) -> int:
        """Replaces all rows; gives the new version."""
        config = self._config(options)
        return self._moved(overwrite(self._log.configured(config), self._writable(), _reader(data), config))

    def scan(
        self,
        *,
        where: str | Predicate | None = None,
        query: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Rows that satisfy a condition (SQL, or built in Python) and a search; read when asked for."""
        question = ask(self._snapshot, self._rules, where=where, query=query, columns=columns)
        parallelism = self._config(None).read_parallelism
        return Scan(self._snapshot, question, self._opener, limit=limit, parallelism=parallelism, options=self._options)

    def count(self, where: str | Predicate | None = None, *, query: str | None = None) -> int:
        """The number of rows; from the log, as far as it knows."""
        return self.scan(where=where, query=query, columns=[]).count()

    def search(
        self,
        query: str,
        *,
        where: str | Predicate | None = None,
        columns: Sequence[str] | None = None,
        limit: int = 10,
    ) -> pa.Table:
        """The rows that match best, best first, with their `_score`."""
        return search_top(self.scan(where=where, query=query, columns=columns), limit)

    def prewarm(self, where: str | Predicate | None = None) -> Prewarmed:
        """Brings the indexes of the splits that a condition leaves to the local cache, before anybody searches."""
        return prewarm(self.scan(where=where, columns=[]))

    @property
    def traffic(self) -> Traffic:
        """What this handle has asked of the store so far."""
        return self._log.store.traffic

    @property
    def cache(self) -> CacheUse:
        """How well the local cache of indexes serves this process."""
        return self._opener.cache.use

    def at(self, version: int | None = None, timestamp: datetime | str | None = None) -> "IndexTable":
        """The table as it was; such a handle never moves and cannot write."""
        if version is not None and timestamp is not None:
            raise IndexTablesError("give a version or a timestamp, not both")
        snapshot = self._log.snapshot(version, timestamp=_moment(timestamp))
        return IndexTable(self._log, snapshot, options=self._options, pinned=True)

    def refresh(self) -> Self:
        """Moves this handle to the newest version."""
        if not self._pinned:
            self._snapshot = self._log.snapshot()
        return self

    def history(self) -> pa.Table:
        return self._log.history()

    def splits(self) -> pa.Table:
        return list_splits(self._snapshot)

    def partitions(self) -> pa.Table:
        return list_partitions(self._snapshot)

    def checkpoint(self) -> CheckpointResult:
        return self._log.configured(self._config(None)).checkpoint(self._snapshot)

    @property
    def _rules(self) -> dict[str, FieldRule]:
        return current_rules(self._snapshot.metadata)

    @property
    def _opener(self) -> SplitOpener:
        return SplitOpener.of(self._log.store, self._config(None))

    def _config(self, options: Mapping[str, str] | None) -> Config:
        return Config.resolve(options or {}, self._options, properties=self.properties)

    def _writable(self) -> Snapshot:
        if self._pinned:
            raise IndexTablesError(f"{self!r} shows the past and cannot be written; open the table without a version")
        return self._snapshot

    def _moved(self, snapshot: Snapshot) -> int:
        self._snapshot = snapshot
        return snapshot.version


def _reader(data: Data) -> tuple[pa.Schema | None, Iterable[pa.RecordBatch]]:
    """The schema of the data where it is known, and its batches."""
    match data:
        case pa.Table():
            return data.schema, data.to_batches(max_chunksize=_BATCH)
        case pa.RecordBatchReader():
            return data.schema, data
        case pa.RecordBatch():
            return data.schema, [data]
        case _:
            return None, data


def _moment(given: datetime | str | None) -> datetime | None:
    if not isinstance(given, str):
        return given
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise IndexTablesError(f"{given!r} is not a moment; write it like 2024-01-31T12:00:00Z") from None


_BATCH = 131_072
