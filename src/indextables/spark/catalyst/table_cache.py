"""CACHE TABLE: the rows of a table at a version in Spark's cache, where later queries of that version find them."""

from threading import Lock
from typing import Any

from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel

from indextables.errors import ConfigError
from indextables.spark.catalyst.java import frame_over, jvm_of, plan_of
from indextables.spark.catalyst.relation import relations_in, share_table, unshare_table

_LEVELS = {name: level for name, level in vars(StorageLevel).items() if isinstance(level, StorageLevel)}
_cached: dict[tuple[Any, str], list[DataFrame]] = {}
_lock = Lock()


def cache_table(frame: DataFrame, location: str, *, level: str | None, lazy: bool) -> None:
    """Keeps the rows of the one relation that a frame is over; an earlier version of the table is dropped from the cache."""
    storage = StorageLevel.MEMORY_AND_DISK_DESER if level is None else _LEVELS.get(level.strip().upper())
    if storage is None:
        raise ConfigError(
            f"there is no storage level {level!r}; use {', '.join(sorted(_LEVELS))}", key="storageLevel", value=level
        )
    spark = frame.sparkSession
    (relation,) = relations_in(plan_of(frame))
    with _lock:
        if not share_table(spark, relation):
            return  # this version is in the cache
        _drop(spark, location)
        kept = _cached.setdefault((jvm_of(spark), location), [])
        kept.append(frame_over(relation, spark))
        kept[-1]._jdf.persist(spark.sparkContext._getJavaStorageLevel(storage))
    if not lazy:
        kept[-1]._jdf.count()


def uncache_table(spark: Any, location: str) -> None:
    with _lock:
        _drop(spark, location)


def _drop(spark: Any, location: str) -> None:
    for frame in _cached.pop((jvm_of(spark), location), []):
        (relation,) = relations_in(plan_of(frame))
        unshare_table(spark, relation)
        frame._jdf.unpersist(False)
