from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import tidied


@pytest.fixture(scope="session")
def spark(spark: Any) -> Any:
    """The session, with indextables switched on; twice, because that must not matter."""
    from indextables import enable  # noqa: PLC0415 - the tests without a JVM run without PySpark

    return enable(enable(spark))


@pytest.fixture(scope="module", autouse=True)
def _tidy(spark: Any) -> Iterator[None]:
    """No module sees the views and tables of another."""
    yield
    tidied(spark)
