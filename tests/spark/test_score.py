"""`score()` in frames and SQL: the scores of `IndexTable.search`, or an error that says what to do."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable, enable
from indextables.errors import UnsupportedOperatorError

LINES = [
    "disk timeout",
    "timeout timeout on disk",
    "disk full",
    "timeout",
    "all is well, disk and timeout and more",
    None,
]
SEARCH = "timeout AND disk"


def rows(first: int) -> pa.Table:
    numbers = range(first, first + 30)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "app": [f"app{n % 4}" for n in numbers],
            "message": [LINES[n % 6] if n % 5 else LINES[n % 3] for n in numbers],
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """Splits of several sizes, one of them written under other field rules, with deleted rows in each."""
    table = IndexTable.create(tmp_path_factory.mktemp("score") / "logs", rows(0).schema)
    table.append(rows(0))
    table.set_indexing({"message": "text"})
    table.append(rows(30))
    table.append(rows(60).slice(0, 7))
    table.delete("id IN (1, 31, 61)")
    return table


@pytest.fixture(scope="module")
def logs(spark: Any, table: IndexTable) -> Iterator[Any]:
    frame = spark.read.format("indextables").load(table.path)
    frame.createOrReplaceTempView("scored_logs")
    yield frame
    spark.catalog.dropTempView("scored_logs")


def searched(column: str = "message", query: str = SEARCH) -> Any:
    from indextables.functions import indexquery  # noqa: PLC0415 - it needs PySpark

    return indexquery(column, query)


def score() -> Any:
    from indextables import functions  # noqa: PLC0415

    return functions.score()


def expected(table: IndexTable, query: str = f"message:({SEARCH})", where: str | None = None) -> dict[int, float]:
    found = table.search(query, where=where, columns=["id"], limit=1_000)
    return dict(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))


def scores(frame: Any) -> dict[int, float]:
    """The scores of a frame with the columns `id` and `s`, in its order."""
    found = frame.select("id", "s").collect()
    assert len({row.id for row in found}) == len(found)
    return {row.id: row.s for row in found}


FRAMES: dict[str, Callable[[Any], Any]] = {
    "selected": lambda f: f.filter(searched()).select("id", score().alias("s")),
    "added": lambda f: f.filter(searched()).withColumn("s", score()),
    "of an alias": lambda f: (
        f.select("id", f.message.alias("m")).alias("x").filter(searched("x.m")).withColumn("s", score())
    ),
    "after other nodes": lambda f: (
        f.filter(searched()).orderBy("id").limit(99).drop("message").withColumn("s", score())
    ),
    "of a column of the search": lambda f: f.withColumn("hit", searched()).filter("hit").withColumn("s", score()),
    "twice": lambda f: f.filter(searched()).withColumn("s", score()).withColumn("t", score()).filter("s = t"),
    "in a condition": lambda f: f.filter(searched() & (score() > 0)).withColumn("s", score()).filter(score() >= 0),
    "in a semi join": lambda f: (
        f.join(f.filter(searched()).select("id"), "id", "left_semi").filter(searched()).withColumn("s", score())
    ),
}


@pytest.mark.parametrize("query", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_has_the_scores_of_a_search(table: IndexTable, logs: Any, query: Callable[[Any], Any]) -> None:
    assert scores(query(logs)) == expected(table) != {}


QUERIES = {
    "selected": f"SELECT id, score() AS s FROM scored_logs WHERE message INDEXQUERY '{SEARCH}'",
    "with a table that is not searched": "SELECT l.id, score() AS s FROM scored_logs l LEFT JOIN "
    f"(SELECT DISTINCT app FROM scored_logs) a ON l.app = a.app WHERE l.message INDEXQUERY '{SEARCH}'",
    "of the side that an outer join may leave out": "SELECT r.id, score() AS s FROM scored_logs l LEFT JOIN scored_logs r "
    f"ON l.id = r.id WHERE r.message INDEXQUERY '{SEARCH}'",
    "in a condition of a join": "SELECT l.id, score() AS s FROM scored_logs l JOIN scored_logs r ON l.id = r.id "
    f"AND l.message INDEXQUERY '{SEARCH}'",
    "in a common table expression": f"WITH h AS (SELECT * FROM scored_logs WHERE message INDEXQUERY '{SEARCH}') "
    "SELECT id, score() AS s FROM h WHERE id >= 0",
    "in a union": f"SELECT id, score() AS s FROM (SELECT * FROM scored_logs WHERE message INDEXQUERY '{SEARCH}' AND id < 40 "
    f"UNION ALL SELECT * FROM scored_logs WHERE message INDEXQUERY '{SEARCH}' AND id >= 40)",
    "in a window": "SELECT id, s FROM (SELECT id, score() AS s, row_number() OVER (PARTITION BY id ORDER BY score()) AS n "
    f"FROM scored_logs WHERE message INDEXQUERY '{SEARCH}') WHERE n = 1",
    "in groups": f"SELECT id, max(score()) AS s FROM scored_logs WHERE message INDEXQUERY '{SEARCH}' GROUP BY id",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_a_statement_has_the_scores_of_a_search(table: IndexTable, logs: Any, spark: Any, text: str) -> None:
    assert logs is not None
    assert scores(spark.sql(text)) == expected(table) != {}


def test_the_best_rows_come_first(table: IndexTable, logs: Any, spark: Any) -> None:
    best = sorted(expected(table).values(), reverse=True)
    text = f"SELECT id, score() AS s FROM scored_logs WHERE message INDEXQUERY '{SEARCH}' ORDER BY score() DESC, id LIMIT 5"
    assert list(scores(spark.sql(text)).values()) == best[:5]
    found = logs.filter(searched())
    in_order = found.select("id").orderBy(score().desc()).collect()
    assert [expected(table)[row.id] for row in in_order] == best
    assert list(scores(found.orderBy(score().desc()).withColumn("s", score()).limit(5)).values()) == best[:5]


def test_all_searches_that_every_row_satisfies_count(table: IndexTable, logs: Any) -> None:
    both = logs.filter(searched(query="disk")).filter(searched(query="timeout^3")).filter("id > 5 OR app = 'app1'")
    asked = expected(table, "message:timeout^3", "message INDEXQUERY 'disk' AND (id > 5 OR app = 'app1')")
    assert scores(both.withColumn("s", score())) == pytest.approx(asked)
    first = logs.filter(searched(query="disk")).withColumn("s", score()).filter(searched(query="timeout"))
    of_disk = expected(table, "message:disk")
    assert scores(first) == {row.id: of_disk[row.id] for row in first.select("id").collect()}


def test_a_read_that_searches_has_scores(table: IndexTable, spark: Any) -> None:
    reader = spark.read.format("indextables")
    assert scores(reader.option("query", "disk").load(table.path).withColumn("s", score())) == expected(table, "disk")
    chosen = reader.option("query", "disk").option("where", "message INDEXQUERY 'timeout' AND id < 50").load(table.path)
    asked = expected(table, "disk", "message INDEXQUERY 'timeout' AND id < 50")
    assert scores(chosen.withColumn("s", score())) == asked


def test_a_scan_takes_its_scores_to_spark(table: IndexTable, spark: Any) -> None:
    frame = table.scan(query="disk", where="id < 50", columns=["_score", "id"]).to_spark(spark)
    assert frame.columns == ["id", "_score"]
    assert scores(frame.filter("_score > 0").withColumnRenamed("_score", "s")) == expected(table, "disk", "id < 50")
    assert frame.count() == table.count(query="disk", where="id < 50")


def test_cached_and_counted_frames(table: IndexTable, logs: Any) -> None:
    frame = logs.filter(searched()).withColumn("s", score())
    assert frame.count() == len(expected(table))
    assert frame.schema["s"].dataType.typeName() == "float"
    assert logs.filter(searched()).select("*", score()).columns == [*logs.columns, "score()"]
    frame.cache()
    try:
        assert scores(frame) == expected(table)
    finally:
        frame.unpersist()


REFUSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no search": ("no search that every row", lambda f: f.select(score())),
    "under OR": ("no search that every row", lambda f: f.filter(searched() | (f.id == 1)).select(score())),
    "under NOT": ("no search that every row", lambda f: f.filter(~searched()).select(score())),
    "before the filter": ("no search that every row", lambda f: f.withColumn("s", score()).filter(searched())),
    "on one side of a union": (
        "no search that every row|set op",
        lambda f: f.filter(searched()).union(f).select(score()),
    ),
    "on the other side of a join": (
        "no search that every row",
        lambda f: f.join(f.filter(searched()).select("id"), "id", "left_semi").select(score()),
    ),
    "on no side of a join": ("none of the tables", lambda f: f.join(f.select("id"), "id").select(score())),
    "on both sides of a join": (
        "2 tables of a join",
        lambda f: f.filter(searched()).join(f.filter(searched()).select("id"), "id").select(score()),
    ),
    "after an aggregation": ("[Aa]ggregate", lambda f: f.filter(searched()).groupBy("app").count().select(score())),
    "after DISTINCT": ("[Dd]eduplicate", lambda f: f.filter(searched()).dropDuplicates(["app"]).select(score())),
}


@pytest.mark.parametrize(("reason", "query"), REFUSED.values(), ids=REFUSED.keys())
def test_without_a_search_that_every_row_satisfies_there_is_no_score(
    logs: Any, reason: str, query: Callable[[Any], Any]
) -> None:
    with pytest.raises(
        UnsupportedOperatorError, match=rf"score\(\) cannot be computed: .*({reason}).*use it after filter"
    ):
        query(logs).collect()


def test_rows_of_other_formats_have_no_score(spark: Any) -> None:
    with pytest.raises(Exception, match="indextables.enable"):
        spark.range(3).select(score()).collect()


def test_a_column_of_the_table_that_is_named_score(spark: Any, tmp_path: Any) -> None:
    data = pa.table({"_score": [1.5, 2.5], "message": ["disk", "full disk"]})
    table = IndexTable.create(tmp_path / "t", data.schema, fields={"message": "text"})
    table.append(data)
    assert table.scan(query="disk", columns=["_score"]).to_arrow()["_score"].to_pylist() == [1.5, 2.5]
    frame = spark.read.format("indextables").load(table.path).filter(searched(query="disk"))
    found = {row._score: row.s for row in frame.withColumn("s", score()).collect()}
    assert found[1.5] > found[2.5] > 0


def test_a_function_of_the_user_keeps_its_name(spark: Any, table: IndexTable) -> None:
    own = spark.newSession()
    own.udf.register("score", lambda text: len(text or ""), "int")
    frame = enable(own).read.format("indextables").load(table.path).filter(searched())
    frame.createOrReplaceTempView("own_logs")
    assert own.sql("SELECT score('disk')").first()[0] == 4
    assert scores(frame.withColumn("s", score())) == expected(table)
