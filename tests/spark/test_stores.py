"""Tables in object stores, from Spark: settings reach the driver, the planning process and the tasks, and nobody else."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql.functions import col, lit, udf

from indextables import IndexTable, explain
from indextables.config import Config
from indextables.errors import IndexTablesError
from indextables.spark.catalyst.java import sequence
from indextables.spark.planner.read_options import ReadOptions
from indextables.storage import open_store
from tests.stores.proxy import proxied
from tests.stores.servers import SECRET, Server, s3_server
from tests.tiers import slow_after

Row = tuple[str, int, str]
PLANTED = ("s3.sessionToken", "azure.accountKey", "azure.sasToken", "azure.clientSecret")
ROWS: list[Row] = [("mon", 1, "disk full"), ("mon", 2, "all is well"), ("tue", 3, "full again")]


@pytest.fixture
def logs(spark: Any) -> Any:
    return frame_of(spark, ROWS)


@pytest.fixture(params=slow_after(1, ["s3", "azure"], "Spark with the other object store"))
def cloud(request: pytest.FixtureRequest) -> Server:
    """Each object store in turn."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def known(spark: Any, cloud: Server) -> Iterator[Server]:
    """Each store in turn, of which the session has been told, so that no option is needed."""
    with told(spark, {f"spark.indextables.{key}": value for key, value in cloud.options.items()}):
        yield cloud


@contextmanager
def told(spark: Any, settings: Mapping[str, str]) -> Iterator[None]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            spark.conf.unset(key)


def frame_of(spark: Any, rows: Sequence[Row]) -> Any:
    return spark.createDataFrame(rows, "day string, id int, message string")


def writer(frame: Any, server: Server) -> Any:
    return frame.write.format("indextables").options(**server.options).option("indexing.typemap.message", "text")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def splits(place: str, options: Mapping[str, str]) -> list[str]:
    """The splits that are in the store, of whatever version."""
    store = open_store(place, Config.resolve(options))
    return sorted(entry.key for entry in store.list() if entry.key.endswith(".split"))


def test_every_way_to_write_and_what_each_version_holds(spark: Any, logs: Any, cloud: Server) -> None:
    place = cloud.new_table()
    monday, tuesday, later = ("mon", 5, "new"), ("tue", 6, "again, and full"), ("wed", 7, "full")
    writer(logs, cloud).partitionBy("day").save(place)
    uploads = {"spark.indextables.s3.maxConcurrency": "12", "spark.indextables.s3.partSize": "134217728"}
    writer(frame_of(spark, [later]), cloud).options(**uploads).mode("append").save(place)
    writer(logs, cloud).mode("ignore").save(place)
    by_condition = writer(frame_of(spark, [monday]), cloud).option("replaceWhere", "day < 'tue'")
    by_condition.mode("overwrite").save(place)
    by_partition = writer(frame_of(spark, [tuesday]), cloud).option("partitionOverwriteMode", "dynamic")
    by_partition.mode("overwrite").save(place)
    writer(frame_of(spark, [monday]), cloud).mode("overwrite").save(place)
    states = [ROWS, [*ROWS, later], [monday, ROWS[2], later], [monday, tuesday, later], [monday]]

    def read(version: int) -> Any:
        return spark.read.format("indextables").options(**cloud.options, versionAsOf=version)

    for version, state in enumerate(states):
        assert rows(read(version).load(place)) == sorted(state)
        found = [row[1] for row in state if row[0] > "mon" and "full" in row[2]]
        assert ids(read(version).option("query", "message:full").load(place).filter("day > 'mon'")) == found
    assert rows(spark.read.format("indextables").options(**cloud.options).load(place)) == [monday]
    frame = read(3).load(place)
    open_store(place, Config.resolve(cloud.options)).delete(splits(place, cloud.options))
    assert (frame.count(), frame.filter("day <> 'mon'").count()) == (3, 2), "the log knows, and nothing else is read"
    assert rows(frame.groupBy("day").count()) == [("mon", 1), ("tue", 1), ("wed", 1)]


