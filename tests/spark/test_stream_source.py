"""The streaming source: the table as it is, then what is added to it, each row once and in order."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from indextables import IndexTable
from indextables.errors import ConfigError, SearchQueryError, TableNotFoundError
from indextables.functions import indexquery
from tests.spark.streams import finish
from tests.tiers import slow

OPERATIONS = "streams of Spark that start or stop in one more way"
LEVELS = ("INFO", "INFO", "INFO", "ERROR")


def lines(*numbers: int) -> dict[str, list[Any]]:
    return {
        "id": list(numbers),
        "level": [LEVELS[n % 4] for n in numbers],
        "message": [f"request {n} timed out" if n % 8 == 3 else f"request {n} was served" for n in numbers],
    }


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Three splits in versions 1 to 3."""
    import pyarrow as pa  # noqa: PLC0415 - for the schema

    schema = pa.schema({"id": pa.int64(), "level": pa.string(), "message": pa.string()})
    table = IndexTable.create(tmp_path / "table", schema, partition_by="level", fields={"message": "text"})
    for first in (0, 10, 20):
        table.append(lines(*range(first, first + 10)))
    return table


class Reader:
    """A query over a table that collects the ids of each batch."""

    def __init__(self, spark: Any, table: IndexTable, checkpoint: Path) -> None:
        self.spark, self.table, self.checkpoint = spark, table, checkpoint
        self.batches: list[list[int]] = []

    def frame(self, **options: Any) -> Any:
        return self.spark.readStream.format("indextables").options(**options).load(self.table.path)

    def collect(self, frame: Any, _: int) -> None:
        self.batches.append([row.id for row in frame.select("id").collect()])

    def run(self, frame: Any = None, **options: Any) -> list[list[int]]:
        """The ids of the batches of one run, those of each version in the order in which they were added."""
        self.batches = []
        stream = (frame or self.frame(**options)).writeStream.foreachBatch(self.collect)
        finish(stream.option("checkpointLocation", str(self.checkpoint)), lambda w: w.start())
        return self.batches

    def ids(self, **options: Any) -> list[int]:
        return sorted(n for batch in self.run(**options) for n in batch)


@pytest.fixture
def reader(spark: Any, table: IndexTable, tmp_path: Path) -> Reader:
    return Reader(spark, table, tmp_path / "checkpoint")


def test_the_table_first_and_then_what_is_added(reader: Reader, table: IndexTable) -> None:
    assert reader.ids() == list(range(30))
    assert reader.ids() == []
    table.append(lines(30, 31))
    table.append(lines(32))
    assert [sorted(batch) for batch in reader.run()] == [[30, 31, 32]]
    assert reader.ids() == []


@slow(OPERATIONS)
def test_rows_of_later_versions_come_later(reader: Reader, table: IndexTable) -> None:
    reader.ids()
    for n in range(30, 40):
        table.append(lines(n))
    assert [n for batch in reader.run(maxFilesPerTrigger=3) for n in batch] == list(range(30, 40))


def test_all_that_is_available_is_all_that_was_appended_before(reader: Reader, table: IndexTable) -> None:
    stream = reader.frame(startingVersion="latest").writeStream.foreachBatch(reader.collect)
    query = stream.option("checkpointLocation", str(reader.checkpoint)).start()
    try:
        for n in range(30, 35):
            query.processAllAvailable()
            table.append(lines(n))
            query.processAllAvailable()
            assert reader.batches[-1:] == [[n]]
    finally:
        query.stop()


def test_a_compaction_adds_no_rows(reader: Reader, table: IndexTable) -> None:
    reader.ids()
    table.merge_splits()
    assert reader.run() == []
    table.append(lines(30))
    table.merge_splits()
    assert reader.ids() == [30]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingVersion": 0}, range(30)),
        ({"startingVersion": 2}, range(10, 30)),
        pytest.param({"startingVersion": 4}, (), marks=slow(OPERATIONS)),
        pytest.param({"startingVersion": "latest"}, (), marks=slow(OPERATIONS)),
        pytest.param({"startingTimestamp": "2024-01-01 00:00:00"}, range(30), marks=slow(OPERATIONS)),
    ],
)
def test_where_a_stream_starts(reader: Reader, table: IndexTable, options: dict[str, Any], expected: Any) -> None:
    assert reader.ids(**options) == list(expected)
    table.append(lines(30))
    assert reader.ids(**options) == [30]  # from the checkpoint on, whatever the option says


@slow(OPERATIONS)
def test_it_starts_with_the_version_of_a_time(reader: Reader, table: IndexTable) -> None:
    moment = next(record["timestamp"] for record in table.history().to_pylist() if record["version"] == 2)
    assert reader.ids(startingTimestamp=moment.isoformat()) == list(range(10, 30))


