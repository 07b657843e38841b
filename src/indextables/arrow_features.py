"""What differs between the versions of pyarrow that are supported, asked of the one that is installed.

The format of tables is the same with all of them: a split that one has written is read by every other.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.compute as pc

MAJOR_VERSION = int(pa.__version__.partition(".")[0])

# Before version 23, pages of Parquet files are bounded by their bytes alone: values that repeat come in pages of more rows.
HAS_ROW_LIMIT_OF_PAGES = MAJOR_VERSION >= 23  # noqa: PLR2004

# Before version 20, files of JSON lines are read at once, not in blocks.
HAS_BLOCKS_OF_JSON = MAJOR_VERSION >= 20  # noqa: PLR2004

# Without it, a long list of values (IN) is taken as one range when splits are pruned.
HAS_SEARCH_SORTED = hasattr(pc, "search_sorted")


def view_types() -> dict[pa.DataType, pa.DataType]:
    """The types of strings and binaries that are views, and the plain ones; there are none before version 16.

    >>> sorted(map(str, view_types()))
    ['binary_view', 'string_view']
    """
    if not hasattr(pa, "string_view"):
        return {}
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


class _PandasLater(MetaPathFinder):
    """Finds no pandas while pyarrow looks for it; afterwards, the first import of pandas tells pyarrow."""

    hidden = True

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if name != "pandas":
            return None
        if self.hidden:
            raise ModuleNotFoundError("pandas is not imported yet", name=name)
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (load(module), _find_pandas())  # type: ignore[assignment, func-returns-value]
        return spec


def _find_pandas() -> None:
    _ = pa.lib._pandas_api.version  # noqa: SLF001 - pyarrow looks again where it is asked for a version


def skip_pandas_import() -> None:
    """Keeps pyarrow from importing pandas with its first array: a quarter of a second for a process that needs no pandas.

    Whoever imports pandas later has all of pyarrow's support for it, and `to_pandas` imports it.
    """
    if "pandas" in sys.modules or any(isinstance(finder, _PandasLater) for finder in sys.meta_path):
        return
    finder = _PandasLater()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        finder.hidden = False
