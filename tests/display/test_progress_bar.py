"""Bars are shown where somebody looks, after some seconds, and nowhere else. The kernel and the terminal are real."""

import os
import pty
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import nbformat
import pyarrow as pa
import pytest
from nbclient import NotebookClient

from indextables import IndexTable
from indextables.display import progress_bar

ROWS = pa.table({"day": ["mon", "tue"] * 50, "n": range(100)})
WRITE = """
import pyarrow as pa
from indextables import IndexTable
from indextables.display import progress_bar

rows = pa.table({"day": ["mon", "tue"] * 50, "n": range(100)})
table = IndexTable.create("memory://notebook/t", rows.schema, partition_by="day")
progress_bar.DELAY = 0
for _ in range(3):
    table.append(rows)
"""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "DELAY", 0)


@contextmanager
def terminal(*, prompt: bool) -> Iterator[Callable[[], str]]:
    """A terminal as standard error, with a prompt if the interpreter is interactive; gives what was written to it."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    with pytest.MonkeyPatch.context() as patch, os.fdopen(theirs, "w") as stream:
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", stream)
        patch.delattr(sys, "ps1", raising=False)
        if prompt:
            patch.setattr(sys, "ps1", ">>> ", raising=False)

        def written() -> str:
            stream.flush()
            found = b""
            with suppress(BlockingIOError):  # a read gives a part of what was written
                while part := os.read(ours, 100_000):
                    found += part
            return found.decode()

        yield written
    os.close(ours)


def write_and_merge() -> IndexTable:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", ROWS.schema, partition_by="day")
    for _ in range(2):
        table.append(ROWS)
    table.merge_splits()
    return table


@pytest.mark.usefixtures("at_once")
def test_an_interactive_shell_has_a_bar_on_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(prompt=True) as written:
        write_and_merge()
        shown = written()
        assert "100 of 100 rows read" in shown
        assert "of 2 groups of splits rewritten" in shown
        heard: list[object] = []
        IndexTable.write(f"memory://{uuid4().hex}/t", ROWS, progress=heard.append)
        monkeypatch.setenv(progress_bar.VARIABLE, "off")
        write_and_merge()
        assert (bool(heard), written()) == (True, "")


@pytest.mark.usefixtures("at_once")
def test_a_script_has_none_even_in_a_terminal() -> None:
    with terminal(prompt=False) as written:
        write_and_merge()
        assert written() == ""


def test_short_calls_show_nothing() -> None:
    with terminal(prompt=True) as written:
        IndexTable.write(f"memory://{uuid4().hex}/t", ROWS)
        assert written() == ""


def test_a_notebook_has_one_output_that_replaces_itself() -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(WRITE)])
    NotebookClient(book, kernel_name="python3", timeout=120).execute()
    outputs = book.cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"] * 3, "one for each call, and nothing printed"
    assert all("100 of 100 rows read, 2 splits written in 0 s" in output.data["text/html"] for output in outputs)
