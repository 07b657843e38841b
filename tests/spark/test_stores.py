"""Tables in object stores, from Spark: settings reach the driver, the planning process and the tasks, and nobody else."""

import traceback
from typing import Any

import pytest
from pyspark.errors import PySparkException

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.spark.asked import Asked
from indextables.storage import open_store
from tests.stores.servers import SECRET, Server

pytestmark = pytest.mark.spark
ROWS = [("mon", 1, "disk full"), ("mon", 2, "all is well"), ("tue", 3, "full again")]


@pytest.fixture
def logs(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, "day string, id int, message string")


def writer(frame: Any, server: Server) -> Any:
    return frame.write.format("indextables").options(**server.options).option("indexing.typemap.message", "text")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_a_table_is_written_and_read_by_options(spark: Any, logs: Any, cloud: Server) -> None:
    place = cloud.new_table()
    writer(logs, cloud).partitionBy("day").save(place)
    uploads = {"spark.indextables.s3.maxConcurrency": "12", "spark.indextables.s3.partSize": "134217728"}
    writer(logs, cloud).options(**uploads).mode("append").save(place)
    writer(logs, cloud).mode("ignore").save(place)
    reader = spark.read.format("indextables").options(**cloud.options)
    frame = reader.load(place)
    assert ids(frame.filter("day = 'mon'")) == [1, 1, 2, 2]
    assert ids(reader.option("query", "message:full").load(place)) == [1, 1, 3, 3]
    assert frame.count() == 6
    writer(logs.filter("id = 3"), cloud).mode("overwrite").save(place)
    again = spark.read.format("indextables").options(**cloud.options)
    assert ids(again.load(place)) == [3]
    assert ids(again.option("versionAsOf", 0).load(place)) == [1, 2, 3]


def test_the_session_tells_where_and_who(spark: Any, logs: Any, s3: Server) -> None:
    place, said = s3.new_table(), {f"spark.indextables.{key}": value for key, value in s3.options.items()}
    for key, value in said.items():
        spark.conf.set(key, value)
    try:
        logs.write.format("indextables").save(place)
        assert ids(spark.read.format("indextables").load(place)) == [1, 2, 3]
    finally:
        for key in said:
            spark.conf.unset(key)


def test_hadoops_keys_will_do(spark: Any, logs: Any, s3: Server) -> None:
    place = s3.new_table().replace("s3://", "s3a://")
    said = {
        "fs.s3a.endpoint": s3.options["s3.endpoint"].removeprefix("http://"),
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": "tests",
        "fs.s3a.secret.key": SECRET,
    }
    for key, value in said.items():
        spark.conf.set(key, value)
    try:
        logs.write.format("indextables").save(place)
        assert ids(spark.read.format("indextables").load(place)) == [1, 2, 3]
    finally:
        for key in said:
            spark.conf.unset(key)


def test_a_scan_goes_to_spark_with_the_options_of_its_table(spark: Any, logs: Any, cloud: Server) -> None:
    place = cloud.new_table()
    writer(logs, cloud).save(place)
    table = IndexTable.open(place, options=cloud.options)
    assert ids(table.scan(where="id < 3", query="message:full").to_spark(spark)) == [1]


def test_a_secret_is_shown_nowhere(spark: Any, logs: Any, s3: Server, capfd: pytest.CaptureFixture[str]) -> None:
    place = s3.new_table()
    writer(logs, s3).partitionBy("day").save(place)
    frame = spark.read.format("indextables").options(**s3.options).load(place).filter("day = 'mon'")
    shown = [repr(frame), repr(Asked.of({"path": place, **s3.options})), repr(Config.resolve(s3.options))]
    frame.explain(extended=True)
    frame.explain(mode="formatted")
    shown.append(frame._jdf.queryExecution().toString())
    shown.append(frame._jdf.queryExecution().analyzed().treeString())
    for attempt in (
        lambda: writer(logs, s3).save(place),
        lambda: writer(logs, s3).option("s3.secretKy", SECRET).mode("append").save(place),
        lambda: (
            writer(logs, s3).option("s3.endpoint", "http://127.0.0.1:1").option("store.maxRetries", "0").save(place)
        ),
        lambda: spark.read.format("indextables").options(**s3.options).option("versionAsOf", 9).load(place),
        lambda: spark.read.format("indextables").options(**s3.options).load(f"{place}/elsewhere").collect(),
    ):
        with pytest.raises((IndexTablesError, PySparkException)) as caught:
            attempt()
        shown += traceback.format_exception(caught.value)
    store = open_store(place, Config.resolve(s3.options))
    shown += [store.read(entry.key).to_pybytes().decode("latin-1") for entry in store.list()]
    printed = capfd.readouterr()
    text = "\n".join([*shown, printed.out, printed.err])
    assert "RelationV2" in text
    assert SECRET not in text
