from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(spark: Any) -> Any:
    """The session over Spark Connect, with indextables switched on; twice, because that must not matter."""
    from indextables import enable  # noqa: PLC0415 - the tests without a JVM run without PySpark

    return enable(enable(spark))
