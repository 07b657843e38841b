"""The demo, at a size for tests: it tells its whole story, and Parquet agrees with every answer."""

import re
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.demo import MESSAGES, START, _lines, _make_room, story
from indextables.errors import IndexTablesError
from tests.tiers import slow


@slow("the demo")
def test_the_demo_tells_its_story(spark: Any, tmp_path: Path) -> None:
    told = "\n".join(story(spark, tmp_path, 30_000))
    assert re.findall(r"^(\d)\. (\w+)", told, re.MULTILINE) == [
        ("1", "Write"),
        ("2", "Ask"),
        ("3", "Stream"),
        ("4", "Compact"),
        ("5", "Delete"),
        ("6", "The"),
    ]
    assert len(re.findall(r"Parquet [\d,]+ ms: [\d.]+x (faster|slower)", told)) == 4
    assert "5 batches of 100 lines" in told
    logs = IndexTable.open(tmp_path / "logs")
    assert logs.count() == 30_500
    assert logs.fields["message"].type == "text"


def test_lines_are_the_same_each_time_and_have_the_shares_of_their_kinds() -> None:
    lines = _lines(10_000, START, seed=3)
    assert lines.equals(_lines(10_000, START, seed=3))
    assert lines["ts"].to_pylist() == sorted(lines["ts"].to_pylist())
    levels = lines["level"].value_counts().to_pylist()
    assert {row["values"] for row in levels} == {level for _, level in MESSAGES}
    assert all(re.fullmatch(r"[0-9a-f]{16}", trace) for trace in lines["trace"].to_pylist()[:10])


def test_only_the_directory_of_an_earlier_demo_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "indextables-demo"
    _make_room(place)
    (place / "logs").mkdir()
    _make_room(place)
    assert not (place / "logs").exists()
    (tmp_path / "other").mkdir()
    with pytest.raises(IndexTablesError, match="not of an earlier demo"):
        _make_room(tmp_path / "other")
