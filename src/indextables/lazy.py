"""Names of the package that are loaded when they are asked for: they need PySpark, or time that others need not wait."""

from importlib import import_module
from typing import Any

_HOMES = {
    **dict.fromkeys(("IndexTablesDataSource", "enable", "explain", "sql"), "indextables.spark"),
    "col": "indextables.predicate",
}


def __getattr__(name: str) -> Any:
    """What `indextables.<name>` is.

    >>> import indextables
    >>> indextables.enabel
    Traceback (most recent call last):
    AttributeError: module 'indextables' has no attribute 'enabel'
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'indextables' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
