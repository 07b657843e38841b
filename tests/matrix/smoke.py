"""One check per capability, on whatever PySpark is installed: `python -m tests.matrix.smoke enabled` or `... public`.

`enabled` is a session after `indextables.enable(spark)`, `public` one in which PySpark finds the data source by itself,
`connect` an enabled session of Spark Connect. Prints one JSON object, capability to "ok" or to what went wrong.
`make matrix` runs all of them for each supported version.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indextables import IndexTable
from tests.connect.server import connect_server
from tests.quick import compile_java_once, keep_freed_memory

COLUMNS = "id bigint, day string, ts timestamp, message string"
OK = "ok"

Check = Callable[[Any, Path], None]


def rows_of(spark: Any) -> Any:
    """Twelve rows of three days; every fourth has the word `timeout`."""
    return spark.range(0, 12, 1, 2).selectExpr(
        "id",
        "concat('d', id % 3) AS day",
        "timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id % 3 AS int), cast(id AS int)) AS ts",
        "concat('line ', id, if(id % 4 = 0, ' timeout', ' fine')) AS message",
    )


def equal(found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def writer_of(frame: Any, **options: str) -> Any:
    return frame.write.format("indextables").option("indexing.typemap.message", "text").options(**options)


def read(spark: Any, path: Path, **options: str) -> Any:
    return spark.read.format("indextables").options(**options).load(str(path))


def write_logs(spark: Any, path: Path) -> None:
    writer_of(rows_of(spark), partitionBy="day").mode("append").save(str(path))


def logs_in(spark: Any, place: Path) -> Path:
    """The table that checks read, one partition per day, written once for all of them."""
    path = place.parent / "logs"
    if not path.exists():
        write_logs(spark, path)
    return path


def write(spark: Any, place: Path) -> None:
    writer_of(rows_of(spark), **{"optimizeWrite.enabled": "false"}).mode("append").save(str(place / "t"))
    equal(IndexTable.open(place / "t").count(), 12)
    writer_of(rows_of(spark)).mode("append").save(str(place / "t"))
    equal(ids(read(spark, place / "t")), sorted([*range(12)] * 2))


def write_optimized(spark: Any, place: Path) -> None:
    options = {"optimizeWrite.targetRecordsPerSplit": "3"}
    writer_of(rows_of(spark), **options).mode("append").save(str(place / "t"))
    equal(ids(read(spark, place / "t")), list(range(12)))
    if len(IndexTable.open(place / "t").splits()) < 4:
        raise AssertionError("splits have more rows than was asked for")


def write_modes(spark: Any, place: Path) -> None:
    frame, path = rows_of(spark), str(place / "t")
    writer_of(frame).save(path)
    writer_of(frame).mode("ignore").save(path)
    writer_of(frame.filter("id < 3")).mode("overwrite").save(path)
    equal(ids(read(spark, place / "t")), [0, 1, 2])


def hive_layout(spark: Any, place: Path) -> None:
    rows_of(spark).write.format("indextables").partitionBy("day").save(str(place / "t"))
    equal(sorted(each.name for each in (place / "t").glob("day=*")), ["day=d0", "day=d1", "day=d2"])
    equal(ids(read(spark, place / "t").filter("day = 'd1'")), [1, 4, 7, 10])


def hive_layout_by_option(spark: Any, place: Path) -> None:
    write_logs(spark, place / "t")
    equal(sorted(each.name for each in (place / "t").glob("day=*")), ["day=d0", "day=d1", "day=d2"])
    equal(ids(read(spark, place / "t").filter("day = 'd1'")), [1, 4, 7, 10])


def hidden_layout(spark: Any, place: Path) -> None:
    writer_of(rows_of(spark), partitionBy="day(ts)").mode("append").save(str(place / "t"))
    equal(IndexTable.open(place / "t").layout.names, ("ts_day",))
    found = read(spark, place / "t").filter("ts >= timestamp'2026-01-02' AND ts < timestamp'2026-01-03'")
    equal(ids(found), [1, 4, 7, 10])


def filters(spark: Any, place: Path) -> None:
    logs = read(spark, logs_in(spark, place))
    equal(ids(logs.filter("day = 'd2' AND id > 2")), [5, 8, 11])
    equal(ids(logs.filter("message LIKE '%timeout' OR id IN (1, 2)")), [0, 1, 2, 4, 8])
    equal(ids(logs.filter("cast(id AS string) = '7' AND ts IS NOT NULL")), [7])
    equal(len(logs.filter("id >= 3").limit(5).collect()), 5)
    equal(logs.filter("day = 'd9'").isEmpty(), True)


def search_in_sql(spark: Any, place: Path) -> None:
    path = logs_in(spark, place)
    found = spark.sql(f"SELECT id FROM indextables.`{path}` WHERE message INDEXQUERY 'timeout' AND day <> 'd1'")
    equal(ids(found), [0, 8])


def search_by_function(spark: Any, place: Path) -> None:
    from indextables.functions import indexquery  # noqa: PLC0415 - it needs PySpark

    logs = read(spark, logs_in(spark, place))
    equal(ids(logs.filter(indexquery("message", "timeout"))), [0, 4, 8])
    equal(ids(logs.filter("indexquery(message, 'fine') AND id < 4")), [1, 2, 3])
    marked = logs.select("id", indexquery("message", "timeout").alias("hit")).collect()
    equal(sorted(row.id for row in marked if row.hit), [0, 4, 8])


def search_by_option(spark: Any, place: Path) -> None:
    equal(ids(read(spark, logs_in(spark, place), where="message INDEXQUERY 'timeout'").filter("id > 0")), [4, 8])
    equal(ids(read(spark, logs_in(spark, place), where="day = 'd9'")), [])  # no split is left to read


def counts_from_the_log(spark: Any, place: Path) -> None:
    shutil.copytree(logs_in(spark, place), place / "t")
    for split in (place / "t").rglob("*.split"):
        split.unlink()
    logs = read(spark, place / "t")
    equal(logs.count(), 12)
    equal(logs.filter("day = 'd1'").count(), 4)
    equal({row.day: row["count"] for row in logs.groupBy("day").count().collect()}, {"d0": 4, "d1": 4, "d2": 4})
    equal(tuple(logs.agg({"id": "max"}).collect()[0]), (11,))


def count(spark: Any, place: Path) -> None:
    equal(read(spark, logs_in(spark, place)).count(), 12)
    equal({row.day for row in read(spark, logs_in(spark, place)).groupBy("day").count().collect()}, {"d0", "d1", "d2"})


def replace_where(spark: Any, place: Path) -> None:
    write_logs(spark, place / "t")
    new = rows_of(spark).filter("id = 1")
    writer_of(new, replaceWhere="day = 'd1'").mode("overwrite").save(str(place / "t"))
    equal(ids(read(spark, place / "t")), [0, 1, 2, 3, 5, 6, 8, 9, 11])


def compaction(spark: Any, place: Path) -> None:
    for _ in range(3):
        writer_of(rows_of(spark).coalesce(1)).mode("append").save(str(place / "t"))
    spark.sql(f"MERGE SPLITS '{place / 't'}'").collect()
    equal(len(IndexTable.open(place / "t").splits()), 1)
    equal(ids(read(spark, place / "t")), sorted([*range(12)] * 3))


def catalog_tables(spark: Any, place: Path) -> None:
    spark.sql(f"CREATE TABLE matrix_t ({COLUMNS}) USING indextables PARTITIONED BY (day) LOCATION '{place / 't'}'")
    try:
        rows_of(spark).createOrReplaceTempView("matrix_rows")
        spark.sql("INSERT INTO matrix_t SELECT * FROM matrix_rows")
        spark.sql("INSERT INTO matrix_t VALUES (20, 'd0', timestamp'2026-01-01', 'late')")
        equal(ids(spark.sql("SELECT * FROM matrix_t WHERE day = 'd0'")), [0, 3, 6, 9, 20])
        equal(spark.table("matrix_t").count(), 13)
        spark.sql("INSERT INTO matrix_t REPLACE WHERE day = 'd0' VALUES (20, 'd0', timestamp'2026-01-01', 'again')")
        equal(ids(spark.table("matrix_t")), [1, 2, 4, 5, 7, 8, 10, 11, 20])
        spark.sql("ALTER TABLE matrix_t ADD COLUMNS (more int)")
        spark.sql("ALTER TABLE matrix_t ALTER COLUMN more TYPE bigint")
        spark.sql("ALTER TABLE matrix_t ALTER COLUMN id COMMENT 'number of the line'")
        described = {row.col_name: (row.data_type, row.comment) for row in spark.sql("DESCRIBE matrix_t").collect()}
        equal((described["more"][0], described["id"]), ("bigint", ("bigint", "number of the line")))
        equal(ids(spark.sql("SELECT id FROM matrix_t WHERE id > :least", args={"least": 10})), [11, 20])
    finally:
        spark.sql("DROP TABLE matrix_t")
        spark.catalog.dropTempView("matrix_rows")
    equal(spark.catalog.tableExists("matrix_t"), False)


def remote_catalog_tables(spark: Any, place: Path) -> None:
    """What of it works over Spark Connect."""
    writer_of(rows_of(spark), partitionBy="day", path=str(place / "t")).saveAsTable("matrix_t")
    try:
        spark.sql("INSERT INTO matrix_t VALUES (20, 'd0', timestamp'2026-01-01', 'late')")
        equal(ids(spark.sql("SELECT * FROM matrix_t WHERE day = 'd0'")), [0, 3, 6, 9, 20])
        equal(spark.table("matrix_t").count(), 13)
        equal(ids(spark.sql("SELECT id FROM matrix_t WHERE message INDEXQUERY 'late'")), [20])
    finally:
        spark.sql("DROP TABLE matrix_t")


def views(spark: Any, place: Path) -> None:
    read(spark, logs_in(spark, place)).filter("id < 9").createOrReplaceTempView("matrix_view")
    try:
        equal(ids(spark.sql("SELECT id FROM matrix_view WHERE day = 'd0'")), [0, 3, 6])
        equal(spark.table("matrix_view").count(), 9)
    finally:
        spark.catalog.dropTempView("matrix_view")


def joins(spark: Any, place: Path) -> None:
    logs = read(spark, logs_in(spark, place))
    names = spark.createDataFrame([("d0", "first"), ("d1", "second")], "day string, name string")
    names.write.format("indextables").mode("append").save(str(place / "names"))
    both = logs.join(read(spark, place / "names"), "day").filter("name = 'second'")
    equal(ids(both), [1, 4, 7, 10])
    logs.createOrReplaceTempView("matrix_logs")
    try:
        few = "WITH few AS (SELECT id, day FROM matrix_logs WHERE id < 4)"
        equal(ids(spark.sql(f"{few} SELECT a.id FROM few a JOIN few b ON a.day = b.day")), [0, 0, 1, 2, 3, 3])
        equal(ids(spark.sql("SELECT id FROM matrix_logs WHERE id = (SELECT max(id) FROM matrix_logs)")), [11])
    finally:
        spark.catalog.dropTempView("matrix_logs")


def cache(spark: Any, place: Path) -> None:
    logs = read(spark, logs_in(spark, place)).cache()
    try:
        equal((logs.count(), logs.filter("id < 5").count(), ids(logs.filter("day = 'd2'"))), (12, 5, [2, 5, 8, 11]))
    finally:
        logs.unpersist()


def streaming(spark: Any, place: Path) -> None:
    """A table to a stream to a table, with a search that stands; what is added later comes with the next run."""
    path = place / "from"
    write_logs(spark, path)

    def run() -> None:
        stream = spark.readStream.format("indextables").option("query", "message:timeout").load(str(path))
        writer = stream.writeStream.format("indextables").option("checkpointLocation", str(place / "checkpoint"))
        writer = writer.option("partitionBy", "day").trigger(availableNow=True)
        writer.start(str(place / "to")).awaitTermination()

    run()
    equal(ids(read(spark, place / "to")), [0, 4, 8])
    run()
    equal(len(IndexTable.open(place / "to").history()), 1)
    IndexTable.open(path).append(IndexTable.open(path).scan(where="id IN (7, 8)").to_arrow())
    run()
    equal(ids(read(spark, place / "to")), [0, 4, 8, 8])
    writer_of(rows_of(spark)).mode("overwrite").option("partitionOverwriteMode", "static").save(str(path))
    try:
        run()
    except Exception as error:
        if "ChangedRowsError" not in str(error):
            raise
    else:
        raise AssertionError("an overwrite did not stop the stream")


def explain(spark: Any, place: Path) -> None:
    import indextables  # noqa: PLC0415 - its attribute needs PySpark

    path = logs_in(spark, place)
    text = indextables.explain(read(spark, path).filter("day = 'd1'"))
    if str(path) not in text or "day" not in text:
        raise AssertionError(text)


ENABLED: dict[str, Check] = {
    "write": write,
    "write, optimized": write_optimized,
    "write modes": write_modes,
    "Hive layout": hive_layout,
    "hidden layout": hidden_layout,
    "filters": filters,
    "INDEXQUERY in SQL": search_in_sql,
    "indexquery()": search_by_function,
    "search by option": search_by_option,
    "counts from the log": counts_from_the_log,
    "replaceWhere": replace_where,
    "compaction": compaction,
    "catalog tables": catalog_tables,
    "views": views,
    "joins": joins,
    "cache": cache,
    "streaming": streaming,
    "explain": explain,
}
CONNECT: dict[str, Check] = {**ENABLED, "catalog tables": remote_catalog_tables}
PUBLIC: dict[str, Check] = {  # without enable()
    "write": write,
    "Hive layout": hive_layout_by_option,
    "hidden layout": hidden_layout,
    "filters": filters,
    "search by option": search_by_option,
    "count": count,
    "replaceWhere": replace_where,
    "views": views,
    "joins": joins,
    "cache": cache,
    "streaming": streaming,
}


def session() -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need what this process has
    compile_java_once()
    keep_freed_memory()
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC", "spark.log.level": "OFF"}
    return builder.config(map=settings).getOrCreate()


def results(spark: Any, checks: dict[str, Check], place: Path) -> Iterable[tuple[str, str]]:
    for number, (name, check) in enumerate(checks.items()):
        own = place / str(number)
        own.mkdir()
        try:
            check(spark, own)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what the table shows
            yield name, f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        else:
            yield name, OK


@contextmanager
def session_of(mode: str) -> Iterator[Any]:
    if mode == "connect":
        with connect_server() as address:
            from pyspark.sql import SparkSession  # noqa: PLC0415

            remote = SparkSession.builder.remote(address).getOrCreate()
            yield remote
            remote.stop()
        return
    spark = session()
    try:
        yield spark
    finally:
        spark.stop()


def main(mode: str) -> None:
    checks = {"enabled": ENABLED, "connect": CONNECT, "public": PUBLIC}[mode]
    with tempfile.TemporaryDirectory(prefix="indextables-matrix-") as name, session_of(mode) as spark:
        if mode != "public":
            from indextables import enable  # noqa: PLC0415

            enable(spark)
        print(json.dumps(dict(results(spark, checks, Path(name)))))


if __name__ == "__main__":
    main(sys.argv[1])
