"""The demo, at a size for tests: it tells its whole story, and Parquet agrees with every answer."""

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.demo import MESSAGES, START, _lines, _make_room, _offer_page, story
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
    assert re.search(r"MB with LZ4 and ZSTD, index included\n.*MB with SNAPPY, without an index", told)
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


def test_the_last_line_is_a_command_that_serves_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    IndexTable.write(tmp_path / "the demo" / "logs", [{"message": "disk full"}])
    _offer_page(tmp_path / "the demo" / "logs")
    last = capsys.readouterr().out.rstrip("\n").rpartition("\n")[2]
    with subprocess.Popen([*shlex.split(last), "--no-open"], stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        assert "http://127.0.0.1:" in serving.stdout.readline()
        serving.terminate()


def test_a_person_is_asked_before_the_last_line(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    program = (
        f"from pathlib import Path; from indextables.demo import _offer_page; _offer_page(Path({str(tmp_path)!r}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
    ) as asking:
        os.write(ours, b"n\n")
        _, errors = asking.communicate()
    said = os.read(ours, 10_000).decode()
    assert errors == b""
    assert said.index("Open the search page? [y/N]") < said.index("The table stays at")
    assert said.rstrip().endswith(f" serve {tmp_path}")
    os.close(ours)
    os.close(theirs)


@slow("the demo, with a JVM of its own")
def test_nothing_is_said_after_the_last_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from indextables.demo import main; main(1_000)"]
    own = {**os.environ, "TMPDIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    said = subprocess.run(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert said.stdout.rstrip().rpartition("\n")[2].endswith(f" serve {tmp_path}/indextables-demo/logs")
