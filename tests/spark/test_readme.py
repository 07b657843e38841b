"""The README's Spark example does what it says."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.spark
def test_the_example_runs(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"## With Spark\n\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [(start + timedelta(hours=hour), "timeout" if hour % 2 else "timeout, retry") for hour in range(480)]
    path = str(tmp_path / "logs")
    exec(code, {"spark": spark, "df": spark.createDataFrame(rows, "ts timestamp, message string"), "path": path})
    assert IndexTable.open(path).count() == 480
    shown = capsys.readouterr().out
    assert "timeout" in shown
    assert "retry" not in shown
