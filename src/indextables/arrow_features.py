"""What differs between the versions of pyarrow that are supported, asked of the one that is installed.

The format of tables is the same with all of them: a split that one has written is read by every other.
"""

import sys

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


class _NoPandas:
    """A finder of modules that finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 - Python's signature
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not imported here", name=name)


def skip_pandas_import() -> None:
    """Keeps pyarrow from importing pandas with its first array: a quarter of a second for a process that needs no pandas.

    Arrays of pandas are no longer recognized by `pa.array` then; `to_pandas` works as before.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([])  # pyarrow looks once
    finally:
        sys.meta_path.remove(_NoPandas)
