"""Settings of the transaction log, of compaction (MERGE SPLITS) and of vacuum (PURGE)."""

from dataclasses import dataclass
from datetime import timedelta

from indextables.config.setting import boolean, duration, positive_integer, setting, share, size


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceConfig:
    checkpoint_interval: int = setting(
        "checkpoint.interval", 10, positive_integer, "The number of versions between two checkpoints of the log."
    )
    log_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "log.retention", timedelta(days=30), duration, "How long old versions are kept for time travel."
    )
    tombstone_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "tombstone.retention",
        timedelta(days=7),
        duration,
        "How long checkpoints keep the tombstones of removed splits.",
    )
    purge_min_retention: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "purge.minRetention",
        timedelta(days=7),
        duration,
        "The minimum retention of a vacuum (PURGE): readers of older versions and running writers may need younger files.",
    )
    deletion_vectors: bool = setting(
        "deletionVectors",
        default=True,
        parse=boolean,
        doc="Rows of a split are deleted by a deletion vector. Otherwise the split is rewritten without them, so that other "
        "engines that read its file as Parquet do not see them; see [changing rows](changing-rows.md).",
    )
    max_deleted_share: float = setting(
        "deletionVectors.maxDeletedShare",
        0.3,
        share,
        "A split of which a larger share of rows is deleted is rewritten without them.",
    )
    merge_target_size: int = setting(
        "merge.targetSize", 128 * 1024**2, size, "The target size of compaction (MERGE SPLITS), such as 100M."
    )
    merge_max_records: int = setting(
        "merge.maxRecordsPerSplit",
        4_000_000,
        positive_integer,
        "The maximum number of rows of a merged split: its index is built in memory.",
    )
    merge_max_sources: int | None = setting(
        "merge.maxSourceSplitsPerMerge",
        None,
        positive_integer,
        "The maximum number of splits that are merged into one.",
    )
    merge_max_groups_per_commit: int = setting(
        "merge.maxGroupsPerCommit",
        100,
        positive_integer,
        "A merge commits after this number of groups of splits, or after merge.commitInterval.",
    )
    merge_commit_interval: timedelta = setting(  # noqa: RUF009 - it is a dataclass field
        "merge.commitInterval",
        timedelta(seconds=30),
        duration,
        "The time between two commits of a merge.",
    )
    merge_on_write: bool | None = setting(
        "mergeOnWrite.enabled",
        default=None,
        parse=boolean,
        doc="Auto-compaction: after a write, small splits of the partitions that it wrote to are merged; of a stream, "
        "beside the next batches. By default streams do so, and batch writes do not.",
    )
    merge_on_write_min_splits: int = setting(
        "mergeOnWrite.minSplits",
        10,
        positive_integer,
        "Auto-compaction merges small splits of a partition if at least this many are of about the same size.",
    )
