"""The smoke suite of `make matrix` on the PySpark that is installed, and what is refused."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from indextables import enable
from indextables.errors import UnsupportedSparkError
from tests.conftest import tidied
from tests.matrix import smoke
from tests.tiers import slow


@pytest.fixture(scope="module")
def place(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    enable(spark)
    yield tmp_path_factory.mktemp("matrix")
    tidied(spark)


@slow("the suite of `make matrix`, on this version of Spark")
@pytest.mark.parametrize("capability", smoke.ENABLED)
def test_enabled(spark: Any, place: Path, capability: str) -> None:
    own = place / capability
    own.mkdir()
    smoke.ENABLED[capability](spark, own)


@slow("the suite of `make matrix`, on this version of Spark")
@pytest.mark.spark
def test_without_enable() -> None:
    """In a process of its own, because `enable` changes classes of PySpark."""
    command = [sys.executable, "-m", "tests.matrix.smoke", "public"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == dict.fromkeys(smoke.PUBLIC, smoke.OK)


def test_an_older_spark_is_refused() -> None:
    """The JVM may be older than PySpark, where SPARK_HOME names another installation."""
    with pytest.raises(
        UnsupportedSparkError, match="Spark 4.0.2-vendor is too old; indextables needs Spark 4.1 or newer"
    ):
        enable(SimpleNamespace(version="4.0.2-vendor"))
