"""Spark: the same functions, distributed. Names are imported from their modules: workers load the data source alone."""

import indextables.spark.versions  # noqa: F401 - refuses an older PySpark before what it lacks is imported
