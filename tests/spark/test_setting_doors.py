"""Each setting through each door of Spark: a good value counts, anything else is refused with what was meant.

`tests/test_setting_doors.py` has the doors without Spark.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from indextables import IndexTable
from indextables.config import PREFIX, Config
from indextables.errors import ConfigError, SchemaError
from indextables.spark.environment.session_settings import settings_of
from tests.settings_matrix import CASES, Case
from tests.tiers import slow

FEW = CASES[::9]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("doors") / "table")
    IndexTable.write(path, [{"id": 1, "message": "disk full"}], text="message")
    return path


@pytest.fixture(scope="module")
def name(spark: Any, path: str) -> str:
    spark.sql(f"CREATE TABLE doors USING indextables LOCATION '{path}'")
    return "doors"


@contextmanager
def in_session(spark: Any, key: str, value: str) -> Iterator[None]:
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.unset(key)


@contextmanager
def in_hadoop(spark: Any, key: str, value: str) -> Iterator[None]:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set(key, value)
    try:
        yield
    finally:
        configuration.unset(key)


def row(spark: Any) -> Any:
    return spark.createDataFrame([(1, "disk full")], "id long, message string")


def read(spark: Any, path: str, **options: str) -> Any:
    return spark.read.format("indextables").options(**options).load(path)


def read_with(context: Callable[..., Any]) -> Callable[[Any, str, str, str], None]:
    def door(spark: Any, path: str, key: str, value: str) -> None:
        with context(spark, key if key.startswith("spark.") else f"{PREFIX}{key}", value):
            read(spark, path)

    return door


def stream_to(spark: Any, path: str, key: str, value: str) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS id", "'x' AS message")
    stream.writeStream.format("indextables").option(key, value).option("checkpointLocation", f"{path}.c").start(path)


OPTIONS: dict[str, Callable[[Any, str, str, str], Any]] = {
    "write": lambda spark, path, key, value: (
        row(spark).write.format("indextables").mode("append").option(key, value).save(path)
    ),
    "read": lambda spark, path, key, value: read(spark, path, **{key: value}),
    "writeTo": lambda spark, _, key, value: row(spark).writeTo("doors").option(key, value).append(),
    "readStream": lambda spark, path, key, value: spark.readStream.format("indextables").option(key, value).load(path),
    "writeStream": stream_to,
    "INSERT": lambda spark, _, key, value: spark.sql(f"INSERT INTO doors WITH ('{key}' = '{value}') VALUES (1, 'x')"),
}
SESSION: dict[str, Callable[[Any, str, str, str], Any]] = {
    "session": read_with(in_session),
    "hadoopConfiguration": read_with(in_hadoop),
}
PROPERTIES: dict[str, Callable[[Any, str, str, str], Any]] = {
    "CREATE TABLE": lambda spark, _, key, value: spark.sql(
        f"CREATE TABLE doors_new (id BIGINT, message STRING) USING indextables TBLPROPERTIES ('{key}' = '{value}')"
    ),
    "ALTER TABLE": lambda spark, _, key, value: spark.sql(f"ALTER TABLE doors SET TBLPROPERTIES ('{key}' = '{value}')"),
    "tableProperty": lambda spark, _, key, value: (
        row(spark).writeTo("doors_new").using("indextables").tableProperty(key, value).create()
    ),
}


@pytest.mark.usefixtures("name")
@pytest.mark.parametrize("cases", [FEW, pytest.param(CASES, marks=slow("every setting through every door of Spark"))])
def test_every_setting_through_every_door(spark: Any, path: str, cases: list[Case]) -> None:
    before = IndexTable.open(path).version

    def refused(door: Callable[[Any, str, str, str], Any], key: str, value: str) -> str:
        with pytest.raises(ConfigError) as caught:
            door(spark, path, key, value)
        return str(caught.value)

    for case in cases:
        first, second = case.misspellings()
        for door in (*OPTIONS.values(), *PROPERTIES.values()):
            assert f"did you mean '{case.name}'" in refused(door, first, case.good)
            assert f"did you mean '{PREFIX}{case.name}'" in refused(door, f"{PREFIX}{second}", case.good)
        for door in SESSION.values():
            assert f"did you mean '{PREFIX}{case.name}'" in refused(door, first, case.good)
            assert f"did you mean '{PREFIX}{case.name}'" in refused(door, f"spark.indextable.{case.name}", case.good)
        for door in (*OPTIONS.values(), *SESSION.values(), *PROPERTIES.values()) if case.bad is not None else ():
            assert case.name in refused(door, case.name, case.bad)
        for door in OPTIONS.values():
            assert f"no setting 'acme.{case.name}'".lower() in refused(door, f"acme.{case.name}", case.good).lower()
    assert IndexTable.open(path).version == before
    assert not spark.catalog.tableExists("doors_new")


def test_a_setting_of_writes_is_named_where_a_read_has_it(
    spark: Any, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    read(spark, path, mergeSchema="true", targetRecordsPerSplit="7", timeZone="UTC")
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(": ")[2] for text in warned] == ["mergeschema, targetrecordspersplit"]


@pytest.mark.parametrize("context", [in_session, in_hadoop])
def test_every_setting_of_a_session_counts(spark: Any, path: str, context: Callable[..., Any]) -> None:
    """One of another prefix is somebody else's."""
    without = settings_of(spark, path)
    for case in CASES:
        together = {"txnAppId": "txnVersion", "txnVersion": "txnAppId"}.get(case.name, "merge.targetSize")
        with context(spark, f"{PREFIX}{case.name}", case.good), context(spark, f"{PREFIX}{together}", "7"):
            found = Config.resolve(settings_of(spark, path)).for_columns(["id", "message"])
            assert found == Config.resolve({case.name: case.good, together: "7"}), case.name
        with context(spark, f"spark.acme.{case.name}", case.good):
            assert settings_of(spark, path) == without