def test_sql_searches_a_table_and_keeps_it_in_shape(spark: Any, logs: Any, known: Server) -> None:
    place = known.new_table()

    def one(command: str) -> Any:
        (row,) = spark.sql(command.format(f"'{place}'")).collect()
        return row

    def searched(version: str = "") -> list[int]:
        return ids(spark.sql(f"SELECT id FROM indextables.`{place}` {version} WHERE message INDEXQUERY 'full'"))

    for _ in range(3):
        written = logs.write.format("indextables").option("indexing.typemap.message", "text")
        written.partitionBy("day").mode("append").save(place)
    assert searched() == [1, 1, 1, 3, 3, 3]
    assert one("MERGE SPLITS {} WHERE day = 'mon' DRY RUN").splits_before == 3
    merged = one("MERGE SPLITS {}")
    assert (merged.splits_before, merged.splits_after, merged.rows) == (6, 2, 9)
    assert one("DROP INDEXTABLES PARTITIONS FROM {} WHERE day = 'tue'").rows == 3
    assert one("ALTER INDEXTABLE {} PARTITION BY (bucket(2, id))").splits_of_other_layouts == 1
    added = one("ALTER INDEXTABLE {} ADD COLUMN host STRING").version
    logs.selectExpr("*", "'a' AS host").write.format("indextables").mode("append").save(place)
    assert one("MERGE SPLITS {} REWRITE LAYOUT").version > added + 1
    now = [1, 1, 1, 1, 3]
    assert (searched(), searched("VERSION AS OF 1"), searched("VERSION AS OF 2")) == (
        now,
        [1, 1, 3, 3],
        [1] * 3 + [3] * 3,
    )
    assert one(f"SELECT count(*) AS rows, count(host) AS hosts FROM indextables.`{place}`")[:] == (9, 3)
    planned = one("PURGE INDEXTABLE {} OLDER THAN 0 SECONDS FORCE DRY RUN")
    assert set(planned.paths) < set(splits(place, known.options))
    purged = one("PURGE INDEXTABLE {} OLDER THAN 0 SECONDS FORCE")
    assert (purged.paths, purged.dry_run, searched()) == (planned.paths, False, now)
    live = {split["path"] for split in IndexTable.open(place, options=known.options).splits().to_pylist()}
    assert set(splits(place, known.options)) == live
    with pytest.raises(Exception, match="does not exist"):
        searched("VERSION AS OF 1")
    history = {row.operation for row in spark.sql(f"DESCRIBE INDEXTABLES HISTORY '{place}'").collect()}
    assert history >= {"ALTER TABLE", "MERGE SPLITS"}


