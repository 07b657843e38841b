"""The versions of Spark that are supported, and what differs between them. An older PySpark is refused on import.

Whatever depends on the version is a field of `Differences`; nothing else in the package asks for a version.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from indextables.errors import UnsupportedSparkError

try:
    from pyspark import __version__ as installed
except ModuleNotFoundError as error:
    raise UnsupportedSparkError(
        "PySpark is not installed, and Spark tables need PySpark 4.1 or newer: pip install 'indextables[spark]'",
        found=None,
        needed="4.1",
    ) from error

_OLDEST = (4, 1)


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between versions of Spark."""

    utc: Mapping[str, Any]  # the argument of `to_arrow_schema` that gives timestamps the zone UTC
    inline_cte_flags: int  # arguments of the constructor of the rule InlineCTE
    has_insert_criteria: bool  # whether an InsertIntoStatement says what it replaces
    has_drop_comment: bool  # whether ALTER COLUMN can drop a comment
    has_qualified_functions: bool  # whether a session has functions by qualified names, its own built-in ones too


_4_1 = Differences(
    utc={"timestamp_utc": True},
    inline_cte_flags=2,
    has_insert_criteria=False,
    has_drop_comment=False,
    has_qualified_functions=False,
)
_4_2 = replace(_4_1, utc={"timezone": "UTC"}, has_insert_criteria=True)
_4_3 = replace(_4_2, inline_cte_flags=3, has_drop_comment=True, has_qualified_functions=True)
_BY_VERSION = {(4, 1): _4_1, (4, 2): _4_2, (4, 3): _4_3}  # from this version on


def refuse_unsupported(version: str, name: str = "PySpark") -> None:
    """Raises an UnsupportedSparkError for a version that is too old.

    >>> refuse_unsupported("4.1.0")
    >>> refuse_unsupported("4.0.1")
    Traceback (most recent call last):
    indextables.errors.UnsupportedSparkError: PySpark 4.0.1 is too old; indextables needs PySpark 4.1 or newer
    """
    if _number(version) < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        raise UnsupportedSparkError(
            f"{name} {version} is too old; indextables needs {name} {needed} or newer", found=version, needed=needed
        )


def differences(version: str) -> Differences:
    """What a version has; one that is newer than all known ones is taken for the last of them.

    >>> differences("4.3.0") == differences("5.0.0.dev1")
    True
    """
    return _BY_VERSION[max(known for known in _BY_VERSION if known <= _number(version))]


def _number(version: str) -> tuple[int, int]:
    """The first two numbers of a version, which vendors write in many ways: `4.1.0-amzn-1`, `4.2.0.dev3`."""
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


refuse_unsupported(installed)
CURRENT = differences(installed)
