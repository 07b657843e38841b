"""PySpark looks for packages whose names begin with `pyspark_`, so that `spark.read.format("indextables")` just works."""

from pyspark_indextables.source import DefaultSource

__all__ = ["DefaultSource"]
