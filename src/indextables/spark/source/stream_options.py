"""The options of a streaming read.

| option | meaning |
|---|---|
| `startingVersion` | a version, whose rows are the first, or `latest` for those that come after the query has started |
| `startingTimestamp` | the first rows are those that were added at this time or later |
| `maxFilesPerTrigger`, `maxBytesPerTrigger` | what a batch reads at most |
| `ignoreDeletes`, `skipChangeCommits` | skip commits that only remove rows; all that remove rows |

Without a start, the table as it is comes first. They are options of the query's first start: later ones go on from the
checkpoint. `where`, `query` and the others are those of any read (`read_options`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from indextables.config import STREAM_OPTIONS, boolean, positive_integer, size
from indextables.errors import ConfigError
from indextables.read.appended_splits import AppendedSplits, ChangePolicy
from indextables.read.stream_offset import ReadLimits, StreamOffset
from indextables.spark.planner.read_options import ReadOptions, parse_option, timestamp_of, version_of

_NAMES = {name.lower(): name for name in STREAM_OPTIONS}
_TIME_TRAVEL = {"versionasof", "timestampasof"}


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a streaming read, checked.

    >>> StreamOptions.of({"path": "/data/logs", "maxfilespertrigger": "10"}).limits
    ReadLimits(max_files=10, max_bytes=None)
    >>> StreamOptions.of({"path": "/data/logs", "versionasof": "3"})
    Traceback (most recent call last):
    indextables.errors.ConfigError: a stream follows the table, and versionasof names one version; use startingVersion ...
    """

    read: ReadOptions
    starting_version: int | None  # None: see `starts_at_latest`
    starts_at_latest: bool
    starting_timestamp: datetime | None
    limits: ReadLimits
    policy: ChangePolicy

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        given = {_NAMES[key.lower()]: value for key, value in options.items() if key.lower() in _NAMES}
        _refuse_time_travel(options)
        version = given.get("startingVersion")
        if version is not None and "startingTimestamp" in given:
            raise ConfigError(
                "startingVersion and startingTimestamp say two things; give one",
                key="startingTimestamp",
                value=given["startingTimestamp"],
            )
        latest = version is not None and version.strip().lower() == "latest"
        read = ReadOptions.of(without_stream_options(options))
        timestamp = timestamp_of(given.get("startingTimestamp"), read.time_zone, key="startingTimestamp")
        _refuse_future(timestamp)
        return cls(
            read=read,
            starting_version=None if latest else version_of(version, key="startingVersion"),
            starts_at_latest=latest,
            starting_timestamp=timestamp,
            limits=ReadLimits(
                max_files=parse_option(given, "maxFilesPerTrigger", positive_integer),
                max_bytes=parse_option(given, "maxBytesPerTrigger", size),
            ),
            policy=ChangePolicy(
                ignore_deletes=parse_option(given, "ignoreDeletes", boolean) or False,
                skip_change_commits=parse_option(given, "skipChangeCommits", boolean) or False,
            ),
        )

    def first_offset(self, splits: AppendedSplits) -> StreamOffset:
        """Where a new query starts."""
        if self.starts_at_latest:
            return splits.latest()
        if self.starting_version is not None:
            return splits.from_version(self.starting_version)
        if self.starting_timestamp is not None:
            return splits.from_timestamp(self.starting_timestamp)
        return splits.from_snapshot()


def without_stream_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of any read."""
    return {key: value for key, value in options.items() if key.lower() not in _NAMES}


def refuse_stream_options(options: Mapping[str, str]) -> None:
    """Refuses options of streams in a batch read, where they would change nothing."""
    for key, value in options.items():
        if key.lower() in _NAMES:
            raise ConfigError(
                f"{_NAMES[key.lower()]} is an option of spark.readStream; a batch read shows one version of the table, "
                "versionAsOf or timestampAsOf",
                key=key,
                value=value,
            )


def _refuse_time_travel(options: Mapping[str, str]) -> None:
    for key, value in options.items():
        if key.lower() in _TIME_TRAVEL:
            raise ConfigError(
                f"a stream follows the table, and {key} names one version; use startingVersion or startingTimestamp",
                key=key,
                value=value,
            )


def _refuse_future(timestamp: datetime | None) -> None:
    if timestamp is not None and timestamp > datetime.now(UTC):
        raise ConfigError(
            f'startingTimestamp is {timestamp}, which is in the future; for new rows only, use startingVersion "latest"',
            key="startingTimestamp",
            value=str(timestamp),
        )
