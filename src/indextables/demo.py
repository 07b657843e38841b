"""`make demo`: log lines through Spark, then queries, replaces, merges, deletes and time travel in a temporary directory."""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.errors import ConflictError
from indextables.search import terms
from indextables.table import IndexTable

T = TypeVar("T")
DAYS, LINES_PER_DAY = 30, 10_000
START = datetime(2024, 1, 1, tzinfo=UTC)
TENANTS = [f"tenant-{number:02}" for number in range(40)]
WEIGHTS = list(accumulate(1 / (rank + 1) for rank in range(len(TENANTS))))
MESSAGES = {
    "INFO": ["request {} served from cache", "request {} served in {} ms", "session {} opened for user {}"],
    "WARN": ["slow query {}: {} ms on disk", "retry {} of upload after {} ms"],
    "ERROR": ["timeout after {} ms while reading block {} from disk", "connection {} reset by peer after {} ms"],
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="indextables-demo-") as directory:
        for line in _space_out(story(directory)):
            print(line, flush=True)  # noqa: T201 - a demo speaks


def story(directory: str) -> Iterator[str]:
    path = f"{directory}/logs"
    yield from _through_spark(path, f"{directory}/parquet")
    yield "The same table without Spark, in this process:"
    logs = IndexTable.open(path)
    yield from _asking(logs)
    yield from _keeping(logs)
    yield from _changing(logs)
    yield from _travelling(logs)
    yield "Where to go next: README.md; docs/changing-rows.md, docs/sql.md, docs/search.md; indextables --help."


def _through_spark(path: str, plain: str) -> Iterator[str]:
    yield f"{DAYS * LINES_PER_DAY:,} log lines of {DAYS} days and {len(TENANTS)} tenants, some much busier than others."
    yield "Starting Spark ..."
    spark = _spark()
    frame = spark.createDataFrame(_lines())
    yield _code("spark = indextables.enable(spark)")
    yield _code(
        'df.write.format("indextables").option("partitionBy", "day(ts), tenant").option("coalesce.enabled", "true") ...'
    )
    writer = frame.write.format("indextables").option("partitionBy", "day(ts), tenant")
    writer = writer.option("coalesce.enabled", "true").option("coalesce.minRows", "1000")
    writer = writer.option("spark.indextables.indexing.typemap.message", "text")
    _, seconds = _time(lambda: writer.save(path))
    table = IndexTable.open(path)
    size = sum(table.splits()["size"].to_pylist()) / 1e6
    yield f"  {len(table.partitions()):,} partitions in {len(table.splits()):,} splits, {size:.1f} MB, in {seconds:.1f} s:"
    yield "  small partitions share files, and each file is a Parquet file with a search index inside"
    frame.selectExpr("*", "date(ts) AS day").write.partitionBy("day").parquet(plain)
    yield from _questions(spark, path, plain)
    yield from _streaming(spark, path)
    yield from _replacing(spark, path)
    spark.stop()


def _questions(spark: Any, path: str, plain: str) -> Iterator[str]:
    spark.read.format("indextables").load(path).createOrReplaceTempView("logs")
    spark.read.parquet(plain).createOrReplaceTempView("parquet_logs")
    yield "Queries on the table, and on plain Parquet files with the same rows, partitioned by day; each runs twice,"
    yield "because the first run starts Python processes and unpacks indexes:"
    text = "SELECT count(*) FROM {} WHERE ts >= '2024-01-10' AND ts < '2024-01-20' AND tenant = 'tenant-30'"
    yield from _compare_engines(spark, text, text, "from the log: no split opened, no job run")
    counted = "SELECT count(*) FROM {} WHERE message "
    like = "LIKE '%timeout%' AND message LIKE '%block%'"
    yield from _compare_engines(spark, counted + "INDEXQUERY 'timeout AND block'", counted + like, "by the index")
    rows = "SELECT ts, tenant, message FROM {} WHERE message "
    number = "RLIKE '\\\\b4711\\\\b' AND message LIKE '%block%'"
    yield from _compare_engines(spark, rows + "INDEXQUERY 'block AND 4711'", rows + number, "by the index")


