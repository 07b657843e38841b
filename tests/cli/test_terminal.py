"""The command line as a process: its pipes, its terminal, its signals."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from struct import pack

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable
from tests.cli.shell import found, run
from tests.cli.test_upkeep import files, shown_on

fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
PROGRAM = [sys.executable, "-c", "from indextables.cli.app import main; main()"]
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 3,000 lines, in some of which there is more than letters."""
    place = str(tmp_path_factory.mktemp("terminal") / "table")
    lines = ["disk full " * 9, "\u65e5\u672c \u001b[31m red\tdisk", "fine"]
    table = IndexTable.create(place, pa.schema({"n": pa.int64(), "message": pa.string()}), fields={"message": "text"})
    table.append(pa.table({"n": range(3_000), "message": lines * 1_000}))
    return place


def seen(*words: str, columns: int = 80, **settings: str) -> str:
    """What a terminal of such a width shows of a command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", 40, columns, 0, 0))
    known = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "NO_COLOR"}}
    environment = {**known, "TERM": "xterm-256color", **settings}
    with subprocess.Popen([*PROGRAM, *words], stdout=theirs, stderr=theirs, env=environment):
        os.close(theirs)
        return shown_on(ours).decode()


def test_people_are_told_that_there_is_more_and_scripts_get_rows_alone(path: str) -> None:
    assert run("search", path, "disk", "-n", 2).stdout.endswith("2 of 2,000 rows; --limit for more\n")
    assert run("search", path, "disk", "-n", 2, "--where", "n < 5").stdout.endswith(
        "\n2 of more rows; --limit for more\n"
    )
    assert run("search", path, "disk", "--where", "n < 3").stdout.endswith("\n2 rows\n")
    assert len(found("search", path, "disk", "-n", 2)) == 2


def test_a_narrow_terminal_folds_and_loses_nothing(path: str) -> None:
    shown = seen("search", path, "disk", "-n", "2", columns=30, NO_COLOR="1")
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 30
    assert shown.count("full") == 18


def test_what_is_found_is_marked_and_data_cannot_command_a_terminal(path: str) -> None:
    assert "\u001b[1;33mdisk\u001b[0m" in seen("search", path, "disk", "-n", "1")
    red = seen("search", path, "red", "-n", "1", NO_COLOR="1")
    assert "\u65e5\u672c \\x1b[31m" in red
    assert "\u001b[31m" not in red


def test_errors_are_red_unless_nobody_wants_colours() -> None:
    assert seen("count", "/nowhere").startswith("\u001b[31merror: ")
    assert seen("count", "/nowhere", NO_COLOR="1").startswith("error: ")


@pytest.mark.parametrize("how", [[], ["--json"]])
def test_who_reads_the_first_lines_only_is_not_shown_a_traceback(path: str, how: list[str]) -> None:
    words = [*PROGRAM, "search", path, "disk", "-n", "2000", *how]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == b""


def test_output_is_json_for_other_programs(path: str) -> None:
    for verb in ("info", "health", "report", "history", "splits", "partitions", "explain", "count"):
        assert found(verb, path), verb


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [["count"], ["info"], ["splits", "--json"]])
def test_a_disk_that_is_full_is_an_error_of_one_sentence(path: str, words: list[str]) -> None:
    with FULL.open("w") as full:
        verb, *rest = words
        done = subprocess.run(
            [*PROGRAM, verb, path, *rest], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")


def test_an_export_shows_progress_but_not_among_its_rows(path: str, tmp_path: Path) -> None:
    assert "3,000 rows written" in seen("export", path, str(tmp_path / "rows.csv"))
    assert seen("export", path, "-", "--format", "csv", "-c", "n", "-n", "1").splitlines()[:2] == ['"n"', '"0"']


def test_an_import_that_is_interrupted_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "table"
    pq.write_table(pa.table({"id": range(50_000)}), tmp_path / "rows.parquet")
    run("import", place, tmp_path / "rows.parquet")
    before = files(str(place))
    words = ["import", str(place), *[str(tmp_path / "rows.parquet")] * 200, "-o", "targetRecordsPerSplit=50000"]
    with subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        while not files(str(place)) - before:
            assert command.poll() is None, "it was done before anybody looked"
        command.send_signal(signal.SIGINT)
        assert command.communicate() == (b"", b"")
    assert command.returncode == 130
    assert files(str(place)) == before
