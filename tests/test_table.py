"""A table through its public face, without Spark."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable, IndexTablesError
from indextables.errors import (
    ConfigError,
    ConflictError,
    InvalidPredicateError,
    LayoutError,
    NotDurableError,
    NotFoundError,
    SchemaError,
    SearchQueryError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)
from indextables.predicate import col
from indextables.search import date_histogram, stats, terms
from indextables.storage import local

SCHEMA = pa.schema(
    {
        "day": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "level": pa.string(),
        "status": pa.int32(),
        "message": pa.string(),
    }
)
START = datetime(2024, 1, 1, tzinfo=UTC)
LINES = [
    ("mon", 0, "INFO", 200, "request served from cache"),
    ("mon", 5, "ERROR", 500, "timeout while reading from disk"),
    ("mon", 9, "ERROR", 503, "disk full, retry later"),
    ("tue", 26, "INFO", 200, "request served"),
    ("tue", 30, "WARN", None, "slow disk, retry"),
    (None, 50, "INFO", 404, "no such page"),
    ("", 51, None, 200, None),
]


def lines(*chosen: int) -> pa.Table:
    rows = [LINES[number] for number in (chosen or range(len(LINES)))]
    columns = list(zip(*rows, strict=True))
    columns[1] = tuple(START + timedelta(hours=hours) for hours in columns[1])
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def new_table(path: str | Path | None = None, *, partition_by: str | None = "day", **given: object) -> IndexTable:
    place = path or f"memory://{uuid4().hex}/t"
    return IndexTable.create(place, SCHEMA, partition_by=partition_by, fields={"message": "text"}, **given)


@pytest.fixture
def table() -> IndexTable:
    found = new_table()
    found.append(lines())
    return found


def statuses(rows: pa.Table) -> list[int | None]:
    return sorted(rows["status"].to_pylist(), key=str)


def files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file() and "_transaction_log" not in p.parts)


class TestLife:
    def test_a_new_table_is_empty_and_at_version_zero(self) -> None:
        table = new_table()
        assert (table.version, table.count(), table.scan().to_arrow().num_rows) == (0, 0, 0)
        assert table.schema == SCHEMA
        assert str(table.layout) == "day"

    def test_what_is_appended_is_read(self, table: IndexTable) -> None:
        assert table.version == 1
        rows = table.scan().to_arrow()
        assert rows.schema == SCHEMA
        assert sorted(rows.to_pylist(), key=str) == sorted(lines().to_pylist(), key=str)

    def test_appends_add_up_and_nothing_is_nothing(self, table: IndexTable) -> None:
        assert table.append(lines(0, 1)) == 2
        assert table.append(lines().slice(0, 0)) == 2
        assert table.append(iter([])) == 2
        assert table.count() == len(LINES) + 2

    def test_overwrite_replaces_everything(self, table: IndexTable) -> None:
        assert table.overwrite(lines(3)) == 2
        assert statuses(table.scan().to_arrow()) == [200]
        assert table.overwrite(lines().slice(0, 0)) == 3
        assert table.count() == 0

    def test_every_kind_of_data(self) -> None:
        table = new_table()
        table.append(lines(0))
        table.append(pa.RecordBatchReader.from_batches(SCHEMA, lines(1).to_batches()))
        table.append(lines(2).to_batches())
        table.append(lines(3).to_batches()[0])
        assert table.count() == 4

    @pytest.mark.parametrize(
        "data",
        [
            {"day": [None, None], "status": [500, 501], "message": ["a", None]},
            [{"day": None, "status": 500, "message": "a"}, {"status": 501}],
            [{"day": None, "status": 500, "message": "a"}, {"day": None, "status": 501, "message": None}],
            {"Status": pa.array([500, 501], pa.int32()), "message": ("a", None), "DAY": pa.nulls(2)},
        ],
    )
    def test_values_of_python(self, data: Any) -> None:
        table = new_table()
        table.append(data)
        assert table.scan(columns=["status", "message"]).to_arrow().to_pylist() == [
            {"status": 500, "message": "a"},
            {"status": 501, "message": None},
        ]

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            ("text", "a str is no data"),
            (7, "a int is no data"),
            ([1, 2], "a int is no data"),
            ([{"status": 1}, None], "a NoneType is no data"),
            ({"status": [1], "message": []}, "of different lengths"),
            ({"status": [1, "one"]}, r"'status' is integer, and the data has 'one' \(str\)"),
            ({"status": [2**40]}, f"'status' is integer, and the data has {2**40}"),
            ({"status": [1.0, 2.5]}, r"'status' is integer, and the data has 2.5 \(float\)"),
            ({"status": [Decimal("2.5")]}, "'status' is integer, and the data has Decimal"),
            ({"status": [1.0, float("nan")]}, "'status' is integer, and the data has nan"),
            ({"message": ["\ud800"]}, "'message' is string, and the data has"),
            ({"message": ["a", 5]}, r"'message' is string, and the data has 5 \(int\)"),
            ({"message": "disk full"}, "'message' is 'disk full'; a column is a list of values"),
            ({"status": 200}, "'status' is 200; a column is a list of values"),
            ([{"status": 1, "STATUS": 2}], "differ in case only"),
            ({1: [1]}, "named by text"),
            ({"extra": [1]}, "no column 'extra'"),
        ],
    )
    def test_what_is_no_data(self, tmp_path: Path, data: Any, complaint: str) -> None:
        table = new_table(tmp_path / "t")
        with pytest.raises(SchemaError, match=complaint):
            table.append(data)
        assert (files(tmp_path), IndexTable.open(table.path).version) == ([], 0)

    def test_days_and_moments_lose_nothing_in_silence(self) -> None:
        schema = {"day": pa.date32(), "at": pa.timestamp("us"), "n": pa.int8()}
        table = IndexTable.create(f"memory://{uuid4().hex}/t", schema)
        table.append({"day": [START.replace(tzinfo=None), START.date()], "at": [START.replace(tzinfo=None), None]})
        for odd in ({"day": [START + timedelta(hours=1)]}, {"day": [7]}, {"at": [START]}, {"at": [1_704_067_200]}):
            with pytest.raises(SchemaError, match="which does not fit"):
                table.append(odd)
        assert table.count("day = '2024-01-01' AND n IS NULL") == 2

    @pytest.mark.parametrize(
        ("ask", "error", "complaint"),
        [
            (lambda t: t.scan(where=5), InvalidPredicateError, "5 is no condition"),
            (lambda t: t.count(True), InvalidPredicateError, "True is no condition"),
            (lambda t: t.scan(columns=[1]), SchemaError, "1 is not the name of a column"),
            (lambda t: t.scan().group_by(["day"]), SchemaError, "is not the name of a column"),
            (lambda t: t.scan(limit="3"), ConfigError, "the limit is '3'; it is a whole number"),
            (lambda t: t.search("disk", limit=None), ConfigError, "the limit is None"),
            (lambda t: t.search("disk", limit=-1), ConfigError, "the limit is -1"),
            (lambda t: t.search(None), SearchQueryError, "every row"),
            (lambda t: t.search(5), SearchQueryError, "not a text"),
            (lambda t: t.at(version="1"), IndexTablesError, "'1' is not a version"),
            (lambda t: IndexTable.open(t.path, version=1, timestamp=START), IndexTablesError, "not both"),
            (lambda t: t.purge(older_than="soon"), ConfigError, "older_than is 'soon', but must be a number of days"),
            (lambda t: t.purge(older_than=7), ConfigError, "older_than is 7, but must be a number of days"),
            (lambda _: IndexTable.open(__file__), TableNotFoundError, "is a file, and a table is a directory"),
            (lambda _: IndexTable.create("memory://no/t", None), SchemaError, "a schema is a pyarrow.Schema"),
        ],
    )
    def test_what_is_no_question(
        self, table: IndexTable, ask: Callable[[IndexTable], object], error: type[Exception], complaint: str
    ) -> None:
        with pytest.raises(error, match=complaint):
            ask(table)

    def test_one_of_something_needs_no_list(self, table: IndexTable) -> None:
        assert table.scan(columns="day").schema.names == ["day"]
        assert table.advise("status = 200").queries == 1
        assert table.purge(older_than="8 days").files == 0

    def test_compaction_and_vacuum_have_their_usual_names_too(self, table: IndexTable) -> None:
        assert table.compact(dry_run=True) == table.merge_splits(dry_run=True)
        assert table.vacuum(older_than="8 days").files == 0

    def test_a_table_in_one_row(self, table: IndexTable) -> None:
        detail, splits = table.detail(), table.splits()
        assert (detail.location, detail.version) == (table.path, table.version)
        assert (detail.num_splits, detail.num_records) == (len(splits), table.count())
        assert detail.size == sum(splits["size"].to_pylist())

    def test_time_travel(self, table: IndexTable) -> None:
        table.overwrite(lines(0))
        assert [table.at(version=v).count() for v in range(3)] == [0, len(LINES), 1]
        first = table.history()["timestamp"].to_pylist()[1]
        assert table.at(timestamp=first).version == 1
        assert table.at(timestamp=first.isoformat()).version == 1
        assert IndexTable.open(table.path, version=1).count() == len(LINES)
        with pytest.raises(VersionNotFoundError):
            table.at(version=9)
        with pytest.raises(IndexTablesError, match="is not a timestamp"):
            table.at(timestamp="yesterday")
        day = first.date()
        assert table.at(timestamp=day + timedelta(days=1)).version == 2
        with pytest.raises(VersionNotFoundError):
            IndexTable.open(table.path, timestamp=day - timedelta(days=1))
        with pytest.raises(IndexTablesError, match="5 is not a timestamp"):
            table.at(timestamp=5)  # type: ignore[arg-type]

    def test_the_past_cannot_be_written(self, table: IndexTable) -> None:
        with pytest.raises(IndexTablesError, match="shows the past"):
            table.at(version=0).append(lines())

    def test_other_handles_move_by_refresh(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.append(lines(0))
        assert (other.version, other.refresh().version) == (1, 2)
        past = other.at(version=0)
        assert past.refresh().version == 0

    def test_creating_twice(self, table: IndexTable) -> None:
        with pytest.raises(TableExistsError, match="there is a table at"):
            new_table(table.path)

    def test_opening_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(TableNotFoundError):
            IndexTable.open(tmp_path / "nowhere")
        assert list(tmp_path.iterdir()) == []

    def test_history(self, table: IndexTable) -> None:
        assert table.history()["operation"].to_pylist() == ["APPEND", "CREATE TABLE"]
        assert dict(table.history()["metrics"].to_pylist()[0])["numAddedRows"] == str(len(LINES))

    def test_properties(self) -> None:
        table = new_table(properties={"owner": "me", "targetRecordsPerSplit": "2"}, partition_by=None)
        table.append(lines())
        assert table.properties["owner"] == "me"
        assert max(table.splits()["num_records"].to_pylist()) == 2


CONDITIONS = [
    ("day = 'mon'", lambda r: r["day"] == "mon"),
    ("day IS NULL", lambda r: r["day"] is None),
    ("day = ''", lambda r: r["day"] == ""),
    ("day <> 'mon'", lambda r: r["day"] not in {None, "mon"}),
    ("status >= 500", lambda r: (r["status"] or 0) >= 500),
    ("status IS NULL OR level = 'WARN'", lambda r: r["status"] is None or r["level"] == "WARN"),
    ("NOT (status = 200)", lambda r: r["status"] not in {None, 200}),
    ("message LIKE '%disk%'", lambda r: "disk" in (r["message"] or "")),
    ("ts < TIMESTAMP '2024-01-02T00:00:00Z'", lambda r: r["ts"] < START + timedelta(days=1)),
    ("day = 'mon' AND status = 503", lambda r: r["day"] == "mon" and r["status"] == 503),
    ("message INDEXQUERY 'disk'", lambda r: "disk" in (r["message"] or "")),
    (
        "message INDEXQUERY 'disk AND NOT retry'",
        lambda r: "disk" in (r["message"] or "") and "retry" not in r["message"],
    ),
    ("NOT message INDEXQUERY 'disk'", lambda r: "disk" not in (r["message"] or "")),
    ("day = 'tue' OR message INDEXQUERY 'timeout'", lambda r: r["day"] == "tue" or "timeout" in (r["message"] or "")),
    ("status = 200 AND message INDEXQUERY 'served'", lambda r: r["status"] == 200 and "served" in (r["message"] or "")),
    (
        "level = 'ERROR' AND NOT message INDEXQUERY 'full'",
        lambda r: r["level"] == "ERROR" and "full" not in r["message"],
    ),
    ("FALSE", lambda r: False),
    ("TRUE", lambda r: True),
]


@pytest.fixture(scope="module", params=[None, "day", "day(ts)", "level, bucket(4, status)", "truncate(1, day)"])
def written_twice(request: pytest.FixtureRequest) -> str:
    """A table of some layout, to be read only."""
    table = new_table(partition_by=request.param)
    table.append(lines(0, 2, 4, 6))
    table.append(lines(1, 3, 5))
    return table.path


class TestScan:
    @pytest.mark.parametrize(("where", "meaning"), CONDITIONS, ids=[where for where, _ in CONDITIONS])
    def test_rows_and_counts_are_those_of_the_condition(self, written_twice: str, where: str, meaning: object) -> None:
        table = IndexTable.open(written_twice)
        expected = sorted((row for row in lines().to_pylist() if meaning(row)), key=str)
        assert sorted(table.scan(where=where).to_arrow().to_pylist(), key=str) == expected
        assert table.count(where) == len(expected)
        counted = table.scan(where=where).group_by("day").count().to_pylist()
        groups: dict[str | None, int] = {}
        for row in expected:
            groups[row["day"]] = groups.get(row["day"], 0) + 1
        assert {row["day"]: row["count"] for row in counted} == groups

    def test_columns_in_the_order_asked_for(self, table: IndexTable) -> None:
        assert table.scan(columns=["status", "DAY"]).to_arrow().column_names == ["status", "day"]
        assert table.scan(where="day = 'mon'", columns=["level"]).to_arrow().num_rows == 3
        with pytest.raises(SchemaError, match="there is no column 'nope'"):
            table.scan(columns=["nope"])

    def test_limit(self, table: IndexTable) -> None:
        assert table.scan(limit=3).to_arrow().num_rows == 3
        assert table.scan(limit=0).to_arrow().num_rows == 0
        assert table.scan(limit=3).count() == 3
        assert table.scan(limit=100).count() == len(LINES)

    def test_half_a_character_is_refused(self, table: IndexTable) -> None:
        half = "\ud800"
        for where in (f"message = '{half}'", f"message LIKE '{half}%'"):
            with pytest.raises(InvalidPredicateError, match="half a character"):
                table.count(where)
        for build in (col("message").isin, col("message").startswith, col("message").contains, col("message").like):
            with pytest.raises(InvalidPredicateError, match="half a character"):
                table.count(build(half))

    def test_a_condition_built_in_python(self, table: IndexTable) -> None:
        assert table.count((col("day") == "mon") & (col("status") > 200)) == 2

    def test_a_query_beside_a_condition(self, table: IndexTable) -> None:
        found = table.scan(where="status >= 500", query="message:disk").to_arrow()
        assert statuses(found) == [500, 503]

    def test_what_is_not_understood_is_refused(self, table: IndexTable) -> None:
        with pytest.raises(InvalidPredicateError, match="nope"):
            table.scan(where="nope = 1")
        with pytest.raises(SearchQueryError, match="nope"):
            table.scan(query="nope:x")
        with pytest.raises(SearchQueryError):
            table.scan(query="message:(unbalanced")
        assert table.count("message INDEXQUERY 'disk'") == 3

    def test_many_splits_in_parallel_keep_their_order(self) -> None:
        table = new_table(partition_by=None, options={"targetRecordsPerSplit": "10"})
        numbers = pa.table({"status": pa.array(range(400), pa.int32())})
        table.append(numbers)
        assert len(table.splits()) == 40
        assert table.scan(columns=["status"]).to_arrow()["status"].to_pylist() == list(range(400))

    def test_a_scan_that_is_left_early_ends(self) -> None:
        table = new_table(partition_by=None, options={"targetRecordsPerSplit": "10"})
        table.append(pa.table({"status": pa.array(range(300), pa.int32())}))
        batches = table.scan().to_batches()
        assert next(batches).num_rows > 0
        batches.close()


@pytest.fixture(scope="module")
def without_splits(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("unreadable")
    table = new_table(place / "t", partition_by="day, day(ts)")
    table.append(lines())
    for path in files(place):
        path.unlink()
    return table.path


class TestAnswersFromTheLog:
    @pytest.fixture
    def unreadable(self, without_splits: str) -> IndexTable:
        """A table whose splits are gone: whatever it answers, it answers from the log."""
        return IndexTable.open(without_splits)

    @pytest.mark.parametrize(
        ("where", "rows"),
        [
            (None, 7),
            ("day = 'mon'", 3),
            ("day >= 'mon'", 5),
            ("day IS NULL", 1),
            ("day = '' OR day IS NULL", 2),
            ("day IN ('tue', 'nope')", 2),
            ("NOT (day = 'mon')", 3),
            ("ts < TIMESTAMP '2024-01-02T00:00:00Z'", 3),
            ("ts >= TIMESTAMP '2024-01-02T00:00:00Z' AND ts < TIMESTAMP '2024-01-03T00:00:00Z'", 2),
            ("day = 'mon' AND ts > TIMESTAMP '2030-01-01T00:00:00Z'", 0),
            ("status > 1000", 0),
            ("status < 1000 AND day = 'mon'", 3),
            ("FALSE", 0),
        ],
    )
    def test_counts(self, unreadable: IndexTable, where: str | None, rows: int) -> None:
        assert unreadable.count(where) == rows

    def test_groups(self, unreadable: IndexTable) -> None:
        groups = unreadable.scan().group_by("day").count()
        assert list(zip(*groups.to_pydict().values(), strict=True)) == [("", 1), ("mon", 3), ("tue", 2), (None, 1)]
        assert unreadable.scan(where="day > 'n'").group_by("DAY").count().to_pylist() == [{"day": "tue", "count": 2}]

    def test_types_are_kept(self, unreadable: IndexTable) -> None:
        groups = unreadable.scan().group_by("day").count()
        assert groups.schema == pa.schema({"day": pa.string(), "count": pa.int64()})

    def test_what_the_log_does_not_know_is_read(self, unreadable: IndexTable) -> None:
        for ask in (
            lambda: unreadable.count("status = 200"),
            lambda: unreadable.count(query="disk"),
            lambda: unreadable.scan().group_by("level").count(),
        ):
            with pytest.raises(NotFoundError):
                ask()

    def test_explain(self, table: IndexTable) -> None:
        found = table.scan(where="day = 'mon' AND status > 400").explain()
        assert (found.total, found.never, found.sometimes, found.always) == (4, 3, 1, 0)
        assert (found.opened, found.pruned_by_layout) == (1, 3)
        assert 0 < found.bytes < found.bytes_total
        whole = table.scan(where="day = 'mon'").explain()
        assert (whole.always, whole.sometimes, whole.metadata_rows) == (1, 0, 3)
        assert "3 by layout" in str(found)
        assert found.traffic == table.traffic
        assert f"{table.traffic.requests} requests" in str(found)


class TestSearch:
    def test_best_first_with_scores(self) -> None:
        table = new_table(partition_by=None)
        words = ["disk", "disk disk disk", "a long line about a disk and other things", "nothing here"]
        table.append(pa.table({"message": words}))
        found = table.search("disk", columns=["message"])
        assert found.column_names == ["message", "_score"]
        assert found["message"].to_pylist() == [words[1], words[0], words[2]]
        scores = found["_score"].to_pylist()
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0

    def test_limit_over_many_splits(self) -> None:
        table = new_table(partition_by="day")
        for day in "abcdef":
            table.append(pa.table({"day": [day] * 3, "message": ["disk", "disk disk", "other"]}))
        assert table.search("disk", limit=4).num_rows == 4
        assert table.search("disk", limit=100).num_rows == 12
        assert table.search("absent").num_rows == 0

    def test_a_condition_narrows_the_matches(self, table: IndexTable) -> None:
        assert table.search("disk", where="day = 'tue'", columns=["day"])["day"].to_pylist() == ["tue"]
        assert table.search("disk", where="status = 503", columns=["status"])["status"].to_pylist() == [503]

    def test_the_condition_is_applied_before_the_limit(self) -> None:
        table = new_table(partition_by=None)
        table.append(pa.table({"status": pa.array(range(200), pa.int32()), "message": ["disk"] * 200}))
        assert table.search("disk", where="status >= 197", limit=3).num_rows == 3

    def test_fields_of_every_kind(self, table: IndexTable) -> None:
        assert table.count(query="status:[500 TO 599]") == 2
        assert table.count(query='level:"ERROR"') == 2
        assert table.count(query="day:mon AND message:disk") == 2
        assert table.count(query="NOT message:disk") == 4
        assert table.count(query="message:dis*") == 3


class TestWriting:
    def test_one_split_for_each_partition(self, table: IndexTable) -> None:
        splits = table.splits().to_pylist()
        assert {row["partition"]["day"]: row["num_records"] for row in splits} == {"mon": 3, "tue": 2, None: 1, "": 1}
        assert len(splits) == 4

    def test_partitions(self, table: IndexTable) -> None:
        table.append(lines(0))
        found = {
            row["partition"]["day"]: (row["num_splits"], row["num_records"]) for row in table.partitions().to_pylist()
        }
        assert found == {"mon": (2, 4), "tue": (1, 2), None: (1, 1), "": (1, 1)}

    def test_splits_roll_at_the_target(self) -> None:
        table = new_table(partition_by=None)
        table.append(pa.table({"status": pa.array(range(25), pa.int32())}), options={"targetRecordsPerSplit": "10"})
        assert table.splits()["num_records"].to_pylist() == [10, 10, 5]

    def test_rows_that_do_not_fit_into_memory_wait_on_disk(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", partition_by="day")
        batches = [
            pa.record_batch(
                {"day": [f"d{i % 50}" for i in range(100)], "message": [f"line {n} {i}" for i in range(100)]}
            )
            for n in range(30)
        ]
        scratch = tmp_path / "scratch"
        table.append(
            iter(batches), options={"indexWriter.bufferSize": "20K", "indexWriter.tempDirectoryPath": str(scratch)}
        )
        assert (len(table.splits()), table.count()) == (50, 3000)
        expected = sorted(text for batch in batches for text in batch["message"].to_pylist())
        assert sorted(table.scan(columns=["message"]).to_arrow()["message"].to_pylist()) == expected
        assert list(scratch.iterdir()) == []

    def test_every_split_is_a_parquet_file(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.append(lines())
        rows = [row for path in files(tmp_path) for row in pq.ParquetFile(path).read().to_pylist()]
        assert sorted(rows, key=str) == sorted(lines().to_pylist(), key=str)

    def test_directories_are_hive_labels(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.append(lines())
        assert sorted({path.parent.name for path in files(tmp_path)}) == [
            "day=__HIVE_DEFAULT_PARTITION__",
            "day=mon",
            "day=tue",
        ]

    def test_a_moved_table_is_the_same_table(self, tmp_path: Path) -> None:
        new_table(tmp_path / "t", partition_by="message").append(lines(1, 2))
        (tmp_path / "t").rename(tmp_path / "elsewhere")
        assert IndexTable.open(tmp_path / "elsewhere").scan(where="message LIKE 'disk%'").to_arrow().num_rows == 1

    def test_missing_columns_are_null_and_narrow_ones_are_widened(self) -> None:
        table = new_table(partition_by=None)
        table.append(pa.table({"STATUS": pa.array([7], pa.int16()), "message": pa.array(["x"], pa.large_string())}))
        assert table.scan(columns=["status", "level"]).to_arrow().to_pylist() == [{"status": 7, "level": None}]

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            (
                pa.table({"day": ["mon", "mon"], "status": [1, 1 << 40]}),
                r"'status' is integer, and the data has 1099511627776 \(long\) in row 1",
            ),
            (pa.table({"status": ["x"]}), "'status' is integer, and the data has string"),
            (pa.table({"extra": [1]}), "no column 'extra'"),
            (pa.table({"message": [["nested"]]}), "'message' has type list"),
            (pa.table([[1], [2]], names=["status", "Status"]), "same name but for case"),
        ],
    )
    def test_data_that_does_not_fit_is_refused_before_any_file(
        self, tmp_path: Path, data: pa.Table, complaint: str
    ) -> None:
        table = new_table(tmp_path / "t")
        with pytest.raises(SchemaError, match=complaint):
            table.append(data)
        assert (files(tmp_path), IndexTable.open(table.path).version) == ([], 0)

    def test_null_into_a_column_that_may_not_be_null(self, tmp_path: Path) -> None:
        schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.string())])
        table = IndexTable.create(tmp_path / "t", schema)
        with pytest.raises(SchemaError, match="'id' may not be null, and 1 rows"):
            table.append(pa.table({"id": [1, None]}))
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([1, None]))  # null by its dictionary
        with pytest.raises(SchemaError, match="'id' may not be null, and 1 rows"):
            table.append(pa.table({"id": coded}))
        with pytest.raises(SchemaError, match="'id' may not be null, and the data does not have it"):
            table.append(pa.table({"x": ["a"]}))
        assert files(tmp_path) == []
        table.append(pa.table({"id": [7], "x": ["a"]}))
        assert table.scan().to_arrow() == pa.table({"id": [7], "x": ["a"]}, schema=schema)

    def test_merge_schema_adds_columns(self) -> None:
        table = new_table(partition_by=None)
        table.append(lines(0))
        table.append(
            pa.table({"status": pa.array([1], pa.int32()), "host": ["web-1"], "note": ["brown fox"]}),
            options={"mergeSchema": "true", "indexing.typemap.note": "text"},
        )
        assert table.schema.names[-2:] == ["host", "note"]
        found = table.scan(columns=["status", "host"]).to_arrow().to_pylist()
        assert found == [{"status": 200, "host": None}, {"status": 1, "host": "web-1"}]
        assert table.count(query="note:fox") == 1
        assert table.count("host IS NULL") == 1
        assert table.at(version=1).schema == SCHEMA

    def test_an_overwrite_may_add_columns(self) -> None:
        table = new_table(partition_by=None)
        table.append(lines(0, 1))
        table.overwrite(pa.table({"host": ["web-1"]}), options={"mergeSchema": "true"})
        assert table.scan(columns=["status", "host"]).to_arrow().to_pylist() == [{"status": None, "host": "web-1"}]
        assert (table.at(version=1).schema, table.schema.names[-1]) == (SCHEMA, "host")
        with pytest.raises(SchemaError, match="no column 'other'"):
            table.overwrite(pa.table({"other": [1]}))

    def test_text_that_is_no_text(self, tmp_path: Path) -> None:
        half = pa.Array.from_buffers(
            pa.binary(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
        )
        table = new_table(tmp_path / "t", partition_by=None)
        with pytest.raises(SchemaError, match="'message' does not fit string: Invalid UTF8"):
            table.append(pa.table({"message": half.view(pa.string())}))
        assert files(tmp_path) == []

    def test_field_types_stay_what_they_are(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        with pytest.raises(SchemaError, match="'message' is indexed as text .* asks for string"):
            table.append(lines(), options={"spark.indextables.indexing.typemap.message": "string"})
        table.append(lines(), options={"spark.indextables.indexing.typemap.message": "text"})
        assert table.version == 1

    def test_a_failure_leaves_no_file(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")

        def breaks() -> Iterator[pa.RecordBatch]:
            yield from lines().to_batches()
            raise RuntimeError("the source broke")

        with pytest.raises(RuntimeError, match="the source broke"):
            table.append(breaks(), options={"targetRecordsPerSplit": "1"})
        assert (files(tmp_path), table.refresh().version) == ([], 0)

    def test_a_place_where_no_split_can_be_built(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        (tmp_path / "a file").touch()
        with pytest.raises(StorageError, match="could not be built in .*a file.*tempDirectoryPath"):
            table.append(lines(), options={"indexWriter.tempDirectoryPath": str(tmp_path / "a file" / "scratch")})
        assert table.refresh().version == 0

    def test_trouble_of_the_source_is_its_own(self) -> None:
        def missing() -> Iterator[pa.RecordBatch]:
            yield from lines().to_batches()
            raise FileNotFoundError("the source's own file")

        with pytest.raises(FileNotFoundError, match="the source's own file"):
            new_table().append(missing())

    def test_a_lost_race_leaves_no_file(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.append(lines(0))
        stale = IndexTable.open(table.path)
        table.append(lines(1))
        before = files(tmp_path)
        with pytest.raises(ConflictError, match="APPEND"):
            stale.overwrite(lines(2))
        assert files(tmp_path) == before
        assert table.refresh().count() == 2

    def test_threads_refresh_one_handle_while_others_append(self, tmp_path: Path) -> None:
        shared, versions, done = IndexTable.create(tmp_path / "t", {"n": pa.int64()}), 30, threading.Event()

        def follow(_: int) -> list[int]:
            seen = []
            while not done.is_set():
                seen.append(shared.refresh().version)
            return seen

        with ThreadPoolExecutor(4) as pool:
            followed = [pool.submit(follow, thread) for thread in range(4)]
            try:
                writer = IndexTable.open(shared.path)
                for n in range(versions):
                    writer.append({"n": [n]})
                    assert shared.at().version >= n + 1
            finally:
                done.set()
        for seen in (future.result() for future in followed):
            assert seen == sorted(seen)
        assert shared.refresh().version == versions

    def test_threads_append_by_one_handle(self, tmp_path: Path) -> None:
        shared = IndexTable.create(tmp_path / "t", {"n": pa.int64()})

        def append(n: int) -> bool:
            version = shared.append({"n": [n]})
            return shared.version >= version and shared.count(f"n = {n}") == 1

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(append, range(16)))
        assert (shared.version, shared.count()) == (16, 16)

    def test_threads_append_to_one_table(self, tmp_path: Path) -> None:
        path = new_table(tmp_path / "t", partition_by=None).path
        start = threading.Barrier(8)

        def two_appends(worker: int) -> None:
            own = IndexTable.open(path)
            start.wait()
            for number in range(2):
                own.append(pa.table({"status": pa.array([worker * 10 + number], pa.int32())}))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(two_appends, range(8)))
        table = IndexTable.open(path)
        expected = sorted(worker * 10 + number for worker in range(8) for number in range(2))
        assert sorted(table.scan(columns=["status"]).to_arrow()["status"].to_pylist()) == expected
        assert table.version == 16

    def test_a_batch_of_an_application_is_written_once(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", partition_by=None)

        def batch(app: str, version: str) -> int:
            return table.append(lines(0), options={"txnAppId": app, "txnVersion": version})

        assert [batch("a", "5"), batch("a", "5"), batch("a", "4"), batch("a", "6"), batch("b", "5")] == [1, 1, 1, 2, 3]
        assert table.count() == 3
        assert len(files(tmp_path)) == 3
        with pytest.raises(ConfigError, match="go together"):
            table.append(lines(0), options={"txnAppId": "a"})


class TestCreating:
    @pytest.mark.parametrize(
        ("given", "error", "complaint"),
        [
            ({"partition_by": "nope"}, LayoutError, "nope"),
            ({"partition_by": "hour(day)"}, LayoutError, "day"),
            ({"partition_by": "bucket(0, status)"}, LayoutError, "bucket"),
            ({"fields": {"nope": "text"}}, SchemaError, "nope"),
            ({"fields": {"status": "text"}}, SchemaError, "status"),
            ({"options": {"checkpoint.interwal": "1"}}, ConfigError, "did you mean"),
        ],
    )
    def test_what_cannot_be_is_refused_before_any_file(
        self, tmp_path: Path, given: dict[str, object], error: type[Exception], complaint: str
    ) -> None:
        with pytest.raises(error, match=complaint):
            IndexTable.create(tmp_path / "t", SCHEMA, **given)
        assert list(tmp_path.iterdir()) == []

    def test_a_table_needs_a_column_that_is_no_partition(self, tmp_path: Path) -> None:
        with pytest.raises(LayoutError):
            IndexTable.create(tmp_path / "t", pa.schema({"a": pa.int32()}), partition_by="a")

    def test_partitions_as_a_list(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by=["day", "hour(ts)"])
        assert str(table.layout) == "day, hour(ts)"


class TestAggregating:
    def test_over_a_search(self, table: IndexTable) -> None:
        levels = table.scan(query="disk").aggregate(terms("level"))
        assert levels.to_pylist() == [{"key": "ERROR", "count": 2}, {"key": "WARN", "count": 1}]

    def test_over_a_condition(self, table: IndexTable) -> None:
        levels = table.scan(where="day = 'mon'").aggregate(terms("level"))
        assert levels.to_pylist() == [{"key": "ERROR", "count": 2}, {"key": "INFO", "count": 1}]

    def test_over_both(self, table: IndexTable) -> None:
        found = table.scan(where="status > 200", query="disk").aggregate(stats("status")).to_pylist()
        assert found == [{"count": 2, "sum": 1003, "min": 500, "max": 503, "avg": 501.5}]

    def test_days(self, table: IndexTable) -> None:
        days = table.scan().aggregate(date_histogram("ts", "1d"))
        assert days["count"].to_pylist() == [3, 2, 2]

    def test_an_unknown_column(self, table: IndexTable) -> None:
        with pytest.raises(SearchQueryError, match="did you mean 'level'"):
            table.scan().aggregate(terms("levl"))

    def test_extremes(self, table: IndexTable) -> None:
        assert (table.scan().min("status"), table.scan().max("STATUS")) == (200, 503)
        assert table.scan(where="day = 'tue'").max("ts") == START + timedelta(hours=30)
        assert table.scan(where="status > 200").min("status") == 404
        assert table.scan(where="FALSE").min("status") is None
        assert table.scan().max("message") == "timeout while reading from disk"

    def test_extremes_of_floats_know_nan(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", pa.schema({"x": pa.float64()}))
        table.append(pa.table({"x": [1.5, float("nan"), None]}))
        assert table.scan().min("x") == 1.5
        assert str(table.scan().max("x")) == "nan"

    def test_extremes_from_the_log(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.append(lines())
        for path in files(tmp_path):
            path.unlink()
        assert table.scan(where="day = 'mon'").max("status") == 503
        assert table.scan().min("ts") == START


class TestEdges:
    def test_an_interrupted_checkpoint_does_not_take_the_rows_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = new_table(tmp_path / "t")

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("indextables.log.log.write_checkpoint", interrupted)
        with pytest.raises(KeyboardInterrupt):
            table.append(lines(), options={"checkpoint.interval": "1"})
        assert IndexTable.open(table.path).scan().to_arrow().num_rows == len(LINES)

    def test_an_answer_that_never_comes_leaves_the_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        table = new_table(tmp_path / "t")
        store = table._log.store
        put, read = store.put_if_absent, store.read

        def stored_but_unknown(key: str, data: bytes) -> None:
            put(key, data)
            monkeypatch.setattr(store, "read", unreachable)
            raise StorageError("connection reset", path=key)

        def unreachable(key: str) -> None:
            raise StorageError("connection reset", path=key)

        monkeypatch.setattr(store, "put_if_absent", stored_but_unknown)
        with pytest.raises(StorageError, match="connection reset"):
            table.append(lines(), options={"commit.maxRetries": "1"})
        monkeypatch.setattr(store, "read", read)
        assert IndexTable.open(table.path).scan().to_arrow().num_rows == len(LINES)

    def test_a_handle_older_than_the_log_is_told_so(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", partition_by=None)
        stale = IndexTable.open(table.path)
        for _ in range(12):
            table.append(lines(0))
        table._log.clean_up(retention=timedelta(0))
        with pytest.raises(ConflictError, match="no longer in its log, which goes from version 10 to 12"):
            stale.append(lines(1))
        assert stale.refresh().append(lines(1)) == 13
        assert IndexTable.open(table.path).count() == 13

    def test_a_handle_that_missed_versions_of_another_width_catches_up(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", partition_by=None)
        stale = IndexTable.open(table.path)
        table.append(lines(0))
        for version in (0, 1):
            log = tmp_path / "t" / "_transaction_log"
            (log / f"{version:018}.json").rename(log / f"{version:020}.json")
        assert stale.append(lines(1)) == 2
        assert IndexTable.open(table.path).count() == 2

    def test_a_cache_leaves_alone_what_is_not_its_own(self, tmp_path: Path) -> None:
        place = tmp_path / "cache"
        (place / "precious").mkdir(parents=True)
        (place / "a file").write_text("mine")
        table = new_table(options={"cache.directory": str(place), "cache.maxSize": "1K"})
        table.append(lines())
        table.search("disk")
        table.search("retry")
        assert (place / "precious").is_dir()
        assert (place / "a file").read_text() == "mine"

    def test_a_write_larger_than_its_buffer_whose_splits_fill_up(self) -> None:
        table = new_table(partition_by=None)
        batch = pa.record_batch({"message": [f"line {i}" for i in range(1000)]})
        options = {"indexWriter.bufferSize": "10K", "targetRecordsPerSplit": "700"}
        table.append(iter([batch] * 6), options=options)
        assert table.splits()["num_records"].to_pylist() == [700] * 8 + [400]
        assert table.count(query='"line 999"') == 6

    def test_a_column_named_count(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", pa.schema({"count": pa.int32(), "x": pa.string()}))
        table.append(pa.table({"count": pa.array([7, 8, 8], pa.int32()), "x": ["a", "a", "b"]}))
        assert table.scan().group_by("x", "X").count().to_pylist() == [{"x": "a", "count": 2}, {"x": "b", "count": 1}]
        with pytest.raises(SchemaError, match="'count' cannot be a group"):
            table.scan().group_by("count")
        assert table.scan().max("count") == 8

    @pytest.mark.parametrize("layout", ["", "d", "year(d), month(at)"])
    def test_days_and_moments_beyond_those_of_python(self, layout: str) -> None:
        schema = pa.schema({"n": pa.int64(), "d": pa.date32(), "at": pa.timestamp("us", "UTC")})
        days = pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32())
        moments = pa.array([2**63 - 1, -(2**63), 0], pa.int64()).view(pa.timestamp("us", "UTC"))
        rows = pa.table({"n": [1, 2, 3], "d": days, "at": moments}, schema=schema)
        table = IndexTable.create(f"memory://{uuid4().hex}/t", schema, partition_by=layout)
        table.append(rows)
        table.append(rows)
        table.merge_splits(cluster_by="n")
        assert IndexTable.open(table.path).scan().to_arrow().sort_by("n")[::2].equals(rows)
        assert (table.count("d > '9999-12-31'"), table.count("at < '0001-01-01'")) == (2, 2)
        with pytest.raises(IndexTablesError, match=r"the value is \+294247-01-10T04:00:54.775807Z"):
            table.scan().max("at")
        with pytest.raises(IndexTablesError, match="the value is -5877641-06-23"):
            table.scan().min("d")
        assert table.advise(["d = '2024-01-01'", "at > '2024-01-01'"]).queries == 2
        assert table.report().health.rows == 6
        table.checkpoint()
        assert table.drop_partitions("d > '2024-01-01'").rows == 2 if "d" in layout else True

    def test_a_column_named_score(self) -> None:
        table = IndexTable.create(
            f"memory://{uuid4().hex}/t", pa.schema({"_score": pa.int32(), "x": pa.string()}), fields={"x": "text"}
        )
        table.append(pa.table({"_score": pa.array([1], pa.int32()), "x": ["disk"]}))
        with pytest.raises(SchemaError, match="'_score' has the name of the score column"):
            table.search("disk")
        assert table.search("disk", columns=["x"]).num_rows == 1

    def test_limits(self, table: IndexTable) -> None:
        with pytest.raises(ConfigError, match="below zero"):
            table.scan(limit=-1)
        with pytest.raises(ConfigError, match="only be read or counted"):
            table.scan(limit=1).group_by("day")
        assert table.search("disk", limit=0).num_rows == 0

    def test_settings_of_the_log_come_from_properties_and_options(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", properties={"checkpoint.interval": "2"})
        checkpoints = tmp_path / "t" / "_transaction_log"
        IndexTable.open(table.path).append(lines(0))
        IndexTable.open(table.path).append(lines(0))
        assert [path.name[:18] for path in checkpoints.glob("*.parquet")] == ["0" * 17 + "2"]
        IndexTable.open(table.path).append(lines(0), options={"checkpoint.interval": "3"})
        assert len(list(checkpoints.glob("*.parquet"))) == 2

    def test_properties_are_text(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t", properties={"spark.indextables.checkpoint.interval": 5, "flag": True})
        assert IndexTable.open(table.path).properties == {"spark.indextables.checkpoint.interval": "5", "flag": "true"}
        with pytest.raises(ConfigError, match="properties are text"):
            new_table(tmp_path / "u", properties={"x": None})

    def test_a_path_with_dots(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        new_table("../there").append(lines())
        assert IndexTable.open(tmp_path / "there").count() == len(LINES)

    def test_a_version_or_a_moment(self, table: IndexTable) -> None:
        with pytest.raises(IndexTablesError, match="not both"):
            table.at(version=0, timestamp="2024-01-01")


def test_rows_stay_where_the_disk_did_not_confirm_their_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, flush = IndexTable.create(tmp_path / "t", pa.schema({"n": pa.int64()})), local._flush_directory

    def failing(directory: Path) -> None:
        if directory.name == "_transaction_log":
            raise OSError(5, "Input/output error")
        flush(directory)

    monkeypatch.setattr(local, "_flush_directory", failing)
    with pytest.raises(NotDurableError):
        table.append(pa.table({"n": [1, 2, 3]}))
    monkeypatch.undo()
    assert IndexTable.open(tmp_path / "t").scan().to_arrow()["n"].to_pylist() == [1, 2, 3]
