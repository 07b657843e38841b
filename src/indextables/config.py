"""Settings: one typed object with its defaults in place.

Every setting has a key under `spark.indextables.`, which may be left out, in any letter case. It is looked for in the
options of the call, then in the session, then in the table's properties; the first that has it decides.

>>> Config.resolve({"CHECKPOINT.interval": "25"}, {"spark.indextables.checkpoint.interval": "50"}).checkpoint_interval
25
>>> Config.resolve({"checkpoint.intervall": "25"})
Traceback (most recent call last):
indextables.errors.ConfigError: there is no setting 'checkpoint.intervall'; did you mean 'spark.indextables...interval'?
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Self

from indextables.errors import ConfigError

PREFIX = "spark.indextables."
_DURATION = re.compile(r"\s*([0-9]+)\s*(d|days?|h|hours?|min|minutes?|s|seconds?)\s*", re.IGNORECASE)
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def positive_integer(text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]+\s*", text) or int(text) == 0:
        raise ValueError("a whole number above zero")
    return int(text)


def duration(text: str) -> timedelta:
    """A span of time.

    >>> duration("7 days"), duration("36h")
    (datetime.timedelta(days=7), datetime.timedelta(days=1, seconds=43200))
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError("a number of days, hours, minutes or seconds, such as '7 days' or '12h'")
    return timedelta(**{_UNITS[match[2][0].lower()]: int(match[1])})


def _setting(key: str, default: Any, parse: Callable[[str], Any], doc: str) -> Any:
    return field(default=default, metadata={"key": PREFIX + key, "parse": parse, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    checkpoint_interval: int = _setting(
        "checkpoint.interval", 10, positive_integer, "A checkpoint of the log is written every so many versions."
    )
    commit_max_retries: int = _setting(
        "commit.maxRetries", 10, positive_integer, "How often a commit is tried again after another writer was first."
    )
    log_retention: timedelta = _setting(  # noqa: RUF009 - it is a dataclass field
        "log.retention", timedelta(days=30), duration, "How long old versions of the log are kept for time travel."
    )
    tombstone_retention: timedelta = _setting(  # noqa: RUF009
        "tombstone.retention",
        timedelta(days=7),
        duration,
        "How long a checkpoint remembers the splits that were removed.",
    )

    @classmethod
    def resolve(cls, *sources: Mapping[str, str]) -> Self:
        """The settings that the sources give, the first source first, and the defaults for the rest."""
        given: dict[str, Any] = {}
        for source in reversed(sources):
            given |= {name: value for key, text in source.items() for name, value in [_read(key, text)]}
        return cls(**given)


_BY_KEY = {setting.metadata["key"].lower(): setting for setting in fields(Config)}


def _read(key: str, text: str) -> tuple[str, Any]:
    full = PREFIX + key.strip().lower().removeprefix(PREFIX)
    setting = _BY_KEY.get(full)
    if setting is None:
        short = {known.removeprefix(PREFIX): known for known in _BY_KEY}
        close = difflib.get_close_matches(full.removeprefix(PREFIX), short, n=1)
        hint = f"; did you mean {_BY_KEY[short[close[0]]].metadata['key']!r}?" if close else ""
        raise ConfigError(f"there is no setting {key!r}{hint}", key=key, value=text)
    try:
        return setting.name, setting.metadata["parse"](text)
    except ValueError as error:
        raise ConfigError(f"{setting.metadata['key']} is {text!r}, but must be {error}", key=key, value=text) from None
