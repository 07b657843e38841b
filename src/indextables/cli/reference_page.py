"""The page `docs/cli.md`, written from the verbs themselves."""

import re

import typer
from typer.cli import get_docs_for_click

from indextables.cli.app import app

_EXAMPLES = re.compile(r"^(Examples?:)\n\n?((?:  +\S.*\n)+)", re.MULTILINE)


def markdown() -> str:
    """The reference of the command line.

    >>> print(markdown().splitlines()[0])
    # The command line
    """
    command = typer.main.get_command(app)
    name = "indextables"
    reference = get_docs_for_click(obj=command, ctx=typer.Context(command), name=name, title="The command line")
    title, _, rest = reference.strip().replace("```console\n$ ", "```text\n").partition("\n")
    rest = _EXAMPLES.sub(r"\1\n```text\n\2```\n", rest)
    return f"{title}\n\n<!-- written by `make docs` from src/indextables/cli -->\n{rest}\n"
