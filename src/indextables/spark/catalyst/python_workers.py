"""The Python processes that Spark starts, on executors and on the driver: which interpreter, and how their failures read.

Spark runs a Python data source, its tasks and its planning and commit on the driver, with the interpreter that it was
registered with: PYSPARK_PYTHON. One that Spark has found by itself is registered with PYSPARK_DRIVER_PYTHON, which executors
need not have; `enable` registers ours again where that is another one.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from indextables.error_notes import error_in
from indextables.errors import WorkerEnvironmentError
from indextables.spark.catalyst.java import jvm_of
from indextables.spark.catalyst.session_state import session_state
from indextables.spark.source.worker_check import check_workers
from indextables.spark.source.worker_failures import concerns_us, is_task, worker_failure

_PATIENCE = 10.0  # seconds that an error may come later for the sake of a host's name


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


@contextmanager
def worker_errors(reads_our_tables: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Inside, errors of ours in Python processes of Spark's are raised as themselves, with Spark's error as their cause.

    A failure because of a worker's environment raises a WorkerEnvironmentError: one sentence, not a traceback. Other
    failures stay as they are.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = f"{error}\n{getattr(error, '_stackTrace', '')}"
        if (ours := error_in(text)) is not None:
            raise ours from error
        spark = SparkSession.getActiveSession()
        python = spark.sparkContext.pythonExec if spark else "python3"
        failure = worker_failure(text, python)
        if failure is None or not (concerns_us(text) or reads_our_tables()):
            raise
        if spark and failure.host is None and is_task(text):
            failure = worker_failure(text, python, _hosts_with_problems(spark))
        raise failure or error from error


def _hosts_with_problems(spark: SparkSession) -> str | None:
    """Spark does not say where a Python process failed; the executors that are idle do."""
    try:
        check = check_workers(spark, timeout=_PATIENCE)
    except (PySparkException, Py4JError, WorkerEnvironmentError, OSError, subprocess.SubprocessError):
        return None
    hosts = {worker.host for worker in check.workers if any(worker.problems(check.driver))}
    return ", ".join(sorted(hosts)) or None
