"""The tables of a query: how a statement names them, and the rows that DuckDB reads from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from indextables.predicate import IndexQuery, Predicate
from indextables.read.scan import Scan
from indextables.read.scan_spec import build_scan_spec

_ROW = "_row"  # DuckDB has no tables without columns


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table as a statement names it: by its path or by its name, at a version, at a time, or as it is now."""

    name: str
    is_path: bool
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table in a statement for DuckDB: its name there, and what is pushed down to its scan.

    Each search in `flags` is a column: true where it finds the row. Data in memory is read by DuckDB as it is.
    """

    name: str
    table: Scan | pa.Table
    predicate: Predicate
    columns: tuple[str, ...]
    flags: Mapping[str, IndexQuery]

    def rows(self) -> "ScanStream | pa.Table":
        """What DuckDB reads."""
        return ScanStream(self.scan()) if isinstance(self.table, Scan) else self.table

    def scan(self) -> Scan:
        table = self.table
        assert isinstance(table, Scan)  # noqa: S101 - data in memory is not scanned
        spec = build_scan_spec(
            table.snapshot, table.scan_spec.rules, where=self.predicate, columns=self.columns, search_results=self.flags
        )
        return table.with_spec(spec)


@dataclass(slots=True)
class ScanStream:
    """The rows of a scan as an Arrow stream, a new one for each time that DuckDB reads them.

    DuckDB has only the text of an error: `error` is what a scan has raised.
    """

    scan: Scan
    error: Exception | None = field(default=None, init=False)

    @property
    def schema(self) -> pa.Schema:
        columns = self.scan.schema
        return columns if len(columns) else pa.schema({_ROW: pa.bool_()})

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self.scan.to_batches():
                yield batch if batch.num_columns else _placeholders(batch.num_rows)
        except Exception as error:
            self.error = error
            raise


def _placeholders(rows: int) -> pa.RecordBatch:
    return pa.record_batch({_ROW: pa.nulls(rows, pa.bool_())})
