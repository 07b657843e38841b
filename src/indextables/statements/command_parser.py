"""Entry points to the parsers of commands and statements, which are imported only if a text has one of their keywords."""

import re
from collections.abc import Callable

from indextables.statements.command_values import Command, Statement, Table

_COMMANDS = re.compile(
    r"\b(indextables?|merge\b.*\bsplits|optimize|vacuum|history|detail|reindex|set\b.*\bindexing|restore|reorg)\b",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = re.compile(r"\b(indexquery|textsearch|indextables?)\b", re.IGNORECASE)


def parse_command(text: str, is_ours: Callable[[Table], bool] = lambda _: True) -> Command | None:
    """The command in a text; None if the text is a statement for Spark.

    OPTIMIZE, VACUUM, RESTORE, REORG and DESCRIBE HISTORY or DETAIL are commands of other formats too: `is_ours` decides.

    >>> parse_command("describe indextables splits '/data/logs'")
    Describe(table=TablePath(path='/data/logs'), subject=<Subject.SPLITS: 'SPLITS'>, limit=None)
    >>> parse_command("SELECT 1")
    >>> parse_command("VACUUM delta.`/data/logs`", is_ours=lambda table: False)
    """
    if not _COMMANDS.search(text):
        return None
    from indextables.statements import commands  # noqa: PLC0415 - the tokenizer is slow to import

    return commands.parse_command(text, is_ours)


def rewrite_statement(text: str, *, prefix: str) -> Statement:
    """The text with search operators as functions and paths as names of views, which begin with `prefix`.

    >>> rewrite_statement("SELECT 'x INDEXQUERY y' FROM logs WHERE l.message INDEXQUERY 'disk AND full'", prefix="t").text
    "SELECT 'x INDEXQUERY y' FROM logs WHERE indexquery(l.message , 'disk AND full')"
    >>> rewrite_statement("SELECT * FROM indextables.`/data/logs` VERSION AS OF 3 AS l", prefix="t")
    Statement(text='SELECT * FROM t0 AS l', tables=(TableAt(name='t0', path='/data/logs', version='3', timestamp=None),))

    A text without any of these is returned unchanged.
    """
    if not _WORDS.search(text):
        return Statement(text)
    from indextables.statements import rewriting  # noqa: PLC0415 - the tokenizer is slow to import

    return rewriting.rewrite_statement(text, prefix)
