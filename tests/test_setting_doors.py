"""Each setting through each door without Spark: a good value counts, anything else is refused with what was meant.

`tests/spark/test_setting_doors.py` has the doors of Spark.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from indextables import IndexTable
from indextables.config import PREFIX, Config, property_key
from indextables.errors import ConfigError
from tests.settings_matrix import CASES, OWN, Case

ROWS = [{"id": 1, "message": "disk full"}]
_numbers = count()


def new_place() -> str:
    return f"memory://setting_doors/{next(_numbers)}"


@pytest.fixture(scope="module")
def table() -> IndexTable:
    return IndexTable.write(new_place(), ROWS, text="message")


OPTIONS: dict[str, Callable[[IndexTable, dict[str, str]], Any]] = {
    "open": lambda table, given: IndexTable.open(table.path, options=given),
    "write": lambda _, given: IndexTable.write(new_place(), ROWS, options=given),
    "create": lambda _, given: IndexTable.create(new_place(), {"id": "int", "message": "string"}, options=given),
    "append": lambda table, given: table.append(ROWS, options=given),
}
PROPERTIES: dict[str, Callable[[IndexTable, dict[str, str]], Any]] = {
    "create": lambda _, given: IndexTable.create(new_place(), {"id": "int", "message": "string"}, properties=given),
    "write": lambda _, given: IndexTable.write(new_place(), ROWS, properties=given),
    "set_properties": lambda table, given: table.set_properties(given),
}


def refused(door: Callable[[IndexTable, dict[str, str]], Any], table: IndexTable, key: str, value: str) -> str:
    with pytest.raises(ConfigError) as caught:
        door(table, {key: value})
    return str(caught.value)


def test_there_are_all_settings() -> None:
    assert len(CASES) > 70
    assert {case.name for case in CASES} >= {"mergeSchema", "s3.region", "indexing.typemap.message", "read.driverRows"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_setting_through_each_door(table: IndexTable, case: Case) -> None:
    version = table.version
    for number, key in enumerate(case.misspellings()):
        for door in (*OPTIONS.values(), *PROPERTIES.values()):
            prefix = ("", PREFIX, "indextables.", "spark.indextable.")[number + 2 * (door in OPTIONS.values())]
            message = refused(door, table, f"{prefix}{key}", case.good)
            assert f"did you mean '{PREFIX if prefix.startswith('spark') else ''}{case.name}'" in message
    for door in (*OPTIONS.values(), *PROPERTIES.values()):
        if case.bad is not None:
            assert case.name in refused(door, table, case.name, case.bad)
    for door in OPTIONS.values():
        assert f"no setting 'acme.{case.name}'" in refused(door, table, f"acme.{case.name}", case.good)
    assert table.version == version


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_property_is_kept_or_refused(case: Case) -> None:
    table = IndexTable.write(new_place(), ROWS, text="message", partition_by="id")
    table.set_properties({f"acme.{case.name}": case.good} if case.is_property else {})
    needed = {"autoSize.targetSplitSize": "100M"}
    if case.is_property:
        table.set_properties({**needed, f"indextables.{case.name}": case.good})
        assert table.properties[property_key(case.name)] == case.good
        assert table.properties[f"acme.{case.name}"] == case.good
    else:
        assert case.name in refused(PROPERTIES["set_properties"], table, case.name, case.good)
        assert case.name in refused(PROPERTIES["create"], table, f"{PREFIX}{case.name}", case.good)


@pytest.mark.parametrize("prefix", ["", PREFIX, "indextables.", "INDEXTABLES."])
def test_a_good_value_counts_under_each_spelling(prefix: str) -> None:
    together = {"txnAppId": "a", "txnVersion": "1"}
    for case in CASES:
        given = {**(together if case.name in together else {}), case.name: case.good}
        config = Config.resolve({f"{prefix}{key}": value for key, value in given.items()})
        assert config != Config.resolve(together if case.name in together and given == together else {}), case.name
        assert config == Config.resolve(given)


@pytest.mark.parametrize("key", OWN)
def test_own_properties_have_any_other_name(table: IndexTable, key: str) -> None:
    table.set_properties({key: "mine"})
    assert IndexTable.open(table.path).properties[key] == "mine"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("targetRecordPerSplit", "targetRecordsPerSplit"),
        ("checkpoint_interval", "checkpoint.interval"),
        ("indexing.typmap.message", "indexing.typemap.message"),
        ("clusterBy", "optimizeWrite.clusterBy"),
        ("spark.indextable.mergeSchema", "spark.indextables.mergeSchema"),
        ("sprak.indextables.mergeSchema", "spark.indextables.mergeSchema"),
        ("indextables.mergeSchemas", "mergeSchema"),
        ("indexing.typemap", "indexing.typemap.<name>"),
    ],
)
def test_a_near_miss_is_no_property_of_the_user(table: IndexTable, key: str, meant: str) -> None:
    for door in PROPERTIES.values():
        assert f"did you mean '{meant}'" in refused(door, table, key, "1")


def test_auto_sizing_needs_a_size_before_it_is_a_property(table: IndexTable) -> None:
    for door in PROPERTIES.values():
        assert "autoSize.targetSplitSize" in refused(door, table, "autoSize.enabled", "true")
    table.set_properties({"autoSize.enabled": "true", "autoSize.targetSplitSize": "1M"})
    with pytest.raises(ConfigError, match="targetSplitSize"):
        table.unset_properties("autoSize.targetSplitSize")
    table.append(ROWS)
    table.unset_properties("autoSize.enabled", "autoSize.targetSplitSize")
