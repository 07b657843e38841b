"""DataFrames of pandas and lazy ones of Polars as Arrow data; neither library is imported here.

Other frames need no code of ours: they export Arrow streams (`__arrow_c_stream__`), as Polars and DuckDB do.
"""

import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from indextables.errors import SchemaError

_INDEX_LEVEL = re.compile(r"__index_level_\d+__")


def is_pandas(data: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_pandas_series(data: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.Series)


def is_lazy_polars(data: object) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.LazyFrame)


def reader_from_stream(data: Any) -> pa.RecordBatchReader | None:
    """The batches of data that exports an Arrow stream, or of a dataset of Arrow; None for other data."""
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.Dataset):
        return data.scanner().to_reader()
    return pa.RecordBatchReader.from_stream(data) if hasattr(data, "__arrow_c_stream__") else None


def path_columns_of(data: object) -> list[str]:
    """The columns of a dataset of Arrow that come from the paths of its files."""
    dataset = sys.modules.get("pyarrow.dataset")
    partitioning = getattr(data, "partitioning", None) if dataset and isinstance(data, dataset.Dataset) else None
    return [] if partitioning is None else list(partitioning.schema.names)


def table_from_pandas(frame: Any) -> pa.Table:
    """The columns of a frame of pandas, without its index. NaN, NaT and None are null."""
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd:
        raise SchemaError(
            f"the DataFrame has a column {odd[0]!r}, but columns are named by text; rename it, as in "
            "df.columns = df.columns.map(str)",
            column=None,
        )
    _warn_of_named_index(frame)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise _mixed_values(frame, error) from error


def batches_from_polars(frame: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a lazy frame, as its query produces them."""
    for part in frame.collect_batches():
        yield from pa.RecordBatchReader.from_stream(part)


def schema_from_polars(frame: Any) -> pa.Schema:
    """The schema of a lazy frame, before its query runs."""
    return frame.collect_schema().to_frame().to_arrow().schema


def without_pandas_index(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without the columns that pandas has made of an index without a name."""
    names = columns_without_index(batch.schema)
    return batch if len(names) == batch.num_columns else batch.select(names)


def columns_without_index(schema: pa.Schema) -> list[str]:
    """The columns of data that came from pandas, but those of an index without a name: `__index_level_0__`.

    >>> rows = pa.schema({"n": pa.int64(), "__index_level_0__": pa.int64()})
    >>> columns_without_index(rows.with_metadata({"pandas": '{"index_columns": ["__index_level_0__"]}'}))
    ['n']
    >>> columns_without_index(rows)
    ['n', '__index_level_0__']
    """
    described = (schema.metadata or {}).get(b"pandas")
    if described is None or not any(_INDEX_LEVEL.fullmatch(name) for name in schema.names):
        return list(schema.names)
    levels = {name for name in _index_columns(described) if isinstance(name, str) and _INDEX_LEVEL.fullmatch(name)}
    return [name for name in schema.names if name not in levels]


def _index_columns(described: bytes) -> list[Any]:
    try:
        found = msgspec.json.decode(described)["index_columns"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        return []
    return found if isinstance(found, list) else []


def _warn_of_named_index(frame: Any) -> None:
    names = [name for name in frame.index.names if name is not None]
    if names:
        warnings.warn(
            f"the index of the DataFrame ({', '.join(map(str, names))}) is not written; to write it as a column, pass "
            "df.reset_index()",
            UserWarning,
            stacklevel=_caller_level(),
        )


def _caller_level() -> int:
    """How far up the stack the code of the user is, seen from the caller of this function."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001 - warnings.warn counts the same frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("indextables."):
        frame, level = frame.f_back, level + 1
    return level


def _mixed_values(frame: Any, error: Exception) -> SchemaError:
    column = next((name for name in frame.columns if not _converts(frame[name])), None)
    return SchemaError(
        f"column {column!r} of the DataFrame has values of different types, or of one that Arrow does not have: "
        f"{error.args[0] if error.args else error}; convert it first, as in df[{column!r}].astype(str)",
        column=column,
    )


def _converts(column: Any) -> bool:
    try:
        pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        return False
    return True
