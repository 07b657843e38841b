"""Python processes of Spark's that are not what the driver has: the error says which one, where, and what to do."""

import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException

import indextables
from indextables import worker_versions
from indextables.errors import WorkerEnvironmentError

MISSING = "has no module '"  # of which name depends on PYTHONPATH


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("environments") / "table")
    frame = spark.createDataFrame([(1, "disk full"), (2, "all is well")], "n int, message string").coalesce(1)
    frame.write.format("indextables").option("indexing.typemap.message", "text").save(path)
    return path


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter without packages."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home)
    return str(home / "bin" / "python")


@pytest.fixture
def python_of_spark(spark: Any) -> Iterator[Any]:
    """Sets what Spark starts; PYSPARK_PYTHON is read once, when the context is made."""
    context = spark.sparkContext
    before = context.pythonExec
    yield lambda python: setattr(context, "pythonExec", python)
    context.pythonExec = before


def hits(spark: Any, path: str) -> list[int]:
    """A search by tasks, not by the driver."""
    frame = spark.read.format("indextables").option("read.driverRows", "0").load(path)
    return [row.n for row in frame.filter("indexquery(message, 'full')").collect()]


def test_a_search_on_workers_without_our_package(spark: Any, path: str, bare_python: str, python_of_spark: Any) -> None:
    assert hits(spark, path) == [1]
    python_of_spark(bare_python)
    with pytest.raises(WorkerEnvironmentError) as raised:
        hits(spark, path)
    assert f"{bare_python} on {raised.value.host} {MISSING}" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.host not in {None, "an executor"}
    assert raised.value.python == bare_python


def test_rows_that_are_fetched_one_by_one(spark: Any, path: str, bare_python: str, python_of_spark: Any) -> None:
    python_of_spark(bare_python)
    frame = spark.read.format("indextables").option("read.driverRows", "0").load(path)
    with pytest.raises(WorkerEnvironmentError, match=MISSING):
        list(frame.filter("indexquery(message, 'full')").toLocalIterator())


def test_local_workers_run_the_interpreter_of_the_driver(
    spark: Any, tmp_path: Path, python_of_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that is run as `.venv/bin/python script.py`: Spark would start the `python3` of the PATH."""
    python_of_spark("python3")
    indextables.enable(spark.newSession())
    assert spark.sparkContext.pythonExec == "python3"  # PYSPARK_PYTHON is set, and the user's choice stays
    monkeypatch.delenv("PYSPARK_PYTHON")
    python_of_spark("/opt/other/python")
    indextables.enable(spark.newSession())
    assert spark.sparkContext.pythonExec == "/opt/other/python"
    python_of_spark("python3")
    session = indextables.enable(spark.newSession())
    assert spark.sparkContext.pythonExec == sys.executable
    session.range(3).write.format("indextables").save(str(tmp_path / "table"))
    read = session.read.format("indextables").option("read.driverRows", "0").load(str(tmp_path / "table"))
    assert sorted(row.id for row in read.collect()) == [0, 1, 2]


def test_a_write_by_an_interpreter_without_our_package(
    spark: Any, tmp_path: Path, bare_python: str, python_of_spark: Any
) -> None:
    """A session takes the interpreter of its context, although Spark has found the data source with another one."""
    python_of_spark(bare_python)
    session = indextables.enable(spark.newSession())
    with pytest.raises(WorkerEnvironmentError, match=f"{bare_python} on .* {MISSING}"):
        session.range(3).write.format("indextables").save(str(tmp_path / "table"))
    assert not (tmp_path / "table").exists()


def test_a_write_by_an_interpreter_that_is_not_there(spark: Any, tmp_path: Path, python_of_spark: Any) -> None:
    table = tmp_path / "table"
    for python in ("./environment/bin/python", str(tmp_path / "python")):
        python_of_spark(python)
        with pytest.raises(WorkerEnvironmentError, match=f"{python} does not start on "):
            spark.range(3).write.format("indextables").save(str(table))
    assert not table.exists()


def test_a_search_by_an_interpreter_that_is_not_there(spark: Any, path: str, python_of_spark: Any) -> None:
    python_of_spark("./environment/bin/python")
    with pytest.raises(WorkerEnvironmentError, match="./environment/bin/python does not start on "):
        hits(spark, path)


def test_workers_with_another_release(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {**worker_versions.versions(), "indextables": "9.9", "tantivy": "9.8"}
    monkeypatch.setattr(worker_versions, "versions", lambda: versions)
    with pytest.raises(WorkerEnvironmentError) as raised:
        hits(spark, path)
    assert f"{sys.executable} on " in str(raised.value)
    assert f" has indextables {indextables.__version__}, tantivy " in str(raised.value)
    assert ", and the driver has indextables 9.9, tantivy 9.8; " in str(raised.value)
    assert "pyarrow" not in str(raised.value)


def test_other_queries_fail_as_before(spark: Any, python_of_spark: Any) -> None:
    def imports(_: int) -> Any:
        import no_such_module  # noqa: PLC0415 - in the worker

        return no_such_module.row

    def collected(function: Any) -> Any:
        rows = spark.sparkContext.parallelize([1], 1).map(function)
        return spark.createDataFrame(rows, "id long").collect()

    with pytest.raises(PythonException, match="No module named 'no_such_module'"):
        collected(imports)
    python_of_spark("./environment/bin/python")
    with pytest.raises(Exception, match="Cannot run program") as raised:
        collected(lambda number: (number,))
    assert not isinstance(raised.value, WorkerEnvironmentError)


def test_check_workers(spark: Any, bare_python: str, python_of_spark: Any, tmp_path: Path) -> None:
    check = indextables.check_workers(spark)
    assert check.problems == ()
    assert [worker.packages for worker in check.workers] == [check.driver.packages]
    assert check.driver.packages["indextables"] == indextables.__version__
    assert str(check).splitlines()[0].split()[:4] == ["host", "python", "version", "indextables"]
    python_of_spark(bare_python)
    assert "ModuleNotFoundError: No module named '" in str(indextables.check_workers(spark))
    python_of_spark(str(tmp_path / "no python"))
    (problem,) = indextables.check_workers(spark).problems
    assert "no python does not start in" in problem


def test_check_workers_does_not_wait_for_ever(spark: Any) -> None:
    with pytest.raises(WorkerEnvironmentError, match="no executor has run .* within 0 s"):
        indextables.check_workers(spark, timeout=0)


def test_check_workers_looks_at_the_cache(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    spark.conf.set("spark.indextables.cache.directory", str(tmp_path / "file"))
    try:
        check = indextables.check_workers(spark)
    finally:
        spark.conf.unset("spark.indextables.cache.directory")
    (problem,) = check.problems
    assert "the cache directory cannot be written to" in problem
