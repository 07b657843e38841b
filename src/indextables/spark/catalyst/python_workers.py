"""The interpreter of the Python processes that Spark starts, on executors and on the driver.

Spark runs a Python data source, its tasks and its planning and commit on the driver, with the interpreter that it was
registered with: PYSPARK_PYTHON. One that Spark has found by itself is registered with PYSPARK_DRIVER_PYTHON, which executors
need not have; `enable` registers ours again where that is another one.
"""

import os
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from indextables.errors import WorkerEnvironmentError
from indextables.spark.catalyst.java import jvm_of
from indextables.spark.catalyst.session_state import session_state


def data_source_python(spark: SparkSession, name: str) -> str:
    """The interpreter with which a registered data source runs."""
    return str(session_state(spark).dataSourceManager().lookupDataSource(name).dataSourceCls().pythonExec())


def refuse_missing_python(spark: SparkSession) -> None:
    """Refuses a write that Spark could not plan: the driver runs PYSPARK_PYTHON too, relative to the JVM's directory."""
    python = spark.sparkContext.pythonExec
    if os.sep not in python:
        return
    directory = "" if Path(python).is_absolute() else str(jvm_of(spark).java.lang.System.getProperty("user.dir"))
    if shutil.which(Path(directory, python)) is None:
        where = f" in {directory}" if directory else ""
        raise WorkerEnvironmentError(
            f"PYSPARK_PYTHON is {python}, and the driver has no such program{where}; Spark plans and commits writes with it "
            "on the driver: start the driver in a directory where this path leads to the environment (docs/cluster.md)",
            python=python,
            host=None,
        )
