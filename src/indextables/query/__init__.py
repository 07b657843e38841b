"""SELECT over tables without Spark: DuckDB runs the query, and our scans give it the rows (docs/sql.md)."""

from indextables.query.duckdb_session import DuckDBSession
from indextables.query.query_table import TableReference

__all__ = ["DuckDBSession", "TableReference"]
