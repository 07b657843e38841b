"""Merges after many writes: few splits at any time, and each row rewritten a few times only."""

import random
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.log import TransactionLog
from indextables.maintain.compact import merge
from indextables.maintain.compact_on_write import added_paths
from indextables.maintain.compaction_request import MergeRequest, limits_of
from tests.tiers import slow_after

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64(), "text": pa.string()})
TIERS = 4
ROWS = 20  # of an append
TARGET = 1024 * 1024  # so that the tiers begin at 0.47, 4.7 and 47 KB; an append has about 4 KB


def settings(min_splits: int, *, enabled: bool = True) -> dict[str, str]:
    return {
        "mergeOnWrite.enabled": str(enabled).lower(),
        "mergeOnWrite.minSplits": str(min_splits),
        "merge.targetSize": str(TARGET),
        "checkpoint.interval": "50",
    }


def created(options: dict[str, str], partition_by: str = "") -> IndexTable:
    return IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by=partition_by, options=options)


def batches(count: int, *, days: int = 1) -> Iterator[pa.Table]:
    """Appends of rows that do not compress, with numbers from zero on."""
    chance = random.Random(count)
    for number in range(count):
        numbers = range(number * ROWS, (number + 1) * ROWS)
        texts = [chance.randbytes(90).hex() for _ in numbers]
        yield pa.table([[f"day {n % days}" for n in numbers], numbers, texts], schema=SCHEMA)


def numbers(table: IndexTable) -> list[int]:
    return sorted(table.scan(columns=["n"]).to_arrow()["n"].to_pylist())


def write_amplification(table: IndexTable) -> float:
    """How many times a row has been rewritten, on average."""
    rows = {"APPEND": 0, "MERGE SPLITS": 0}
    for commit in table.history().to_pylist():
        if commit["operation"] in rows:
            rows[commit["operation"]] += int(dict(commit["metrics"])["numAddedRows"])
    return rows["MERGE SPLITS"] / rows["APPEND"]


def untiered(min_splits: int, appends: int) -> IndexTable:
    """The same appends where all small splits of a partition are merged when there are enough of them."""
    config = Config.resolve(settings(min_splits))
    table = created(settings(min_splits, enabled=False))
    log = TransactionLog.open(table.path, config)
    for rows in batches(appends):
        version = table.append(rows)
        limits = replace(limits_of(config), min_sources=min_splits)
        merge(log, log.snapshot(), MergeRequest(limits=limits, touching=added_paths(log, version)), config)
        table.refresh()
    return table


@pytest.mark.parametrize(("min_splits", "bound"), slow_after(1, [(3, 4.0), (5, 2.5), (10, 1.5)], "more appends"))
def test_many_small_appends_leave_few_splits_and_rewrite_rows_a_few_times(min_splits: int, bound: float) -> None:
    appends = 60
    table = created(settings(min_splits))
    for rows in batches(appends):
        table.append(rows)
        small = [size for size in table.splits()["size"].to_pylist() if size < TARGET * 0.45]
        assert len(small) <= TIERS * (min_splits - 1)
    assert numbers(table) == list(range(appends * ROWS))
    assert write_amplification(table) <= bound


@pytest.mark.parametrize("min_splits", slow_after(1, [3, 10], "more appends"))
def test_tiers_rewrite_less_than_merging_all_that_is_small(min_splits: int) -> None:
    tiered, other = created(settings(min_splits)), untiered(min_splits, 40)
    for rows in batches(40):
        tiered.append(rows)
    assert numbers(tiered) == numbers(other) == list(range(40 * ROWS))
    assert write_amplification(tiered) < write_amplification(other) / 2


def test_a_split_that_is_large_enough_is_not_rewritten() -> None:
    table = created(settings(3) | {"merge.targetSize": "20K"})
    full: set[str] = set()
    for rows in batches(30):
        table.append(rows)
        sizes = dict(zip(table.splits()["path"].to_pylist(), table.splits()["size"].to_pylist(), strict=True))
        assert full <= set(sizes)
        full |= {path for path, size in sizes.items() if size >= 0.45 * 20 * 1024}
    assert len(full) > 3
    assert numbers(table) == list(range(30 * ROWS))


def test_splits_of_each_partition_are_few() -> None:
    days, min_splits = 3, 3
    table = created(settings(min_splits), partition_by="day")
    for rows in batches(40, days=days):
        table.append(rows)
        assert max(table.partitions()["num_splits"].to_pylist()) <= TIERS * (min_splits - 1)
    assert numbers(table) == list(range(40 * ROWS))
    assert table.count("day = 'day 1'") == len(range(1, 40 * ROWS, days))


def test_shared_splits_are_merged_too() -> None:
    options = settings(3) | {"coalesce.enabled": "true", "coalesce.minRows": "1000"}
    table = created(options, partition_by="day")
    for rows in batches(30, days=4):
        table.append(rows)
        assert len(table.splits()) <= TIERS * 2
    assert numbers(table) == list(range(30 * ROWS))
    assert table.count("day = 'day 2'") == 30 * ROWS // 4


def test_a_layout_that_changes_between_appends() -> None:
    table = created(settings(3), partition_by="day")
    for number, rows in enumerate(batches(24, days=2)):
        if number % 8 == 7:
            table.evolve_layout(["", "bucket(2, n)", "day"][number // 8])
        table.append(rows)
    assert numbers(table) == list(range(24 * ROWS))
    assert len(table.splits()) <= 3 * 2 * TIERS * 2


@pytest.mark.parametrize("min_splits", [1, 2])
def test_one_split_is_never_merged_alone(min_splits: int) -> None:
    table = created(settings(min_splits))
    first, *others = batches(4)
    assert table.append(first) == 1
    for rows in others:
        table.append(rows)
    assert numbers(table) == list(range(4 * ROWS))
    assert len(table.splits()) <= TIERS


def test_splits_of_other_tiers_are_left_alone() -> None:
    """A large split stays as it is while small ones are merged beside it."""
    table = created(settings(3, enabled=False))
    large = pa.concat_tables(batches(60))
    table.append(large)
    [path] = table.splits()["path"].to_pylist()
    for rows in batches(6):
        table.append(rows, options={"mergeOnWrite.enabled": "true"})
    assert path in table.splits()["path"].to_pylist()
    assert len(table.splits()) <= 1 + 2 * 2
    assert table.count() == (60 + 6) * ROWS


def test_a_merge_on_demand_knows_no_tiers() -> None:
    table = created(settings(3, enabled=False))
    table.append(pa.concat_tables(batches(60)))
    for rows in batches(2):
        table.append(rows)
    table.merge_splits()
    assert len(table.splits()) == 1
