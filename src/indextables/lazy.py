"""Parts of the package that are loaded on first use: they need PySpark, or are slow to import."""

import sys
from importlib import import_module
from typing import Any

from indextables.engine import Engine, register

_HOMES = {
    "IndexTable": "indextables.table",
    "IndexTablesDataSource": "indextables.spark.source.data_source",
    "Layout": "indextables.layout",
    "Transform": "indextables.layout",
    "check_workers": "indextables.spark.environment.worker_check",
    "col": "indextables.predicate",
    "disable": "indextables.spark.api.session",
    "enable": "indextables.spark.api.session",
    "explain": "indextables.spark.api.explain",
    "sql": "indextables.spark.api.session",
}


def _spark() -> Engine:
    from indextables.spark.api import spark_engine  # noqa: PLC0415 - PySpark need not be installed

    return spark_engine


register("spark", _spark)


def __dir__() -> list[str]:
    """The names of the package, those that are loaded on first use too.

    >>> import indextables
    >>> {"IndexTable", "col", "enable"} <= {*dir(indextables)}
    True
    """
    return sorted({*vars(sys.modules["indextables"]), *_HOMES})


def __getattr__(name: str) -> Any:
    """Resolves `indextables.<name>`.

    >>> import indextables
    >>> indextables.enabel
    Traceback (most recent call last):
    AttributeError: module 'indextables' has no attribute 'enabel'
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'indextables' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
