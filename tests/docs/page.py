"""A page as a script: its blocks run from top to bottom, in one directory and with one set of names.

| block | what is done with it |
|---|---|
| `python` with `>>>` | a doctest |
| `python` | run; what it prints is in a `text` block right after it |
| `sql` | run and shown by Spark; what that prints may be in a `text` block right after it |
| `console` | each `$` command is run; what follows it is what it prints |
| `csv`, `json`, `text` with `title="name"` | a file of that name |
| a comment that begins with `<!-- run` | Python that the reader need not see |
| `sh`, `json`, `text`, no language | not run: installing, samples, drawings |

A `python` block that only runs elsewhere says so: `title="not run by the tests: ..."`.
"""

import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.cli.shell import run_line

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"python", "sql", "console", "csv", "json", "text", "sh", ""}
LOOSE = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```$|^<!-- run\n(.*?)^-->$', re.DOTALL | re.MULTILINE)
_OF_SHELLS = {"|", ";", "&&", ">"}


@dataclass(frozen=True, slots=True)
class Block:
    """`line` is that of its first line of text in the page; `prints` is what it shows of its output."""

    kind: str
    title: str
    text: str
    line: int
    prints: str | None
    hidden: bool

    @property
    def runs(self) -> bool:
        return self.kind in {"python", "sql", "console"} and not self.title.startswith("not run")

    @property
    def names(self) -> set[str]:
        """The names that it speaks of; those of SQL are Spark's."""
        if self.kind != "python" or not self.runs:
            return {"spark"} if self.kind == "sql" else set()
        examples = doctest.DocTestParser().get_examples(self.text)
        code = "".join(example.source for example in examples) if self.is_doctest else self.text
        return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}

    @property
    def is_doctest(self) -> bool:
        return self.text.startswith(">>> ")


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page, each with the output that stands right after it."""
    text = page.read_text()
    found = list(_BLOCK.finditer(text))
    for match, after in zip_longest(found, found[1:]):
        language, title, body, hidden = match.groups()
        printed = after and after[1] == "text" and not after[2] and not text[match.end() : after.start()].strip()
        yield Block(
            "python" if hidden is not None else language,
            title or "",
            hidden if hidden is not None else body,
            text.count("\n", 0, match.start()) + 2,
            after[3] if after and printed else None,
            hidden is not None,
        )


def needs(page: Path, name: str) -> bool:
    return any(name in block.names for block in blocks_of(page))


def run(page: Path, names: dict[str, Any]) -> None:
    """Runs a page in the current directory; what it prints must be what it shows."""
    names["__name__"] = "page"
    for block in blocks_of(page):
        run_block(block, names, f"{page.relative_to(ROOT)}:{block.line}", shell=_printed_by)


def run_block(block: Block, names: dict[str, Any], where: str, *, shell: Callable[[str], str]) -> bool:
    """Runs a block, and its commands by `shell`; whether there was anything to run."""
    if block.title and block.kind in {"csv", "json", "text"}:
        Path(block.title).write_text(block.text)
    elif not block.runs:
        return False
    elif block.kind == "console":
        _run_commands(block, where, shell)
    elif block.is_doctest:
        _run_doctest(block, names, where)
    else:
        _run_code(block, names, where)
    return True


def _run_code(block: Block, names: dict[str, Any], where: str) -> None:
    code = block.text if block.kind == "python" else f"spark.sql({block.text!r}).show(truncate=False)"
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + code, where, "exec"), names)
    if block.kind == "python" or block.prints is not None:
        compare(block.prints or "", printed.getvalue(), where)


def _run_doctest(block: Block, names: dict[str, Any], where: str) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line - 1)
    test.globs, report = names, StringIO()
    failed, _ = doctest.DocTestRunner(optionflags=LOOSE).run(test, out=report.write, clear_globs=False)
    assert not failed, report.getvalue()


def _run_commands(block: Block, where: str, shell: Callable[[str], str]) -> None:
    assert block.text.startswith("$ "), where
    for shown in block.text.removeprefix("$ ").split("\n$ "):
        line, _, expected = shown.partition("\n")
        compare(expected, shell(line), f"{where} $ {line}")


def _printed_by(line: str) -> str:
    """What a command prints; without a process of its own where it is only our program."""
    if _OF_SHELLS.isdisjoint(shlex.shlex(line, posix=True, punctuation_chars=True)):
        return "\n".join(run_line(line, notes=True))
    return run_in_shell(line)


def run_in_shell(line: str) -> str:
    """What a command prints that a shell runs, with the programs of this Python's environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", line], **both, text=True, env={**os.environ, "PATH": path}, check=False).stdout


def compare(expected: str, printed: str, where: str) -> None:
    """What was printed must be what is shown; blanks and `...` count as in doctests."""
    example = doctest.Example("", expected)
    printed = printed.strip("\n") + "\n" if printed.strip() else ""
    checker = doctest.OutputChecker()
    assert checker.check_output(expected, printed, LOOSE), (
        f"{where} is not true\n{checker.output_difference(example, printed, doctest.REPORT_NDIFF)}"
    )
