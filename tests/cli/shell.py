"""The command line, called as from a shell."""

import json
import shlex
from typing import Any

from typer.testing import CliRunner, Result

from indextables.cli.app import app


def run(*words: object, code: int = 0) -> Result:
    """What a command prints; it ends with `code`."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def found(*words: object, code: int = 0) -> Any:
    """What a command gives to scripts."""
    return json.loads(run(*words, "--json", code=code).stdout)


def run_line(line: str, *, notes: bool = False) -> list[str]:
    """The lines that a command prints, as in a shell: `indextables count logs`; with `notes`, those of stderr too."""
    program, *words = shlex.split(line)
    assert program == "indextables"
    result = run(*words)
    return [printed.rstrip() for printed in (result.output if notes else result.stdout).splitlines()]
