"""Transaction logs that a process of Spark's keeps from one batch of a stream to the next."""

from threading import Lock

from cachetools import LRUCache

from indextables.config import Config, StoreConfig
from indextables.log import TransactionLog

_logs: LRUCache[tuple[str, StoreConfig], TransactionLog] = LRUCache(16)
_lock = Lock()


def open_kept_log(table: str, config: Config, *, table_id: str | None = None) -> TransactionLog:
    """The log of a table. Where this process has read it before, only newer versions are read."""
    place = table, config.store
    with _lock:
        known = _logs.get(place)
        log = known.configured(config) if known else TransactionLog.open(table, config)
        _logs[place] = log = log.for_table(table_id)
        return log
