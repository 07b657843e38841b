"""Compaction in a thread beside writes."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, Timer
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.log import TransactionLog
from indextables.maintain.compact_on_write import merge_beside_stream, merge_in_background

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})
THREE = Config.resolve({"mergeOnWrite.minSplits": "3"})


def row(n: int, day: str = "mon") -> pa.Table:
    return pa.table({"day": [day], "n": [n]}, schema=SCHEMA)


def created(path: str | Path | None = None) -> tuple[IndexTable, TransactionLog]:
    table = IndexTable.create(path or f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day")
    return table, TransactionLog.open(table.path, THREE)


def numbers(table: IndexTable) -> list[int]:
    return sorted(table.refresh().scan(columns=["n"]).to_arrow()["n"].to_pylist())


def splits(table: IndexTable) -> list[tuple[str, int]]:
    return sorted((s["partition"]["day"], s["num_records"]) for s in table.refresh().splits().to_pylist())


def joined(thread: Thread | None) -> None:
    assert thread is not None
    thread.join()


class Held(logging.Handler):
    """Holds the thread that logs a message, from then until it is released."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message, self.reached, self.released = message, Event(), Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self.message in record.getMessage():
            self.reached.set()
            assert self.released.wait(60)


@contextmanager
def held_after_a_merge() -> Iterator[Held]:
    """A thread that has merged waits, before it looks for more; at the end it goes on."""
    logger, held = logging.getLogger("indextables.maintain.compact"), Held("Splits merged")
    level = logger.level
    logger.addHandler(held)
    logger.setLevel(logging.INFO)
    try:
        yield held
    finally:
        held.released.set()
        logger.removeHandler(held)
        logger.setLevel(level)


def test_it_merges_in_a_thread() -> None:
    table, log = created()
    for n in range(3):
        table.append(row(n))
    table.append(row(3, "tue"))
    table.append(row(4))
    thread = merge_in_background(log, log.snapshot(), THREE)
    assert isinstance(thread, Thread)
    assert thread.daemon
    joined(thread)
    assert splits(table) == [("mon", 4), ("tue", 1)]
    assert numbers(table) == list(range(5))
    assert table.history()["operation"].to_pylist()[0] == "MERGE SPLITS"


def test_partitions_that_the_version_did_not_add_to_are_left_alone() -> None:
    table, log = created()
    for n in range(4):
        table.append(row(n))
    table.append(row(4, "tue"))
    joined(merge_in_background(log, log.snapshot(), THREE))
    assert splits(table) == [("mon", 1)] * 4 + [("tue", 1)]


def test_it_can_be_switched_off() -> None:
    table, log = created()
    for n in range(4):
        table.append(row(n))
    off = Config.resolve({"mergeOnWrite.enabled": "false", "mergeOnWrite.minSplits": "3"})
    assert merge_in_background(log, log.snapshot(), off) is None
    assert len(splits(table)) == 4


def test_nothing_to_merge_is_no_commit() -> None:
    table, log = created()
    table.append(row(0))
    joined(merge_in_background(log, log.snapshot(), THREE))
    assert table.refresh().version == 1


def test_one_thread_works_and_does_what_comes_meanwhile() -> None:
    table, log = created()
    for n in range(3):
        table.append(row(n))
    with held_after_a_merge() as held:
        thread = merge_in_background(log, log.snapshot(), THREE)
        assert held.reached.wait(60)
        for n in range(3, 9):
            table.append(row(n, "tue" if n % 2 else "wed"))
            assert merge_in_background(log, log.snapshot(), THREE) is thread
        assert splits(table) == [("mon", 3)] + [("tue", 1)] * 3 + [("wed", 1)] * 3
    joined(thread)
    assert splits(table) == [("mon", 3), ("tue", 3), ("wed", 3)]
    assert numbers(table) == list(range(9))


def test_a_process_waits_for_its_first_merge() -> None:
    """Or one that is started anew for every batch would not get any merge done."""
    table, log = created()
    for n in range(3):
        table.append(row(n))
    merge_beside_stream(log, log.snapshot(), THREE, process_ends=False)
    assert splits(table) == [("mon", 3)]


def test_a_process_that_ends_waits_for_every_merge() -> None:
    table, log = created()
    for n in range(12):
        table.append(row(n))
        merge_beside_stream(log, log.snapshot(), THREE, process_ends=True)
        assert len(splits(table)) < 3


