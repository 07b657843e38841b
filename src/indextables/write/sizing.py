"""Row counts for sizes in bytes: of a split (`autoSize`), and of a partition that is not small (`coalesce.minSize`).

>>> splits = pa.table({"size": [100, 1000, 5000], "num_records": [10, 100, 100], "modification_time": [1, 2, 3]})
>>> rows_for(100 * 1024**2, splits)
3609852
"""

import logging
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config, WriteConfig
from indextables.errors import ConfigError
from indextables.events import log_event
from indextables.log import Snapshot

logger = logging.getLogger(__name__)

_NEWEST = 10
_DEFAULT_TARGET = WriteConfig().target_records


def sized(config: Config, snapshot: Snapshot | None, *, table: str | None = None) -> Config:
    """The settings, with sizes in bytes converted to row counts; the `table` is for log lines."""
    return _with_small_rows(_with_target(config, snapshot, table), snapshot)


def refuse_missing_target_size(config: Config) -> None:
    """Raises a ConfigError where auto-sizing is enabled without a size."""
    if config.write.auto_size and config.write.target_split_size is None:
        raise ConfigError(
            "autoSize is enabled, but there is no target size of a split; "
            "set spark.indextables.autoSize.targetSplitSize, for example to 100M",
            key="spark.indextables.autoSize.targetSplitSize",
            value=None,
        )


def _with_small_rows(config: Config, snapshot: Snapshot | None) -> Config:
    if not config.write.coalesce or config.write.coalesce_min_size is None or snapshot is None:
        return config
    rows = rows_for(config.write.coalesce_min_size, snapshot.splits)
    return config if rows is None else replace(config, write=replace(config.write, coalesce_min_rows=rows))


def _with_target(config: Config, snapshot: Snapshot | None, table: str | None) -> Config:
    """With auto-sizing, the row count of a full split; unchanged where the table is new."""
    refuse_missing_target_size(config)
    if not config.write.auto_size or config.write.target_split_size is None:
        return config
    splits = None if snapshot is None else snapshot.splits
    rows = None if splits is None else rows_for(config.write.target_split_size, splits)
    if splits is None or rows is None:
        logger.warning(
            "the table has no splits to estimate row sizes from; splits get %d rows instead",
            config.write.target_records,
        )
        return config
    _log_analysis(splits, config.write.target_split_size, rows, table)
    if config.write.target_records not in (_DEFAULT_TARGET, rows):
        logger.warning(
            "autoSize gives splits %d rows; targetRecordsPerSplit=%d is not used", rows, config.write.target_records
        )
    return replace(config, write=replace(config.write, target_records=rows))


def rows_for(size: int, splits: pa.Table) -> int | None:
    """The row count of a split of `size` bytes, estimated from the ten newest; None where there is none with a row count."""
    newest = _newest(splits)
    if not len(newest):
        return None
    rows, written = _totals(newest)
    return int(-(-size * rows // written))


def _newest(splits: pa.Table) -> pa.Table:
    known = splits.filter((pc.field("size") > 0) & (pc.field("num_records") > 0))
    return known.sort_by([("modification_time", "descending")]).slice(0, _NEWEST)


def _totals(splits: pa.Table) -> tuple[int, int]:
    """The rows and the bytes of splits."""
    rows, written = (int(pc.sum(splits[column]).as_py()) for column in ("num_records", "size"))
    return rows, written


def _log_analysis(splits: pa.Table, target_size: int, target_rows: int, table: str | None) -> None:
    if not logger.isEnabledFor(logging.INFO):
        return
    newest = _newest(splits)
    rows, written = _totals(newest)
    log_event(
        logger,
        "Auto-sizing analysis",
        table=table,
        splits_analyzed=len(newest),
        bytes_per_record=round(written / rows, 1),
        target_split_size=target_size,
        target_rows_per_split=target_rows,
    )
