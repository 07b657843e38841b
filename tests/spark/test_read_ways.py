"""The same query, whoever reads: Spark as Parquet, executors, the driver with indexes at hand; and plain Parquet beside."""

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from tests.spark.samples import rows
from tests.spark.test_read_differential import condition
from tests.tiers import slow_after, tries

WAYS: dict[str, dict[str, dict[str, str]]] = {  # by the session's time zone
    "UTC": {"as_it_comes": {}, "executors": {"where": "id IS NULL OR id IS NOT NULL", "read.driverRows": "0"}},
    "America/Los_Angeles": {"driver": {}, "no_driver": {"read.driverRows": "0"}},
}
SEARCH = "indexquery({0}.message, 'timeout')"
LIKE = "coalesce({0}.message LIKE '%timeout%', false)"  # what the search finds among these rows
QUERIES = [
    "SELECT * FROM {0} WHERE id = 7",
    "SELECT * FROM {0} WHERE id = 333",
    "SELECT * FROM {0} WHERE id IN (3, 333, 334) AND ({1} OR id > 300)",
    "SELECT * FROM {0} WHERE {s}",
    "SELECT count(*) FROM {0} WHERE {s}",
    "SELECT id FROM {0} WHERE {s} OR NOT {s}",  # to Spark's optimizer this is true, and needs no search
    "SELECT count(1) AS n, count(*) AS m FROM {0} WHERE {s} AND {s} LIMIT 1",
    "SELECT count(*), max(id) FROM {0} WHERE {s} LIMIT 0",
    "SELECT level, count(*) FROM {0} WHERE {s} OR {1} GROUP BY level",
    "SELECT id, {s} AS c, price FROM {0} WHERE {1}",
    "SELECT id FROM {0} WHERE NOT ({s}) AND ({1})",
    "WITH t AS (SELECT * FROM {0} WHERE {1}) SELECT a.id, b.ratio FROM t a JOIN t b ON a.id = b.number",
    "SELECT a.id, b.id FROM {0} a JOIN {0} b ON a.price = b.price AND a.price > 0 WHERE a.id < 20",
    "SELECT id FROM {0} WHERE price IN (SELECT CAST(ratio AS DOUBLE) FROM {0} WHERE {1})",
    "SELECT id FROM {0} WHERE CASE WHEN {1} THEN price > 0 ELSE coalesce(ratio, -1) > 1 END",
    "SELECT id, rank() OVER (PARTITION BY level ORDER BY price, id) AS r FROM {0} WHERE {1}",
    "SELECT * FROM (SELECT id, max(price) OVER (PARTITION BY flag) AS m FROM {0}) WHERE m > 1",
    "SELECT flag, max(price) AS m FROM {0} GROUP BY flag HAVING m > 1",
    "SELECT id FROM {0} WHERE id = 7 UNION ALL SELECT number FROM {0} WHERE {1}",
    "SELECT id FROM {0} a WHERE EXISTS (SELECT 1 FROM {0} b WHERE b.number = a.id AND b.price > 0)",
    "SELECT id FROM {0} WHERE number = (SELECT max(number) FROM {0} b WHERE {1})",
    "SELECT id, (SELECT count(*) FROM {0} b WHERE b.number = a.id AND b.price > 0) AS n FROM {0} a WHERE id < 50",
    "SELECT id FROM {0} WHERE id NOT IN (SELECT number FROM {0} WHERE {s} AND number IS NOT NULL)",
    "SELECT id FROM {0} WHERE price NOT IN (SELECT price FROM {0} WHERE {1}) OR price > (SELECT avg(price) FROM {0})",
    "SELECT count(*), count(price), min(wall), max(cost), max(id) FROM {0} WHERE {1}",
    "SELECT later, wider, count(*) FROM {0} WHERE wider >= 2 OR later IS NULL GROUP BY later, wider",
    "SELECT id FROM {0} WHERE price >= 'NaN' OR ratio = 0",
    "SELECT count(*) FROM (SELECT * FROM {0} WHERE {1} LIMIT 5)",
]


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A table with a past (a layout that has changed, columns added and widened, shared splits), and its rows by Spark."""
    from indextables.spark.source.spark_types import spark_schema  # noqa: PLC0415 - only where PySpark is

    place = tmp_path_factory.mktemp("ways é %41 #?")
    data = rows(625).append_column("wider", pa.array([n % 4 for n in range(625)], pa.int32()))
    table = IndexTable.create(
        place / "a.split, b",
        data.schema,
        partition_by="level, day(at)",
        fields={"message": "text"},
        properties={"spark.indextables.indexing.exact.id": "hash"},
    )
    table.append(data.slice(0, 25))
    table.merge_splits(coalesce=True)
    table.add_column("later", "string")
    table.widen_column("wider", "long")
    table.evolve_layout("bucket(3, id)")
    more = data.slice(25).set_column(data.num_columns - 1, "wider", pa.array([2**40 + n % 9 for n in range(600)]))
    table.append(more.append_column("later", pa.array([None, "x", "y", "x", ""] * 120)))
    plain = str(place / "plain")
    whole = table.scan().to_arrow()
    spark.createDataFrame(whole, spark_schema(whole.schema)).write.parquet(plain)
    return table.path, plain


@pytest.fixture(params=slow_after(1, WAYS, "a second time zone"))
def session(request: pytest.FixtureRequest, spark: Any) -> Iterator[Any]:
    settings = {
        "spark.sql.session.timeZone": request.param,
        "spark.sql.parquet.filterPushdown": "true",
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    }
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


def test_no_answer_depends_on_who_reads(session: Any, tables: tuple[str, str]) -> None:
    """In the first time zone some indexes are not at hand yet; in the second one all are."""
    path, plain = tables
    zone = session.conf.get("spark.sql.session.timeZone")
    if zone != "UTC":
        IndexTable.open(path).prewarm()
        assert "the driver" in indextables.explain(session.read.format("indextables").load(path).filter("id = 333"))
    session.read.parquet(plain).createOrReplaceTempView("plain")
    for name, options in WAYS[zone].items():
        session.read.format("indextables").options(**options).load(path).createOrReplaceTempView(name)
    dice = random.Random(zone)
    for query in QUERIES[:: tries(2, 1)]:
        text = condition(dice, 2)
        wanted = answer(session, query, "plain", text, LIKE)
        for name in WAYS[zone]:
            assert answer(session, query, name, text, SEARCH) == wanted, query.format(name, text, s="search")


def answer(spark: Any, query: str, view: str, text: str, search: str) -> list[str]:
    return sorted(map(str, spark.sql(query.format(view, text, s=search.format(view))).collect()))
