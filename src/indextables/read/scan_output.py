"""The rows of a scan in the shapes that others take: Python, Arrow, pandas, polars, DuckDB."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indextables.errors import MissingPackageError

if TYPE_CHECKING:
    import duckdb
    import polars as pl


class ScanOutput(ABC):
    """Rows in batches, and what can be made of them.

    Iterating gives each row as a dict. Libraries that speak Arrow's stream protocol read a scan as it is, batch by batch:
    `pyarrow.table(scan)`, `polars.DataFrame(scan)`.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in batches."""

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts; they are read batch by batch."""
        for batch in self.to_batches():
            yield from batch.to_pylist()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow's, which can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """The rows as a DataFrame of pandas; `options` are those of `pyarrow.Table.to_pandas`."""
        _required("pandas")
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> "pl.DataFrame":
        """The rows as a DataFrame of polars."""
        frame: pl.DataFrame = _required("polars").from_arrow(self.to_arrow())
        return frame

    def to_duckdb(self, connection: "duckdb.DuckDBPyConnection | None" = None) -> "duckdb.DuckDBPyRelation":
        """The rows as a relation of DuckDB, of a connection or of DuckDB's default one; they are read now, into memory."""
        relation: duckdb.DuckDBPyRelation = (connection or _required("duckdb")).from_arrow(self.to_arrow())
        return relation


def _required(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingPackageError(
            f"{package} is not installed; install it with: pip install {package}", package=package
        ) from None
