"""Figures of a stream's batches in `query.lastProgress`: the version of the table, and the splits, rows and bytes in it.

Spark has no way for a Python sink to report them. The log has them: a commit of a stream records its query and batch.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.log import TransactionLog

_MAX_TABLES = 64
_MAX_BATCHES = 1000  # Spark keeps the progress of the last hundred
_FIGURES = ("numAddedRows", "numAddedSplits", "numAddedBytes")
_tables: OrderedDict[str, "_StreamedTable"] = OrderedDict()
_lock = Lock()


@dataclass(slots=True)
class _StreamedTable:
    """What a query has written: the figures of its batches, read from the log as far as `version`."""

    log: TransactionLog
    version: int
    batches: dict[int, dict[str, str]] = field(default_factory=dict)

    def figures(self, query: str, batch: int) -> Mapping[str, str]:
        """The figures of a batch; none where it was empty."""
        if batch not in self.batches:
            latest = self.log.snapshot().version
            for version in self.log.versions(self.version + 1, latest):
                if query in (txn.app_id for txn in version.txns):
                    [number] = (txn.version for txn in version.txns if txn.app_id == query)
                    metrics = version.info.operation_metrics
                    shown = {name: str(metrics[name]) for name in _FIGURES if name in metrics}
                    self.batches[number] = {"version": str(version.number), **shown}
            self.version = latest
            self.batches = dict(sorted(self.batches.items())[-_MAX_BATCHES:])
        return self.batches.get(batch, {})


def remember_table(query: StreamingQuery, path: str, settings: Mapping[str, str], *, version: int | None) -> None:
    """Notes which table a query writes to, and the version that there was before it was started."""
    log = TransactionLog.open(path, Config.resolve(settings))
    with _lock:
        _tables[str(query.id)] = _StreamedTable(log, -1 if version is None else version)
        while len(_tables) > _MAX_TABLES:
            _tables.popitem(last=False)


def with_figures(query: str, progress: StreamingQueryProgress) -> StreamingQueryProgress:
    """The progress of a batch, with figures among the metrics of the sink where the sink is a table of ours."""
    with _lock:
        table = _tables.get(query)
        if table is None:
            return progress
        try:
            figures = table.figures(query, int(progress["batchId"]))
        except IndexTablesError:  # the table is gone, or a clean-up was quicker
            return progress
    content = json.loads(progress.json)
    content["sink"]["metrics"] = {**content["sink"].get("metrics", {}), **figures}
    return StreamingQueryProgress.fromJson(content)
