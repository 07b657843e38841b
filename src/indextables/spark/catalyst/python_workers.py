"""The interpreter of the Python processes that Spark starts, on executors and on the driver.

Spark runs a Python data source, its tasks and its planning and commit on the driver, with the interpreter that it was
registered with: PYSPARK_PYTHON. One that Spark has found by itself is registered with PYSPARK_DRIVER_PYTHON, which executors
need not have; `enable` registers ours again where that is another one. In local mode, the workers run the interpreter of
this process, unless PYSPARK_PYTHON or `spark.pyspark.python` names one: Spark would start the first `python3` on the PATH.
"""

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from indextables.errors import WorkerEnvironmentError
from indextables.spark.catalyst.java import jvm_of
from indextables.spark.catalyst.session_state import session_state

_DEFAULT = "python3"  # of PySpark, where PYSPARK_PYTHON is not set when the context is made


def use_this_python(spark: SparkSession) -> None:
    """Makes the workers of local mode run this interpreter, where nobody has chosen one."""
    context = spark.sparkContext
    is_chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().get("spark.pyspark.python") is not None
    is_local = str(context.master).partition("[")[0] == "local"
    if is_local and not is_chosen and context.pythonExec == _DEFAULT and sys.executable:
        context.pythonExec = sys.executable


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
