"""What went wrong with a Python process of Spark's, found in the text of Spark's error, and raised as an error of ours."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from indextables.error_notes import error_in
from indextables.errors import WorkerEnvironmentError
from indextables.release import __version__
from indextables.spark.catalyst.handles import SPARK_ERRORS
from indextables.spark.environment.worker_check import check_workers
from indextables.worker_versions import REMEDY

_PATIENCE = 10.0  # seconds that an error may come later for the sake of a host's name
_TASK = re.compile(r"\(TID \d+\) \((?P<host>[^\s()]+)[^()]*\)")
_NOT_STARTED = re.compile(r'Cannot run program "(?P<python>[^"]+)"')
_OURS = re.compile(
    r"indextables\.errors\.WorkerEnvironmentError: (?P<message>(?P<python>\S+) on (?P<host>\S+) has [^\n]+)"
)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '(?P<module>[\w.]+)'")
_ATTRIBUTE = re.compile(r"AttributeError: [^\n]*<module '(?P<module>indextables[\w.]*)' from")
_IN_US = re.compile(r'File "[^"\n]*/indextables/')
_NEEDED = {"cachetools", "msgspec", "numpy", "obstore", "pyarrow", "pyiceberg_core", "pyroaring", "sqlglot", "tantivy"}
_PYTHON = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\][^\n]*?version: (?P<found>[\d.]+) than that in driver: (?P<wanted>[\d.]+)"
)


def is_task(text: str) -> bool:
    """Whether it was a task that failed, and not a process on the driver."""
    return _TASK.search(text) is not None or "Executor$TaskRunner" in text


def worker_failure(text: str, python: str, host: str | None = None) -> WorkerEnvironmentError | None:
    """The error in one sentence, where the environment of a Python process is the reason.

    `python` is what Spark starts, and `host` is where, if the text does not say that.

    >>> print(worker_failure("Lost task 0.3 in stage 1.0 (TID 7) (10.0.0.2 executor 1): ... ModuleNotFoundError: "
    ...                      "No module named 'indextables'", "python3"))
    python3 on 10.0.0.2 has no module 'indextables'; install ...
    >>> worker_failure("ModuleNotFoundError: No module named 'my_models'", "python3") is None
    True
    """
    if ours := _OURS.search(text):
        return WorkerEnvironmentError(ours["message"], python=ours["python"], host=ours["host"])
    task = _TASK.search(text)
    host = task["host"] if task else host
    where = host or ("an executor" if is_task(text) else "the driver")
    if stopped := _NOT_STARTED.search(text):
        python = stopped["python"]
        return WorkerEnvironmentError(f"{python} does not start on {where}; {REMEDY}", python=python, host=host)
    if reason := _reason(text):
        return WorkerEnvironmentError(f"{python} on {where} {reason}; {REMEDY}", python=python, host=host)
    return None


def concerns_us(text: str) -> bool:
    """Whether an error has to do with us, whatever the query reads."""
    return "'indextables" in text or "/indextables/" in text or "indextables.errors." in text


def _reason(text: str) -> str | None:
    """What is wrong with the packages of a process; a module that only the user's functions import is not our concern."""
    module = _MODULE.search(text)
    name = module["module"] if module else ""
    if name == "indextables":
        return "has no module 'indextables'"
    if name.startswith("indextables.") or _ATTRIBUTE.search(text):
        return f"has another release of indextables than the driver, which has {__version__}"
    if name and (name in _NEEDED or _IN_US.search(text)):
        return f"has no module {name!r}, which indextables needs"
    if other := _PYTHON.search(text):
        return f"is Python {other['found']}, and the driver's is {other['wanted']}"
    return None


@contextmanager
def worker_errors(reads_our_tables: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Inside, errors of ours in Python processes of Spark's are raised as themselves, with Spark's error as their cause.

    A failure because of a worker's environment raises a WorkerEnvironmentError: one sentence, not a traceback. Other
    failures stay as they are.
    """
    try:
        yield
    except SPARK_ERRORS as error:
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
    except (*SPARK_ERRORS, WorkerEnvironmentError, OSError, subprocess.SubprocessError):
        return None
    hosts = {worker.host for worker in check.workers if any(worker.problems(check.driver))}
    return ", ".join(sorted(hosts)) or None
