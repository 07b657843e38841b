"""Frames over Spark Connect: the same rows as without our planning, and only what a query asks for is read."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from indextables.errors import SchemaError, TableNotFoundError, UnsupportedOperatorError, VersionNotFoundError
from tests.tiers import slow_after

LINES = ["disk full", "all is well", "disk replaced", "timeout", None, "disk timeout"]


def rows() -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(12), pa.int64()),
            "day": ["mon", "tue", "wed"] * 4,
            "message": LINES * 2,
            "size": pa.array([None if n == 5 else n * 10 for n in range(12)], pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("connect") / "logs"
    table = IndexTable.create(place, rows().schema, partition_by="day", fields={"message": "text"})
    table.append(rows())
    return str(place)


@pytest.fixture
def logs(spark: Any, path: str) -> Any:
    return spark.read.format("indextables").load(path)


@pytest.fixture
def without_splits(path: str, tmp_path: Path) -> str:
    """A copy of the table that has only its log."""
    import shutil  # noqa: PLC0415

    shutil.copytree(path, tmp_path / "logs")
    for split in (tmp_path / "logs").rglob("*.split"):
        split.unlink()
    return str(tmp_path / "logs")


@pytest.fixture
def view(spark: Any, logs: Any) -> Iterator[str]:
    logs.createOrReplaceTempView("connect_logs")
    yield "connect_logs"
    spark.catalog.dropTempView("connect_logs")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def disk(column: Any = "message") -> Any:
    from indextables.functions import indexquery  # noqa: PLC0415 - it needs PySpark

    return indexquery(column, "disk")


FOUND = [0, 2, 5, 6, 8, 11]


def of_functions() -> Any:
    from pyspark.sql import functions  # noqa: PLC0415

    return functions


SEARCHES: dict[str, Callable[[Any], Any]] = {
    "filter": lambda logs: logs.filter(disk()),
    "text": lambda logs: logs.filter("message INDEXQUERY 'disk'"),
    "function in a text": lambda logs: logs.filter("indexquery(message, 'disk') AND id >= 0"),
    "one of several conditions": lambda logs: logs.filter(disk() & (logs.id < 100)),
    "column of the frame": lambda logs: logs.filter(disk(logs["message"])),
    "under OR": lambda logs: logs.filter(disk() | (logs.id == -1)),
    "negated twice": lambda logs: logs.filter(~(~disk())),
    "after a projection": lambda logs: logs.select("id", "message").filter(disk()),
    "of a column that is left out": lambda logs: logs.filter(disk()).select("id"),
    "of a column under another name": lambda logs: logs.withColumnRenamed("message", "line").filter(disk("line")),
    "of an alias": lambda logs: logs.select("id", logs.message.alias("m")).filter(disk("m")),
    "of a named frame": lambda logs: logs.alias("l").filter(disk("l.message")),
    "twice": lambda logs: logs.filter(disk()).filter(disk()).select("id").distinct(),
    "after another filter, sorted": lambda logs: logs.filter("id < 100").orderBy("id").filter(disk()),
    "with a column added": lambda logs: logs.withColumn("x", logs.id + 1).filter(disk()),
    "in a column": lambda logs: logs.withColumn("hit", disk()).filter("hit"),
    "in a projection": lambda logs: logs.select("id", disk().alias("hit")).filter("hit"),
    "in CASE": lambda logs: logs.filter(of_functions().when(disk(), 1).otherwise(0) == 1),
    "of all columns": lambda logs: logs.filter("* INDEXQUERY 'disk'"),
    "in a join": lambda logs: logs.alias("a").join(logs.select("id"), "id").filter(disk("a.message")),
    "in the condition of a join": lambda logs: logs.alias("a").join(
        logs.selectExpr("id AS other"), (of_functions().col("id") == of_functions().col("other")) & disk("message")
    ),
}


def test_a_score_in_a_statement_stands_in_the_select_that_searches(spark: Any, view: str, logs: Any, path: str) -> None:
    scores = IndexTable.open(path).search("disk", columns=["id"], limit=100)
    expected = dict(zip(scores["id"].to_pylist(), scores["_score"].to_pylist(), strict=True))
    logs.filter(disk()).createOrReplaceTempView("connect_hits")
    for text in (
        f"SELECT id, score() FROM {view} WHERE message INDEXQUERY 'disk' AND score() > 0 ORDER BY score() DESC",
        f"SELECT h.id, score() FROM connect_hits h JOIN {view} l ON h.id = l.id",
    ):
        found = spark.sql(text)
        assert found.columns == ["id", "score()"]
        assert {row.id: row["score()"] for row in found.collect()} == expected
    spark.catalog.dropTempView("connect_hits")
    for text in (
        f"SELECT score() FROM (SELECT * FROM {view} WHERE message INDEXQUERY 'disk')",
        f"SELECT score() FROM {view}",
    ):
        with pytest.raises(UnsupportedOperatorError, match=r"score\(\) cannot be computed: "):
            spark.sql(text).collect()


@pytest.mark.parametrize("query", SEARCHES.values(), ids=SEARCHES.keys())
def test_a_search_may_stand_in_many_places(logs: Any, query: Callable[[Any], Any]) -> None:
    found = query(logs)
    assert ids(found) == FOUND
    assert not [name for name in found.columns if "indexquery" in name]


def test_rows_that_an_outer_join_makes_up_are_found_by_no_search(spark: Any, logs: Any) -> None:
    more = spark.createDataFrame([(0, "x"), (99, "y")], "id bigint, note string")
    joined = more.join(logs, "id", "left")
    assert {(row.id, row.hit) for row in joined.select("id", disk().alias("hit")).collect()} == {(0, True), (99, False)}
    assert ids(joined.filter(~disk())) == [99]


def test_a_search_that_the_server_evaluates_is_logged(logs: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert logs.groupBy("message").count().filter(disk()).count() == 3
    assert "the search disk is evaluated on the values of each row, without the index: between it and" in caplog.text


QUERIES: dict[str, str] = {
    "where": "SELECT id FROM {} WHERE message INDEXQUERY 'disk'",
    "and": "SELECT id FROM {} WHERE message INDEXQUERY 'disk' AND day <> 'never' ORDER BY id LIMIT 100",
    "or": "SELECT id FROM {} WHERE message INDEXQUERY 'disk' OR id = -1",
    "not": "SELECT id FROM {} WHERE NOT (message NOT INDEXQUERY 'disk')",
    "star": "SELECT * FROM {} WHERE message INDEXQUERY 'disk'",
    "qualified star": "SELECT l.* FROM {} AS l WHERE l.message INDEXQUERY 'disk'",
    "selected": "SELECT id FROM (SELECT id, message INDEXQUERY 'disk' AS hit FROM {}) WHERE hit",
    "case": "SELECT id FROM {} WHERE CASE WHEN message INDEXQUERY 'disk' THEN 1 ELSE 0 END = 1",
    "all columns": "SELECT id FROM {} WHERE * INDEXQUERY 'disk'",
    "function": "SELECT id FROM {} l WHERE indexquery(l.message, 'disk')",
    "common table expression": "WITH f AS (SELECT * FROM {} WHERE message INDEXQUERY 'disk') SELECT id FROM f",
    "subquery": "SELECT id FROM {0} WHERE id IN (SELECT id FROM {0} WHERE message INDEXQUERY 'disk')",
    "join": "SELECT a.id FROM {0} a JOIN {0} b ON a.id = b.id WHERE a.message INDEXQUERY 'disk' AND b.id >= 0",
    "left join": "SELECT a.id FROM {0} a LEFT JOIN {0} b ON a.id = b.id + 100 WHERE a.message INDEXQUERY 'disk'",
    "other side": "SELECT a.id FROM {0} a LEFT JOIN {0} b ON a.id = b.id WHERE b.message INDEXQUERY 'disk'",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.parametrize("kind", slow_after(1, ["path", "view"], "searches of views over Spark Connect"))
def test_a_search_in_sql(spark: Any, path: str, view: str, text: str, kind: str) -> None:
    found = spark.sql(text.format(view if kind == "view" else f"indextables.`{path}`"))
    assert ids(found) == FOUND
    assert not [name for name in found.columns if "indexquery" in name]


def test_a_search_in_sql_is_answered_by_the_index_and_one_of_several_columns_too(
    spark: Any, view: str, caplog: pytest.LogCaptureFixture
) -> None:
    fields = "'message:disk AND -day:never'"
    for text in (
        f"SELECT id FROM (SELECT *, indexqueryall({fields}) AS hit FROM {view}) WHERE hit",
        f"SELECT id FROM {view} WHERE id IN (SELECT id FROM {view} WHERE message INDEXQUERY {fields})",
        f"SELECT first(id) AS id FROM {view} GROUP BY id HAVING count_if(message INDEXQUERY {fields}) = 1",
        f"SELECT a.id FROM {view} a LEFT JOIN {view} b ON a.id = b.id AND b.message INDEXQUERY {fields} WHERE b.id >= 0",
    ):
        assert ids(spark.sql(text)) == FOUND
    assert "without the index" not in caplog.text
    searched = spark.sql(f"SELECT id FROM {view} WHERE message INDEXQUERY {fields} AND size >= 0")
    assert "message INDEXQUERY 'message:disk AND -day:never'" in indextables.explain(searched)


def test_a_score_above_windows_and_joins(logs: Any) -> None:
    from pyspark.sql import Window  # noqa: PLC0415

    from indextables.functions import score  # noqa: PLC0415

    hits, functions = logs.filter(disk()), of_functions()
    best = Window.partitionBy("day").orderBy(score().desc())
    for found in (
        hits.withColumn("place", functions.row_number().over(best)).filter("place > 0").orderBy(score()),
        hits.withColumn("n", functions.count("*").over(Window.partitionBy("day"))).select("id", score().alias("s")),
        hits.alias("a").join(logs.alias("b"), col("a.id") == col("b.id")).select("a.id", score().alias("s")),
        hits.randomSplit([1.0], 1)[0].select("id", score().alias("s")).filter("s > 0"),
    ):
        assert ids(found) == FOUND


def test_a_score_and_a_search_above_subqueries(spark: Any, logs: Any) -> None:
    from indextables.functions import score  # noqa: PLC0415

    least = spark.range(3, 9).agg({"id": "min"}).scalar()
    some = logs.filter(disk()).filter(col("id") >= least)
    assert ids(some.select("id", score().alias("s")).filter("s > 0")) == [id_ for id_ in FOUND if id_ >= 3]
    assert ids(logs.filter(col("id") >= least).filter(disk()).select("id")) == [id_ for id_ in FOUND if id_ >= 3]
    own = logs.select(of_functions().max("size")).scalar()  # of a table of ours, too
    assert ids(logs.filter(col("size") == own).select("id", "day")) == [11]


def test_sql_without_a_search(spark: Any, path: str, view: str) -> None:
    assert ids(spark.sql(f"SELECT * FROM {view} WHERE day = 'mon'")) == [0, 3, 6, 9]
    assert spark.sql(f"SELECT count(*) AS n FROM indextables.`{path}` VERSION AS OF 0").collect()[0].n == 0
    assert ids(indextables.sql(spark, f"SELECT id FROM {view} WHERE id > :least", {"least": 9})) == [10, 11]
    both = spark.sql("SELECT id FROM {frame} WHERE day = 'tue'", frame=spark.table(view))
    assert ids(both) == [1, 4, 7, 10]


def test_a_search_of_a_table_that_the_client_does_not_know(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    spark.sql("CREATE OR REPLACE TEMP VIEW other AS SELECT 'a disk' AS message")
    try:
        assert spark.sql("SELECT * FROM other WHERE message INDEXQUERY 'disk'").count() == 1
        assert "by its path, its name or a view that this client has created" in caplog.text
    finally:
        spark.catalog.dropTempView("other")


def test_counts_groups_and_extremes_come_from_the_log(spark: Any, without_splits: str) -> None:
    logs = spark.read.format("indextables").load(without_splits)
    assert logs.count() == 12
    assert logs.filter(logs.day == "mon").count() == 4
    assert logs.filter("day IN ('mon', 'tue')").count() == 8
    groups = logs.groupBy("day").count()
    assert groups.columns == ["day", "count"]
    assert {tuple(row) for row in groups.collect()} == {("mon", 4), ("tue", 4), ("wed", 4)}
    assert {row["count"] for row in groups.filter("day = 'tue'").orderBy("day").collect()} == {4}
    extremes = logs.agg({"id": "max"}).collect()[0]
    assert (extremes.asDict(), logs.selectExpr("day").count()) == ({"max(id)": 11}, 12)


def test_what_the_log_does_not_have_is_computed(logs: Any) -> None:
    functions = of_functions()
    assert logs.select(functions.count("*")).count() == 1  # one row, whatever it says
    assert logs.selectExpr("count(*)").count() == 1
    assert logs.select(functions.explode(functions.array("id", "id"))).count() == 24
    assert logs.filter("size > 50").count() == 6
    assert logs.groupBy("day").agg(functions.sum("size").alias("s")).count() == 3
    assert logs.agg(functions.countDistinct("day")).collect()[0][0] == 3
    assert logs.filter(disk()).count() == 6


def test_only_the_splits_and_columns_of_a_query_are_read(logs: Any) -> None:
    text = indextables.explain(logs.filter("day = 'mon' AND size > 5").select("id"))
    assert "scan of id, day, size where day = 'mon' AND size > 5" in text
    assert "pruned            2" in text
    searched = indextables.explain(logs.filter(disk()).select("id"))
    assert "scan of id where message INDEXQUERY 'disk'" in searched


def test_a_frame_of_a_view_is_read_by_the_index(spark: Any, logs: Any, view: str) -> None:
    logs.filter("size > 5").createOrReplaceTempView("some_logs")
    try:
        for frame in (spark.table(view), spark.read.table(view)):
            assert "scan of id where message INDEXQUERY 'disk'" in indextables.explain(
                frame.filter(disk()).select("id")
            )
            assert ids(frame.filter(disk())) == FOUND
        some = spark.table("some_logs").filter(disk())
        assert "where message INDEXQUERY 'disk' AND size > 5" in indextables.explain(some)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW some_logs AS SELECT id, message FROM {view} WHERE id < 3")
        assert ids(spark.table("some_logs").filter(disk())) == [0, 2]
    finally:
        spark.catalog.dropTempView("some_logs")


def test_columns_that_a_projection_leaves_out_can_be_filtered_and_sorted_by(logs: Any) -> None:
    assert ids(logs.select("id").filter(logs["size"] > 90)) == [10, 11]
    assert [row.id for row in logs.select("id").orderBy(logs["size"].desc()).limit(2).collect()] == [11, 10]


def test_a_frame_shows_one_version(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(3).write.format("indextables").save(path)
    before = spark.read.format("indextables").load(path)
    spark.range(3, 5).write.format("indextables").mode("append").save(path)
    assert ids(before) == [0, 1, 2]
    assert before.count() == 3
    assert ids(spark.read.format("indextables").option("versionAsOf", 0).load(path)) == [0, 1, 2]
    assert spark.read.format("indextables").load(path).count() == 5


def test_a_frame_that_is_cached(logs: Any) -> None:
    cached = logs.filter("id < 6").cache()
    try:
        assert (cached.count(), ids(cached.filter("day = 'mon'")), ids(cached.filter(disk()))) == (6, [0, 3], [0, 2, 5])
    finally:
        cached.unpersist()
    assert cached.count() == 6


def col(name: str) -> Any:
    return of_functions().col(name)


def literal(value: object) -> Any:
    return of_functions().lit(value)


FRAMES: dict[str, Callable[[Any], Any]] = {
    "a column replaced where it stands": lambda t: t.withColumn("id", literal(1)),
    "a union after that": lambda t: t.withColumn("id", literal(1).cast("bigint")).union(t).filter("id > 3"),
    "NOT of coalesce": lambda t: t.filter(~of_functions().coalesce(col("size") == 10, literal(value=False))),
    "a union after a semi join": lambda t: (
        t.join(t.select("size"), "size", "left_semi")
        .union(t.select("size", "id", "day", "message"))
        .filter("size = 50 OR id = 3")
    ),
    "a filter by an aggregate": lambda t: t.groupBy("day").count().filter(of_functions().max("id") > 10),
    "sorted by an aggregate": lambda t: t.groupBy("day").count().sort(of_functions().max("id")),
    "the name of a count": lambda t: t.agg(of_functions().count(literal("x"))),
    "renamed one after the other": lambda t: t.withColumnsRenamed({"id": "x", "x": "y"}),
    "a filter above a limit": lambda t: t.orderBy("id").limit(5).filter("day = 'mon'"),
    "a filter above a window": lambda t: t.selectExpr("*", "row_number() OVER (ORDER BY id) AS n").filter("id > 5"),
    "an anti join": lambda t: t.join(t.filter("size > 30").select("id"), "id", "left_anti").filter("day <> 'tue'"),
    "an outer join": lambda t: (
        t.alias("a")
        .join(t.filter("id > 6").alias("b"), col("a.id") == col("b.id"), "left")
        .filter("b.day IS NULL AND a.day = 'mon'")
    ),
    "distinct columns": lambda t: t.select("day").distinct().filter("day > 'mon'"),
    "another letter case": lambda t: t.groupBy("DAY").agg(of_functions().max("SIZE")),
    "an alias": lambda t: t.select(col("id").alias("size"), col("size").alias("id")).filter("id = 50"),
}


@pytest.fixture(scope="module")
def plain(path: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same rows as Parquet."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    place = tmp_path_factory.mktemp("plain") / "rows.parquet"
    pq.write_table(IndexTable.open(path).scan().to_arrow().sort_by("id"), place)
    return str(place)


def shown(frame: Any) -> tuple[list[str], list[str]]:
    return frame.columns, sorted(map(str, frame.collect()))


@pytest.mark.parametrize("query", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_has_the_rows_of_plain_spark(spark: Any, logs: Any, plain: str, query: Callable[[Any], Any]) -> None:
    assert shown(query(logs)) == shown(query(spark.read.parquet(plain)))
    assert query(logs).count() == query(spark.read.parquet(plain)).count()


TEXTS = {
    "parentheses": "SELECT x.id FROM ({0} x LEFT JOIN few y ON x.id = y.id) WHERE y.id IS NULL",
    "parentheses, other side": "SELECT x.id FROM (few x LEFT JOIN {0} y ON x.id = y.id + 1) WHERE y.id IS NULL",
    "pivot": "SELECT mon, tue FROM {0} PIVOT (count(id) FOR day IN ('mon' AS mon, 'tue' AS tue))",
    "pivot with a filter": "SELECT * FROM {0} PIVOT (count(size) FOR day IN ('mon' AS day)) WHERE day = 1",
    "named columns": "SELECT * FROM {0} AS t(size, id, message, day) WHERE id = 'mon'",
    "pipes": "FROM {0} |> ORDER BY id |> LIMIT 5 |> WHERE day = 'mon'",
    "pipe of an alias": "SELECT size AS id FROM {0} |> WHERE id = 30",
    "full join": "SELECT x.id, y.id FROM {0} x FULL JOIN few y ON x.id = y.id WHERE x.day IS NULL OR x.day = 'mon'",
    "having": "SELECT day, count(*) AS size FROM {0} GROUP BY day HAVING size > 3",
    "correlated": "SELECT id FROM {0} x WHERE EXISTS (SELECT 1 FROM few y WHERE y.id = x.id AND x.day = 'mon')",
    "natural": "SELECT day FROM {0} NATURAL JOIN few WHERE day = 'mon'",
    "identifier": "SELECT id, IDENTIFIER('day') AS d FROM {0} WHERE id = 3",
    "expression of the same name": "WITH few AS (SELECT * FROM {0} WHERE id < 3) SELECT * FROM few WHERE id > 0",
    "literals": "SELECT id FROM {0} WHERE message LIKE 'disk%' AND message <> 'it''s' AND size >= 1.5",
}


@pytest.fixture
def few(spark: Any) -> Iterator[None]:
    spark.range(20).filter("id % 3 = 0").createOrReplaceTempView("few")
    yield
    spark.catalog.dropTempView("few")


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_statement_has_the_rows_of_plain_spark(spark: Any, path: str, view: str, plain: str, text: str) -> None:
    expected = shown(spark.sql(text.format(f"parquet.`{plain}`")))
    assert shown(spark.sql(text.format(view))) == expected
    assert shown(spark.sql(text.format(f"indextables.`{path}`"))) == expected


def test_parts_of_a_random_split_are_disjoint(logs: Any) -> None:
    one, two = logs.randomSplit([0.5, 0.5], seed=1)
    assert sorted([*ids(one.select("id")), *ids(two)]) == list(range(12))


def test_a_view_is_what_it_was_when_it_was_created(spark: Any, logs: Any, view: str) -> None:
    spark.sql(f"SELECT * FROM {view} WHERE id < 3").createOrReplaceTempView("second")
    try:
        spark.range(1).createOrReplaceTempView(view)
        assert ids(spark.sql(f"SELECT id FROM {view}")) == [0]
        assert ids(spark.sql("SELECT id FROM second")) == [0, 1, 2]
        logs.createOrReplaceTempView(view)
        spark.sql(f"-- other rows\nCREATE OR REPLACE TEMP VIEW {view} AS SELECT 7 AS id")
        assert ids(spark.sql(f"SELECT id FROM {view}")) == [7]
    finally:
        spark.catalog.dropTempView("second")


def test_a_condition_is_read_in_the_time_zone_of_the_query(spark: Any, tmp_path: Path) -> None:
    rows = spark.sql(
        "SELECT id, timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, cast(id AS int)) AS ts FROM range(12)"
    )
    rows.write.format("indextables").save(str(tmp_path / "t"))
    frame = spark.read.format("indextables").load(str(tmp_path / "t"))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        assert ids(frame.filter("ts >= TIMESTAMP '2023-12-31 20:00:00'")) == [4, 5, 6, 7, 8, 9, 10, 11]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_errors_are_ours(spark: Any, path: str, tmp_path: Path) -> None:
    reader = spark.read.format("indextables")
    with pytest.raises(TableNotFoundError):
        reader.load(str(tmp_path / "none"))
    with pytest.raises(VersionNotFoundError):
        spark.read.format("indextables").option("versionAsOf", 99).load(path)
    with pytest.raises(SchemaError):
        reader.schema("id string").load(path)


def test_a_read_of_some_columns(spark: Any, path: str) -> None:
    frame = spark.read.format("indextables").schema("id bigint, message string").load(path)
    assert frame.columns == ["id", "message"]
    assert ids(frame.filter(disk())) == FOUND


def test_observed_metrics(logs: Any) -> None:
    from pyspark.sql import Observation  # noqa: PLC0415

    seen = Observation("seen")
    assert len(logs.filter(disk()).observe(seen, of_functions().count("*").alias("n")).filter("id < 3").collect()) == 2
    assert seen.get == {"n": 6}


def test_other_formats_are_as_before(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.mode("overwrite").parquet(str(tmp_path / "p"))
    assert spark.read.parquet(str(tmp_path / "p")).count() == 3
    assert spark.range(5).filter("id > 2").count() == 2
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1
