import logging
import os
import subprocess
import sys
from datetime import timedelta

import pytest

from indextables.events import Facts, log_event

WRITE = """
import pyarrow as pa
from indextables import IndexTable
table = IndexTable.create("memory://x/t", {"n": pa.int64()})
table.append(pa.table({"n": [1]}))
"""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        (99.9, "99.9"),
        (timedelta(days=30), '"30 days, 0:00:00"'),
        ("/data/logs", "/data/logs"),
        ("/data/my logs", '"/data/my logs"'),
        ("a, b=1", '"a, b=1"'),
        ("é", "é"),
        ('say "so"', '"say \\"so\\""'),
        ("x\nINFO forged line", '"x\\nINFO forged line"'),
        ("s3://key:hidden@bucket/t", "s3://***@bucket/t"),
        ("url = 'https://h/x?sig=hidden'", "\"url = 'https://h/x?sig=***'\""),
    ],
)
def test_a_fact_is_one_word_or_quoted_and_without_credentials(value: object, shown: str) -> None:
    assert str(Facts(fact=value)) == f"fact={shown}"


def test_a_line_says_where_it_comes_from(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("indextables.here")
    with caplog.at_level(logging.INFO, logger="indextables"):
        log_event(logger, "Thing done", table="t", rows=2, predicate=None)
    [record] = caplog.records
    assert (record.name, record.levelname, record.module) == ("indextables.here", "INFO", "test_events")
    assert record.getMessage() == "Thing done: table=t, rows=2"


def test_facts_become_text_only_if_the_line_is_written(caplog: pytest.LogCaptureFixture) -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError("nobody reads it")

    log_event(logging.getLogger("indextables.here"), "Thing done", fact=Loud())
    assert caplog.records == []


def stderr_of(code: str, level: str | None) -> str:
    """What a new process prints, whose environment has this INDEXTABLES_LOG."""
    environment = {key: value for key, value in os.environ.items() if key != "INDEXTABLES_LOG"}
    environment |= {} if level is None else {"INDEXTABLES_LOG": level}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return run.stderr


def test_the_variable_shows_lines_where_nobody_configures_logging() -> None:
    lines = stderr_of(WRITE, "info").splitlines()
    assert [line.split(" ")[2:6] for line in lines] == [
        ["INFO", "indextables.log.commit:", "Version", "committed:"]
    ] * 2
    assert "version=1, operation=APPEND" in lines[1]


def test_without_the_variable_only_warnings_are_shown() -> None:
    code = f"{WRITE}\nimport logging\nlogging.getLogger('indextables.x').warning('careful')"
    assert stderr_of(code, None) == "careful\n"


def test_lines_are_not_shown_twice() -> None:
    code = f"import logging\nlogging.basicConfig(level='INFO', format='mine: %(message)s'){WRITE}"
    lines = stderr_of(code, "INFO").splitlines()
    assert [line.partition("=")[0] for line in lines] == ["mine: Version committed: table"] * 2


def test_a_level_that_there_is_not_is_reported_and_ignored() -> None:
    assert stderr_of(WRITE, "loud") == (
        "INDEXTABLES_LOG is 'LOUD', which is no level of logging; use DEBUG, INFO, WARNING or ERROR\n"
    )
