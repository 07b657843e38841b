"""The door to the readers of statements, which are loaded when a text has a word of ours and not before."""

import re
from importlib import import_module
from typing import Any

from indextables.statements.command_values import Command, Statement

_COMMANDS = re.compile(r"\b(indextables?|merge\b.*\bsplits)\b", re.IGNORECASE | re.DOTALL)
_WORDS = re.compile(r"\b(indexquery|textsearch|indextables?)\b", re.IGNORECASE)


def recognised(text: str) -> Command | None:
    """The command of ours that a text is; None if it is Spark's.

    >>> recognised("describe indextables splits '/data/logs'")
    Describe(table=TablePath(path='/data/logs'), subject=<Subject.SPLITS: 'SPLITS'>)
    >>> recognised("SELECT 1")
    """
    command: Command | None = _reader("commands").recognised(text) if _COMMANDS.search(text) else None
    return command


def rewritten(text: str, *, prefix: str) -> Statement:
    """The text with our operators as functions and our paths as names, which begin with `prefix`.

    >>> rewritten("SELECT 'x INDEXQUERY y' FROM logs WHERE l.message INDEXQUERY 'disk AND full'", prefix="t").text
    "SELECT 'x INDEXQUERY y' FROM logs WHERE indexquery(l.message , 'disk AND full')"
    >>> rewritten("SELECT * FROM indextables.`/data/logs` VERSION AS OF 3 AS l", prefix="t")
    Statement(text='SELECT * FROM t0 AS l', tables=(TableAt(name='t0', path='/data/logs', version='3', timestamp=None),))

    A text without any of these is the same text.
    """
    statement: Statement = _reader("rewriting").rewritten(text, prefix) if _WORDS.search(text) else Statement(text)
    return statement


def _reader(name: str) -> Any:
    return import_module(f"indextables.statements.{name}")
