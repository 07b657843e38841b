"""What is found out of shape. Sizes come from the log, so tables of any size can be described."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.inspect.findings import Area, Severity, format_bytes
from indextables.inspect.health import Health
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.log.clock import now
from indextables.log.splits import removes_for

MB, GB = 1024**2, 1024**3
SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})


def described(sizes: dict[str, list[int]]) -> IndexTable:
    """A table whose log says that it has splits of these sizes, by day; there are no files."""
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day")
    adds = [
        Add(
            path=f"{day}-{number}.split",
            partition_values={"day": day},
            size=size,
            modification_time=number,
            num_records=9,
        )
        for day, of_day in sizes.items()
        for number, size in enumerate(of_day)
    ]
    log = TransactionLog.open(table.path)
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=adds))
    return table.refresh()


def areas(health: Health) -> list[tuple[Area, Severity]]:
    return [(finding.area, finding.severity) for finding in health.findings]


def test_a_table_in_good_shape() -> None:
    health = described({"mon": [128 * MB] * 10, "tue": [200 * MB] * 8}).health()
    assert health.healthy
    assert (health.splits, health.partitions, health.rows, health.small_splits) == (18, 2, 162, 0)
    assert "no findings" in str(health)


def test_an_empty_table_is_healthy() -> None:
    assert described({}).health().healthy


@pytest.mark.parametrize(
    ("sizes", "expected", "words"),
    [
        ({"mon": [MB] * 40}, (Area.SPLITS, Severity.WARNING), "40 of 40 splits are small; merging leaves 1"),
        ({"mon": [128 * MB] * 20 + [MB] * 2}, (Area.SPLITS, Severity.ADVICE), "2 of 22 splits are small"),
        ({"mon": [600 * MB] * 2}, (Area.SPLITS, Severity.ADVICE), "larger than 512.0 MB"),
        ({"mon": [500 * MB] * 300}, (Area.PARTITIONS, Severity.ADVICE), "146.5 GB"),
        ({f"d{n}": [100 * MB] for n in range(20)}, (Area.PARTITIONS, Severity.ADVICE), "half of 20 partitions"),
        (
            {f"d{n}": [3 * 1024] if n < 300 else [GB] * 2 for n in range(1000)},
            (Area.PARTITIONS, Severity.ADVICE),
            "300 of 1,000 partitions are tiny: half of these have at most 3.0 KB",
        ),
        ({f"d{n}": [GB // 3] * (3 if n else 90) for n in range(9)}, (Area.PARTITIONS, Severity.ADVICE), "30 times"),
    ],
)
def test_sizes_out_of_range(sizes: dict[str, list[int]], expected: tuple[Area, Severity], words: str) -> None:
    health = described(sizes).health()
    assert expected in areas(health)
    assert words in str(health)


def written(data: dict[str, Iterable[Any]], partition_by: str) -> IndexTable:
    rows = pa.table(data)
    table = IndexTable.create(f"memory://{uuid4().hex}/t", rows.schema, partition_by=partition_by)
    table.append(rows)
    return table


class TestSmallTables:
    """The ranges hold whatever the size of a table."""

    def test_many_tiny_partitions_are_mended_by_coalescing(self) -> None:
        table = written({"day": [f"d{n % 300:03}" for n in range(900)], "n": range(900)}, "day")
        health = table.health()
        assert areas(health) == [(Area.PARTITIONS, Severity.WARNING)]
        assert "300 of 300 partitions are tiny: half of these have at most" in str(health)
        fix = "table.merge_splits(coalesce=True), with the property coalesce.enabled for later writes, or a coarser layout"
        assert f"{fix}, for example bucket(16, day)" in str(health)
        table.merge_splits(coalesce=True)
        assert (table.health().healthy, table.health().partitions, len(table.splits())) == (True, 300, 1)

    def test_another_layout_mends_them_too(self) -> None:
        days = [date(2024, 1, 1) + timedelta(days=n // 4) for n in range(400)]
        table = written({"day": days, "n": range(400)}, "day")
        assert "a coarser layout, for example month(day)" in str(table.health())
        table.evolve_layout("month(day)")
        assert areas(table.health()) == [(Area.LAYOUT, Severity.ADVICE)], "the splits of the older layout"
        table.merge_splits(rewrite_layout=True)
        assert (table.health().healthy, table.health().partitions) == (True, 4)

    def test_partitions_that_cannot_share_splits_get_a_coarser_layout(self) -> None:
        table = written({"day": range(60), "app": ["a"] * 60, "n": range(60)}, "truncate(1, day), app")
        rows = table.scan().to_arrow()
        for _ in range(2):
            table.append(rows)
        [finding] = [one for one in table.health().findings if one.area is Area.PARTITIONS]
        assert finding.advice().startswith(
            'table.evolve_layout("..."), a coarser layout, for example bucket(16, day), app'
        )

    def test_too_many_levels(self) -> None:
        six = {f"c{level}": ["a"] for level in range(6)}
        health = written({**six, "n": [1]}, ", ".join(six)).health()
        assert areas(health) == [(Area.LAYOUT, Severity.WARNING)]
        assert "the layout has 6 levels (c0, c1, c2, c3, c4, c5), where 4 at most are good" in str(health)
        assert "table.evolve_layout(" in str(health)
        four = {f"c{level}": ["a"] for level in range(4)}
        assert written({**four, "n": [1]}, ", ".join(four)).health().healthy

    @pytest.mark.parametrize(
        ("ids", "layout", "better"),
        [
            (range(100), "id", "bucket(16, id)"),
            ([f"u{n}" for n in range(100)], "region, id", "region, bucket(16, id)"),
            ([datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=n) for n in range(100)], "id", "day(id)"),
            ([date(2024, 1, 1) + timedelta(days=n) for n in range(100)], "id", "month(id)"),
        ],
    )
    def test_a_partition_by_a_unique_column(self, ids: Iterable[Any], layout: str, better: str) -> None:
        table = written({"id": ids, "region": ["eu", "us"] * 50, "n": range(100)}, layout)
        health = table.health()
        assert areas(health) == [(Area.LAYOUT, Severity.WARNING)]
        assert "a partition for nearly every row: id has 100 values in 100 rows" in str(health)
        assert str(health.findings[0].fix) == f'table.evolve_layout("{better}")'
        table.evolve_layout(better)
        table.merge_splits(rewrite_layout=True)
        assert table.health().healthy

    @pytest.mark.parametrize(
        ("partitions", "rows"), [(3, 1), (3, 10), (12, 1), (31, 2)], ids=["three rows", "tutorial", "months", "days"]
    )
    def test_a_few_tiny_partitions_are_no_finding(self, partitions: int, rows: int) -> None:
        days = [f"d{n}" for n in range(partitions)] * rows
        assert written({"day": days, "n": range(len(days))}, "day").health().healthy

    def test_hours_with_a_row_each_are_no_finding(self) -> None:
        hours = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(24)]
        assert written({"ts": hours, "app": ["a", "b"] * 12}, "hour(ts), app").health().healthy


def test_merging_mends_what_it_is_said_to_mend() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day")
    for n in range(3):
        table.append(pa.table({"day": ["mon"], "n": [n]}))
    assert [str(finding.fix) for finding in table.health().findings] == ["table.merge_splits()"]
    table.merge_splits()
    assert table.health().healthy
    table.evolve_layout("")
    assert [str(finding.fix) for finding in table.health().findings] == ["table.merge_splits(rewrite_layout=True)"]
    table.merge_splits(rewrite_layout=True)
    assert table.health().healthy


def test_a_log_without_checkpoints() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA)
    for n in range(30):
        table.add_column(f"c{n}", "long")
    options = {"checkpoint.interval": "5"}
    assert table.health().healthy
    for key in [e.key for e in table._log.store.list("_transaction_log") if "checkpoint" in e.key]:
        table._log.store.delete([key])
    found = IndexTable.open(table.path, options=options).health()
    assert areas(found) == [(Area.LOG, Severity.WARNING)]


def test_a_past_that_can_be_purged() -> None:
    table = described({"mon": [128 * MB] * 10})
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    long_ago = now() - int(timedelta(days=8).total_seconds() * 1000)
    removes = removes_for(snapshot.splits.slice(0, 2), snapshot.metadata, deletion_timestamp=long_ago)
    log.commit(Transaction(operation=Operation.DROP, snapshot=snapshot, removes=removes))
    for remove in removes:
        log.store.put(remove.path, b"")
    health = table.refresh().health()
    assert areas(health) == [(Area.FILES, Severity.ADVICE)]
    assert "2 removed splits with 256.0 MB" in str(health)


@pytest.mark.parametrize("live", [1, 2000], ids=["by listing", "one by one"])
def test_what_was_purged_is_not_counted_any_more(live: int) -> None:
    """Two versions were replaced; the files of one of them are still there."""
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA)
    for n in range(3):
        table.overwrite(pa.table({"day": ["mon"], "n": [n]}))
    first, second = (table.at(version=version).splits() for version in (1, 2))
    adds = [Add(path=f"{n}.split", size=MB, modification_time=n, num_records=1) for n in range(live - 1)]
    log = TransactionLog.open(table.path)
    log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=adds))
    before = table.refresh().health()
    assert (before.tombstones, before.tombstone_bytes) == (2, sum(s["size"][0].as_py() for s in (first, second)))
    log.store.delete(first["path"].to_pylist())
    after, report = table.health(), table.report().health
    assert (after.tombstones, after.tombstone_bytes) == (1, second["size"][0].as_py())
    assert report == after


def test_a_purge_mends_what_it_is_said_to_mend(tmp_path: Path) -> None:
    options = {"purge.minRetention": "0s"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, options=options)
    for n in range(2):
        table.overwrite(pa.table({"day": ["mon"], "n": [n]}))
    while not (found := table.health().findings):  # the next millisecond
        pass
    assert [str(finding.fix) for finding in found] == ["table.purge()"]
    assert (table.health().purgeable, table.health().purgeable_bytes) == (1, table.health().tombstone_bytes)
    assert table.purge().past == 1
    health = table.health()
    assert (health.healthy, health.tombstones, health.tombstone_bytes, health.purgeable_bytes) == (True, 0, 0, 0)
    assert IndexTable.open(table.path).report().health == health


def test_what_is_within_its_retention_cannot_be_purged_yet() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA)
    for n in range(2):
        table.overwrite(pa.table({"day": ["mon"], "n": [n]}))
    health = table.health()
    assert (health.healthy, health.tombstones, health.purgeable, health.purgeable_bytes) == (True, 1, 0, 0)
    assert f"removed     1 split with {format_bytes(health.tombstone_bytes)}, of which 0 B can be purged" in str(health)


def test_without_removed_splits_no_file_is_looked_for() -> None:
    table = described({"mon": [128 * MB] * 10})
    before = table.traffic.requests
    table.health()
    assert table.traffic.requests - before == 4, "the version that was read, the listing of the log, two first lines"


def test_it_is_a_value_for_programs_too() -> None:
    health = described({"mon": [MB] * 40}).health()
    assert msgspec.to_builtins(health)["findings"][0]["fix"]["method"] == "merge_splits"