def test_a_batch_has_no_more_files_or_bytes_than_it_may(reader: Reader, table: IndexTable) -> None:
    files = table.splits().num_rows
    assert files == 6
    assert len(reader.run(maxFilesPerTrigger=2)) == 3
    assert sorted(n for batch in reader.batches for n in batch) == list(range(30))
    for n in range(30, 34):
        table.append(lines(n))
    largest = max(table.splits()["size"].to_pylist())
    assert len(reader.run(maxBytesPerTrigger=2 * largest)) == 2
    table.append(lines(34))
    table.append(lines(35))
    assert reader.run(maxBytesPerTrigger=1) == [[34], [35]]


@pytest.mark.parametrize(
    ("change", "operation"),
    [
        (lambda table: table.overwrite(lines(100)), "OVERWRITE"),
        (lambda table: table.drop_partitions("level = 'INFO'"), "DROP PARTITIONS"),
        pytest.param(
            lambda table: table.replace_where(lines(100), "level = 'INFO'"), "REPLACE WHERE", marks=slow(OPERATIONS)
        ),
    ],
)
def test_a_commit_that_removes_rows_stops_the_stream(
    reader: Reader, table: IndexTable, change: Any, operation: str
) -> None:
    assert reader.ids() == list(range(30))
    table.append(lines(30))
    change(table)
    table.append(lines(31))
    with pytest.raises(
        StreamingQueryException, match=rf"ChangedRowsError: version 5 of .* \({operation}\) removed rows"
    ):
        reader.run()
    assert reader.batches == [[30]]
    if operation == "DROP PARTITIONS":
        assert reader.ids(ignoreDeletes="true") == [31]
    else:
        with pytest.raises(StreamingQueryException, match="ChangedRowsError: version 5"):
            reader.run(ignoreDeletes="true")
        assert reader.ids(skipChangeCommits="true") == [31]


def test_new_columns_need_a_restart(reader: Reader, table: IndexTable) -> None:
    before = reader.frame()
    assert sorted(n for batch in reader.run(before) for n in batch) == list(range(30))
    table.append(lines(30))
    table.add_column("host", "string")
    table.append({**lines(31), "host": ["alpha"]})
    with pytest.raises(
        StreamingQueryException, match=r"StreamSchemaError: version 5 of .* \(host\).*start the query again"
    ):
        reader.run(before)
    assert reader.batches == [[30]]
    assert reader.ids() == [31]


@slow(OPERATIONS)
def test_the_layout_may_change(reader: Reader, table: IndexTable) -> None:
    before = reader.frame()
    reader.run(before)
    table.evolve_layout("bucket(2, id)")
    table.append(lines(30, 31, 32))
    assert sorted(n for batch in reader.run(before) for n in batch) == [30, 31, 32]


def test_what_a_clean_up_of_the_log_took_away_is_named(reader: Reader, table: IndexTable) -> None:
    reader.ids()
    for n in range(30, 34):
        table.append(lines(n))
    table.checkpoint()
    for version in range(6):
        Path(table.path, "_transaction_log", f"{version:018}.json").unlink()
    with pytest.raises(StreamingQueryException, match="VersionNotFoundError: the log of .* what version 4 added"):
        reader.run()


@slow(OPERATIONS)
def test_a_stream_that_was_loaded_long_ago_goes_on(reader: Reader, table: IndexTable) -> None:
    frame = reader.frame()
    reader.run(frame)
    table.append(lines(30))
    reader.run(frame)
    table.checkpoint()
    for version in range(4):
        Path(table.path, "_transaction_log", f"{version:018}.json").unlink()
    table.append(lines(31))
    assert reader.run(frame) == [[31]]


def test_what_a_vacuum_took_away_is_named(reader: Reader, table: IndexTable) -> None:
    reader.ids()
    table.append(lines(30))
    table.append(lines(32))
    table.merge_splits()
    table.purge(older_than=timedelta(0), force=True)
    with pytest.raises(StreamingQueryException, match="SplitNotFoundError: version [45] of .* the file was purged"):
        reader.run()


@slow(OPERATIONS)
def test_a_table_that_was_created_anew_is_another_one(reader: Reader, table: IndexTable, tmp_path: Path) -> None:
    reader.ids()
    Path(table.path).rename(tmp_path / "moved")
    IndexTable.create(table.path, table.schema).append(lines(1))
    with pytest.raises(
        StreamingQueryException, match="TableReplacedError: the checkpoint of the stream is about another"
    ):
        reader.run()


def test_a_standing_search(reader: Reader, table: IndexTable) -> None:
    """By the index; and by Spark, on the rows of the stream."""
    search = {"query": "message:timed AND level:ERROR"}
    assert reader.ids(**search) == ids_of(table, **search) == [3, 11, 19, 27]
    table.append(lines(*range(30, 40)))
    evaluated = reader.frame().filter(indexquery("message", "timed")).filter("level INDEXQUERY 'ERROR'")
    assert [n for batch in reader.run(evaluated) for n in batch] == [35]
    table.append(lines(40, 41, 42))
    assert reader.ids(**search) == []