def test_a_stream_waits_where_merges_fall_behind() -> None:
    """Nine batches, three times `minSplits`, may wait for a merge; the tenth does not return before it is done."""
    table, log = created()
    table.append(row(-1))
    merge_beside_stream(log, log.snapshot(), THREE, process_ends=False)
    for n in range(2):
        table.append(row(n))
    with held_after_a_merge() as held:
        merge_beside_stream(log, log.snapshot(), THREE, process_ends=False)
        assert held.reached.wait(60)
        for n in range(2, 10):
            table.append(row(n, "tue"))
            merge_beside_stream(log, log.snapshot(), THREE, process_ends=False)
        assert len(splits(table)) == 9
        Timer(0.1, held.released.set).start()
        table.append(row(10, "tue"))
        merge_beside_stream(log, log.snapshot(), THREE, process_ends=False)
        assert splits(table) == [("mon", 3), ("tue", 9)]
    assert numbers(table) == list(range(-1, 11))


def test_threads_of_two_tables_do_not_wait_for_each_other() -> None:
    (first, log), (second, other) = created(), created()
    for n in range(3):
        first.append(row(n))
        second.append(row(n))
    with held_after_a_merge() as held:
        thread = merge_in_background(log, log.snapshot(), THREE)
        assert held.reached.wait(60)
        beside = merge_in_background(other, other.snapshot(), THREE)
        assert beside is not None
    joined(thread)
    joined(beside)
    assert splits(first) == splits(second) == [("mon", 3)]


def test_a_later_call_starts_another_thread() -> None:
    table, log = created()
    for start in (0, 3):
        for n in range(start, start + 3):
            table.append(row(n))
        joined(merge_in_background(log, log.snapshot(), THREE))
    assert splits(table) == [("mon", 6)]
    assert numbers(table) == list(range(6))


def test_a_failure_is_logged_and_the_next_version_is_merged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, log = created(tmp_path / "t")
    for n in range(3):
        table.append(row(n))
    snapshot = log.snapshot()
    file = tmp_path / "t" / "_transaction_log" / f"{snapshot.version:018}.json"
    content = file.read_bytes()
    file.unlink()
    with caplog.at_level(logging.WARNING):
        joined(merge_in_background(log, snapshot, THREE))
    assert "small splits of" in caplog.text
    assert "are not merged" in caplog.text
    file.write_bytes(content)
    assert len(splits(table)) == 3
    table.append(row(3))
    log = TransactionLog.open(table.path, THREE)
    joined(merge_in_background(log, log.snapshot(), THREE))
    assert splits(table) == [("mon", 4)]


def test_a_damaged_split_is_logged_and_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, log = created(tmp_path / "t")
    for n in range(4):
        table.append(row(n))
    lost = next((tmp_path / "t" / "day=mon").iterdir())
    content = lost.read_bytes()
    lost.unlink()
    with caplog.at_level(logging.WARNING):
        joined(merge_in_background(log, log.snapshot(), THREE))
    assert lost.name in caplog.text
    lost.write_bytes(content)
    assert splits(table) == [("mon", 1), ("mon", 3)]
    assert numbers(table) == [0, 1, 2, 3]


def test_rows_that_are_appended_meanwhile_are_not_lost() -> None:
    table, log = created()
    threads = []
    for n in range(60):
        table.append(row(n, ["mon", "tue"][n % 2]))
        threads.append(merge_in_background(log, log.snapshot(), THREE))
    for thread in filter(None, threads):
        thread.join()
    assert numbers(table) == list(range(60))
    assert len(splits(table)) <= 2 * 3 * 2
    assert "MERGE SPLITS" in table.history()["operation"].to_pylist()


def test_writers_in_threads_and_a_merge_beside_them() -> None:
    table, log = created()

    def write(start: int) -> None:
        own = IndexTable.open(table.path)
        for n in range(start, start + 15):
            own.refresh().append(row(n))
            if (merging := merge_in_background(log, log.snapshot(), THREE)) is not None:
                merging.join()

    writers = [Thread(target=write, args=(start,)) for start in (0, 15, 30)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    table.refresh().append(row(45))
    joined(merge_in_background(log, log.snapshot(), THREE))
    assert numbers(table) == list(range(46))
    assert len(splits(table)) <= 2 * 3


def test_rows_that_are_dropped_meanwhile_do_not_come_back() -> None:
    """The merge loses against the drop, and its splits are as the drop left them."""
    table, log = created()
    for n in range(3):
        table.append(row(n))
        table.append(row(10 + n, "tue"))
    behind = log.snapshot()
    table.drop_partitions("day = 'tue'")
    joined(merge_in_background(log, behind, THREE))
    assert numbers(table) == [0, 1, 2]
