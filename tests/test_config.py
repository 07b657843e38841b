from datetime import timedelta

import pytest

from indextables.config import Config, duration
from indextables.errors import ConfigError

KEY = "spark.indextables.checkpoint.interval"


def test_defaults() -> None:
    assert Config.resolve() == Config(checkpoint_interval=10)


@pytest.mark.parametrize("key", [KEY, KEY.upper(), "checkpoint.interval", "Checkpoint.INTERVAL"])
def test_a_key_is_known_with_and_without_prefix_in_any_case(key: str) -> None:
    assert Config.resolve({key: "7"}).checkpoint_interval == 7


def test_the_first_source_decides() -> None:
    option, session, table = {"checkpoint.interval": "1"}, {KEY: "2"}, {KEY: "3", "commit.maxRetries": "4"}
    assert Config.resolve(option, session, table) == Config(checkpoint_interval=1, commit_max_retries=4)
    assert Config.resolve({}, session, table).checkpoint_interval == 2
    assert Config.resolve({}, {}, table).checkpoint_interval == 3


@pytest.mark.parametrize("value", ["", "0", "-1", "ten", "1.5", "٣"])
def test_a_bad_value_is_refused_with_what_was_expected(value: str) -> None:
    with pytest.raises(ConfigError, match="must be a whole number above zero") as caught:
        Config.resolve({KEY: value})
    assert (caught.value.key, caught.value.value) == (KEY, value)


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{KEY}'"):
        Config.resolve({"checkpointInterval": "7"})
    with pytest.raises(ConfigError, match="there is no setting 'colour'$"):
        Config.resolve({"colour": "red"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 days", timedelta(days=7)),
        ("1d", timedelta(days=1)),
        ("36 Hours", timedelta(hours=36)),
        ("5min", timedelta(minutes=5)),
        (" 90 s ", timedelta(seconds=90)),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize("text", ["7", "days", "-1 days", "1 fortnight", "1.5h"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ConfigError, match="such as '7 days'"):
        Config.resolve({"log.retention": text})
