r"""Log lines: one per event, with its name and its facts as `key=value`, written by Python's `logging`.

>>> print(Facts(table="s3://logs/web", version=7, filters="day = 'mon'", limit=None))
table=s3://logs/web, version=7, filters="day = 'mon'"

A line never breaks, and credentials in addresses are not shown:

>>> print(Facts(source="https://me:pw@host/t", name="two\nlines"))
source=https://***@host/t, name="two\nlines"
"""

import json
import logging
import re

from indextables.redaction import redacted

_PLAIN = re.compile(r"[^\s\",=]+")


class Facts(dict[str, object]):
    """The facts of an event; those that are None are left out. They become text only if the line is written."""

    def __str__(self) -> str:
        return ", ".join(f"{key}={_shown(value)}" for key, value in self.items() if value is not None)


def log_event(logger: logging.Logger, event: str, /, *, level: int = logging.INFO, **facts: object) -> None:
    """Logs an event; facts that cost anything are computed by the caller, if `logger.isEnabledFor(level)`."""
    logger.log(level, "%s: %s", event, Facts(facts), stacklevel=2)


def _shown(value: object) -> str:
    text = redacted(str(value))
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
