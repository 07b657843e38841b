"""Searchable lakehouse tables for PySpark: every data file is a Parquet file and a full-text index."""

from indextables.display.notebooks import load_ipython_extension, register_formatter
from indextables.errors import IndexTablesError
from indextables.lazy import __dir__, __getattr__
from indextables.release import __version__
from indextables.stderr_logging import log_to_stderr

__all__ = [
    "IndexTable",
    "IndexTablesError",
    "Layout",
    "Transform",
    "__dir__",
    "__getattr__",
    "__version__",
    "col",
    "load_ipython_extension",
]

log_to_stderr()
register_formatter()
