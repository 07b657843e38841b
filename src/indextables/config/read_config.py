"""Settings of scans and of the local cache of search indexes."""

from dataclasses import dataclass

from indextables.config.setting import setting
from indextables.config.setting_parsers import natural_number, positive_integer, size, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    cache_directory: str | None = setting(
        "cache.directory",
        None,
        text,
        "Where search indexes are unpacked; by default under the system's temporary files.",
    )
    cache_max_size: int = setting(
        "cache.maxSize", 10 * 1024**3, size, "How much of the disk unpacked search indexes may take, on each machine."
    )
    parallelism: int = setting(
        "read.parallelism", 8, positive_integer, "So many splits are read at once without Spark."
    )
    max_partition_bytes: int = setting(
        "read.maxPartitionBytes", 128 * 1024**2, size, "One Spark task reads splits of about so many bytes together."
    )
    open_cost: int = setting(
        "read.openCostInBytes", 4 * 1024**2, size, "Opening a split counts as so many bytes when tasks are packed."
    )
    min_partitions: int = setting(
        "read.minPartitions", 8, positive_integer, "A scan gets so many Spark tasks or more, where splits are many."
    )
    driver_rows: int = setting(
        "read.driverRows",
        1_000,
        natural_number,
        "Spark's driver itself reads what a search finds, if its indexes are in the local cache and no more rows are found; "
        "0: executors read always.",
    )
