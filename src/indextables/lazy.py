"""Names of the package that need PySpark: loaded when they are asked for, so that the rest works without it."""

from importlib import import_module
from typing import Any

_SPARKS = frozenset({"IndexTablesDataSource", "enable", "explain", "sql"})


def __getattr__(name: str) -> Any:
    """What `indextables.<name>` is.

    >>> import indextables
    >>> indextables.enabel
    Traceback (most recent call last):
    AttributeError: module 'indextables' has no attribute 'enabel'
    """
    if name not in _SPARKS:
        raise AttributeError(f"module 'indextables' has no attribute {name!r}")
    return getattr(import_module("indextables.spark"), name)