def _streaming(spark: Any, path: str) -> Iterator[str]:
    yield "A stream appends lines as they arrive, exactly once, and a standing search reports those that match:"
    arriving, place = f"{path}-arriving", f"{path}-checkpoints"
    for number, start in enumerate(range(0, 10_000, 1_000)):
        _arrive(arriving, number, _lines().slice(start, 1_000))
    incoming = spark.readStream.schema(spark.read.format("indextables").load(path).schema)
    lines = incoming.option("maxFilesPerTrigger", 1).parquet(arriving)
    alerts: list[Any] = []
    yield _code('spark.readStream.format("indextables").option("query", "level:ERROR AND timeout").load(path)')
    search = spark.readStream.format("indextables").option("query", "level:ERROR AND timeout")
    search = search.option("startingVersion", "latest").load(path)
    watching = search.writeStream.foreachBatch(lambda batch, _: alerts.extend(batch.collect()))
    watching = watching.option("checkpointLocation", f"{place}/search").start()
    yield _code('lines.writeStream.format("indextables").option("checkpointLocation", ...).start(path)')
    writer = lines.writeStream.format("indextables").option("checkpointLocation", f"{place}/lines")
    writer = writer.option("coalesce.enabled", "true").option("coalesce.minRows", "1000")
    query, seconds = _time(lambda: _finished(writer.trigger(availableNow=True).start(path)))
    watching.processAllAvailable()
    watching.stop()
    batches, version = query.lastProgress["batchId"] + 1, query.lastProgress["sink"]["metrics"]["version"]
    yield f"  {batches} batches of 1,000 lines in {seconds:.1f} s, each one commit; the last is version {version}"
    yield f"  {len(alerts)} alerts; the last one: {alerts[-1].message!r}"


def _finished(query: Any) -> Any:
    query.awaitTermination()
    return query


def _arrive(directory: str, number: int, lines: pa.Table) -> None:
    """A file that a stream finds, and reads after those that came before it."""
    Path(directory).mkdir(exist_ok=True)
    file = Path(directory, f"{number}.parquet")
    pq.write_table(lines, file.with_name(f"_{number}"))
    os.utime(file.with_name(f"_{number}"), (START.timestamp() + number,) * 2)
    file.with_name(f"_{number}").rename(file)


def _compare_engines(spark: Any, ours: str, theirs: str, how: str) -> Iterator[str]:
    """A question to the table, the same one to Parquet, and how long both take, the first time and again."""
    yield _code(f'spark.sql("{ours.format("logs")}")')
    queries = [partial(_run, spark, ours.format("logs")), partial(_run, spark, theirs.format("parquet_logs"))]
    (found, first), (plainly, parquet) = map(_time, queries)
    (_, again), (_, parquet_again) = map(_time, queries)
    shown = f"{found[0][0]:,}" if len(found[0]) == 1 else f"{len(found)} row(s)"
    same = "the same" if found == plainly else "NOT THE SAME"
    yield f"  {shown} in {_ms(first)}, then {_ms(again)}, {how}"
    yield f"  Parquet: {same} in {_ms(parquet)}, then {_ms(parquet_again)}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _run(spark: Any, text: str) -> Any:
    return sorted(spark.sql(text).collect())


def _replacing(spark: Any, path: str) -> Iterator[str]:
    yield "One day is loaded again, and one tenant leaves; both in place, each in one commit:"
    where = "ts >= '2024-01-15' AND ts < '2024-01-16'"
    again = spark.createDataFrame(_lines()).filter(where).filter("level <> 'INFO'")
    yield _code(f'df.write.format("indextables").mode("overwrite").option("replaceWhere", "{where}").save(path)')
    again.write.format("indextables").mode("overwrite").option("replaceWhere", where).save(path)
    yield f"  {IndexTable.open(path).count(where):,} rows on that day now, without those of INFO"
    yield _code("IndexTable.open(path).drop_partitions(\"tenant = 'tenant-39'\")")
    dropped = IndexTable.open(path).drop_partitions("tenant = 'tenant-39'")
    yield f"  {dropped.rows:,} rows gone; {dropped.rewritten} shared splits written again without them"


