"""Settings of writes: split sizes, layout, coalescing, commits."""

from collections.abc import Mapping
from dataclasses import dataclass

from indextables.config.setting import setting, setting_family
from indextables.config.setting_parsers import (
    boolean,
    names,
    natural_number,
    overwrite_mode,
    positive_integer,
    row_count,
    size,
    text,
    whole_number,
)
from indextables.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteConfig:
    commit_max_retries: int = setting(
        "commit.maxRetries", 30, positive_integer, "How often a commit is tried again after another writer was first."
    )
    target_records: int = setting(
        "optimizeWrite.targetRecordsPerSplit",
        1_000_000,
        positive_integer,
        "A split is closed at so many rows.",
        short="targetRecordsPerSplit",
    )
    optimize_write: bool = setting(
        "optimizeWrite.enabled",
        default=True,
        parse=boolean,
        doc="Spark's rows are arranged before they are written: by partition, in splits of even size. Otherwise they are "
        "written as they come.",
    )
    cluster_by: tuple[str, ...] = setting(
        "optimizeWrite.clusterBy", (), names, "Columns by which the rows of a split are sorted."
    )
    auto_size: bool = setting(
        "autoSize.enabled",
        default=False,
        parse=boolean,
        doc="A split gets as many rows as fill the size that it should have, going by the newest splits of the table.",
    )
    target_split_size: int | None = setting(
        "autoSize.targetSplitSize", None, size, "The size that a split should have, such as 100M; needed by autoSize."
    )
    input_row_count: int | None = setting(
        "autoSize.inputRowCount",
        None,
        row_count,
        "How many rows are written, where it is known: those of a table without partitions are then not counted.",
    )
    partition_by: str | None = setting(
        "partitionBy", None, text, "The layout of a new table, such as `region, day(ts), bucket(16, user_id)`."
    )
    replace_where: str | None = setting(
        "replaceWhere",
        None,
        text,
        "An overwrite replaces only the rows that satisfy this condition, or one of several in a JSON array.",
    )
    partition_overwrite_mode: str | None = setting(
        "partitionOverwriteMode",
        None,
        overwrite_mode,
        "With `dynamic`, an overwrite replaces only partitions that it has rows for.",
    )
    temp_directory: str | None = setting(
        "indexWriter.tempDirectoryPath",
        None,
        text,
        "Where a writer keeps what does not fit into memory, and builds splits.",
    )
    buffer_size: int = setting(
        "indexWriter.bufferSize", 256 * 1024**2, size, "Rows that wait for their split go to disk beyond so many bytes."
    )
    merge_schema: bool = setting(
        "mergeSchema",
        default=False,
        parse=boolean,
        doc="Columns that the table does not have are added to it by an append.",
    )
    txn_app_id: str | None = setting(
        "txnAppId", None, text, "The application whose batch this is; a batch is written once."
    )
    txn_version: int | None = setting(
        "txnVersion", None, whole_number, "The number of the batch, together with txnAppId."
    )
    driver_copy_rows: int = setting(
        "replaceWhere.driverRows",
        100_000,
        natural_number,
        "A `replaceWhere` from Spark lets executors copy the rows that stay, if the splits that it cuts through have "
        "more rows; see [replacing](replace.md).",
    )
    coalesce: bool = setting(
        "coalesce.enabled",
        default=False,
        parse=boolean,
        doc="Small partitions share splits and a directory; see [coalescing](coalescing.md).",
    )
    coalesce_columns: tuple[str, ...] = setting(
        "coalesce.columns",
        (),
        names,
        "The partition fields in which partitions may differ and share a split: the last ones of the layout. By default "
        "the last one.",
    )
    coalesce_min_rows: int = setting(
        "coalesce.minRows", 100_000, positive_integer, "A partition with fewer rows is small."
    )
    coalesce_min_size: int | None = setting(
        "coalesce.minSize",
        None,
        size,
        "A partition of fewer bytes is small, going by the newest splits of the table; while it has none, minRows decides.",
    )
    coalesce_max_tuples: int = setting(
        "coalesce.maxTuples",
        10_000,
        positive_integer,
        "The log lists so many partitions of a shared split; one that holds more cannot be pruned by them.",
    )
    typemap: Mapping[str, str] = setting_family("indexing.typemap.")
    coalesce_rules: Mapping[str, str] = setting_family("coalesce.rule.")

    def __post_init__(self) -> None:
        if (self.txn_app_id is None) != (self.txn_version is None):
            missing = "txnVersion" if self.txn_version is None else "txnAppId"
            raise ConfigError(f"txnAppId and txnVersion go together, and {missing} is missing", key=missing, value=None)