def test_tables_of_the_catalog_may_be_in_a_store(spark: Any, logs: Any, known: Server, cloud: Server) -> None:
    found, declared, selected, saved = places = [known.new_table() for _ in range(4)]
    logs.write.format("indextables").partitionBy("day").save(found)
    try:
        spark.sql(f"CREATE TABLE found USING indextables LOCATION '{found}'")
        spark.sql("INSERT INTO found VALUES ('wed', 4, 'new')")
        spark.sql("INSERT INTO found REPLACE WHERE day = 'mon' VALUES ('mon', 5, 'newer')")
        assert ids(spark.sql("SELECT * FROM found WHERE day <> 'tue'")) == [4, 5]
        assert ids(spark.read.option("versionAsOf", 0).table("found")) == [1, 2, 3]
        spark.sql(
            f"CREATE TABLE declared (day STRING, id INT) USING indextables PARTITIONED BY (day) LOCATION '{declared}'"
        )
        spark.sql("INSERT INTO declared SELECT day, id FROM found")
        spark.sql(
            f"CREATE TABLE selected USING indextables LOCATION '{selected}' AS SELECT * FROM declared WHERE id > 3"
        )
        logs.write.format("indextables").option("path", saved).saveAsTable("saved")
        logs.write.insertInto("saved")
        assert [spark.table(name).count() for name in ("found", "declared", "selected", "saved")] == [3, 3, 2, 6]
        assert [IndexTable.open(place, options=cloud.options).count() for place in places] == [3, 3, 2, 6]
    finally:
        for name in ("found", "declared", "selected", "saved"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")
    assert [IndexTable.open(place, options=cloud.options).count() for place in places] == [3, 3, 2, 6]


def test_a_table_of_the_catalog_is_reached_by_options(spark: Any, logs: Any, cloud: Server) -> None:
    place, given = cloud.new_table(), ", ".join(f"'{key}' = '{value}'" for key, value in cloud.options.items())
    try:
        writer(logs, cloud).option("path", place).saveAsTable("logs")
        writer(logs, cloud).mode("append").saveAsTable("logs")
        logs.write.options(**cloud.options).insertInto("logs")
        spark.sql(f"INSERT INTO logs WITH ({given}) VALUES ('wed', 4, 'new')")
        assert ids(spark.read.options(**cloud.options).table("logs")) == [*sorted([1, 2, 3] * 3), 4]
        assert ids(spark.sql(f"SELECT * FROM logs WITH ({given}) WHERE id > 2")) == [3, 3, 3, 4]
    finally:
        spark.sql("DROP TABLE IF EXISTS logs")


def test_hadoops_keys_will_do(spark: Any, logs: Any, s3: Server) -> None:
    place = s3.new_table().replace("s3://", "s3a://")
    said = {
        "fs.s3a.endpoint": s3.options["s3.endpoint"].removeprefix("http://"),
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": "tests",
        "fs.s3a.secret.key": SECRET,
    }
    with told(spark, said):
        logs.write.format("indextables").save(place)
        assert ids(spark.read.format("indextables").load(place)) == [1, 2, 3]
        assert spark.sql(f"CHECKPOINT INDEXTABLES '{place}'").first().version == 0


@pytest.mark.parametrize("token", ["fs.s3a.session.token", "indextables.s3.sessionToken"])
def test_credentials_are_of_one_origin(spark: Any, logs: Any, s3: Server, token: str) -> None:
    with proxied(s3) as proxy, told(spark, {token: "of-somebody-else"}):
        sent: set[str] = set()
        proxy.saw = lambda headers: sent.add(headers.get("x-amz-security-token", ""))
        place = s3.new_table()
        writer(logs, proxy.server).save(place)
        assert ids(spark.read.format("indextables").options(**proxy.server.options).load(place)) == [1, 2, 3]
    assert sent == {""}


def test_two_stores_may_have_the_same_place(spark: Any, logs: Any, s3: Server) -> None:
    place = s3.new_table()
    with s3_server() as other:
        writer(logs, s3).save(place)
        writer(logs.filter("id > 1"), other).save(place)
        here, there = (spark.read.format("indextables").options(**server.options).load(place) for server in (s3, other))
        assert (ids(here), ids(there), ids(here)) == ([1, 2, 3], [2, 3], [1, 2, 3])
        assert (here.count(), there.count()) == (3, 2)


ROW_LEVEL = {
    "DELETE": "DELETE FROM stored WHERE id = 3",
    "DELETE by Spark": "DELETE FROM stored WHERE id + 0 = 3",
    "UPDATE": "UPDATE stored SET message = 'x' WHERE id = 3",
    "MERGE": "MERGE INTO stored AS t USING (SELECT 3 AS id, 'x' AS m) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET message = s.m WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
}


@pytest.mark.parametrize("statement", ROW_LEVEL)
def test_a_statement_that_changes_rows_opens_the_log_once(spark: Any, logs: Any, s3: Server, statement: str) -> None:
    """Its first version is read once; the last one is looked at again by the commit."""
    place = s3.new_table()
    with proxied(s3) as proxy, told(spark, {f"spark.indextables.{k}": v for k, v in proxy.server.options.items()}):
        for _ in range(2):
            writer(logs, s3).mode("append").save(place)
        spark.sql(f"CREATE TABLE stored USING indextables LOCATION '{place}'")
        try:
            proxy.requests.clear()
            assert spark.sql(ROW_LEVEL[statement]).first()[0] == 2
        finally:
            spark.sql("DROP TABLE stored")
    assert [path[-8:] for method, path in proxy.requests if method == "GET"].count("000.json") == 1


def test_a_scan_goes_to_spark_with_the_options_of_its_table(spark: Any, logs: Any, cloud: Server) -> None:
    place = cloud.new_table()
    writer(logs, cloud).save(place)
    table = IndexTable.open(place, options=cloud.options)
    assert ids(table.scan(where="id < 3", query="message:full").to_spark(spark)) == [1]


def test_a_secret_is_shown_nowhere(spark: Any, logs: Any, s3: Server, capfd: pytest.CaptureFixture[str]) -> None:
    place, planted = s3.new_table(), dict.fromkeys(PLANTED, SECRET)
    server = replace(s3, options={**planted, **s3.options})
    writer(logs, server).partitionBy("day").save(place)
    frame = spark.read.format("indextables").options(**server.options).load(place).filter("day = 'mon'")
    frame.createOrReplaceTempView("seen")
    shown = [repr(frame), repr(ReadOptions.of({"path": place, **server.options})), repr(Config.resolve(server.options))]
    frame.explain(extended=True)
    frame.explain(mode="formatted")
    shown.append(frame._jdf.queryExecution().toString())
    shown.append(frame._jdf.queryExecution().analyzed().treeString())
    shown.append(explain(frame))
    with told(spark, {f"indextables.{key}": value for key, value in server.options.items()}):
        spark.sql(f"CREATE TABLE seen_too USING indextables LOCATION '{place}'")
        spark.sql("INSERT INTO seen_too VALUES ('wed', 4, 'new')")
        statements = (
            "SET",
            f"DESCRIBE INDEXTABLES HISTORY '{place}'",
            "DESCRIBE EXTENDED seen_too",
            "EXPLAIN EXTENDED SELECT * FROM seen",
            "EXPLAIN EXTENDED INSERT INTO seen_too SELECT * FROM seen",
            "DROP TABLE seen_too",
            "DROP VIEW seen",
        )
        shown += [str(spark.sql(statement).collect()) for statement in statements]
    for attempt in (
        lambda: writer(logs, server).save(place),
        lambda: writer(logs, server).option("s3.secretKy", SECRET).mode("append").save(place),
        lambda: (
            writer(logs, server).option("s3.endpoint", "http://127.0.0.1:1").option("store.maxRetries", "0").save(place)
        ),
        lambda: spark.read.format("indextables").options(**server.options).option("versionAsOf", 9).load(place),
        lambda: spark.read.format("indextables").options(**server.options).load(f"{place}/elsewhere").collect(),
        lambda: spark.sql(f"CREATE TABLE t (id INT) USING indextables OPTIONS ('s3.secretKey' '{SECRET}')"),
    ):
        with pytest.raises((IndexTablesError, PySparkException)) as caught:
            attempt()
        shown += traceback.format_exception(caught.value)
    store = open_store(place, Config.resolve(s3.options))
    shown += [store.read(entry.key).to_pybytes().decode("latin-1") for entry in store.list()]
    for run in sequence(spark._jsparkSession.sharedState().statusStore().executionsList()):  # what Spark's UI shows
        shown += [run.physicalPlanDescription(), str(run.modifiedConfigs())]
    printed = capfd.readouterr()
    text = "\n".join([*shown, printed.out, printed.err])
    assert all(word in text for word in ("RelationV2", "redacted", "AppendData", "CreateViewCommand"))
    assert SECRET not in text


def test_what_a_session_is_told_without_spark_in_front_is_not_in_the_properties_of_jobs(spark: Any) -> None:
    """Spark writes those to its event log."""
    names = ["indextables.s3.secretKey", "spark.indextables.s3.region"]

    def seen(name: str) -> str | None:
        context = TaskContext.get()
        assert context is not None
        return context.getLocalProperty(name)

    with told(spark, dict.fromkeys(names, "told")):
        rows = spark.createDataFrame([(name,) for name in names], "name string")
        answer = dict(rows.select("name", udf(seen, "string", useArrow=False)("name")).collect())
    assert answer == dict(zip(names, [None, "told"], strict=True))


@pytest.mark.parametrize(
    "place",
    [
        f"https://account.blob.core.windows.net/c/p?sv=2024&sig={SECRET}",
        f"abfss://c@acc.dfs.core.windows.net/t?sv=2024&sig={SECRET}",
        f"s3://key:{SECRET}@bucket/t",
    ],
)
def test_a_location_with_credentials_is_refused_and_not_told(spark: Any, logs: Any, place: str) -> None:
    attempts = [
        lambda: spark.read.format("indextables").load(place).collect(),
        lambda: logs.write.format("indextables").mode("append").save(place),
        lambda: spark.sql(f"SELECT * FROM indextables.`{place}`").collect(),
        lambda: spark.sql(f"PURGE INDEXTABLE '{place}'"),
        lambda: spark.sql(f"CREATE TABLE hidden_place (a INT) USING indextables LOCATION '{place}'"),
    ]
    for attempt in attempts:
        with pytest.raises((IndexTablesError, PySparkException)) as caught:
            attempt()
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_streams_to_and_from_a_store_have_the_settings_of_the_session(
    spark: Any, logs: Any, known: Server, tmp_path: Path
) -> None:
    source, sink = known.new_table(), known.new_table()
    writer(logs, known).partitionBy("day").save(source)

    def copy() -> None:
        stream = spark.readStream.format("indextables").option("query", "message:full").load(source)
        query = stream.writeStream.format("indextables").option("checkpointLocation", str(tmp_path)).partitionBy("day")
        query = query.trigger(availableNow=True).start(sink)
        query.awaitTermination()
        assert SECRET not in f"{query.lastProgress} {query.explain()} {stream.explain(extended=True)}"

    copy()
    writer(frame_of(spark, [("wed", 4, "full"), ("wed", 5, "empty")]), known).mode("append").save(source)
    copy()
    assert ids(spark.read.format("indextables").load(sink)) == [1, 3, 4]
    assert not any(SECRET in file.read_text(errors="ignore") for file in tmp_path.rglob("*") if file.is_file())


Write = Callable[[Any, Any, str], Any]
WRITES: dict[str, tuple[Write, list[int]]] = {  # one after the other, and the ids that there are then
    "save": (lambda _, new, place: new.write.format("indextables").partitionBy("day").save(place), [1]),
    "CREATE TABLE": (
        lambda spark, _, place: spark.sql(f"CREATE TABLE kept USING indextables LOCATION '{place}'"),
        [1],
    ),
    "save, append": (lambda _, new, place: new.write.format("indextables").mode("append").save(place), [1, 1]),
    "saveAsTable": (lambda _, new, __: new.write.mode("overwrite").saveAsTable("kept"), [1]),
    "insertInto": (lambda _, new, __: new.write.insertInto("kept"), [1, 1]),
    "writeTo, append": (lambda _, new, __: new.writeTo("kept").append(), [1, 1, 1]),
    "writeTo, overwrite": (lambda _, new, __: new.writeTo("kept").overwrite(col("day") == "mon"), [1]),
    "writeTo, overwrite all": (lambda _, new, __: new.writeTo("kept").overwrite(lit(True)), [1]),
    "writeTo, partitions": (lambda _, new, __: new.writeTo("kept").overwritePartitions(), [1]),
    "INSERT": (lambda spark, *_: spark.sql("INSERT INTO kept VALUES ('tue', 2, 'x')"), [1, 2]),
    "INSERT OVERWRITE": (lambda spark, *_: spark.sql("INSERT OVERWRITE kept VALUES ('tue', 3, 'x')"), [3]),
    "INSERT by path": (
        lambda spark, _, place: spark.sql(f"INSERT INTO indextables.`{place}` VALUES ('wed', 4, 'x')"),
        [3, 4],
    ),
    "REPLACE WHERE": (
        lambda spark, *_: spark.sql("INSERT INTO kept REPLACE WHERE day = 'wed' VALUES ('wed', 5, 'y')"),
        [3, 5],
    ),
    "replaceWhere": (
        lambda _, new, place: (
            new.write.format("indextables").mode("overwrite").option("replaceWhere", "day = 'mon'").save(place)
        ),
        [1, 3, 5],
    ),
    "UPDATE": (lambda spark, *_: spark.sql("UPDATE kept SET id = 6 WHERE id = 5"), [1, 3, 6]),
    "DELETE": (lambda spark, *_: spark.sql("DELETE FROM kept WHERE id = 1"), [3, 6]),
    "DELETE by path": (lambda spark, _, place: spark.sql(f"DELETE FROM indextables.`{place}` WHERE id = 3"), [6]),
    "MERGE": (
        lambda spark, *_: spark.sql(
            "MERGE INTO kept USING (SELECT 'mon' AS day, 7 AS id, 'z' AS message) s ON kept.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *"
        ),
        [6, 7],
    ),
    "MERGE SPLITS": (lambda spark, *_: spark.sql("MERGE SPLITS kept"), [6, 7]),
    "REINDEX": (lambda spark, _, place: IndexTable.open(place, spark=spark).reindex(spark=spark), [6, 7]),
    "ADD COLUMN": (lambda spark, *_: spark.sql("ALTER TABLE kept ADD COLUMN host STRING"), [6, 7]),
    "SET TBLPROPERTIES": (
        lambda spark, *_: spark.sql("ALTER TABLE kept SET TBLPROPERTIES ('team' = 'search')"),
        [6, 7],
    ),
    "DROP PARTITIONS": (
        lambda spark, _, place: spark.sql(f"DROP INDEXTABLES PARTITIONS FROM '{place}' WHERE day = 'mon'"),
        [6],
    ),
    "IndexTable": (
        lambda spark, _, place: IndexTable.open(place, spark=spark).append([{"day": "tue", "id": 8}]),
        [6, 8],
    ),
}
NEW_TABLES: dict[str, Write] = {
    "saveAsTable": lambda _, new, place: (
        new.write.format("indextables").option("path", place).saveAsTable("made_in_store")
    ),
    "writeTo, create": lambda _, new, place: (
        new.writeTo("made_in_store").using("indextables").option("path", place).create()
    ),
    "CREATE TABLE AS SELECT": lambda spark, _, place: spark.sql(
        f"CREATE TABLE made_in_store USING indextables LOCATION '{place}' AS SELECT 1 AS id"
    ),
    "CREATE TABLE": lambda spark, _, place: (
        spark.sql(f"CREATE TABLE made_in_store (id INT) USING indextables LOCATION '{place}'"),
        spark.sql("INSERT INTO made_in_store VALUES (1)"),
    ),
    "IndexTable": lambda spark, _, place: (
        IndexTable.write(place, [{"id": 1}], spark=spark),
        spark.sql(f"CREATE TABLE made_in_store USING indextables LOCATION '{place}'"),
    ),
}


def test_every_way_to_write_has_the_credentials_of_the_session(spark: Any, s3: Server) -> None:
    """Nobody else knows them, and each request is signed by them."""
    place, new = s3.new_table(), frame_of(spark, [("mon", 1, "disk full")])
    with proxied(s3) as proxy, told(spark, {f"spark.indextables.{k}": v for k, v in proxy.server.options.items()}):
        signed: set[str] = set()
        proxy.saw = lambda headers: signed.add(headers.get("authorization", "").partition("/")[0])
        try:
            for name, (write, expected) in WRITES.items():
                write(spark, new, place)
                found = IndexTable.open(place, options=s3.options).scan(columns=["id"]).to_arrow()
                assert sorted(found["id"].to_pylist()) == expected, name
            for name, create in NEW_TABLES.items():
                other = s3.new_table()
                create(spark, new, other)
                assert ids(spark.table("made_in_store")) == [1], name
                assert IndexTable.open(other, options=s3.options).count() == 1, name
                spark.sql("DROP TABLE made_in_store")
        finally:
            spark.sql("DROP TABLE IF EXISTS kept")
            spark.sql("DROP TABLE IF EXISTS made_in_store")
    assert signed == {f"AWS4-HMAC-SHA256 Credential={s3.options['s3.accessKey']}"}