def _spark() -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - PySpark need not be installed

    from indextables.spark import enable  # noqa: PLC0415

    builder = SparkSession.builder.master("local[2]").appName("indextables demo")
    for key, value in {
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "log.level": "ERROR",
        "sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(f"spark.{key}", value)
    return enable(builder.getOrCreate())


def _asking(logs: IndexTable) -> Iterator[str]:
    yield "The layout is hidden: conditions are on ts, and only the splits of those days are opened."
    where = "ts >= '2024-01-10' AND ts < '2024-01-12' AND level = 'ERROR'"
    yield _code(f'logs.scan(where="{where}")')
    rows, seconds = _time(lambda: logs.scan(where=where).to_arrow())
    plan = logs.scan(where=where).explain()
    yield f"  {len(rows):,} rows in {seconds * 1000:.0f} ms; {plan.opened} of {plan.total} splits opened"

    yield "Counts come from the transaction log where its statistics suffice:"
    where = "ts >= '2024-01-10' AND ts < '2024-01-20'"
    yield _code(f'logs.count("{where}")')
    count, seconds = _time(lambda: logs.count(where))
    yield f"  {count:,} in {seconds * 1000:.0f} ms, no split opened"

    yield "Search, in Lucene's language; best matches first:"
    yield _code("logs.search('timeout AND disk AND tenant:\"tenant-07\"', limit=3)")
    query = 'timeout AND disk AND tenant:"tenant-07"'
    best, seconds = _time(lambda: logs.search(query, columns=["ts", "message"], limit=3))
    yield from (f"  {row['_score']:.2f}  {row['ts']:%Y-%m-%d %H:%M}  {row['message']}" for row in best.to_pylist())
    yield f"  of {logs.count(query=query):,} matches, in {seconds * 1000:.0f} ms"

    yield "Sums over what was found, by the index alone:"
    yield _code('logs.scan(query="timeout").aggregate(terms("tenant", size=3))')
    busiest, seconds = _time(lambda: logs.scan(query="timeout").aggregate(terms("tenant", size=3)))
    counts = ", ".join(f"{row['key']} {row['count']:,}" for row in busiest.to_pylist())
    yield f"  {counts}; {seconds * 1000:.0f} ms"


def _keeping(logs: IndexTable) -> Iterator[str]:
    yield "Many small appends leave many small splits; compaction (MERGE SPLITS) merges them, concurrently with writers:"
    for start in range(0, 5_000, 500):
        logs.append(_lines().slice(start, 500))
    yield _code("logs.merge_splits()")
    merged, seconds = _time(logs.merge_splits)
    yield f"  {merged.splits_before} small splits became {merged.splits_after} in {seconds:.1f} s; {len(logs.splits())} now"
    yield "A layout can change; what is there stays, and questions are the same:"
    yield _code('logs.evolve_layout("month(ts), tenant")')
    logs.evolve_layout("month(ts), tenant")
    logs.append(_lines().slice(0, 2_000))
    where = "ts < '2024-01-02'"
    plan = logs.scan(where=where).explain()
    yield f"  {logs.count(where):,} rows where {where}; {plan.opened} of {plan.total} splits concerned, of two layouts"


def _changing(logs: IndexTable) -> Iterator[str]:
    yield "Rows are deleted where they are, by a condition or a search. The index finds them, and no split is rewritten:"
    yield _code("logs.delete(query='\"reset by peer\"', where=\"tenant = 'tenant-07'\")")
    deleted, seconds = _time(lambda: logs.delete("tenant = 'tenant-07'", query='message:"reset by peer"'))
    yield f"  {deleted.rows:,} rows of {deleted.vectors + deleted.splits_rewritten} splits, in {seconds * 1000:.0f} ms"
    yield _code("logs.restore(version=...)   # undone, in a new version")
    before = logs.count()
    logs.restore(version=deleted.version - 1)
    yield f"  {before:,} rows became {logs.count():,} again"


def _travelling(logs: IndexTable) -> Iterator[str]:
    yield "Writers use optimistic concurrency; a writer whose snapshot is stale gets a ConflictError, and leaves no files:"
    stale = IndexTable.open(logs.path)
    logs.append(_lines().slice(0, 1000))
    yield _code("stale.overwrite(lines)   # planned before another writer's append")
    try:
        stale.overwrite(_lines().slice(0, 10))
    except ConflictError as error:
        yield f"  {type(error).__name__}: {str(error).replace(logs.path, 'the table')}"
    yield "And every version stays readable:"
    yield _code("logs.at(version=0).count(), logs.count(), logs.history()")
    yield f"  {logs.at(version=0).count():,}, {logs.count():,}"
    versions = [f"{row['version']} {row['operation']}" for row in logs.history().to_pylist()[:4]]
    yield f"  {' · '.join(versions)} · ..."


def _schema() -> pa.Schema:
    return pa.schema(
        {"ts": pa.timestamp("us", "UTC"), "tenant": pa.string(), "level": pa.string(), "message": pa.string()}
    )


def _lines() -> pa.Table:
    dice = random.Random(0)  # noqa: S311 - the same lines each time
    count = DAYS * LINES_PER_DAY
    seconds = sorted(dice.uniform(0, DAYS * 86_400) for _ in range(count))
    levels = dice.choices(list(MESSAGES), [90, 7, 3], k=count)
    messages = [dice.choice(MESSAGES[level]).format(dice.randrange(10_000), dice.randrange(5_000)) for level in levels]
    times = [START + timedelta(seconds=second) for second in seconds]
    return pa.table([times, dice.choices(TENANTS, cum_weights=WEIGHTS, k=count), levels, messages], schema=_schema())


def _code(text: str) -> str:
    return f">>> {text}"


def _space_out(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with a blank one after each result."""
    is_result = False
    for line in lines:
        if is_result and not line.startswith("  "):
            yield ""
        yield line
        is_result = line.startswith("  ")


def _time(work: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


if __name__ == "__main__":
    main()
