"""The actions of a range of versions, and the first version since a time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import CorruptLogError, VersionNotFoundError
from indextables.log import TransactionLog
from tests.log.hand_written import Lines, edit_version

SCHEMA = pa.schema({"n": pa.int64()})
HOUR = timedelta(hours=1)
START = datetime(2024, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Versions 0 to 5."""
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    for n in range(5):
        table.append(pa.table({"n": [n]}))
    return table


@pytest.fixture
def log(table: IndexTable) -> TransactionLog:
    return TransactionLog.open(table.path)


def committed(table: IndexTable, times: list[datetime]) -> TransactionLog:
    """The log, as if its versions were committed at other times."""
    for number, time in enumerate(times):

        def edit(lines: Lines, time: datetime = time) -> None:
            for line in lines:
                line.get("commitInfo", {}).update(timestamp=int(time.timestamp() * 1000))

        edit_version(table.path, number, edit)
    return TransactionLog.open(table.path)


def clean_up(log: TransactionLog) -> None:
    log.checkpoint()
    assert log.clean_up(retention=timedelta(0), store_time=datetime.now(UTC) + HOUR)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 5), (2, 4), (5, 5)])
def test_each_version_of_a_range_comes_once_and_in_order(log: TransactionLog, first: int, last: int) -> None:
    versions = log.versions(first, last)
    assert [version.number for version in versions] == list(range(first, last + 1))
    assert [len(version.adds) for version in versions] == [int(number > 0) for number in range(first, last + 1)]


@pytest.mark.parametrize(("first", "last"), [(3, 2), (6, 5), (9, 0)])
def test_a_range_may_be_empty(log: TransactionLog, first: int, last: int) -> None:
    assert log.versions(first, last) == []


def test_a_version_that_is_missing_in_the_middle_is_damage(table: IndexTable, log: TransactionLog) -> None:
    Path(table.path, "_transaction_log", f"{3:018}.json").unlink()
    assert [version.number for version in log.versions(4, 5)] == [4, 5]
    with pytest.raises(CorruptLogError, match="version 3 of"):
        log.versions(2, 5)


def test_a_version_that_a_clean_up_deleted_is_named(log: TransactionLog) -> None:
    clean_up(log)
    with pytest.raises(VersionNotFoundError, match="what version 2 added") as error:
        log.versions(2, 5)
    assert (error.value.version, error.value.earliest, error.value.latest) == (2, 5, 5)
    assert [version.number for version in log.versions(5, 5)] == [5]


def test_a_version_of_another_table_is_left_out(table: IndexTable, log: TransactionLog) -> None:
    def edit(lines: Lines) -> None:
        for line in lines:
            line.get("commitInfo", {}).update(tableId="another")

    edit_version(table.path, 3, edit)
    own = log.for_table(log.snapshot().metadata.id)
    assert [version.number for version in own.versions(2, 5)] == [2, 4, 5]
    assert [version.number for version in log.versions(2, 5)] == [2, 3, 4, 5]


def test_the_first_version_since_a_time(table: IndexTable) -> None:
    log = committed(table, [START + n * HOUR for n in range(6)])
    assert log.first_version_since(START - HOUR) == 0
    for number in range(6):
        assert log.first_version_since(START + number * HOUR) == number
        assert log.first_version_since(START + number * HOUR + timedelta(milliseconds=1)) == number + 1
        assert log.first_version_since((START + number * HOUR).replace(tzinfo=None)) == number


def test_a_clock_that_ran_backwards_hides_no_version(table: IndexTable) -> None:
    """A version counts as later than the one before it, so that all from the first one on belong to the time."""
    log = committed(
        table, [START, START + 5 * HOUR, START + HOUR, START + 2 * HOUR, START + 6 * HOUR, START + 7 * HOUR]
    )
    for time in (START + timedelta(minutes=1), START + HOUR, START + 3 * HOUR, START + 5 * HOUR):
        assert log.first_version_since(time) == 1
    assert log.first_version_since(START + 5 * HOUR + timedelta(minutes=1)) == 4


def test_a_time_before_the_oldest_version_that_is_left_is_refused(table: IndexTable) -> None:
    log = committed(table, [START + n * HOUR for n in range(6)])
    clean_up(log)
    for time in (START, START + 5 * HOUR):
        with pytest.raises(VersionNotFoundError, match="version 5 is the oldest whose file is left"):
            log.first_version_since(time)
    assert log.first_version_since(START + 6 * HOUR) == 6
