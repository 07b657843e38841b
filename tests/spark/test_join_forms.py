"""Every form of a join with a few rows of a dimension prunes the table of facts, and no form changes a row."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import indextables
from indextables import IndexTable
from tests.spark.join_queries import VIEWS, join_query
from tests.tiers import tries

KEYS = 10
FACTS = f"SELECT id, CAST(id % {KEYS} AS INT) AS k, id * 2 AS amount FROM range(0, 100, 1, 1)"
DIMENSION = f"""SELECT CAST(id AS INT) AS k, if(id % 5 = 0, 'x', concat('n', id % 5)) AS name, CAST(id % 3 AS INT) AS zip
FROM range(0, {KEYS}, 1, 1)"""


@pytest.fixture(scope="module")
def frames(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Ten partitions, of which only the two with the keys 0 and 5 have files; the same facts as Parquet."""
    root = tmp_path_factory.mktemp("forms")
    spark.sql(FACTS).write.format("indextables").partitionBy("k").save(str(root / "facts"))
    spark.sql(FACTS).write.parquet(str(root / "plain"))
    spark.sql(DIMENSION).write.parquet(str(root / "dimension"))
    spark.read.parquet(str(root / "dimension")).createOrReplaceTempView("dim")
    for split in IndexTable.open(str(root / "facts")).splits().to_pylist():
        if split["partition"]["k"] not in {"0", "5", 0, 5}:
            Path(root / "facts" / split["path"]).unlink()
    return spark.read.format("indextables").load(str(root / "facts")), spark.read.parquet(str(root / "plain"))


def in_sql(query: str) -> Callable[[Any], Any]:
    return lambda facts: facts.sparkSession.sql(query, facts=facts)


def dimension(facts: Any) -> Any:
    return facts.sparkSession.table("dim")


def local(facts: Any) -> Any:
    return facts.sparkSession.createDataFrame([(0, "a"), (5, "b"), (5, "c")], "k int, label string")


