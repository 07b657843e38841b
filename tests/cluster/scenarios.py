"""Every operation through the cluster, without faults: what executors write, read, search, merge and copy is right.

A step gives a sentence about what it has shown; what is not as it should be raises an AssertionError.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indextables import IndexTable
from indextables.functions import indexquery
from tests.cluster.driver import Place

ROWS = 6_000
_SMALL = {"coalesce.enabled": "true", "coalesce.minRows": "1000"}
_STANDARD = {"optimizeWrite.enabled": "false"}
_WRITES = {
    "optimized": {"targetRecordsPerSplit": "1500"},
    "standard": {"targetRecordsPerSplit": "500", **_STANDARD},
    "coalesced": {"partitionBy": "p", **_SMALL},
    "partitioned": {"partitionBy": "p", "targetRecordsPerSplit": "500", **_STANDARD},
    "hidden": {"partitionBy": "truncate(2000, id)", "targetRecordsPerSplit": "500"},
}


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a place, by the way in which they were written."""

    spark: Any
    place: Place
    directory: Path

    def path(self, name: str) -> str:
        return f"{self.place.root}/steps-{name}"

    def open(self, name: str) -> IndexTable:
        return IndexTable.open(self.path(name), options=self.place.options)

    def read(self, name: str) -> Any:
        return self.spark.read.format("indextables").options(**self.place.options).load(self.path(name))

    def write(self, frame: Any, name: str, mode: str, **options: str) -> None:
        writer = frame.write.format("indextables").mode(mode).options(**self.place.options)
        writer.option("indexing.typemap.message", "text").options(**options).save(self.path(name))


def rows(spark: Any, first: int = 0, end: int = ROWS, word: str = "line") -> Any:
    """Every tenth row has the word `rare`; `p` has a few large values and many small ones."""
    return spark.range(first, end, numPartitions=4).selectExpr(
        "id",
        f"concat('{word} ', id, IF(id % 10 = 0, ' rare', '')) AS message",
        "IF(id % 2 = 0, 'a', concat('p', id % 40)) AS p",
    )


def write_in_every_way(tables: Tables) -> str:
    for name, options in _WRITES.items():
        tables.write(rows(tables.spark), name, "errorifexists", **options)
        tables.write(rows(tables.spark, ROWS, ROWS + 100), name, "append")
        assert tables.open(name).count() == ROWS + 100, name
    return f"{len(_WRITES)} tables: {', '.join(_WRITES)}"


def read_and_count(tables: Tables) -> str:
    for name in _WRITES:
        frame = tables.read(name)
        found = frame.selectExpr("count(message)", "sum(id)", "count(DISTINCT id)").collect()[0]
        assert tuple(found) == (ROWS + 100, sum(range(ROWS + 100)), ROWS + 100), (name, found)
        assert (frame.count(), frame.filter("p = 'a'").count()) == (ROWS + 100, ROWS // 2 + 50), name
    return "rows, sums and counts of every table"


def search(tables: Tables) -> str:
    for name in _WRITES:
        frame = tables.read(name)
        found = frame.filter(indexquery(frame.message, "rare") & (frame.id < 1000)).select("id").collect()
        assert sorted(row.id for row in found) == list(range(0, 1000, 10)), name
        frame.createOrReplaceTempView("searched")
        sql = "SELECT p, count(*) AS n FROM searched WHERE message INDEXQUERY 'rare AND NOT 100' GROUP BY p"
        assert {row.p: row.n for row in tables.spark.sql(sql).collect()} == {"a": ROWS // 10 + 10 - 1}, name
    return "indexquery and SQL INDEXQUERY of every table, as executors have it"


def sql(tables: Tables) -> str:
    tables.read("optimized").createOrReplaceTempView("lines")
    tables.read("coalesced").createOrReplaceTempView("others")
    query = "SELECT count(*) AS n FROM lines JOIN others USING (id) WHERE lines.message = others.message AND id < 500"
    assert tables.spark.sql(query).collect()[0].n == 500
    return "a join of two tables"


def merge(tables: Tables) -> str:
    before = len(tables.open("partitioned").splits())
    merged = tables.open("partitioned").merge_splits(spark=tables.spark)
    assert merged.merged > 1
    assert merged.splits_after < before
    assert tables.open("partitioned").count() == ROWS + 100
    with _settings(tables):
        [by_sql] = tables.spark.sql(f"MERGE SPLITS '{tables.path('standard')}'").collect()
    assert (len(tables.open("standard").splits()), tables.open("standard").count()) == (1, ROWS + 100), by_sql
    return f"merge_splits(spark=...): {before} splits became {len(tables.open('partitioned').splits())}; MERGE SPLITS"


def replace_where(tables: Tables) -> str:
    where = {"replaceWhere": "id >= 1000 AND id < 5000", "replaceWhere.driverRows": "0"}
    tables.write(rows(tables.spark, 1000, 5000, "new"), "hidden", "overwrite", **where)
    [last, *_] = tables.open("hidden").history().to_pylist()
    copied = int(dict(last["metrics"])["numCopiedRows"])
    assert copied > 0
    assert tables.read("hidden").filter("message LIKE 'new %'").count() == 4000
    assert tables.read("hidden").selectExpr("count(DISTINCT id)").collect()[0][0] == ROWS + 100
    return f"4,000 rows replaced, {copied:,} others copied by executors"


def stream(tables: Tables) -> str:
    """Batches of a stream, each written twice, as after a failure of the driver."""
    source = tables.directory / f"stream-{tables.place.name}"
    source.mkdir()
    for number in range(3):
        lines = (json.dumps({"id": number * 10 + row, "message": "streamed"}) for row in range(10))
        (source / f"{number}.json").write_text("\n".join(lines))

    def write(batch: Any, number: int) -> None:
        for _ in range(2):
            tables.write(batch, "streamed", "append", txnAppId="stream", txnVersion=str(number))

    read = tables.spark.readStream.schema("id bigint, message string").option("maxFilesPerTrigger", 1).json(str(source))
    checkpoint = str(tables.directory / f"checkpoint-{tables.place.name}")
    query = read.writeStream.option("checkpointLocation", checkpoint).foreachBatch(write).trigger(availableNow=True)
    query.start().awaitTermination()
    table = tables.open("streamed")
    assert sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist()) == list(range(30))
    return f"foreachBatch: 3 batches, each written twice, are {table.version + 1} versions with 30 rows"


def check_and_vacuum(tables: Tables) -> str:
    for name in [*_WRITES, "streamed"]:
        tables.open(name).vacuum(older_than="0s", force=True)
        assert not tables.open(name).check(deep=True, sample=None).findings, name
    return "every table is sound, before and after a vacuum"


@contextmanager
def _settings(tables: Tables) -> Iterator[None]:
    """The options of the place as settings of the session, for statements, which have none."""
    settings = {f"spark.indextables.{key}": value for key, value in tables.place.options.items()}
    for key, value in settings.items():
        tables.spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            tables.spark.conf.unset(key)


STEPS: tuple[Callable[[Tables], str], ...] = (
    write_in_every_way,
    read_and_count,
    search,
    sql,
    merge,
    replace_where,
    stream,
    check_and_vacuum,
)


def run_steps(spark: Any, place: Place, directory: Path) -> Iterator[tuple[str, str]]:
    """The name of each step, and what it has shown."""
    tables = Tables(spark, place, directory)
    for step in STEPS:
        yield step.__name__, step(tables)