def test_properties_of_other_prefixes_are_kept(spark: Any, name: str) -> None:
    given = ", ".join(f"'acme.{case.name}' = '{case.good}'" for case in CASES if case.is_property)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({given}, 'owner.team' = 'search')")
    shown = {found.key: found.value for found in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert {f"acme.{case.name}": case.good for case in CASES if case.is_property}.items() <= shown.items()


def test_a_session_is_stronger_than_hadoops_configuration(spark: Any, tmp_path: Path) -> None:
    key, rows = f"{PREFIX}optimizeWrite.targetRecordsPerSplit", spark.range(4)
    for number, (settings, splits) in enumerate([([], 1), ([(in_hadoop, "1")], 4), ([(in_session, "2")], 2)]):
        place = str(tmp_path / str(number))
        with in_hadoop(spark, key, "1" if number else "4"):
            for context, value in settings:
                with context(spark, key, value):
                    rows.write.format("indextables").save(place)
            if not settings:
                rows.write.format("indextables").save(place)
        assert len(IndexTable.open(place).splits()) == splits


def test_defaults_of_a_session_for_columns_that_a_table_has_not(spark: Any, tmp_path: Path) -> None:
    """They are no error, in any way to write; a table that has the column is created with them."""
    defaults = {
        "indexing.text": "title",
        "indexing.typemap.message": "text",
        "indexing.exact.message": "none",
        "indexing.exact.id": "hash",
        "optimizeWrite.clusterBy": "message, id",
    }
    plain, logs, saved = (str(tmp_path / part) for part in ("plain", "logs", "saved"))
    for key, value in defaults.items():
        spark.conf.set(f"{PREFIX}{key}", value)
    try:
        spark.range(3).write.format("indextables").save(plain)
        spark.range(3).write.format("indextables").mode("append").save(plain)
        spark.sql(f"CREATE TABLE plain (id BIGINT) USING indextables LOCATION '{plain}'")
        spark.sql("CREATE TABLE made (id BIGINT) USING indextables")
        spark.sql("INSERT INTO plain VALUES (7)")
        spark.sql("UPDATE plain SET id = 8 WHERE id = 7")
        spark.sql("MERGE INTO plain USING (SELECT 8 AS id) s ON plain.id = s.id WHEN MATCHED THEN DELETE")
        spark.sql("MERGE SPLITS plain")
        table = IndexTable.open(plain, spark=spark)
        table.append([{"id": 9}])
        IndexTable.write(saved, [{"id": 1}], spark=spark)
        assert [IndexTable.open(place).fields["id"].type for place in (plain, saved)] == ["long", "long"]
        row(spark).write.format("indextables").mode("append").option("mergeSchema", "true").save(plain)
        row(spark).write.format("indextables").save(logs)
        assert [IndexTable.open(place).fields["message"].type for place in (plain, logs)] == ["text", "text"]
        with pytest.raises(
            SchemaError, match="'message' is indexed as text in this table, and the write asks for string"
        ):
            row(spark).write.format("indextables").mode("append").option("indexing.typemap.message", "string").save(
                logs
            )
        with pytest.raises(SchemaError, match="no column 'mesage' to index; did you mean 'message'"):
            row(spark).write.format("indextables").option("indexing.typemap.mesage", "text").save(str(tmp_path / "new"))
    finally:
        for key in defaults:
            spark.conf.unset(f"{PREFIX}{key}")
        spark.sql("DROP TABLE IF EXISTS plain")
        spark.sql("DROP TABLE IF EXISTS made")


def test_what_a_method_and_an_option_say_has_to_be_the_same(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(2, "a"), (1, "b")], "id int, p string").coalesce(1)
    path = str(tmp_path / "table")
    with pytest.raises(ConfigError, match=r"partitionBy\(...\) says p, and the option partitionBy says id; give one"):
        frame.write.format("indextables").partitionBy("p").option("partitionBy", "id").save(path)
    with pytest.raises(ConfigError, match=r"clusterBy\(...\) says p, and the option optimizeWrite.clusterBy says id"):
        frame.write.format("indextables").clusterBy("p").option("optimizeWrite.clusterBy", "id").save(path)
    stream = spark.readStream.format("rate").load().selectExpr("value AS id", "'x' AS p").writeStream
    with pytest.raises(ConfigError, match=r"partitionBy\(...\) says p"):
        stream.format("indextables").partitionBy("p").option(f"{PREFIX}partitionBy", "id").start(path)
    frame.write.format("indextables").partitionBy("P").option("partitionBy", "p").save(path)
    assert str(IndexTable.open(path).layout) == "p"