FORMS: dict[str, Callable[[Any], Any]] = {
    "JOIN, WHERE": in_sql("SELECT * FROM {facts} f JOIN dim ON f.k = dim.k WHERE dim.name = 'x'"),
    "JOIN, ON": in_sql("SELECT * FROM {facts} f JOIN dim ON f.k = dim.k AND dim.name = 'x'"),
    "comma": in_sql("SELECT * FROM {facts} f, dim WHERE f.k = dim.k AND dim.name = 'x'"),
    "comma, dimension first": in_sql("SELECT * FROM dim, {facts} f WHERE f.k = dim.k AND dim.name = 'x'"),
    "a function of a column": in_sql("SELECT * FROM {facts} f JOIN dim ON f.k = dim.k WHERE upper(dim.name) = 'X'"),
    "LEFT JOIN, WHERE": in_sql("SELECT * FROM {facts} f LEFT JOIN dim ON f.k = dim.k WHERE dim.name = 'x'"),
    "under other names": in_sql(
        "SELECT * FROM (SELECT f.*, lower(d.name) AS nick, d.name AS own FROM {facts} f JOIN dim d ON f.k = d.k) "
        "WHERE upper(own) = 'X'"
    ),
    "join, filter": lambda facts: facts.join(dimension(facts), "k").filter("name = 'x'"),
    "join, filter by the other frame": lambda facts: facts.join(d := dimension(facts), "k").filter(d.name == "x"),
    "filter, join": lambda facts: facts.join(dimension(facts).filter("name = 'x'"), "k"),
    "IN": in_sql("SELECT * FROM {facts} f WHERE f.k IN (SELECT k FROM dim WHERE name = 'x')"),
    "EXISTS": in_sql("SELECT * FROM {facts} f WHERE EXISTS (SELECT 1 FROM dim WHERE dim.k = f.k AND dim.name = 'x')"),
    "EXISTS, all columns": in_sql(
        "SELECT * FROM {facts} f WHERE f.id > 0 AND EXISTS "
        "(SELECT * FROM dim d WHERE 'x' = d.name AND f.k = d.k AND f.id > d.zip)"
    ),
    "a wider key": in_sql(
        "SELECT f.* FROM {facts} f, (SELECT CAST(k AS BIGINT) AS k FROM dim WHERE name = 'x') d WHERE f.k = d.k"
    ),
    "a narrower key": in_sql(
        "SELECT f.* FROM {facts} f, (SELECT CAST(k AS TINYINT) AS k FROM dim WHERE name = 'x') d WHERE f.k = d.k"
    ),
    "IN, a wider key": in_sql("SELECT * FROM {facts} WHERE k IN (SELECT CAST(k AS BIGINT) FROM dim WHERE name = 'x')"),
    "a local frame of Python's integers": lambda facts: facts.join(
        facts.sparkSession.createDataFrame([(0, "a"), (5, "b"), (2**40, "c"), (None, "d")], ["k", "label"]), "k"
    ),
    "a local frame": lambda facts: facts.join(local(facts), "k"),
    "a local frame, hinted": lambda facts: facts.hint("shuffle_hash").join(local(facts).hint("broadcast"), "k"),
    "a local frame of pandas": lambda facts: facts.join(facts.sparkSession.createDataFrame(local(facts).toPandas()), "k"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_join_reads_the_splits_of_its_keys(frames: tuple[Any, Any], form: str) -> None:
    ours, plain = map(FORMS[form], frames)
    (pruned,) = [line for line in indextables.explain(ours).splitlines() if line.startswith("  pruned")]
    assert pruned.split()[1] == "8"
    rows = sorted(ours.collect(), key=str)
    assert rows == sorted(plain.collect(), key=str)
    assert ours.count() == len(rows) > 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {facts} f WHERE f.k NOT IN (SELECT k FROM dim WHERE name = 'x')",
        "SELECT * FROM {facts} f WHERE NOT EXISTS (SELECT 1 FROM dim WHERE dim.k = f.k AND dim.name = 'x')",
        "SELECT * FROM {facts} f WHERE f.id = 3 OR f.k IN (SELECT k FROM dim WHERE name = 'x')",
        "SELECT * FROM {facts} f WHERE rand(7) < 2 AND f.k IN (SELECT k FROM dim WHERE name = 'x')",
        "SELECT * FROM {facts} f LEFT JOIN dim ON f.k = dim.k AND dim.name = 'x'",
        "SELECT * FROM {facts} f FULL JOIN dim ON f.k = dim.k WHERE dim.name IS NULL OR dim.name = 'x'",
    ],
)
def test_a_table_all_of_whose_rows_may_be_seen_is_not_pruned(frames: tuple[Any, Any], query: str) -> None:
    assert "pruned            0" in indextables.explain(in_sql(query)(frames[0]))


