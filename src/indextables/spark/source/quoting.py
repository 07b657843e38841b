"""Names and string literals in Spark's SQL."""

from collections.abc import Sequence


def quote_name(parts: Sequence[str]) -> str:
    """A name of several parts, each in backquotes.

    >>> quote_name(["db", "my`table"])
    '`db`.`my``table`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def quote_string(text: str) -> str:
    r"""A string literal.

    >>> print(quote_string("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
