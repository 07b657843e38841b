"""PySpark looks for packages whose names begin with `pyspark_`: this one is the format under its JVM name.

`spark.read.format("io.indextables.spark.core.IndexTables4SparkTableProvider")` just works, too.
"""

from pyspark_indextables.source import DefaultSource as NamedSource

__all__ = ["DefaultSource"]


class DefaultSource(NamedSource):
    """The same data source; a package has one name for it."""

    @classmethod
    def name(cls) -> str:
        return "io.indextables.spark.core.IndexTables4SparkTableProvider"
