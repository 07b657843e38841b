"""Time as the log has it: milliseconds since 1970, UTC."""

import time
from datetime import datetime


def now() -> int:
    return time.time_ns() // 1_000_000


def epoch_millis(timestamp: datetime) -> int:
    return int(timestamp.timestamp() * 1000)
