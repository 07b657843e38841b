"""Settings of the transaction log, of compaction (MERGE SPLITS) and of vacuum (PURGE)."""

from dataclasses import dataclass
from datetime import timedelta

from indextables.config.setting import setting
from indextables.config.setting_parsers import boolean, duration, positive_integer, size


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceConfig:
    checkpoint_interval: int = setting(
        "checkpoint.interval", 10, positive_integer, "A checkpoint of the log is written every so many versions."
    )
    log_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "log.retention", timedelta(days=30), duration, "How long old versions of the log are kept for time travel."
    )
    tombstone_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "tombstone.retention",
        timedelta(days=7),
        duration,
        "How long a checkpoint remembers the splits that were removed.",
    )
    purge_min_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "purge.minRetention",
        timedelta(days=7),
        duration,
        "A purge keeps files that are younger: readers of older versions and writers at work may need them.",
    )
    merge_target_size: int = setting(
        "merge.targetSize", 128 * 1024**2, size, "The size that small splits are merged to, such as 100M."
    )
    merge_max_records: int = setting(
        "merge.maxRecordsPerSplit",
        4_000_000,
        positive_integer,
        "A merged split has at most so many rows: its index is built in memory.",
    )
    merge_max_sources: int | None = setting(
        "merge.maxSourceSplitsPerMerge", None, positive_integer, "At most so many splits are merged into one."
    )
    merge_max_groups_per_commit: int = setting(
        "merge.maxGroupsPerCommit",
        100,
        positive_integer,
        "A merge commits when so many groups of splits are merged, or when merge.commitInterval is over.",
    )
    merge_commit_interval: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "merge.commitInterval",
        timedelta(seconds=30),
        duration,
        "A merge commits the groups that are merged once so much time has passed since its last commit.",
    )
    merge_on_write: bool = setting(
        "mergeOnWrite.enabled",
        default=False,
        parse=boolean,
        doc="After a write, small splits of the partitions that it touched are merged where there are many.",
    )
    merge_on_write_min_splits: int = setting(
        "mergeOnWrite.minSplits",
        10,
        positive_integer,
        "A write merges the small splits of a partition where there are so many of them.",
    )
