"""The names of partitions, as SHOW PARTITIONS prints them."""

from uuid import uuid4

import pyarrow as pa

from indextables import IndexTable
from indextables.inspect.listing import with_values

SCHEMA = {"day": pa.string(), "app": pa.string(), "n": pa.int64()}


def created(layout: str, options: dict[str, str] | None = None) -> IndexTable:
    return IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by=layout, options=options)


def names(table: IndexTable) -> list[str]:
    return table.partition_names()["partition"].to_pylist()


def rows(*apps: str | None) -> list[dict[str, object]]:
    return [{"day": "mon", "app": app, "n": number} for number, app in enumerate(apps)]


def test_null_and_special_characters_are_written_as_spark_does() -> None:
    table = created("day, app")
    table.append(rows("a b", "x/y=z", None, "é"))
    assert names(table) == [
        "day=mon/app=__HIVE_DEFAULT_PARTITION__",
        "day=mon/app=a b",
        "day=mon/app=x%2Fy%3Dz",
        "day=mon/app=é",
    ]


def test_partitions_of_all_layouts_are_listed_once() -> None:
    table = created("")
    table.append(rows("a"))
    assert names(table) == []
    table.evolve_layout("app")
    table.append(rows("a"))
    table.append(rows("a"))
    table.evolve_layout("bucket(1, n), app")
    table.append(rows("b"))
    assert names(table) == ["app=a", "n_bucket=0/app=b"]


def test_partitions_that_share_a_split_are_listed_too() -> None:
    table = created("day, app")
    table.append(rows("a", "b", "c"), options={"coalesce.enabled": "true"})
    assert (len(table.splits()), names(table)) == (1, ["day=mon/app=a", "day=mon/app=b", "day=mon/app=c"])


def test_values_that_the_log_does_not_list_are_stars() -> None:
    table = created("day, app")
    table.append(rows("a", "b", "c"), options={"coalesce.enabled": "true", "coalesce.maxTuples": "2"})
    assert names(table) == ["day=mon/app=*"]
    assert len(with_values(table.partition_names(), {"app": "b"})) == 1
    assert len(with_values(table.partition_names(), {"day": "tue"})) == 0
