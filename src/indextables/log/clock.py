"""Time as the log has it: milliseconds since 1970, UTC."""

import time
from datetime import datetime


def now() -> int:
    return time.time_ns() // 1_000_000


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
