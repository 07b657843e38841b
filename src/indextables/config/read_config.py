"""Settings of scans and of the local cache of search indexes."""

from dataclasses import dataclass

from indextables.config.setting import natural_number, positive_integer, setting, size, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    cache_directory: str | None = setting(
        "cache.directory",
        None,
        text,
        "The local directory of the cache of unpacked search indexes; by default under the system's temporary directory.",
    )
    cache_max_size: int = setting(
        "cache.maxSize",
        10 * 1024**3,
        size,
        "The maximum size of the cache of unpacked search indexes, on each machine.",
    )
    parallelism: int = setting(
        "read.parallelism", 8, positive_integer, "How many splits are read in parallel without Spark."
    )
    max_partition_bytes: int = setting(
        "read.maxPartitionBytes",
        128 * 1024**2,
        size,
        "The most bytes of splits that one Spark task reads, like `spark.sql.files.maxPartitionBytes`.",
    )
    open_cost: int = setting(
        "read.openCostInBytes",
        4 * 1024**2,
        size,
        "The estimated cost of opening a split, in bytes, like `spark.sql.files.openCostInBytes`.",
    )
    min_partitions: int = setting(
        "read.minPartitions",
        8,
        positive_integer,
        "The suggested minimum number of Spark tasks of a scan, if it has that many splits.",
    )
    driver_rows: int = setting(
        "read.driverRows",
        1_000,
        natural_number,
        "The driver reads the result of a search itself, without Spark tasks, if the indexes are in the local cache and "
        "find at most this many rows; 0 disables it.",
    )
