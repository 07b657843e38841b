"""Searches prefer the hosts that have the indexes; what they find does not depend on it."""

from typing import Any

import pytest
from py4j.protocol import Py4JError

from indextables import IndexTable
from indextables.spark.catalyst import arrow_scan
from indextables.spark.catalyst.query_planning import planned_frame
from indextables.spark.planner.split_placement import host_of

HOSTS = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    import pyarrow as pa  # noqa: PLC0415 - as the tests of tables without Spark

    path = tmp_path_factory.mktemp("placement") / "table"
    table = IndexTable.create(path, pa.schema({"n": pa.int64(), "message": pa.string()}), fields={"message": "text"})
    for n in range(9):
        table.append([{"n": n, "message": f"disk {n} full"}, {"n": -n, "message": "all is well"}])
    return str(path)


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(arrow_scan, "executor_hosts", lambda _: HOSTS)
    monkeypatch.setattr(arrow_scan, "_SMALL", 0)
    return HOSTS


def opened(spark: Any, path: str) -> Any:
    return spark.read.format("indextables").option("read.driverRows", "0").load(path)


def preferred(frame: Any) -> list[str]:
    """The hosts that Spark would choose for the tasks of a frame."""
    context = frame.sparkSession.sparkContext._jsc.sc()
    rdd = planned_frame(frame)._jdf.queryExecution().toRdd()
    return [text for n in range(rdd.getNumPartitions()) if (text := context.getPreferredLocs(rdd, n).mkString(" "))]


def test_a_search_prefers_the_hosts_of_its_splits(spark: Any, path: str, hosts: list[str]) -> None:
    frame = opened(spark, path)
    splits = IndexTable.open(path).splits()["path"].to_pylist()
    assert set(preferred(frame.filter("indexquery(message, 'full')"))) == {host_of(one, hosts) for one in splits}
    rows = frame.filter("indexquery(message, 'full')").collect()
    assert sorted(row.n for row in rows) == list(range(9))
    assert frame.filter("indexquery(message, 'full')").count() == 9
    assert len(frame.filter("indexquery(message, 'full')").limit(5).collect()) == 5


def test_scans_without_an_index_run_anywhere(spark: Any, path: str, hosts: list[str]) -> None:  # noqa: ARG001
    assert preferred(opened(spark, path).filter("n > 3")) == []


def test_with_one_host_there_is_nothing_to_prefer(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_scan, "_SMALL", 0)
    assert preferred(opened(spark, path).filter("indexquery(message, 'full')")) == []


def test_a_spark_that_does_not_say_where_its_executors_are(
    spark: Any, path: str, hosts: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Any) -> list[str]:
        raise Py4JError(f"not allowed: {hosts}")

    monkeypatch.setattr(arrow_scan, "executor_hosts", refuse)
    for _ in range(2):
        assert len(opened(spark, path).filter("indexquery(message, 'full')").collect()) == 9
    assert [record.getMessage()[:38] for record in caplog.records] == ["switched off: placement of searches. S"]