def test_a_large_local_collection_is_left_to_spark(spark: Any, frames: tuple[Any, Any]) -> None:
    """A function of Python may make many rows of a small collection."""
    rows = spark.sparkContext.parallelize([0, 5], 2).flatMap(lambda k: [(k, n) for n in range(6_000)])
    joined = frames[0].join(rows.toDF("k int, n int"), "k")
    assert "pruned            0" in indextables.explain(joined)


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Views over tables, and the same over Parquet: with null keys, duplicates and no rows."""
    root = tmp_path_factory.mktemp("views")
    for name, (query, partition_by) in VIEWS.items():
        spark.sql(query).write.parquet(str(root / name))
        writer = spark.sql(query).write.format("indextables")
        (writer.partitionBy(partition_by) if partition_by else writer).save(str(root / f"{name}_table"))
        spark.read.parquet(str(root / name)).createOrReplaceTempView(f"plain_{name}")
        spark.read.format("indextables").load(str(root / f"{name}_table")).createOrReplaceTempView(f"our_{name}")
    for prefix in ("plain", "our"):
        spark.sql(
            f"CREATE OR REPLACE TEMP VIEW {prefix}_named AS SELECT f.id, f.k AS key, f.j, d.name AS nick, d.zip "
            f"FROM {prefix}_facts f LEFT JOIN plain_dims d ON f.k = d.k"
        )


QUERIES = [
    "SELECT f.*, d.* FROM {0}_facts f, {0}_dims d WHERE f.k = d.k AND d.name = 'x'",
    "SELECT * FROM {0}_facts f WHERE f.k NOT IN (SELECT d.k FROM {0}_dims d WHERE d.name = 'x')",
    "SELECT * FROM {0}_facts f WHERE f.k NOT IN (SELECT d.k FROM {0}_dims d WHERE d.k IS NULL)",
    "SELECT * FROM {0}_facts f WHERE f.k NOT IN (SELECT k FROM {0}_none) AND f.j IN (SELECT j FROM {0}_dims)",
    "SELECT * FROM {0}_facts f WHERE (f.k, f.j) IN (SELECT d.k, d.j FROM {0}_dims d WHERE upper(d.name) = 'X')",
    "SELECT * FROM {0}_facts f WHERE NOT EXISTS (SELECT 1 FROM {0}_dims d WHERE d.k = f.k AND d.name = 'x')",
    "SELECT * FROM {0}_facts f WHERE EXISTS (SELECT 1 FROM {0}_none n WHERE n.k = f.k) OR f.id = 4",
    "SELECT f.* FROM {0}_facts f JOIN {0}_none n ON f.k = n.k",
    "SELECT * FROM {0}_dims d WHERE d.name = 'x' AND EXISTS (SELECT 1 FROM {0}_facts f WHERE f.k = d.k AND f.id % 2 = 1)",
    "SELECT a.id, b.id FROM {0}_facts a, {0}_facts b WHERE a.k = b.k AND a.j = 2 AND b.amount < 40",
    "SELECT * FROM {0}_facts f WHERE f.k IN (SELECT g.k FROM {0}_facts g WHERE g.id < 3) AND f.k < 2",
    "SELECT * FROM {0}_facts f FULL JOIN {0}_dims d ON f.k = d.k WHERE d.name = 'x' AND f.id > 5",
    "SELECT * FROM {0}_facts f LEFT JOIN {0}_dims d ON f.k = d.k AND d.name = 'x' WHERE d.zip IS NULL",
    "SELECT * FROM {0}_named WHERE upper(nick) = 'X' AND j < 5",
    "SELECT key, count(*), max(zip) FROM {0}_named WHERE nick = 'x' GROUP BY key HAVING key IN (SELECT k FROM {0}_dims)",
    "SELECT * FROM {0}_facts WHERE k IN (SELECT d.k FROM {0}_dims d WHERE zip IN (SELECT zip FROM {0}_dims WHERE j = 2))",
    "SELECT * FROM {0}_facts f WHERE f.k IN (SELECT max(d.k) FROM {0}_dims d GROUP BY d.name)",
    "SELECT * FROM {0}_facts f, {0}_dims d WHERE f.k = d.k AND d.name = 'x' AND d.zip >= (SELECT min(zip) FROM {0}_dims)",
    """WITH few AS (SELECT * FROM {0}_dims WHERE name = 'x') SELECT f.id, few.zip FROM {0}_facts f JOIN few ON f.k = few.k
    UNION ALL SELECT f.id, length(few.name) FROM {0}_facts f, few WHERE f.k = few.k AND few.zip < 5""",
    "SELECT id, k IN (SELECT k FROM {0}_dims WHERE name = 'x') FROM {0}_facts",
]


@pytest.mark.usefixtures("views")
def test_no_row_changes(spark: Any) -> None:
    for query in QUERIES:
        ours, plain = (sorted(map(str, spark.sql(query.format(prefix)).collect())) for prefix in ("our", "plain"))
        assert ours == plain, query


@pytest.mark.usefixtures("views")
def test_nor_in_random_queries(spark: Any) -> None:
    for seed in range(tries(3, 150)):
        query = join_query(Random(seed))
        ours, plain = (spark.sql(query.format(prefix)) for prefix in ("our", "plain"))
        rows = sorted(map(str, plain.collect()))
        assert sorted(map(str, ours.collect())) == rows, query
        assert ours.count() == len(rows), query
