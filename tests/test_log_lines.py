"""What writes and maintenance log: one line per event, none where nothing happens, and never a secret."""

import logging
import os
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConflictError
from tests.log_lines import events, facts
from tests.stores.servers import SECRET, Server

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})
VERSION = "Version committed"


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="indextables")


@pytest.fixture
def table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> IndexTable:
    """Two splits in each of two partitions, at version 2."""
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day")
    for start in (0, 10):
        table.append(rows("mon", "tue", start=start))
    caplog.clear()
    return table


def rows(*days: str, start: int = 0) -> pa.Table:
    return pa.table({"day": days, "n": range(start, start + len(days))}, schema=SCHEMA)


def version(caplog: pytest.LogCaptureFixture, *names: str) -> tuple[object, ...]:
    """Some facts of the one version that was committed."""
    [line] = facts(caplog, VERSION)
    return tuple(line.get(name) for name in names)


def test_a_version_has_the_metrics_of_its_history(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.append(rows("mon", "mon", "wed", start=20))
    assert events(caplog) == [VERSION]
    names = ("table", "version", "operation", "adds", "removes", "attempts", "rebased_over", "numAddedRows")
    assert version(caplog, *names) == (table.path, 3, "APPEND", 2, 0, 1, 0, 3)
    newest = table.history().to_pylist()[0]
    [line] = facts(caplog, VERSION)
    assert {name: str(line[name]) for name, _ in newest["metrics"]} == dict(newest["metrics"])
    assert line["txn_id"] == newest["txn_id"]
    assert dict(newest["metrics"]).keys() >= {"numTasks", "numEmptyTasks", "taskTimeMs", "writeTimeMs", "numPartitions"}


def test_a_task_without_rows_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    table.append(rows("mon"))
    caplog.clear()
    table.overwrite(rows())
    assert version(caplog, "operation", "numTasks", "numEmptyTasks", "adds", "removes") == ("OVERWRITE", 1, 1, 0, 1)


def test_a_replacement_says_what_it_removed_and_added(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.replace_where(rows("mon"), "day = 'mon'")
    names = ("operation", "predicate", "adds", "removes", "numDeletedRows")
    assert version(caplog, *names) == ("REPLACE WHERE", "day = 'mon'", 1, 2, 2)


def test_a_drop_and_a_change_of_the_table(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.drop_partitions("day = 'mon'")
    table.add_column("x", "string")
    assert [(line["operation"], line["removes"]) for line in facts(caplog, VERSION)] == [
        ("DROP PARTITIONS", 2),
        ("ALTER TABLE", 0),
    ]


def test_a_commit_that_others_came_before(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    slow = IndexTable.open(table.path)
    table.append(rows("mon", start=20))
    table.append(rows("mon", start=30))
    caplog.clear()
    slow.append(rows("mon", start=40))
    assert version(caplog, "version", "attempts", "rebased_over") == (5, 2, 2)


def test_a_commit_that_failed_is_none(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    slow = IndexTable.open(table.path)
    table.append(rows("mon", start=20))
    caplog.clear()
    with pytest.raises(ConflictError):
        slow.overwrite(rows("mon"))
    assert events(caplog) == []


def test_a_merge(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    result = table.merge_splits()
    assert events(caplog) == [VERSION, "Splits merged"]
    [line] = facts(caplog, "Splits merged")
    assert (line["table"], line["version"], line["groups"], line["merged"]) == (table.path, 3, 2, 2)
    assert (line["splits_before"], line["splits_after"], line["rows"]) == (4, 2, 4)
    assert (line["bytes_before"], line["bytes_after"]) == (result.bytes_before, result.bytes_after)
    assert (line["conflicts"], line["damaged"]) == (0, 0)


def test_a_merge_after_a_write_has_one_line(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.append(rows("mon"), options={"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplits": "2"})
    assert events(caplog) == [VERSION, VERSION, "Splits merged"]


def test_a_vacuum(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.merge_splits()
    for path in Path(table.path).rglob("*"):
        os.utime(path, (0, 0))
    caplog.clear()
    table.purge(older_than=timedelta(0), force=True, dry_run=True)
    assert events(caplog) == []
    result = table.purge(older_than=timedelta(0), force=True)
    [line] = facts(caplog, "Files purged")
    assert (line["files"], line["past"], line["orphans"], line["bytes"]) == (4, 4, 0, result.bytes)
    caplog.clear()
    table.purge(older_than=timedelta(0), force=True)
    assert events(caplog) == []


def test_a_checkpoint_and_a_clean_up_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {"checkpoint.interval": "2", "log.retention": "0 seconds"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, options=options)
    for start in range(4):
        table.append(rows("mon", start=start))
    written = facts(caplog, "Checkpoint written")
    assert [(line["version"], line["splits"]) for line in written] == [(2, 2), (4, 4)]
    assert all(isinstance(line["size_in_bytes"], int) for line in written)
    cleaned = facts(caplog, "Log cleaned up")
    assert cleaned
    assert all(line["table"] == table.path for line in cleaned)


def test_the_analysis_of_automatic_sizes(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    sizes = table.splits()["size"].to_pylist()
    caplog.clear()
    table.append(rows("mon"), options={"autoSize.enabled": "true", "autoSize.targetSplitSize": "1M"})
    [line] = facts(caplog, "Auto-sizing analysis")
    assert (line["table"], line["splits_analyzed"], line["target_split_size"]) == (table.path, 4, 1024**2)
    assert line["bytes_per_record"] == round(sum(sizes) / 4, 1)
    assert line["target_rows_per_split"] == -(-(1024**2) * 4 // sum(sizes))


def test_nothing_is_logged_where_nothing_happens(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="indextables")
    opened = IndexTable.open(table.path).refresh()
    opened.append(rows())
    opened.merge_splits(dry_run=True)
    opened.drop_partitions("day = 'sun'")
    opened.drop_partitions("day = 'mon'", dry_run=True)
    opened.purge()
    opened.scan(where="day = 'mon'").explain()
    for listing in (opened.history, opened.splits, opened.partitions, opened.detail, opened.health):
        listing()
    assert caplog.records == []


def test_lines_have_no_line_breaks(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    table.replace_where(rows("mon"), "day =\n 'mon'")
    table.merge_splits()
    assert [record.getMessage().count("\n") for record in caplog.records] == [0] * len(caplog.records)


def test_no_line_has_a_secret(s3: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    table = IndexTable.create(s3.new_table(), SCHEMA, partition_by="day", options=s3.options)
    for start in (0, 10):
        table.append(rows("mon", "tue", start=start))
    table.replace_where(rows("mon"), "day = 'mon'")
    table.merge_splits()
    table.checkpoint()
    table.purge(older_than=timedelta(0), force=True)
    table.scan(where="day = 'mon'").to_arrow()
    assert {VERSION, "Splits merged", "Checkpoint written", "Partition pruning summary"} <= set(events(caplog))
    assert SECRET not in caplog.text
