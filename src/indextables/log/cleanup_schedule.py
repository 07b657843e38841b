"""When a log is worth another look for expired files: each look lists all of it."""

from datetime import UTC, datetime, timedelta

from indextables.log.log_files import LogFiles

_AT_LEAST_EVERY = timedelta(days=1)  # killed writers leave temporary files
_AT_MOST_EVERY = 100  # looks per retention, so that files are kept a hundredth longer


class CleanUpSchedule:
    """The time of the next look, as far as this process knows; the handles of a table share it."""

    def __init__(self) -> None:
        self._due = datetime.min.replace(tzinfo=UTC)

    def is_due(self, now: datetime) -> bool:
        return now >= self._due

    def looked(self, files: LogFiles, *, now: datetime, retention: timedelta) -> None:
        """Plans the next look, after one at these files: when the oldest of them expires."""
        oldest = min((entry.modified for entry in files.commits.values()), default=now)
        wait = min(max(oldest + retention - now, retention / _AT_MOST_EVERY), _AT_LEAST_EVERY)
        self._due = now + wait
