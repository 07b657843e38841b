"""The figures in the line of a scan, and when there is none."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.read import pruning_summary
from indextables.search import stats
from tests.log_lines import events, facts

EVENT = "Partition pruning summary"
DAYS = ["mon", "tue", "wed", "thu"]
SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64(), "message": pa.string()})
COALESCED = {"coalesce.enabled": "true", "coalesce.minRows": "100", "coalesce.columns": "day"}


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="indextables")


def rows(days: list[str | None], start: int = 0) -> pa.Table:
    numbers = range(start, start + len(days))
    return pa.table({"day": days, "n": numbers, "message": [f"word{n}" for n in numbers]}, schema=SCHEMA)


def made(path: Path, partition_by: str = "day", **options: Any) -> IndexTable:
    """Two appends, each with a row of every day and two of the null partition."""
    table = IndexTable.create(path / "t", SCHEMA, partition_by=partition_by, fields={"message": "text"})
    for start in (0, 100):
        table.append(rows([*DAYS, None, None], start), options=options.get("options"))
    return table


def summary(caplog: pytest.LogCaptureFixture) -> tuple[object, ...]:
    """Partitions before and after, pruned and their share; splits before, after, and to scan."""
    [line] = facts(caplog, EVENT)
    caplog.clear()
    names = ("total_partitions", "partitions_after_pruning", "partitions_pruned", "partitions_pruned_percent")
    return tuple(line[name] for name in (*names, "total_splits", "splits_after_pruning", "splits_to_scan"))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, (5, 5, 0, 0.0, 10, 10, 10)),
        ("day = 'mon'", (5, 1, 4, 80.0, 10, 2, 2)),
        ("day IN ('mon', 'tue')", (5, 2, 3, 60.0, 10, 4, 4)),
        ("day IS NULL", (5, 1, 4, 80.0, 10, 2, 2)),
        ("day = 'sun'", (5, 0, 5, 100.0, 10, 0, 0)),
        ("n >= 100", (5, 5, 0, 0.0, 10, 5, 5)),  # by statistics: one of two splits in each partition
        ("n = 3", (5, 1, 4, 80.0, 10, 1, 1)),
    ],
)
def test_hive_style(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, where: str | None, expected: tuple[object, ...]
) -> None:
    table = made(tmp_path)
    caplog.clear()
    table.scan(where=where).to_arrow()
    assert summary(caplog) == expected


def test_the_table_its_version_and_the_filters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    caplog.clear()
    table.at(1).scan(where="day = 'https://me:secret@host'", query="word1").to_arrow()
    [line] = facts(caplog, EVENT)
    assert (line["table"], line["version"]) == (table.path, 1)
    assert line["filters"] == "day = 'https://me:secret@host' AND * INDEXQUERY 'word1'"
    assert "secret" not in caplog.text


def test_hidden_partitioning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.int64()})
    table = IndexTable.create(tmp_path / "t", schema, partition_by="month(ts), bucket(4, id)")
    times = [datetime(2024, month, day, tzinfo=UTC) for month in (1, 2, 3) for day in (1, 15)]
    table.append(pa.table({"ts": times, "id": [7] * 6}, schema=schema))
    caplog.clear()
    table.scan(where="ts >= '2024-02-10' AND ts < '2024-03-01'").to_arrow()
    assert summary(caplog) == (3, 1, 2, 66.7, 3, 1, 1)
    table.scan(where="id = 7").to_arrow()
    assert summary(caplog) == (3, 3, 0, 0.0, 3, 3, 3)


def test_partitions_that_share_a_split_are_counted_one_by_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, options=COALESCED)
    assert len(table.splits()) == 2
    caplog.clear()
    table.scan(where="day = 'mon'").to_arrow()
    assert summary(caplog) == (5, 1, 4, 80.0, 2, 2, 2)
    table.scan(where="day = 'sun'").to_arrow()
    assert summary(caplog) == (5, 0, 5, 100.0, 2, 0, 0)


def test_layouts_of_before_and_after_an_evolution(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    table.evolve_layout("")
    table.append(rows(["mon"], 200))
    caplog.clear()
    table.scan(where="day = 'tue'").to_arrow()
    assert summary(caplog) == (6, 1, 5, 83.3, 11, 2, 2)


def test_a_table_without_partitions_or_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    caplog.clear()
    table.scan().to_arrow()
    assert summary(caplog) == (0, 0, 0, 0.0, 0, 0, 0)
    table.append(rows(["mon", "tue"]))
    caplog.clear()
    table.scan(where="day = 'mon'").to_arrow()
    assert summary(caplog) == (1, 1, 0, 0.0, 1, 1, 1)


def test_what_metadata_answers_is_not_to_scan(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    caplog.clear()
    assert table.count("day = 'mon'") == 2
    assert summary(caplog)[-2:] == (2, 0)
    assert table.count("day IS NULL AND n = 4") == 1
    assert summary(caplog)[-2:] == (1, 1)
    assert len(table.scan().group_by("day").count()) == 5
    assert summary(caplog)[-2:] == (10, 0)
    assert table.scan().max("n") == 105
    assert summary(caplog)[-2:] == (10, 0)


def test_searches_and_aggregations_have_their_line_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    caplog.clear()
    assert len(table.search("message:word3")) == 1
    assert summary(caplog)[-1] == 1
    table.scan(where="day = 'mon'").aggregate(stats("n"))
    assert summary(caplog)[-1] == 2


def test_plans_that_are_not_run_are_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    caplog.clear()
    scan = table.scan(where="day = 'mon'")
    assert scan.explain().opened == 2
    assert scan.schema.names == SCHEMA.names
    assert events(caplog) == []
    scan.to_arrow()
    scan.count()
    assert events(caplog) == [EVENT] * 2


def test_with_info_off_nothing_is_computed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path)
    table.scan(where="day = 'mon'").to_arrow()  # footers are cached
    before = table.traffic
    table.scan(where="day = 'mon'").to_arrow()
    with_info = table.traffic - before
    computed: list[object] = []
    monkeypatch.setattr(pruning_summary, "pruning_summary", computed.append)
    caplog.set_level(logging.WARNING, logger="indextables")
    caplog.clear()
    before = table.traffic
    table.scan(where="day = 'mon'").to_arrow()
    assert (computed, caplog.records, table.traffic - before) == ([], [], with_info)


def test_the_cache_of_indexes_is_for_debugging(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path)
    caplog.clear()
    caplog.set_level(logging.DEBUG, logger="indextables")
    before = table.cache
    table.scan(query="message:word3").to_arrow()
    [line] = facts(caplog, "Splits read")
    after = table.cache
    assert (line["splits"], line["index_cache_hits"], line["index_cache_misses"]) == (1, after.hits, after.misses)
    assert after.hits + after.misses > before.hits + before.misses
    assert events(caplog, level=logging.DEBUG) == ["Splits read"]