@slow(OPERATIONS)
def test_a_standing_search_does_not_open_splits_that_cannot_match(reader: Reader, table: IndexTable) -> None:
    """The splits of level INFO are damaged: whoever reads them fails."""
    for split in Path(table.path, "level=INFO").glob("*.split"):
        split.write_bytes(b"damaged")
    assert reader.ids(where="level = 'ERROR'") == [n for n in range(30) if n % 4 == 3]
    for split in Path(table.path, "level=ERROR").glob("*.split"):
        split.write_bytes(b"damaged")
    table.append(lines(30, 31))
    assert reader.ids(where="level = 'ERROR'", query="message:31") == [31]


def ids_of(table: IndexTable, **options: str) -> list[int]:
    return sorted(table.scan(columns=["id"], **options).to_arrow()["id"].to_pylist())


def test_where_reads_times_in_the_zone_of_the_session(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - for the schema

    times = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (7, 9)]
    table = IndexTable.create(tmp_path / "times", pa.schema({"id": pa.int64(), "ts": pa.timestamp("us", "UTC")}))
    table.append({"id": [1, 2], "ts": times})
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        reader = Reader(spark, table, tmp_path / "checkpoint")
        assert reader.ids(where="ts >= '2024-01-01 00:00:00'") == [2]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_a_table_of_the_catalog(reader: Reader, table: IndexTable, spark: Any) -> None:
    spark.sql(f"CREATE TABLE followed USING indextables LOCATION '{table.path}'")
    try:
        frame = spark.readStream.option("where", "id < 5").table("followed")
        assert sorted(n for batch in reader.run(frame.where("followed.id > 2")) for n in batch) == [3, 4]
    finally:
        spark.sql("DROP TABLE followed")


def test_an_option_that_is_none_is_not_given(reader: Reader, table: IndexTable, spark: Any) -> None:
    assert reader.ids(where=None, query=None) == list(range(30))
    assert (
        spark.read.format("indextables").option("where", "id < 3").option("where", None).load(table.path).count() == 30
    )


def test_some_columns(reader: Reader, table: IndexTable, spark: Any) -> None:
    frame = spark.readStream.format("indextables").schema("id long").load(table.path)
    assert frame.columns == ["id"]
    assert sorted(n for batch in reader.run(frame) for n in batch) == list(range(30))


def test_source_and_sink_in_a_row(spark: Any, table: IndexTable, tmp_path: Path) -> None:
    def copy() -> None:
        frame = spark.readStream.format("indextables").option("maxFilesPerTrigger", 2).load(table.path)
        writer = frame.writeStream.format("indextables").option("checkpointLocation", str(tmp_path / "checkpoint"))
        finish(writer.option("partitionBy", "level"), lambda w: w.start(str(tmp_path / "copy")))

    copy()
    table.append(lines(*range(30, 50)))
    table.merge_splits()
    copy()
    copied = IndexTable.open(tmp_path / "copy")
    assert copied.scan().to_arrow().sort_by("id") == table.scan().to_arrow().sort_by("id")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"versionAsOf": 1}, ConfigError, "use startingVersion or startingTimestamp"),
        ({"timestampAsOf": "2024-01-01"}, ConfigError, "use startingVersion or startingTimestamp"),
        ({"startingVersion": "x"}, ConfigError, "must be a version's number"),
        ({"startingVersion": 1, "startingTimestamp": "2024-01-01"}, ConfigError, "say two things"),
        ({"startingTimestamp": "2999-01-01"}, ConfigError, "is in the future"),
        ({"maxFilesPerTrigger": 0}, ConfigError, "a whole number above zero"),
        ({"maxBytesPerTrigger": "much"}, ConfigError, "a size from 1 byte up"),
        ({"skipChangeCommits": "maybe"}, ConfigError, "skipChangeCommits is 'maybe'"),
        ({"startingVersio": "1"}, ConfigError, "did you mean 'startingVersion'"),
        ({"query": "nosuch:x"}, SearchQueryError, "there is no field 'nosuch'"),
    ],
)
def test_what_is_wrong_is_refused_when_the_stream_is_loaded(
    reader: Reader, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        reader.frame(**options)


def test_more_that_is_refused(spark: Any, table: IndexTable, tmp_path: Path, reader: Reader) -> None:
    with pytest.raises(TableNotFoundError, match="there is no table at"):
        spark.readStream.format("indextables").load(str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="startingVersion is an option of spark.readStream"):
        spark.read.format("indextables").option("startingVersion", 1).load(table.path)
    with pytest.raises(StreamingQueryException, match="ConfigError: startingVersion is 9, but .* has versions 0 to 3"):
        reader.run(startingVersion=9)
