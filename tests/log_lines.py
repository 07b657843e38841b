"""Log lines as tests look at them: the event, and its facts as they were before they became text."""

import logging

import pytest


def events(caplog: pytest.LogCaptureFixture, *, level: int = logging.INFO) -> list[str]:
    """The events of a level, in order."""
    return [str(record.args[0]) for record in _lines(caplog) if record.levelno == level]


def facts(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, object]]:
    """The facts of each line of an event."""
    return [dict(record.args[1]) for record in _lines(caplog) if record.args[0] == event]


def _lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.msg == "%s: %s"]
