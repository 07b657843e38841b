"""Time as the log has it: milliseconds since 1970, UTC."""

import time
from datetime import UTC, datetime


def now() -> int:
    return time.time_ns() // 1_000_000


def utc_now() -> datetime:
    """The same time as a datetime, with microseconds."""
    return datetime.fromtimestamp(time.time_ns() / 1_000_000_000, UTC)


def epoch_millis(timestamp: datetime) -> int:
    return int(timestamp.timestamp() * 1000)
