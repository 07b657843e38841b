"""A search finds the same rows wherever it stands in a program: by the index of a table, or evaluated by Spark.

Over Spark Connect too.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from tests.tiers import slow_after

LINES = ["disk full", "all well", "Disk-less node", None, "the DISK is slow", "disks"]
LEVELS = ["ERROR", "INFO", "a disk", "ERROR", None, "INFO"]
FOUND = [0, 2, 4]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("positions") / "logs"
    table = IndexTable.create(
        place,
        pa.schema({"id": pa.int64(), "message": pa.string(), "level": pa.string(), "size": pa.float64()}),
        fields={"message": "text"},
    )
    for first in (0, 3):
        ids = range(first, first + 3)
        table.append([{"id": i, "message": LINES[i], "level": LEVELS[i], "size": float(i)} for i in ids])
    return str(place)


@pytest.fixture
def logs(spark: Any, path: str) -> Iterator[Any]:
    frame = spark.read.format("indextables").load(path)
    frame.createOrReplaceTempView("ours")
    yield frame
    spark.catalog.dropTempView("ours")


@pytest.fixture
def plain(spark: Any) -> Iterator[Any]:
    """The same rows, of no table of ours."""
    rows = [(i, LINES[i], LEVELS[i], float(i)) for i in range(len(LINES))]
    frame = spark.createDataFrame(rows, "id long, message string, level string, size double")
    frame.createOrReplaceTempView("plain")
    yield frame
    spark.catalog.dropTempView("plain")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def of_functions() -> Any:
    from pyspark.sql import functions  # noqa: PLC0415 - the tests without a JVM run without PySpark

    return functions


def disk(column: Any = "message") -> Any:
    from indextables.functions import indexquery  # noqa: PLC0415

    return indexquery(column, "disk")


def first_ids() -> Any:
    return of_functions().first("id").alias("id")


FRAMES: dict[str, Callable[[Any], Any]] = {
    "filter": lambda frame: frame.filter(disk()),
    "text": lambda frame: frame.filter("message INDEXQUERY 'disk'"),
    "where": lambda frame: frame.where("id >= 0 AND message textsearch 'disk'"),
    "selectExpr": lambda frame: frame.selectExpr("id", "message INDEXQUERY 'disk' AS hit").filter("hit"),
    "expr": lambda frame: frame.filter(of_functions().expr("NOT (message NOT INDEXQUERY 'disk')")),
    "computed": lambda frame: frame.withColumn("upper", of_functions().upper("message")).filter(disk("upper")),
    "an expression": lambda frame: frame.filter(disk(of_functions().concat("message", of_functions().lit(" x")))),
    "after distinct": lambda frame: frame.select("id", "message").distinct().filter(disk()),
    "after dropDuplicates": lambda frame: frame.dropDuplicates(["id"]).filter(disk()),
    "after groupBy": lambda frame: frame.groupBy("message").agg(first_ids()).filter(disk()),
    "after union": lambda frame: frame.limit(3).union(frame.filter("id > 2")).filter(disk()),
    "after a window": lambda frame: frame.selectExpr("*", "count(*) OVER () AS n").filter(disk()),
    "after explode": lambda frame: frame.selectExpr("id", "message", "explode(array(1)) AS x").filter(disk()),
    "after limit": lambda frame: frame.orderBy("id").limit(100).filter(disk()),
    "after na.fill": lambda frame: frame.na.fill("none").filter(disk()),
    "in CASE": lambda frame: frame.filter(of_functions().when(disk(), 1).otherwise(0) == 1),
    "in a column": lambda frame: frame.withColumn("hit", disk()).filter("hit"),
    "in a group": lambda frame: frame.groupBy(disk().alias("hit"), "id").count().filter("hit"),
    "in an aggregate": lambda frame: frame.groupBy("id").agg(of_functions().max(disk()).alias("m")).filter("m"),
    "in a sort": lambda frame: frame.orderBy(~disk(), "id").limit(3),
    "under OR": lambda frame: frame.filter(disk() | (frame.id == -1)),
    "twice": lambda frame: frame.filter(disk()).groupBy("message").agg(first_ids()).filter(disk()),
    "in a join": lambda frame: frame.join(frame.selectExpr("id AS other"), of_functions().expr("id = other") & disk()),
    "above a join": lambda frame: frame.join(frame.select("id"), "id").filter(disk()),
    "by a condition of sets": lambda frame: frame.filter(disk()).intersect(frame),
    "cached": lambda frame: frame.cache().filter(disk()),
    "under NOT": lambda frame: frame.filter(~of_functions().coalesce(~disk(), of_functions().lit(True))),
    "after drop": lambda frame: frame.drop("size").withColumnRenamed("message", "m").filter(disk("m")),
    "after a sample": lambda frame: frame.sample(1.0, 1).filter(disk()),
    "after unpivot": lambda frame: frame.unpivot(["id"], ["message"], "name", "text").filter(disk("text")),
    "in a pivot": lambda frame: (
        frame.groupBy("id").pivot("size", [0.0]).agg(of_functions().max(disk())).join(frame.filter(disk()), "id")
    ),
    "in a rollup": lambda frame: frame.rollup("id", "message").count().filter(disk()).filter("id IS NOT NULL"),
    "above an outer join": lambda frame: (
        frame.select("id").join(frame.select("id", "message"), "id", "left").filter(disk())
    ),
    "in an outer join": lambda frame: frame.join(
        frame.selectExpr("id AS other", "message AS m"), of_functions().expr("id = other") & disk("m"), "left"
    ).filter("other IS NOT NULL"),
    "in an anti join": lambda frame: frame.join(
        frame.selectExpr("id AS other", "message AS m"), of_functions().expr("id = other") & ~disk("m"), "anti"
    ).filter("message IS NOT NULL"),
    "in a function of higher order": lambda frame: frame.withColumn("hits", of_functions().array(disk())).filter(
        "exists(hits, hit -> hit)"
    ),
}


@pytest.mark.parametrize("query", FRAMES.values(), ids=FRAMES.keys())
def test_in_a_frame(logs: Any, query: Callable[[Any], Any]) -> None:
    assert ids(query(logs)) == FOUND


@pytest.mark.parametrize("query", slow_after(6, FRAMES.values(), "searches of rows that are not a table's"))
def test_in_a_frame_of_other_rows(plain: Any, query: Callable[[Any], Any]) -> None:
    assert ids(query(plain)) == FOUND


TEXTS: dict[str, str] = {
    "where": "SELECT id FROM {} WHERE message INDEXQUERY 'disk'",
    "parameter": "SELECT id FROM {} WHERE message INDEXQUERY :query",
    "having": "SELECT first(id) AS id FROM {} GROUP BY message HAVING message INDEXQUERY 'disk'",
    "distinct": "SELECT id FROM (SELECT DISTINCT id, message AS m FROM {}) WHERE m INDEXQUERY 'disk'",
    "computed": "SELECT id FROM (SELECT id, upper(message) AS m FROM {}) WHERE m INDEXQUERY 'disk'",
    "an expression": "SELECT id FROM {} WHERE upper(message) INDEXQUERY 'disk'",
    "aggregate filter": "SELECT id FROM {} GROUP BY id HAVING count(*) FILTER (WHERE message INDEXQUERY 'disk') > 0",
    "case": "SELECT id FROM {} WHERE CASE WHEN message INDEXQUERY 'disk' THEN true ELSE false END",
    "window": "SELECT id FROM (SELECT id, max(message INDEXQUERY 'disk') OVER (PARTITION BY id) AS m FROM {}) WHERE m",
    "lateral": "SELECT o.id FROM {} o, LATERAL (SELECT o.message INDEXQUERY 'disk' AS hit) WHERE hit",
    "union": "SELECT id FROM (TABLE {0} UNION TABLE {0}) WHERE message INDEXQUERY 'disk'",
    "intersect": "SELECT id FROM {0} INTERSECT SELECT id FROM {0} WHERE message INDEXQUERY 'disk'",
    "in": "SELECT id FROM {0} WHERE id IN (SELECT id FROM {0} WHERE message INDEXQUERY 'disk')",
    "exists": "SELECT id FROM {0} o WHERE EXISTS (SELECT 1 FROM {0} i WHERE i.id = o.id AND i.message INDEXQUERY 'disk')",
    "join": "SELECT a.id FROM {0} a JOIN {0} b ON a.id = b.id AND b.message INDEXQUERY 'disk'",
    "left join": "SELECT a.id FROM {0} a LEFT JOIN {0} b ON a.id = b.id WHERE b.message INDEXQUERY 'disk'",
    "pipe": "FROM {} |> WHERE message INDEXQUERY 'disk' |> SELECT id",
    "cte": "WITH c AS (SELECT id, message FROM {} ORDER BY id LIMIT 50) SELECT id FROM c WHERE message INDEXQUERY 'disk'",
    "query of a column": "SELECT id FROM (SELECT *, 'disk' AS q FROM {}) WHERE indexquery(message, q)",
    "execute immediate": "EXECUTE IMMEDIATE \"SELECT id FROM {} WHERE message INDEXQUERY 'disk'\"",
    "not in": "SELECT id FROM {0} WHERE id NOT IN (SELECT id FROM {0} WHERE NOT coalesce(message INDEXQUERY 'disk', false))",
    "scalar subquery": "SELECT id FROM {0} o WHERE (SELECT max(message INDEXQUERY 'disk') FROM {0} i WHERE i.id = o.id)",
    "order by": "SELECT id FROM {} ORDER BY message INDEXQUERY 'disk' DESC NULLS LAST, id LIMIT 3",
    "group by": "SELECT id FROM {} GROUP BY id, message INDEXQUERY 'disk' HAVING message INDEXQUERY 'disk'",
    "outer join": "SELECT b.id FROM {0} a LEFT JOIN {0} b ON a.id = b.id AND b.message INDEXQUERY 'disk' WHERE b.id >= 0",
    "beside a star": "SELECT id FROM (SELECT *, message INDEXQUERY 'disk' AS hit FROM {} o) WHERE hit",
    "in groups": "SELECT first(id) AS id FROM {} GROUP BY message, id, size HAVING count_if(message INDEXQUERY 'disk') > 0",
    "kept side": "SELECT b.id FROM {0} a LEFT JOIN {0} b ON a.id = b.id AND a.message INDEXQUERY 'disk' WHERE b.id >= 0",
    "anti join": "SELECT id FROM {0} a ANTI JOIN {0} b ON a.id = b.id AND NOT b.message INDEXQUERY 'disk' WHERE size <> 3",
    "full join": "SELECT a.id FROM {0} a FULL JOIN {0} b ON a.id = b.id + 1 WHERE a.message INDEXQUERY 'disk'",
    "several terms": "SELECT id FROM {} o WHERE (message INDEXQUERY 'disk' OR id < 0) AND NOT o.message INDEXQUERY 'well'",
    "unqualified": "SELECT id FROM {0} WHERE id IN (SELECT id FROM {0} WHERE message INDEXQUERY 'disk') AND size >= 0",
    "values": "SELECT * FROM VALUES (0, 'a disk'), (1, 'x'), (2, 'disk'), (4, 'DISK') t(id, m) WHERE m INDEXQUERY 'disk'",
}


def found_by(spark: Any, text: str) -> list[int]:
    return ids(spark.sql(text, {"query": "disk"} if ":query" in text else None))


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_in_a_statement(spark: Any, text: str) -> None:
    assert found_by(spark, text.format("ours")) == FOUND


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("text", slow_after(6, TEXTS.values(), "searches of rows that are not a table's"))
def test_in_a_statement_over_other_rows(spark: Any, text: str) -> None:
    assert found_by(spark, text.format("plain")) == FOUND


def test_the_field_rule_of_a_column_goes_with_the_search(spark: Any, logs: Any) -> None:
    """A column of exact values finds whole values, also where Spark evaluates the search."""
    exact = "SELECT level FROM ours GROUP BY level HAVING level INDEXQUERY '{}'"
    assert [row.level for row in spark.sql(exact.format('"a disk"')).collect()] == ["a disk"]
    assert spark.sql(exact.format("disk")).collect() == []
    assert logs.select("level").distinct().filter(disk("level")).collect() == []


def test_a_search_without_the_index_is_logged_once_and_explained(logs: Any, caplog: pytest.LogCaptureFixture) -> None:
    found = logs.groupBy("message").agg(first_ids()).filter(disk())
    for frame, count in ((found, 1), (logs.filter(disk()), 0)):
        caplog.clear()
        assert ids(frame) == FOUND
        logged = [record.getMessage() for record in caplog.records if "without the index" in record.getMessage()]
        explained = [line for line in indextables.explain(frame).splitlines() if "without the index" in line]
        assert (len(logged), logged) == (count, explained)
        assert all(line.startswith("the search disk is evaluated on the values of each row") for line in logged)


def test_in_writes_to_other_formats(spark: Any, logs: Any, tmp_path: Path) -> None:
    hits = logs.filter(disk())
    hits.write.option("compression", "gzip").partitionBy("level").parquet(str(tmp_path / "parquet"))
    assert ids(spark.read.parquet(str(tmp_path / "parquet"))) == FOUND
    hits.write.format("json").mode("overwrite").save(str(tmp_path / "json"))
    assert ids(spark.read.json(str(tmp_path / "json"))) == FOUND
    hits.writeTo("hits_of_a_search").using("parquet").tableProperty("k", "v").create()
    try:
        hits.write.insertInto("hits_of_a_search", overwrite=True)
        assert ids(spark.table("hits_of_a_search")) == FOUND
    finally:
        spark.sql("DROP TABLE hits_of_a_search")


def test_in_a_frame_that_is_written_as_a_table_of_ours(spark: Any, logs: Any, tmp_path: Path) -> None:
    hits = logs.filter(disk())
    hits.write.format("indextables").save(str(tmp_path / "saved"))
    assert ids(spark.read.format("indextables").load(str(tmp_path / "saved"))) == FOUND
    spark.sql(f"CREATE TABLE found_by_search USING indextables LOCATION '{tmp_path / 'saved'}'")
    try:
        hits.write.mode("append").saveAsTable("found_by_search")
        assert ids(spark.table("found_by_search")) == sorted([*FOUND, *FOUND])
    finally:
        spark.sql("DROP TABLE found_by_search")


def test_a_stream_of_other_rows_can_be_searched(spark: Any, plain: Any, tmp_path: Path) -> None:
    plain.write.json(str(tmp_path / "lines"))
    lines = spark.readStream.schema(plain.schema).json(str(tmp_path / "lines"))
    query = lines.filter(disk()).writeStream.format("json").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "hits")).awaitTermination()
    assert ids(spark.read.schema(plain.schema).json(str(tmp_path / "hits"))) == FOUND


def test_in_what_spark_runs_by_itself(logs: Any) -> None:
    hits = logs.filter(disk())
    assert hits.approxQuantile("size", [0.0, 1.0], 0.0) == [0.0, 4.0]
    assert hits.stat.corr("id", "size") == pytest.approx(1)
    assert sorted(row[0] for row in hits.crosstab("id", "level").collect()) == ["0", "2", "4"]
    assert [row.id for row in hits.toLocalIterator()] == FOUND
    assert hits.describe("id").filter("summary = 'count'").first().id == "3"


def test_a_stream_of_a_table_finds_what_a_batch_finds(spark: Any, path: str, tmp_path: Path) -> None:
    """By the field rules of its columns: `level` has exact values."""
    searches: dict[str, Callable[[Any], Any]] = {
        "words": lambda frame: frame.filter(disk()),
        "words as text": lambda frame: frame.filter("message INDEXQUERY 'disk'"),
        "no exact value": lambda frame: frame.filter(disk("level")),
        "an exact value": lambda frame: frame.filter("level INDEXQUERY '\"a disk\"'"),
        "renamed": lambda frame: frame.withColumnRenamed("level", "l").filter("l INDEXQUERY 'ERROR'"),
        "computed": lambda frame: frame.filter(disk(of_functions().lower("message"))),
    }
    expected = {"words": FOUND, "words as text": FOUND, "no exact value": [], "an exact value": [2], "renamed": [0, 3]}
    for number, (name, search) in enumerate(searches.items()):
        place = str(tmp_path / str(number))
        found = search(spark.readStream.format("indextables").load(path)).select("id")
        query = found.writeStream.format("json").trigger(availableNow=True).option("checkpointLocation", f"{place}.c")
        query.start(place).awaitTermination()
        assert ids(spark.read.schema("id long").json(place)) == expected.get(name, FOUND), name
        assert ids(search(spark.read.format("indextables").load(path))) == expected.get(name, FOUND), name


PARAMETERS: dict[str, tuple[str, Any, list[int]]] = {
    "words": ("SELECT id FROM {} WHERE message INDEXQUERY :q", {"q": "disk"}, FOUND),
    "no exact value": ("SELECT id FROM {} WHERE level INDEXQUERY :q", {"q": "disk"}, []),
    "an exact value": ("SELECT id FROM {} WHERE level TEXTSEARCH :q AND id > :i", {"q": '"a disk"', "i": 0}, [2]),
    "positional": ("SELECT id FROM {} WHERE id > ? AND level INDEXQUERY ? AND id < ?", [0, '"a disk"', 4], [2]),
    "a function": ("SELECT id FROM {} WHERE indexquery(message, :q)", {"q": "disk"}, FOUND),
    "all columns": ("SELECT id FROM {} WHERE indexqueryall(:q)", {"q": "message:disk"}, FOUND),
    "elsewhere too": ("SELECT id FROM {} WHERE message INDEXQUERY :q AND :q = 'disk'", {"q": "disk"}, FOUND),
    "with a quote": ("SELECT id FROM {} WHERE message INDEXQUERY :q", {"q": "it's OR disk"}, FOUND),
}


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_query_may_be_a_parameter(spark: Any, path: str, name: str) -> None:
    text, values, expected = PARAMETERS[name]
    for table in ("ours", f"indextables.`{path}`"):
        frame = spark.sql(text.format(table), values)
        assert ids(frame) == expected
        assert "without the index" not in indextables.explain(frame)
