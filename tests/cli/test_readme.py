"""The commands of README.md print what it shows."""

import re
from pathlib import Path

import pytest

from tests.cli.shell import run_line

README = Path(__file__).parents[2] / "README.md"
LINES = """day,level,message
mon,INFO,request served
mon,ERROR,disk full
mon,ERROR,timeout on the disk
tue,WARN,slow disk
"""


def console() -> list[tuple[str, list[str]]]:
    """Each command of the console block, with the lines that it prints."""
    block = re.search(r"```console\n(.*?)```", README.read_text(), re.DOTALL)
    assert block
    command, *others = block[1].removeprefix("$ ").split("\n$ ")
    return [(line, output.splitlines()) for line, _, output in (text.partition("\n") for text in (command, *others))]


def test_the_shell_section_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lines.csv").write_text(LINES)
    monkeypatch.chdir(tmp_path)
    shown = console()
    assert len(shown) == 3
    assert [(line, run_line(line)) for line, _ in shown] == shown
