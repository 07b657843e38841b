"""Spark: the same functions, distributed."""

import indextables.spark.catalyst.versions  # noqa: F401 - refuses an older PySpark before what it lacks is imported

# isort: split
from indextables.spark.api.explain import explain
from indextables.spark.api.session import disable, enable
from indextables.spark.source.data_source import IndexTablesDataSource
from indextables.spark.source.worker_check import check_workers
from indextables.spark.statements.spark_sql import sql

__all__ = ["IndexTablesDataSource", "check_workers", "disable", "enable", "explain", "sql"]
