from datetime import timedelta
from pathlib import Path

import pytest

from indextables.config import Config, MaintenanceConfig, WriteConfig, duration, duration_argument, markdown, size
from indextables.errors import ConfigError

KEY = "spark.indextables.checkpoint.interval"


def test_defaults() -> None:
    assert Config.resolve() == Config(maintenance=MaintenanceConfig(checkpoint_interval=10))


@pytest.mark.parametrize("key", [KEY, KEY.upper(), "checkpoint.interval", "Checkpoint.INTERVAL"])
def test_a_key_is_known_with_and_without_prefix_in_any_case(key: str) -> None:
    assert Config.resolve({key: "7"}).maintenance.checkpoint_interval == 7


def test_the_first_source_decides() -> None:
    option, session, table = {"checkpoint.interval": "1"}, {KEY: "2"}, {KEY: "3", "commit.maxRetries": "4"}
    assert Config.resolve(option, session, table) == Config(
        maintenance=MaintenanceConfig(checkpoint_interval=1), write=WriteConfig(commit_max_retries=4)
    )
    assert Config.resolve({}, session, table).maintenance.checkpoint_interval == 2
    assert Config.resolve({}, {}, table).maintenance.checkpoint_interval == 3


@pytest.mark.parametrize("value", ["", "0", "-1", "ten", "1.5", "٣"])
def test_a_bad_value_is_refused_with_what_was_expected(value: str) -> None:
    with pytest.raises(ConfigError, match="must be a whole number above zero") as caught:
        Config.resolve({KEY: value})
    assert (caught.value.key, caught.value.value) == (KEY, value)


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{KEY}'"):
        Config.resolve({"spark.indextables.checkpointInterval": "7"})
    with pytest.raises(ConfigError, match="did you mean 'checkpoint.interval'"):
        Config.resolve({"checkpointInterval": "7"})
    with pytest.raises(ConfigError, match="did you mean 'optimizeWrite.clusterBy'"):
        Config.resolve({"clusterBy": "day"})
    with pytest.raises(ConfigError, match="did you mean 'versionAsOf'"):
        Config.resolve({"versionAsOff": "7"})
    with pytest.raises(ConfigError, match="'VersionAsOf'; it is an option of reads from Spark"):
        Config.resolve({"VersionAsOf": "7"})
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("512K", 524288),
        ("100M", 104857600),
        ("100m", 104857600),
        ("2G", 2147483648),
        ("1T", 1099511627776),
        ("104857600", 104857600),
        (" 100M ", 104857600),
        ("1.5G", 1610612736),
    ],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "0", "0M", "-1", "1.5", "10X", "M", "1e6", "٣", "9999999999T"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="such as 104857600"):
        Config.resolve({"indexWriter.bufferSize": text})


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("FALSE", False), (" True ", True)])
def test_booleans(text: str, *, expected: bool) -> None:
    assert Config.resolve({"MERGESCHEMA": text}).write.merge_schema is expected


def test_a_boolean_is_not_maybe() -> None:
    with pytest.raises(ConfigError, match="'maybe', but must be true or false"):
        Config.resolve({"mergeSchema": "maybe"})


def test_a_bare_name_is_known_where_it_is_usual() -> None:
    assert Config.resolve({"targetRecordsPerSplit": "5"}).write.target_records == 5


def test_the_typemap_is_gathered_by_column() -> None:
    table = {"spark.indextables.indexing.typemap.message": "text", "indexing.typemap.Id": "string"}
    assert Config.resolve({"indexing.typemap.Id": "none"}, properties=table).write.typemap == {
        "message": "text",
        "Id": "none",
    }


def test_properties_may_hold_a_users_own_keys() -> None:
    assert Config.resolve(properties={"owner": "me", "checkpoint.interval": "3"}).maintenance.checkpoint_interval == 3
    with pytest.raises(ConfigError, match="there is no setting 'spark.indextables.owner'"):
        Config.resolve(properties={"spark.indextables.owner": "me"})


@pytest.mark.parametrize("given", [{"txnAppId": "a"}, {"txnVersion": "1"}])
def test_an_applications_id_and_version_go_together(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="go together"):
        Config.resolve(given)


def test_a_batch_number_is_a_number() -> None:
    with pytest.raises(ConfigError, match="must be a whole number"):
        Config.resolve({"txnAppId": "a", "txnVersion": "abc"})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("autoSize.inputRowCount", "abc", "a number of rows"),
        ("optimizeWrite.enabled", "maybe", "true or false"),
        ("optimizeWrite.clusterBy", "a,,b", "the names of columns"),
        ("partitionOverwriteMode", "sometimes", "static or dynamic"),
        ("optimizeWrite.persistInput", "yes", "auto, always or never"),
    ],
)
def test_settings_of_a_write_are_checked(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is '{value}', but must be {expected}"):
        Config.resolve({key: value})


def test_the_page_about_settings_is_up_to_date() -> None:
    page = Path(__file__).parent.parent / "docs" / "configuration.md"
    assert page.read_text() == markdown(), "run `make docs`"


@pytest.mark.parametrize("text", ["99999999999 days", "400000 days", "999999999999999999h"])
def test_a_duration_that_no_calendar_has(text: str) -> None:
    with pytest.raises(ValueError, match="365,000 days at most"):
        duration(text)
    with pytest.raises(ConfigError, match="older_than is .* 365,000 days at most"):
        duration_argument(timedelta.max, name="older_than")


@pytest.mark.parametrize("key", ["checkpoint.interval", "read.parallelism", "optimizeWrite.targetRecordsPerSplit"])
def test_a_number_of_too_many_digits(key: str) -> None:
    with pytest.raises(ConfigError, match="of 18 digits at most"):
        Config.resolve({key: "9" * 5000})
