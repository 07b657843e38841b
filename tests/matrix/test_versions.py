"""The table of what differs between versions of Spark."""

import re
from pathlib import Path

import pytest

from indextables import spark as package
from indextables.errors import UnsupportedSparkError
from indextables.spark.versions import differences, refuse_unsupported

ROOT = Path(package.__path__[0])


@pytest.mark.parametrize("version", ["4.1.0", "4.2.1", "4.3.0", "4.3.0.dev2", "4.1.0-amzn-1", "4.10.0", "5.0.0"])
def test_supported(version: str) -> None:
    refuse_unsupported(version)
    differences(version)


@pytest.mark.parametrize("version", ["4.0.5", "3.5.9", "4.0.0-preview2", "2.4.8"])
def test_refused(version: str) -> None:
    with pytest.raises(
        UnsupportedSparkError, match=f"PySpark {version} is too old; .* needs PySpark 4.1 or newer"
    ) as raised:
        refuse_unsupported(version)
    assert (raised.value.found, raised.value.needed) == (version, "4.1")


def test_a_version_that_is_not_known_is_taken_for_the_newest() -> None:
    assert differences("9.0.0") == differences("4.3.0")
    assert differences("4.1.9") == differences("4.1.0") != differences("4.2.0")


def test_nothing_else_asks_for_a_version() -> None:
    asking = re.compile(r"pyspark import __version__|pyspark\.__version__|\b(spark|sc|sparkContext)\.version\b")
    found = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if asking.search(path.read_text())}
    assert found == {"api/session.py", "catalyst/probe.py", "versions.py"}  # to refuse, to report, to decide
