"""Where Spark's users look: log lines of the driver, the UI's descriptions and plans, `observe`, the history."""

import logging
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import indextables
from indextables import IndexTable
from indextables.functions import indexquery
from indextables.spark.catalyst.query_planning import planned_frame
from tests.log_lines import events, facts
from tests.spark.samples import written

PRUNING = "Partition pruning summary"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """60 rows in four partitions by level, each in two splits."""
    return written(tmp_path_factory.mktemp("monitored") / "events")


@pytest.fixture(scope="module")
def frame(spark: Any, table: IndexTable) -> Any:
    return spark.read.format("indextables").load(table.path)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """Two splits, whose term filters know nothing: the log does not tell that no split matches."""
    path = tmp_path_factory.mktemp("exact") / "logs"
    for start, more in ((0, {}), (40, {"mode": "append"})):
        rows = {"level": ["INFO", "WARN"] * 20, "message": [f"disk {n} is full" for n in range(start, start + 40)]}
        options = {"indexing.termFilter.maxBytes": "0"}
        table = IndexTable.write(path, rows, options=options, **more, **({} if more else {"text": "none"}))
    return table


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="indextables")


def jobs(spark: Any, *, after: int = -1) -> dict[int, str | None]:
    """The descriptions of the jobs after the one of a number, as Spark's UI has them: it forgets the oldest of many."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    listed = context.statusStore().jobsList(None)
    found = {int(job.jobId()): job.description() for job in (listed.apply(i) for i in range(listed.size()))}
    return {n: found[n].get() if found[n].isDefined() else None for n in sorted(found) if n > after}


def last_job(spark: Any) -> int:
    return max(jobs(spark), default=-1)


class TestLines:
    """Of queries and writes, in the process of the driver."""

    def test_a_query_has_one_line_per_table(
        self, frame: Any, table: IndexTable, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert len(frame.filter("level = 'INFO'").collect()) == 15
        assert events(caplog) == [PRUNING]
        [line] = facts(caplog, PRUNING)
        assert (line["table"], line["version"], line["filters"]) == (table.path, 2, "level = 'INFO'")
        assert (line["total_partitions"], line["partitions_after_pruning"], line["partitions_pruned"]) == (4, 1, 3)
        assert (line["partitions_pruned_percent"], line["total_splits"], line["splits_to_scan"]) == (75.0, 8, 2)
        assert line["read_by"] == "Spark, as Parquet"

    @pytest.mark.parametrize("action", ["toArrow", "collect", "toLocalIterator", "isEmpty", "show"])
    def test_every_action_logs_once(self, frame: Any, caplog: pytest.LogCaptureFixture, action: str) -> None:
        wanted = frame.filter("level = 'WARN'").select("id", "level")
        with redirect_stdout(StringIO()):
            getattr(wanted, action)()
        assert events(caplog) == [PRUNING]

    def test_tables_of_a_join_have_a_line_each(
        self, spark: Any, frame: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        other = IndexTable.create(tmp_path / "other", {"id": pa.int64(), "level": pa.string()}, partition_by="level")
        caplog.clear()
        right = spark.read.format("indextables").load(other.path)
        frame.join(right, "id", "left").collect()
        assert sorted(str(line["table"]) for line in facts(caplog, PRUNING)) == sorted([frame_path(frame), other.path])

    def test_a_limit_scans_as_many_splits_as_it_needs(self, frame: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert len(frame.limit(3).collect()) == 3
        [line] = facts(caplog, PRUNING)
        assert (line["splits_after_pruning"], line["splits_to_scan"]) == (8, 1)

    def test_what_metadata_answers(self, frame: Any, table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
        """Pruning is logged as for a scan, and `rows` are the matching rows of the table, whatever is computed of them."""
        info = frame.filter("level = 'INFO'")
        assert info.count() == 15
        assert len(frame.groupBy("level").count().collect()) == 4
        assert info.agg(F.max("id")).collect()[0][0] > 0
        assert info.union(frame).count() == 75
        assert events(caplog) == [PRUNING, "Metadata aggregate"] * 5
        lines = facts(caplog, "Metadata aggregate")
        assert [line["rows"] for line in lines] == [15, 60, 15, 15, 60]
        assert {(line["table"], line["version"]) for line in lines} == {(table.path, 2)}
        [first, second, *_] = facts(caplog, PRUNING)
        assert (first["table"], first["version"], first["filters"]) == (table.path, 2, "level = 'INFO'")
        assert (first["total_partitions"], first["partitions_after_pruning"], first["partitions_pruned"]) == (4, 1, 3)
        assert (first["total_splits"], first["splits_after_pruning"], first["splits_to_scan"]) == (8, 2, 0)
        assert first["read_by"] == "none: the transaction log has the answer"
        assert (second["filters"], second["partitions_after_pruning"], second["splits_to_scan"]) == ("TRUE", 4, 0)

    def test_what_is_only_planned_or_explained_has_none(self, frame: Any, caplog: pytest.LogCaptureFixture) -> None:
        wanted = frame.filter("level = 'INFO'").select("id")
        with redirect_stdout(StringIO()):
            wanted.explain()
            wanted.printSchema()
        assert "pruned            6 (75.0%)" in indextables.explain(wanted)
        assert wanted.columns == ["id"]
        assert caplog.records == []

    def test_frames_of_others_have_none(self, spark: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert spark.range(10).filter("id > 3").count() == 6
        assert caplog.records == []

    def test_an_optimized_write_tells_its_tasks(
        self, spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        rows = spark.range(0, 100, 1, 2).selectExpr("id", "CAST(id % 5 AS STRING) AS day")
        rows.write.format("indextables").partitionBy("day").save(str(tmp_path / "t"))
        [line] = facts(caplog, "Optimized write")
        assert (line["rows"], line["partitions"], line["target_rows_per_split"]) == (100, 5, 1_000_000)
        [metrics] = [dict(row["metrics"]) for row in IndexTable.open(tmp_path / "t").history().to_pylist()]
        assert int(metrics["numTasks"]) == line["tasks"]
        assert (metrics["numAddedRows"], metrics["numPartitions"], metrics["numEmptyTasks"]) == ("100", "5", "0")
        assert {"repartitionTimeMs", "taskTimeMs", "writeTimeMs", "numAddedSplits", "numAddedBytes"} <= metrics.keys()

    def test_so_does_one_without_partitions(self, spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        for settings in ({}, {"autoSize.inputRowCount": "100"}):
            writer = spark.range(0, 100, 1, 2).write.format("indextables").mode("append")
            writer.options(**settings, targetRecordsPerSplit=30).save(str(tmp_path / "t"))
        lines = facts(caplog, "Optimized write")
        assert [(line["rows"], line["tasks"], line["target_rows_per_split"]) for line in lines] == [(100, 4, 30)] * 2

    def test_so_do_one_that_needs_no_count_and_a_standard_write(
        self, spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = str(tmp_path / "t")
        for tasks in (3, 1):
            spark.range(0, 100, 1, tasks).write.format("indextables").mode("append").save(path)
        lines = facts(caplog, "Optimized write")
        chosen = [(line["table"], line["max_rows"], line["tasks"], line["shuffle"]) for line in lines]
        assert chosen == [(path, 100, 1, True), (path, 100, 1, False)]
        assert facts(caplog, "Standard write") == []
        standard = spark.range(0, 100, 1, 3).write.format("indextables").mode("append")
        standard.option("optimizeWrite.enabled", "false").save(path)
        [line] = facts(caplog, "Standard write")
        assert (line["table"], line["planned_tasks"], line["target_rows_per_split"]) == (path, 3, 1_000_000)
        assert dict(IndexTable.open(path).history().to_pylist()[0]["metrics"])["numTasks"] == "3"
        assert len(facts(caplog, "Optimized write")) == 2


def frame_path(frame: Any) -> str:
    """Where the table of a frame is, as `explain` says."""
    return indextables.explain(frame).partition(",")[0]


class TestDescriptions:
    """Of the jobs that are started on behalf of a write, a merge or a join."""

    def test_the_count_before_a_write_is_described_and_the_write_is_the_users(self, spark: Any, tmp_path: Path) -> None:
        before, path = last_job(spark), str(tmp_path / "t")
        spark.sparkContext.setJobDescription("nightly load")
        try:
            spark.range(100).selectExpr("id", "id % 5 AS day").write.format("indextables").partitionBy("day").save(path)
            assert spark.sparkContext.getLocalProperty("spark.job.description") == "nightly load"
        finally:
            spark.sparkContext.setJobDescription(None)
        shown = list(jobs(spark, after=before).values())
        assert set(shown) == {f"indextables: count rows before the write to {path}", "nightly load"}
        assert shown[-1] == "nightly load"

    def test_no_description_is_left_behind(self, spark: Any, tmp_path: Path) -> None:
        copy = written(tmp_path / "t")
        before = last_job(spark)
        copy.merge_splits(spark=spark)
        assert set(jobs(spark, after=before).values()) == {f"indextables: merge splits of {copy.path}"}
        assert spark.sparkContext.getLocalProperty("spark.job.description") is None

    def test_a_failure_restores_it_too(self, spark: Any, tmp_path: Path) -> None:
        rows = spark.range(10).selectExpr("CAST(raise_error('no such row') AS STRING) AS x", "id AS day")
        with pytest.raises(Exception, match="no such row"):
            rows.write.format("indextables").partitionBy("x").save(str(tmp_path / "t"))
        assert spark.sparkContext.getLocalProperty("spark.job.description") is None

    def test_the_copies_of_a_replacement(self, spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path = str(tmp_path / "t")
        rows = spark.range(0, 100, 1, 1).selectExpr("id", "TIMESTAMP '2024-01-01' + make_interval(0, 0, 0, id) AS ts")
        rows.write.format("indextables").option("partitionBy", "month(ts)").save(path)
        before = last_job(spark)
        new = spark.sql("SELECT CAST(1 AS BIGINT) AS id, TIMESTAMP '2024-01-05' AS ts")
        condition = "ts >= '2024-01-03' AND ts < '2024-01-07'"
        writer = new.write.format("indextables").mode("overwrite").option("replaceWhere", condition)
        writer.option("replaceWhere.driverRows", "0").save(path)
        assert f"indextables: copy the rows that an overwrite of {path} keeps" in jobs(spark, after=before).values()
        [line] = facts(caplog, "Rows copied")
        assert (line["table"], line["splits"], line["rows"]) == (path, 1, 27)

    def test_the_small_side_of_a_join(self, spark: Any, frame: Any, tmp_path: Path) -> None:
        path = str(tmp_path / "levels")
        spark.createDataFrame([("INFO", 1), ("none", 2)], "level STRING, n INT").write.parquet(path)
        few = spark.read.parquet(path).filter("n = 1")
        before = last_job(spark)
        assert len(frame.join(few, "level").collect()) == 15
        shown = list(jobs(spark, after=before).values())
        assert shown[0] == "indextables: evaluate the small side of a join, to filter the other side"
        assert shown[-1] is None


class TestPlans:
    """The plan of a query that runs names the table, its version, and how many splits are read."""

    def plan(self, frame: Any) -> str:
        text = StringIO()
        with redirect_stdout(text):
            planned_frame(frame).explain("formatted")
        return text.getvalue()

    def test_of_a_scan_by_sparks_reader(self, frame: Any) -> None:
        assert "/indextables-2-of-8-splits-of-events-version-2-" in self.plan(frame.filter("level = 'INFO'"))

    def test_of_a_scan_with_indexes(self, frame: Any) -> None:
        wanted = frame.filter(indexquery("message", "timeout")).filter("level = 'INFO'")
        assert "indextables[2 of 8 splits of events, version 2](" in self.plan(wanted)

    def test_whatever_the_table_is_called(self, spark: Any, tmp_path: Path) -> None:
        path = str(tmp_path / f"täg lich[*] {'x' * 200}")
        spark.range(10).write.format("indextables").save(path)
        frame = spark.read.format("indextables").load(path)
        assert "/indextables-1-of-1-splits-of-t-g-lich-xxx" in self.plan(frame)
        assert frame.filter("id > 3").select("id").collect() == spark.range(4, 10).collect()


TIMEOUTS = [number for number in range(60) if number % 7 in (0, 2)]


class TestObservations:
    """Metrics of `df.observe` are those of the rows that pass there, as for any other table."""

    @pytest.fixture
    def observation(self) -> Observation:
        return Observation()

    def observed(self, frame: Any, observation: Observation) -> Any:
        return frame.observe(observation, F.count(F.lit(1)).alias("rows"), F.sum("id").alias("ids"))

    def test_between_a_search_and_a_filter(self, frame: Any, observation: Observation) -> None:
        found = self.observed(frame.filter(indexquery("message", "timeout")), observation).filter("id < 20")
        assert len(found.collect()) == len([number for number in TIMEOUTS if number < 20])
        assert observation.get == {"rows": len(TIMEOUTS), "ids": sum(TIMEOUTS)}

    def test_of_a_count_that_metadata_could_answer(self, frame: Any, observation: Observation) -> None:
        assert self.observed(frame.filter("level = 'INFO'"), observation).count() == 15
        assert observation.get["rows"] == 15

    def test_below_an_aggregate(self, frame: Any, observation: Observation) -> None:
        assert self.observed(frame, observation).groupBy("level").count().count() == 4
        assert observation.get["rows"] == 60

    @pytest.mark.parametrize("optimized", ["true", "false"])
    def test_in_a_write(self, frame: Any, observation: Observation, tmp_path: Path, optimized: str) -> None:
        rows = self.observed(frame.filter(indexquery("message", "timeout")).select("id", "level"), observation)
        rows.write.format("indextables").option("optimizeWrite.enabled", optimized).save(str(tmp_path / "t"))
        assert observation.get == {"rows": len(TIMEOUTS), "ids": sum(TIMEOUTS)}
        assert IndexTable.open(tmp_path / "t").count() == len(TIMEOUTS)


class TestWordsInExactValues:
    """A search that finds no words because a column is indexed by exact values: one warning of the driver."""

    @pytest.fixture
    def warned(self, caplog: pytest.LogCaptureFixture) -> Any:
        return lambda: [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]

    @pytest.mark.parametrize("driver_rows", ["0", "1000"])
    @pytest.mark.parametrize("action", ["collect", "count", "aggregate", "sql"])
    def test_one_warning(self, spark: Any, logs: IndexTable, warned: Any, action: str, driver_rows: str) -> None:
        reader = spark.read.format("indextables").option("read.driverRows", driver_rows)
        frame = reader.load(logs.path)
        found = frame.filter(indexquery("message", "disk"))
        match action:
            case "collect":
                assert found.collect() == []
            case "count":
                assert found.count() == 0
            case "aggregate":
                assert found.groupBy("level").agg(F.max("message")).collect() == []
            case "sql":
                where = "message INDEXQUERY 'disk' AND level = 'WARN'"
                assert spark.sql(f"SELECT * FROM indextables.`{logs.path}` WHERE {where}").collect() == []
        name, missed = f"indextables.`{logs.path}`", "so 'disk' finds only rows whose whole value it is"
        how = f"ALTER TABLE {name} SET INDEXING (message = text), then REINDEX TABLE {name}"
        [line] = warned()
        what = f"a search of {logs.path} finds no words: message is indexed by exact values, {missed}"
        assert line == f"{what}; to search by words: {how}"

    def test_the_statements_help_and_other_searches_do_not_warn(
        self, spark: Any, logs: IndexTable, warned: Any, tmp_path: Path
    ) -> None:
        frame = spark.read.format("indextables").load(logs.path)
        for query in ("level:INFO", "level:FATAL", "message:*disk*", "message:disk*", 'message:"disk 7 is full"'):
            frame.filter(f"* INDEXQUERY '{query}'").collect()
        assert not warned()
        assert "note              message is indexed by exact values, so 'disk' finds" in indextables.explain(
            frame.filter(indexquery("message", "disk"))
        )
        copy = IndexTable.write(tmp_path / "copy", logs.scan().to_arrow(), text=[])
        name = f"indextables.`{copy.path}`"
        spark.sql(f"ALTER TABLE {name} SET INDEXING (message = text)")
        spark.sql(f"REINDEX TABLE {name}")
        assert spark.sql(f"SELECT * FROM {name} WHERE message INDEXQUERY 'disk'").count() == 80
        assert not warned()
