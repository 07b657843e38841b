"""A Spark that lacks a class of its internals: what needs the class is off, says so once, and no row is wrong."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indextables import enable
from indextables.errors import ConfigError
from indextables.functions import indexquery
from indextables.spark.catalyst import probe
from indextables.spark.catalyst.java import jvm_of
from indextables.spark.catalyst.probe import REQUIREMENTS, Capability, Needed, capabilities
from tests.conftest import tidied
from tests.matrix.smoke import ids, logs_in, read, rows_of, write_optimized
from tests.tiers import slow_after, slow_unless

Hide = Callable[[str], None]


class Gone:
    """What py4j gives for the name of a class that is not there."""

    def __call__(self, *_: object) -> object:
        raise TypeError("'JavaPackage' object is not callable")

    def __getattr__(self, name: str) -> "Gone":
        return self


@pytest.fixture(scope="module")
def logs(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield logs_in(enable(spark), tmp_path_factory.mktemp("probe") / "any")
    tidied(spark)


@pytest.fixture
def hide(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hide]:
    """Takes a class away, for the probe and for whoever uses the class nonetheless."""

    def take(name: str) -> None:
        (needed,) = {each for one in REQUIREMENTS.values() for each in one.classes if each.name.endswith(f".{name}")}
        lookup = probe.lookup
        monkeypatch.setattr(probe, "lookup", lambda *args: args[-1] != needed and lookup(*args))
        *packages, last = needed.name.split(".")
        owner = jvm_of(spark)
        for package in packages:
            owner = getattr(owner, package)
        getattr(owner, last)
        monkeypatch.setattr(owner, last, Gone())
        probe.forget()

    yield take
    monkeypatch.undo()
    probe.forget()


def lost(spark: Any, caplog: pytest.LogCaptureFixture) -> set[Capability]:
    """What is off after `enable`, which has told of it once."""
    with caplog.at_level(logging.WARNING, logger=probe.__name__):
        enable(enable(spark))
    assert len(caplog.messages) == 1
    off = set(Capability) - capabilities(spark)
    assert all(each.value in caplog.text and REQUIREMENTS[each].cost in caplog.text for each in off)
    return off


def test_this_spark_lacks_nothing(spark: Any) -> None:
    probe.forget()
    assert capabilities(enable(spark)) == set(Capability)


def test_a_constructor_with_other_parameters_is_not_there(spark: Any) -> None:
    jvm = jvm_of(spark)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    alias = "org.apache.spark.sql.catalyst.expressions.Alias"
    found = [number for number in range(9) if probe.lookup(jvm, loader, Needed(alias, number))]
    assert found == [6]
    assert not probe.lookup(jvm, loader, Needed(f"{alias}ed"))


WHOLE = ["MapInArrow", "PythonTable", "MetadataLogFileIndex", "LocalRelation", "TreePattern"]


@pytest.mark.parametrize("name", slow_after(2, WHOLE, "each class of Spark missing in turn"))
def test_rows_are_right_without(
    spark: Any, logs: Path, hide: Hide, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    hide(name)
    assert lost(spark, caplog)
    frame = read(spark, logs)
    assert ids(frame) == list(range(12))
    assert ids(frame.filter("day = 'd1' AND id > 2")) == [4, 7, 10]
    assert (frame.count(), frame.filter("id < 5").count()) == (12, 5)
    assert {row.day: row["count"] for row in frame.groupBy("day").count().collect()} == {"d0": 4, "d1": 4, "d2": 4}
    few = f"WITH few AS (SELECT * FROM indextables.`{logs}` WHERE id < 4)"
    assert ids(spark.sql(f"{few} SELECT a.id FROM few a JOIN few b ON a.day = b.day")) == [0, 0, 1, 2, 3, 3]
    assert caplog.messages[1:] == []


CLASSES = sorted({needed.name.split(".")[-1] for one in REQUIREMENTS.values() for needed in one.classes})
ONE_EACH = {one.classes[0].name.split(".")[-1] for one in REQUIREMENTS.values()}


@pytest.mark.parametrize("name", slow_unless(ONE_EACH, CLASSES, "each class of Spark missing in turn"))
def test_a_query_runs_without_any_one_class(
    spark: Any, logs: Path, hide: Hide, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    hide(name)
    assert lost(spark, caplog)
    frame = read(spark, logs)
    assert ids(frame.filter("day = 'd1' AND id > 2")) == [4, 7, 10]
    assert frame.filter("id < 5").count() == 5


def test_searches(spark: Any, logs: Path, hide: Hide, caplog: pytest.LogCaptureFixture) -> None:
    hide("SubqueryExpression")
    assert lost(spark, caplog) == {Capability.SEARCH_COLUMNS}
    assert ids(read(spark, logs).filter(indexquery("message", "timeout"))) == [0, 4, 8]
    assert ids(spark.sql(f"SELECT id FROM indextables.`{logs}` WHERE message INDEXQUERY 'timeout'")) == [0, 4, 8]
    assert ids(read(spark, logs, where="message INDEXQUERY 'timeout'")) == [0, 4, 8]


def test_searches_without_planning(spark: Any, logs: Path, hide: Hide) -> None:
    hide("MapInArrow")
    enable(spark)
    assert ids(read(spark, logs).filter(indexquery("message", "timeout")).filter("id > 0")) == [4, 8]


def test_tables_by_name(spark: Any, logs: Path, hide: Hide, caplog: pytest.LogCaptureFixture) -> None:
    hide("SessionCatalog")
    assert lost(spark, caplog) == {Capability.CATALOG_TABLES}
    with pytest.raises(ConfigError, match="CREATE TABLE with this version of Spark is not possible"):
        spark.sql(f"CREATE TABLE named USING indextables LOCATION '{logs}'")
    assert ids(spark.sql(f"SELECT id FROM indextables.`{logs}` WHERE id > 9")) == [10, 11]


def test_parameters(spark: Any, logs: Path, hide: Hide, caplog: pytest.LogCaptureFixture) -> None:
    hide("ParameterHandler")
    assert lost(spark, caplog) == {Capability.SQL_PARAMETERS}
    text = f"SELECT id FROM indextables.`{logs}` WHERE id > :least AND message INDEXQUERY 'fine'"
    assert ids(spark.sql(text, args={"least": 9})) == [10, 11]


def test_insert(spark: Any, hide: Hide, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = rows_of(spark)
    frame.write.format("indextables").save(str(tmp_path / "t"))
    hide("AppendData")
    assert lost(spark, caplog) == {Capability.INSERT_ANALYSIS}
    with pytest.raises(ConfigError, match="INSERT with this version of Spark is not possible"):
        spark.sql(f"INSERT INTO indextables.`{tmp_path / 't'}` SELECT * FROM range(0)")
    frame.write.format("indextables").mode("append").save(str(tmp_path / "t"))
    assert read(spark, tmp_path / "t").count() == 24


def test_optimized_write(spark: Any, hide: Hide, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hide("DeterministicLevel")
    assert lost(spark, caplog) == {Capability.INPUT_ORDER}
    write_optimized(spark, tmp_path)
