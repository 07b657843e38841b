"""Names of columns as Spark Connect sends them: `message`, `l.message`, `` `my column` ``."""

import re

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def identifier_parts(identifier: str) -> tuple[str, ...]:
    """The parts of a name.

    >>> identifier_parts("l.message"), identifier_parts("`a.b`.`c``d`")
    (('l', 'message'), ('a.b', 'c`d'))
    """
    return tuple(plain or quoted.replace("``", "`") for quoted, plain in _PART.findall(identifier))
