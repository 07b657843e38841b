"""Spark: the same functions, distributed."""

from indextables.spark.api.explain import explain
from indextables.spark.api.session import enable
from indextables.spark.source.data_source import IndexTablesDataSource
from indextables.spark.statements.spark_sql import sql

__all__ = ["IndexTablesDataSource", "enable", "explain", "sql"]
