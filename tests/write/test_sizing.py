import logging
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from indextables.config import Config, WriteConfig
from indextables.errors import ConfigError
from indextables.write.sizing import rows_for, sized

MEGABYTES_100 = 100 * 1024**2


def splits(*of: tuple[int, int | None]) -> pa.Table:
    """Splits of (size, rows), the oldest first."""
    columns = {"size": pa.int64(), "num_records": pa.int64(), "modification_time": pa.int64()}
    rows = [{"size": size, "num_records": rows, "modification_time": at} for at, (size, rows) in enumerate(of)]
    return pa.Table.from_pylist(rows, schema=pa.schema(columns))


def table_with(*of: tuple[int, int | None]) -> Any:
    """All that is looked at of a snapshot."""
    return SimpleNamespace(splits=splits(*of))


@pytest.mark.parametrize(
    ("history", "rows"),
    [
        (splits((100, 10), (1000, 100), (5000, 100)), 3_609_852),
        (splits((1000, 10), *[(500, None)] * 10), 1_048_576),  # the newest ones do not tell
        (splits((10**9, 1), *[(1000, 10)] * 10), 1_048_576),  # only the ten newest count
        (splits((1000, 10), (0, 10), (1000, 0)), 1_048_576),
        (splits((0, 10), (1000, 0), (1000, None)), None),
        (splits(), None),
    ],
)
def test_rows_that_fill_a_split(history: pa.Table, rows: int | None) -> None:
    assert rows_for(MEGABYTES_100, history) == rows


def test_the_newest_are_found_by_time_and_not_by_position() -> None:
    history = splits(*[(1000, 10)] * 10, (10**9, 1))
    backwards = history.set_column(2, "modification_time", pa.array(range(11, 0, -1), pa.int64()))
    assert rows_for(MEGABYTES_100, backwards) == 1_048_576


def test_off_means_untouched() -> None:
    config = Config.resolve({"autoSize.targetSplitSize": "100M"})
    assert sized(config, table_with((1000, 10))) is config


def test_without_a_size_it_is_an_error() -> None:
    with pytest.raises(ConfigError, match="targetSplitSize, for example to 100M"):
        sized(Config.resolve({"autoSize.enabled": "true"}), table_with((1000, 10)))


@pytest.mark.parametrize("history", [None, table_with(), table_with((0, 10))])
def test_without_history_the_given_number_of_rows_counts(history: Any, caplog: pytest.LogCaptureFixture) -> None:
    config = Config(write=WriteConfig(auto_size=True, target_split_size=1000, target_records=77))
    assert sized(config, history).write.target_records == 77
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "no splits to estimate row sizes from; splits get 77 rows" in caplog.text


def test_history_beats_an_explicit_number_of_rows_aloud(caplog: pytest.LogCaptureFixture) -> None:
    config = Config(write=WriteConfig(auto_size=True, target_split_size=1000, target_records=77))
    assert sized(config, table_with((1000, 10))).write.target_records == 10
    assert "autoSize gives splits 10 rows; targetRecordsPerSplit=77 is not used" in caplog.text


def test_history_is_quietly_used_where_no_number_was_given(caplog: pytest.LogCaptureFixture) -> None:
    config = Config(write=WriteConfig(auto_size=True, target_split_size=1000))
    assert sized(config, table_with((1000, 10))).write.target_records == 10
    assert caplog.text == ""
