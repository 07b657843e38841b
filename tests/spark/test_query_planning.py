"""Frames that the driver plans itself: only what a query needs is read, and no answer changes by it."""

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import indextables
from indextables import IndexTable
from indextables.errors import TableReplacedError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Add
from tests.spark.samples import as_parquet, rows, written
from tests.tiers import tries


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    return written(tmp_path_factory.mktemp("prepared") / "table")


@pytest.fixture(scope="module")
def frame(spark: Any, table: IndexTable) -> Any:
    return spark.read.format("indextables").load(table.path)


@pytest.fixture(scope="module")
def plain(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return spark.read.parquet(as_parquet(tmp_path_factory.mktemp("prepared") / "parquet"))


@pytest.fixture(scope="module")
def hollow(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A frame over the same rows, of which only the log is left."""
    table = written(tmp_path_factory.mktemp("hollow") / "table")
    for split in Path(table.path).rglob("*.split"):
        split.unlink()
    return spark.read.format("indextables").load(table.path)


def shape(frame: Any) -> list[tuple[str, str, bool]]:
    return [(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema]


SMALL = "SELECT * FROM {f} WHERE id < 9"


def scans(frame: Any) -> list[str]:
    """The scans of a frame, as `explain` tells them."""
    return [line for line in indextables.explain(frame).splitlines() if line.startswith("scan of")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (lambda f: f, [f"scan of {', '.join(rows().column_names)} where TRUE"]),
        (lambda f: f.select("id"), ["scan of id where TRUE"]),
        (lambda f: f.groupBy("day").agg({"id": "sum"}), ["scan of id, day where TRUE"]),
        (lambda f: f.selectExpr("upper(message) AS m", "id").orderBy("m").select("id"), ["scan of id, message where TRUE"]),
        (lambda f: f.drop("id").distinct().select("flag"), None),
        (lambda f: f.select("id").union(f.select("number")), ["scan of id where TRUE", "scan of number where TRUE"]),
        (lambda f: f.filter("at < current_timestamp()").select("id"), ["scan of id, at where at < TIMESTAMP '20"]),
        (
            lambda f: f.alias("a").join(f.alias("b"), "id").filter("b.level = 'INFO' AND b.message > id").select("a.day"),
            ["scan of id, day where id IN ("],  # the ids that the other side has left
        ),
        (
            lambda f: f.sparkSession.sql(f"WITH t AS ({SMALL}) SELECT a.at FROM t a JOIN t b USING (id)", f=f),
            ["scan of id, at where id IN (0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L"],
        ),
        (lambda f: f.cache().select("id"), []),
    ],
)  # fmt: skip
def test_only_what_is_needed_is_read(frame: Any, query: Any, expected: list[str] | None) -> None:
    try:
        told = scans(query(frame))
        if expected is None:
            (only,) = told
            assert "id," not in only
        else:
            assert [line[: len(start)] for line, start in zip(told, expected, strict=True)] == expected
    finally:
        frame.unpersist()


def test_a_frame_without_a_table_reads_none(plain: Any, frame: Any) -> None:
    assert indextables.explain(plain) == "no table of indextables is read"
    assert indextables.explain(frame.groupBy("level").count()).startswith("4 rows\n  read by           none")


def test_an_explanation_names_table_splits_and_limit(frame: Any, table: IndexTable) -> None:
    told = indextables.explain(frame.filter("level = 'ERROR'").limit(5)).splitlines()
    assert told[0] == f"{table.path}, version {table.version}"
    assert told[2:4] == [
        "  splits            8",
        "  pruned            6 (75.0%): 6 by layout, 0 by statistics, 0 by term filters",
    ]
    assert told[-1] == "  rows wanted       5, of 1 splits at most"


ODD = [
    "WITH t AS (SELECT * FROM {0} WHERE id < 30) SELECT a.id, b.level FROM t a JOIN t b ON a.id = b.number",
    "WITH t AS (SELECT *, rand() > 2 AS no FROM {0}) SELECT a.id, b.level FROM t a JOIN t b USING (id) WHERE a.no = b.no",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r JOIN {0} t ON t.id = r.n WHERE n < 9) SELECT * FROM r",
    "WITH t AS (SELECT max(id) m FROM {0}) SELECT id FROM {0} WHERE id IN (TABLE t) OR id > (SELECT avg(m) - 9 FROM t)",
    "SELECT id, row_number() OVER (PARTITION BY level ORDER BY id) AS n, lag(number) OVER (ORDER BY id) AS l FROM {0}",
    "SELECT level FROM {0} WHERE EXISTS (SELECT 1 FROM {0} b WHERE b.number = {0}.id AND b.flag)",
    "SELECT level, flag FROM {0} INTERSECT SELECT level, NOT flag FROM {0}",
    "SELECT id, number FROM {0} EXCEPT ALL SELECT number, id FROM {0}",
    "SELECT id, word FROM {0} LATERAL VIEW explode(split(message, ' ')) AS word WHERE word LIKE 't%'",
    "SELECT level, flag, count(*), sum(number) FROM {0} GROUP BY GROUPING SETS ((level), (flag), ())",
    "SELECT * FROM (SELECT level, flag, id FROM {0}) PIVOT (sum(id) FOR flag IN (true, false))",
    "SELECT count(DISTINCT message), count(DISTINCT day) FROM {0}",
    "SELECT a.id, b.id FROM {0} a FULL JOIN (SELECT * FROM {0} WHERE level = 'WARN') b ON a.number = b.id",
    "SELECT a.id, b.id FROM {0} a LEFT JOIN {0} b ON a.id = b.number WHERE b.number IS NULL OR b.level = 'WARN'",
    "SELECT a.id, b.id FROM {0} a LEFT JOIN {0} b ON a.id = b.number AND b.level = 'INFO' WHERE b.day IS NULL",
    "SELECT a.id, b.id FROM {0} a RIGHT JOIN {0} b ON a.number = b.id AND a.level = 'INFO' WHERE a.id IS NULL",
    "SELECT a.id FROM {0} a LEFT ANTI JOIN {0} b ON a.id = b.number AND b.level = 'ERROR'",
    "SELECT id FROM {0} ORDER BY message DESC, id LIMIT 4 OFFSET 3",
    "SELECT id FROM (SELECT id, level FROM {0} ORDER BY id LIMIT 20) WHERE level = 'INFO'",
    "SELECT count(*) FROM {0} WHERE id % 7 = 1",
    "SELECT 1 AS one FROM {0}",
    "SELECT id FROM {0} WHERE level = 'ERROR' AND level = 'INFO'",
]


def test_no_answer_changes(spark: Any, frame: Any, plain: Any) -> None:
    frame.createOrReplaceTempView("prepared_ours")
    plain.createOrReplaceTempView("prepared_plain")
    for query in ODD[:: tries(2, 1)]:
        ours, sparks = (spark.sql(query.format(name)).collect() for name in ("prepared_ours", "prepared_plain"))
        assert sorted(map(str, ours)) == sorted(map(str, sparks)), query


def test_every_action_gives_the_rows(frame: Any, plain: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def query(f: Any) -> Any:
        return f.filter("number > 1").select("id", "level", f.at).orderBy("id")

    ours, sparks = query(frame), query(plain)
    wanted = sparks.collect()
    assert ours.collect() == list(ours.toLocalIterator()) == ours.localCheckpoint().collect() == wanted
    assert ours.toArrow() == sparks.toArrow()
    assert (ours.take(3), ours.first(), ours.head(2), ours.tail(2)) == (wanted[:3], wanted[0], wanted[:2], wanted[-2:])
    assert (ours.count(), ours.isEmpty(), ours.filter("id < 0").isEmpty()) == (len(wanted), False, True)
    assert ours.rdd.map(lambda row: row.id).collect() == [row.id for row in wanted]
    for n in (2, 100, 2**31 - 1):
        ours.show(n)
        shown = capsys.readouterr().out
        sparks.show(n)
        assert shown == capsys.readouterr().out


def test_what_is_written_is_read_by_the_same_plan(spark: Any, frame: Any, plain: Any, tmp_path: Path) -> None:
    condition = "level = 'ERROR' OR id > 50"
    frame.filter(condition).select("id", "message").write.parquet(str(tmp_path / "rows"))
    frame.filter("indexquery(message, 'timeout')").write.format("indextables").save(str(tmp_path / "found"))
    written = spark.read.parquet(str(tmp_path / "rows"))
    assert sorted(written.collect(), key=str) == sorted(
        plain.filter(condition).select("id", "message").collect(), key=str
    )
    found = spark.read.format("indextables").load(str(tmp_path / "found"))
    assert sorted(map(str, found.collect())) == sorted(map(str, plain.filter("message LIKE '%timeout%'").collect()))


@pytest.mark.parametrize("condition", ["true", "level = 'ERROR'", "number > 2", "length(message) > 5 AND id > 3"])
def test_limits(frame: Any, plain: Any, condition: str) -> None:
    found = {row.id for row in plain.filter(condition).collect()}
    for limit in (0, 1, 7, len(found), 1000):
        some = [row.id for row in frame.filter(condition).limit(limit).select("id").collect()]
        assert len(set(some)) == len(some) == min(limit, len(found))
        assert found.issuperset(some)


@pytest.mark.parametrize(
    "query", ["(TABLE a) UNION ALL (TABLE b)", "SELECT a.* FROM a, b", "SELECT a.* FROM a LEFT JOIN b ON true"]
)
def test_a_limit_over_several_tables_is_a_limit_of_all(spark: Any, table: IndexTable, query: str) -> None:
    """The columns of such a query may be those of its first table, which has the limit too."""
    for name in ("a", "b"):
        read = spark.read.format("indextables").option("where", "id >= 0")
        read.load(table.path).select("id", "level").createOrReplaceTempView(name)
    assert len(spark.sql(f"SELECT * FROM ({query}) LIMIT 3").collect()) == 3


def test_a_frame_in_sparks_cache_is_read_from_there(spark: Any, tmp_path: Path) -> None:
    table = written(tmp_path / "table")
    cached = spark.read.format("indextables").load(table.path).cache()
    try:
        wanted = cached.filter("id > 50 AND level = 'INFO'").count()
        assert len(cached.collect()) == 60
        shutil.rmtree(table.path)
        assert len(cached.filter("id > 50 AND level = 'INFO'").collect()) == wanted > 0
        assert cached.join(cached.filter("id = 7").select("id"), "id").count() == 1
    finally:
        cached.unpersist()


@pytest.fixture
def one_split_left(spark: Any, tmp_path: Path) -> Iterator[Any]:
    """A frame over a table whose first split of level ERROR is all that is left."""
    table = written(tmp_path / "table")
    errors = [split for split in table.splits().to_pylist() if split["partition"]["level"] == "ERROR"]
    for split in Path(table.path).rglob("*.split"):
        if split != Path(table.path, errors[0]["path"]):
            split.unlink()
    return spark.read.format("indextables").load(table.path)


def test_a_limit_opens_no_more_splits_than_it_needs(one_split_left: Any) -> None:
    errors = one_split_left.filter("level = 'ERROR'")
    assert len(errors.limit(7).collect()) == len(errors.select("id").take(7)) == 7
    assert not errors.isEmpty()


@pytest.mark.parametrize("condition", ["true", "level = 'ERROR'", "level IS NULL", "level = 'none'", "id < 1000"])
def test_figures_are_taken_from_the_log(hollow: Any, plain: Any, condition: str) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only where PySpark is

    figures = [
        f(c) for f in (F.min, F.max, F.count) for c in ("id", "day", "number", "at", "cost", "flag", "wall", "tiny")
    ]
    figures += [F.count("*"), F.count("message"), F.count("price")]
    ours, sparks = (frame.filter(condition).agg(*figures) for frame in (hollow, plain))
    assert shape(ours) == shape(sparks)
    assert ours.collect() == sparks.collect()


def test_other_figures_are_sparks(frame: Any, plain: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    for figures in (
        [F.min("message"), F.max("id")],
        [F.max("price")],
        [F.max("id") - F.min("id")],
    ):
        assert str(frame.agg(*figures).collect()) == str(plain.agg(*figures).collect())
    grouped = (f.groupBy("level").agg(F.max("id"), F.count("number")) for f in (frame, plain))
    assert len({str(sorted(map(str, groups.collect()))) for groups in grouped}) == 1


def test_large_tables_are_not_sent_to_all_executors(spark: Any, table: IndexTable, frame: Any) -> None:
    """Spark decides it by the size of a plan, and a plan of ours has as many rows as there are tasks."""
    from indextables.spark.catalyst.query_planning import planned_frame  # noqa: PLC0415 - only where PySpark is

    def joins(scanned: Any) -> str:
        joined = planned_frame(scanned.join(scanned.select("id", "number").withColumnRenamed("number", "n"), "id"))
        return str(joined._jdf.queryExecution().sparkPlan().toString())

    assert "BroadcastHashJoin" in joins(frame)
    large = IndexTable.create(Path(table.path).parent / "large", rows().schema)
    log = TransactionLog.open(large.path)
    add = Add(path="a.split", size=1 << 40, modification_time=1, num_records=1 << 33)
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[add]))
    assert "SortMergeJoin" in joins(spark.read.format("indextables").load(large.path))


def test_a_table_made_again_at_the_same_place_is_read_as_it_is(spark: Any, tmp_path: Path) -> None:
    """And frames over the former one do not show rows of the new one."""
    frames, scans = [], []
    for count in (8, 12):
        table = written(tmp_path / "table", count=count)
        frame = spark.read.format("indextables").load(table.path)
        assert (frame.count(), len(frame.select("id").collect())) == (count, count)
        frames.append(frame)
        scans.append(table.scan(where="id < 3"))
        shutil.rmtree(table.path)
    written(tmp_path / "table", count=15)
    assert spark.read.format("indextables").load(table.path).count() == 15
    actions = [
        lambda frame: frame.count(),
        lambda frame: frame.collect(),
        lambda frame: frame.filter("id = 3").collect(),
        lambda frame: frame.rdd.count(),
    ]
    for old, action in product(frames, actions):
        with pytest.raises(Exception, match="was replaced by another one"):
            action(old)
    for scan in scans:
        with pytest.raises(TableReplacedError, match="open it again"):
            scan.to_spark(spark)
