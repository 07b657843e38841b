"""Several sessions in one process, in any order and from any thread; and the format under its other name."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter

import indextables
from indextables import IndexTable, enable
from indextables.spark.options import PROVIDER


@pytest.fixture
def path(spark: Any, tmp_path: Path) -> str:
    path = str(tmp_path / "table")
    frame = spark.createDataFrame([(1, "disk full"), (2, "all is well")], "n int, message string")
    frame.coalesce(1).write.format("indextables").option("indexing.typemap.message", "text").save(path)
    return path


def works(session: Any, path: str) -> bool:
    """Whether a session reads, counts, searches, queries and writes."""
    read = session.read.format("indextables").load(path)
    found = session.sql(f"SELECT n FROM indextables.`{path}` WHERE message INDEXQUERY 'full'").collect()
    before = read.count()
    session.createDataFrame([(9, "new")], "n int, message string").write.format("indextables").mode("append").save(path)
    again = session.read.format("indextables").load(path)
    return [row.n for row in found] == [1] and again.count() == before + 1 == len(again.collect())


def test_sessions_beside_each_other(spark: Any, path: str) -> None:
    other = enable(spark.newSession())
    for session in (other, spark, enable(enable(other))):
        assert works(session, path)
    other.sql(f"CREATE TEMPORARY VIEW v USING indextables OPTIONS (path '{path}')")
    assert other.table("v").count() == IndexTable.open(path).count()
    assert not spark.catalog.tableExists("v")


def test_hooks_do_nothing_in_a_session_that_is_not_enabled(spark: Any, path: str) -> None:
    plain = enable(spark.newSession())
    assert indextables.disable(plain) is plain
    assert [type(plain.read), type(plain.range(1).write)] == [DataFrameReader, DataFrameWriter]
    assert [type(spark.read), type(spark.range(1).write)] != [DataFrameReader, DataFrameWriter]
    assert plain.read.format("indextables").load(path).count() == 2  # by the data source
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        plain.sql("SELECT 'a disk' INDEXQUERY 'disk'")


def test_sessions_are_enabled_from_threads(spark: Any, path: str) -> None:
    sessions = [spark.newSession() for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda session: enable(session) is session, [*sessions, *sessions]))
        counts = pool.map(lambda session: session.read.format("indextables").load(path).count(), sessions)
        assert list(counts) == [2, 2, 2]
        rows = pool.map(lambda session: len(session.sql(f"SELECT * FROM indextables.`{path}`").collect()), sessions)
        assert list(rows) == [2, 2, 2]


def test_a_session_that_spark_clones(spark: Any, path: str) -> None:
    java = spark._jsparkSession.cloneSession()
    clone = type(spark)(spark.sparkContext, java)
    assert works(clone, path)


def test_the_other_name_of_the_format(spark: Any, path: str, tmp_path: Path) -> None:
    new = str(tmp_path / "new")
    frame = spark.read.format(PROVIDER).load(path)
    assert frame.filter("indexquery(message, 'full')").count() == 1
    frame.write.format(PROVIDER.upper()).partitionBy("n").save(new)
    assert IndexTable.open(new).layout.names == ("n",)
    assert spark.read.load(new, format=PROVIDER).count() == 2
    frame.write.save(new, format=PROVIDER, mode="append")
    try:
        spark.sql(f"CREATE TABLE named USING {PROVIDER} LOCATION '{new}'")
        spark.sql("INSERT INTO named VALUES (5, 'more')")
        assert spark.table("named").count() == 5
        spark.sql(f"CREATE TEMPORARY VIEW shown USING {PROVIDER} OPTIONS (path '{new}')")
        assert len(spark.table("shown").collect()) == 5
    finally:
        spark.sql("DROP TABLE IF EXISTS named")
        spark.catalog.dropTempView("shown")


def test_pyspark_finds_the_format_by_itself(spark: Any, path: str, tmp_path: Path) -> None:
    plain = spark.newSession()
    assert plain._jsparkSession.sessionState().dataSourceManager().dataSourceExists("indextables")
    frame = DataFrameReader(plain).format("indextables").load(path)  # Spark's own reader and writer
    assert sorted(row.n for row in frame.collect()) == [1, 2]
    DataFrameWriter(frame).format("indextables").mode("append").save(str(tmp_path / "copy"))
    assert IndexTable.open(tmp_path / "copy").count() == 2
    again = DataFrameReader(plain).format(PROVIDER).load(str(tmp_path / "copy"))
    DataFrameWriter(again).format(PROVIDER).mode("append").save(str(tmp_path / "copy"))
    assert IndexTable.open(tmp_path / "copy").count() == 4
    assert works(enable(plain), path)


def test_what_pyspark_loads_in_every_session_is_small() -> None:
    loaded = (
        "import sys, pyspark_indextables as p, pyspark_indextables_provider as q; "
        "print(p.DefaultSource.name(), q.DefaultSource.name(), 'indextables' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["indextables", PROVIDER, "False"]


@pytest.mark.parametrize("side", ["reader", "streamReader"])
def test_a_process_that_plans_a_read_loads_what_it_needs(tmp_path: Path, side: str) -> None:
    """Spark starts one for each stream, and waits for it."""
    path = str(tmp_path / "table")
    IndexTable.write(path, {"id": [1]})
    (tmp_path / "main.py").write_text(
        "import sys; __spec__ = __import__('importlib.util').util.find_spec('pyspark.sql.worker.utils')\n"
        "from indextables.spark.source.data_source import IndexTablesDataSource\n"
        f"source = IndexTablesDataSource({{'path': {path!r}}}); source.{side}(source.schema())\n"
        "unneeded = {'pandas', 'indextables.maintain', 'indextables.spark.api', 'indextables.spark.statements'}\n"
        "print(sorted(unneeded & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, tmp_path / "main.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_enable_sets_again_what_was_taken_back(spark: Any) -> None:
    """Without it, Spark would show the keys of storage accounts in its plans."""
    spark.conf.unset("spark.sql.redaction.options.regex")
    assert "account" not in spark.conf.get("spark.sql.redaction.options.regex")
    enable(spark)
    assert "account" in spark.conf.get("spark.sql.redaction.options.regex")


def test_disable_gives_spark_its_own_methods_back(spark: Any) -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only where PySpark is
    from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415

    from indextables.spark.api import session  # noqa: PLC0415

    others = [one for one in session._enabled if one is not spark]
    for one in others:
        indextables.disable(one)
    hooked = {name: vars(DataFrame)[name] for name in ("collect", "count", "show", "rdd", "write", "writeTo")}
    other = indextables.enable(spark.newSession())
    assert indextables.disable(spark) is spark
    assert vars(DataFrame)["collect"] is hooked["collect"]  # another session is still enabled
    try:
        indextables.disable(other)
        assert all(vars(DataFrame)[name] is not method for name, method in hooked.items())
        assert "indextables" not in SparkSession.sql.__module__
        assert spark.range(3).count() == 3
    finally:
        for one in (spark, *others):
            indextables.enable(one)
    assert vars(DataFrame)["filter"].__module__ == "pyspark.sql.classic.dataframe"
