"""Spark: the same functions, distributed."""

from indextables.spark.explanation import explain
from indextables.spark.session import enable
from indextables.spark.source import IndexTablesDataSource
from indextables.spark.sql import sql

__all__ = ["IndexTablesDataSource", "enable", "explain", "sql"]