def test_a_new_table_keeps_cluster_by(spark: Any, tmp_path: Path) -> None:
    """Later writes sort their splits by the same columns; on a table that is there, it is for one write."""
    path, frame = str(tmp_path / "clustered"), spark.range(20).selectExpr("id * 7 % 20 AS id").coalesce(1)
    frame.write.format("indextables").clusterBy("id").save(path)
    frame.write.format("indextables").mode("append").save(path)
    frame.writeTo("clustered").using("indextables").clusterBy("id").create()
    frame.write.insertInto("clustered")
    spark.sql("CREATE TABLE clustered_too USING indextables CLUSTER BY (id) AS SELECT * FROM clustered")
    spark.sql("CREATE TABLE clustered_new (id BIGINT) USING indextables CLUSTER BY (id)")
    try:
        for table in (
            path,
            *(f"{spark.conf.get('spark.sql.warehouse.dir')}/{n}" for n in ("clustered", "clustered_too")),
        ):
            ids = [found["id"] for found in IndexTable.open(table).scan().to_arrow().to_pylist()]
            assert ids in ([*range(20), *range(20)], sorted([*range(20), *range(20)]))
        for name in ("clustered", "clustered_too", "clustered_new"):
            key = f"{PREFIX}optimizeWrite.clusterBy"
            assert spark.sql(f"SHOW TBLPROPERTIES {name} ('{key}')").first().value == "id"
    finally:
        for name in ("clustered", "clustered_too", "clustered_new"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")
