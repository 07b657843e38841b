"""Small splits become few, and nothing else changes."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config, MaintenanceConfig
from indextables.errors import (
    ConfigError,
    InvalidPredicateError,
    NonPartitionedTableError,
    SchemaError,
    StorageError,
)
from indextables.layout import Layout
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import LogicalPartitions
from indextables.maintain.bin_packing import Limits, packed
from indextables.maintain.compact import MergeProgress, Work, merge
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.maintain.compaction_request import MergeRequest
from indextables.storage import Location
from indextables.storage.local import LocalStore
from indextables.write.pipeline import write_rows
from indextables.write.write_plan import plan_write, with_layout
from tests.torture.race import processes

SCHEMA = pa.schema({"month": pa.int32(), "app": pa.string(), "n": pa.int64(), "message": pa.string()})
WORDS = ["disk full", "all is well", "retry later"]


def rows(month: int, start: int, count: int, app: str = "a") -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {"month": [month] * count, "app": [app] * count, "n": numbers, "message": [WORDS[n % 3] for n in numbers]},
        schema=SCHEMA,
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Months 9, 10 and 11 with six splits of five rows each."""
    path = tmp_path_factory.mktemp("original") / "t"
    table = IndexTable.create(path, SCHEMA, partition_by="month", fields={"message": "text"})
    for batch in range(6):
        table.append(pa.concat_tables([rows(m, 100 * m + 5 * batch, 5) for m in (9, 10, 11)]))
    return path


@pytest.fixture
def table(original: Path, tmp_path: Path) -> IndexTable:
    return IndexTable.open(shutil.copytree(original, tmp_path / "t"))


def splits_by_month(table: IndexTable) -> dict[str, int]:
    return Counter(row["partition"]["month"] for row in table.splits().to_pylist())


def contents(table: IndexTable) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.scan(columns=SCHEMA.names).to_arrow().to_pylist())


def files(table: IndexTable) -> set[str]:
    return {str(path.relative_to(table.path)) for path in Path(table.path).rglob("*.split")}


def test_rows_that_are_merged_twice_are_told_once(table: IndexTable) -> None:
    before = contents(table)
    result = table.merge_splits(where="month = 9", max_source_splits_per_merge=2)
    assert result.merged > 3
    assert (result.splits_before, result.splits_after, result.rows) == (6, 1, 30)
    assert (splits_by_month(table)["9"], contents(table)) == (1, before)


def test_few_splits_with_the_same_rows(table: IndexTable) -> None:
    before, found = contents(table), table.count(query="message:disk")
    groups = table.scan().group_by("month").count()
    version = table.version
    result = table.merge_splits()
    assert (result.groups, result.merged, result.splits_before, result.splits_after, result.rows) == (3, 3, 18, 3, 90)
    assert result.bytes_before > result.bytes_after > 0
    assert result.version == table.version == version + 1
    for view in (table, IndexTable.open(table.path), table.at(version=version)):
        assert contents(view) == before
        assert view.count(query="message:disk") == found
        assert view.scan().group_by("month").count() == groups
    assert table.splits()["num_records"].to_pylist() == [30, 30, 30]
    assert table.splits()["num_merge_ops"].to_pylist() == [1, 1, 1]
    assert str(result).startswith("18 splits with 90 rows became 3, ")


def test_the_log_says_that_no_data_changed(table: IndexTable) -> None:
    table.merge_splits()
    lines = Path(table.path, "_transaction_log", f"{table.version:018}.json").read_bytes().splitlines()
    actions = [msgspec.json.decode(line) for line in lines]
    assert actions[0]["commitInfo"]["operation"] == "MERGE SPLITS"
    changes = [action.get("add") or action.get("remove") for action in actions[1:]]
    assert len(changes) == 3 * 7
    assert {change["dataChange"] for change in changes} == {False}


def test_files_of_a_commit_in_doubt_stay(table: IndexTable, monkeypatch: pytest.MonkeyPatch) -> None:
    def times_out(_: LocalStore, key: str, data: object) -> None:
        late.append((key, data))
        raise StorageError("no answer", path=key)

    late: list[tuple[str, Any]] = []
    before = table.scan().to_arrow().num_rows
    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "put_if_absent", times_out)
        with pytest.raises(StorageError, match="no answer"):
            table.merge_splits()
    LocalStore(Location.parse(table.path)).put_if_absent(*late[0])  # the store does it after all
    after = IndexTable.open(table.path)
    assert after.version == table.version + 1
    assert after.scan().to_arrow().num_rows == before


def test_a_second_run_does_nothing(table: IndexTable) -> None:
    table.merge_splits()
    again = table.merge_splits()
    assert (again.groups, again.version) == (0, table.version)


def test_a_dry_run_tells_and_does_nothing(table: IndexTable) -> None:
    before = files(table)
    result = table.merge_splits(dry_run=True)
    assert (result.dry_run, result.groups, result.splits_before, result.splits_after) == (True, 3, 18, 3)
    assert "18 splits with 90 rows would become 3" in str(result)
    assert files(table) == before
    assert IndexTable.open(table.path).version == table.version == 6


class TestChoice:
    def test_a_condition_compares_numbers(self, table: IndexTable) -> None:
        table.merge_splits(where="month > 9")
        assert splits_by_month(table) == {"9": 6, "10": 1, "11": 1}

    @pytest.mark.parametrize("where", ["n = 1", "month = 9 OR app = 'a'"])
    def test_a_condition_on_data_is_refused(self, table: IndexTable, where: str) -> None:
        with pytest.raises(InvalidPredicateError, match="not a partition column"):
            table.merge_splits(where=where)

    def test_a_table_without_partitions_takes_no_condition(self, tmp_path: Path) -> None:
        table = IndexTable.create(tmp_path / "plain", SCHEMA)
        table.append(rows(1, 0, 3))
        table.append(rows(2, 3, 3))
        with pytest.raises(NonPartitionedTableError, match="do without the condition"):
            table.merge_splits(where="month = 1")
        assert table.merge_splits().splits_after == 1

    def test_the_target_bounds_what_goes_together(self, table: IndexTable) -> None:
        size = max(table.splits()["size"].to_pylist())
        assert table.merge_splits(target_size=size * 3, dry_run=True).groups == 6
        assert table.merge_splits(target_size=size * 2, dry_run=True).groups == 0, "each is more than 45 % of it"

    def test_at_most_so_many_sources_and_results(self, table: IndexTable) -> None:
        assert table.merge_splits(max_source_splits_per_merge=2, dry_run=True).groups == 9
        result = table.merge_splits(max_dest_splits=1)
        assert (result.merged, result.splits_after) == (1, 1)
        assert sorted(splits_by_month(table).values()) == [1, 6, 6]

    @pytest.mark.parametrize("options", [{"target_size": "big"}, {"target_size": 0}, {"max_dest_splits": 0}])
    def test_impossible_limits_are_refused(self, table: IndexTable, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            table.merge_splits(**options)

    def test_rows_are_sorted_where_wanted(self, table: IndexTable) -> None:
        table.append(rows(9, 0, 5))
        table.merge_splits(where="month = 9", cluster_by=["APP", "n"])
        numbers = table.scan(where="month = 9").to_arrow()["n"].to_pylist()
        assert numbers == sorted(numbers)
        with pytest.raises(SchemaError, match="no column 'gone'"):
            table.merge_splits(cluster_by="gone")


class TestLayouts:
    def test_splits_of_two_layouts_are_not_mixed(self, table: IndexTable) -> None:
        table.evolve_layout("app")
        table.append(rows(9, 0, 5))
        table.append(rows(9, 5, 5))
        before = contents(table)
        table.merge_splits()
        assert Counter(table.splits()["spec_id"].to_pylist()) == {0: 3, 1: 1}
        assert contents(table) == before

    def test_older_layouts_are_left_behind_where_wanted(self, table: IndexTable) -> None:
        table.append(rows(9, 0, 5, app="b"))
        table.evolve_layout("app, truncate(5, n)")
        before = contents(table)
        result = table.merge_splits(rewrite_layout=True)
        assert set(table.splits()["spec_id"].to_pylist()) == {1}
        assert contents(table) == before
        assert table.scan(where="app = 'b'").explain().pruned_by_layout == len(table.splits()) - 1
        assert result.rows == sum(before.values())
        assert table.merge_splits(rewrite_layout=True).groups == 0

    def test_columns_that_came_later_are_in_merged_splits(self, table: IndexTable) -> None:
        table.widen_column("month", "long")
        table.add_column("level", "string")
        table.append(pa.table({"month": [9], "n": [1], "level": ["x"]}))
        before = (
            table.scan(columns=["month", "n", "level"]).to_arrow().sort_by([("month", "ascending"), ("n", "ascending")])
        )
        table.merge_splits()
        after = (
            table.scan(columns=["month", "n", "level"]).to_arrow().sort_by([("month", "ascending"), ("n", "ascending")])
        )
        assert after == before
        assert table.count("level IS NULL") == 90
        assert table.scan(where="level IS NOT NULL").explain().never == 2


def coalesced(table: str, apps: Sequence[str], *, complete: bool, month: int = 9) -> None:
    """A split that several apps share, as a coalescing writer would leave it."""
    log = TransactionLog.open(table)
    snapshot = log.snapshot()
    plan = plan_write(with_layout(snapshot.metadata, Layout.parse("month")), Config())
    data = pa.concat_tables([rows(month, 10 * i, i + 1, app) for i, app in enumerate(apps)])
    [add] = write_rows(plan, data.to_batches(), log.store)
    logical = LogicalPartitions(
        complete=complete, columns=["app"], tuples=[[app] for app in apps], counts=[i + 1 for i in range(len(apps))]
    )
    add = msgspec.structs.replace(
        add,
        spec_id=snapshot.metadata.current_spec_id,
        logical_partitions=logical,
        physical_partition={"app": "[#small]"},
    )
    log.commit(Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=[add]))


class TestCoalesced:
    def test_lists_of_partitions_are_put_together(self, tmp_path: Path) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="month, app")
        table.append(rows(9, 500, 3, "A"))
        table.append(rows(9, 600, 3, "A"))
        coalesced(table.path, ["A", "B"], complete=True)
        coalesced(table.path, ["B", "C"], complete=True)
        coalesced(table.path, ["A", "B"], complete=True, month=10)
        before = contents(table.refresh())
        table.merge_splits()
        assert contents(table) == before
        lists = [split["logical_partitions"] for split in table.splits().to_pylist() if split["logical_partitions"]]
        assert [(one["complete"], one["tuples"], one["counts"]) for one in lists] == [
            (True, [["A"], ["B"]], [1, 2]),
            (True, [["A"], ["B"], ["C"]], [1, 3, 2]),
        ]
        assert table.scan(where="app = 'C'").explain().never == 2
        assert table.count("app = 'B'") == 5
        assert len(table.splits()) == 3, "plain ones were merged with plain ones"

    def test_one_incomplete_list_makes_the_whole_incomplete(self, tmp_path: Path) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="month, app")
        coalesced(table.path, ["A", "B"], complete=True)
        coalesced(table.path, ["C"], complete=False)
        table.refresh().merge_splits()
        [split] = table.splits().to_pylist()
        assert split["logical_partitions"]["complete"] is False
        assert split["logical_partitions"]["tuples"] == [["A"], ["B"], ["C"]]
        assert table.scan(where="app = 'D'").explain().pruned_by_layout == 0


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """43 partitions of two splits each."""
    table = IndexTable.create(tmp_path_factory.mktemp("many") / "t", SCHEMA, partition_by="month")
    for start in range(2):
        table.append(pa.concat_tables([rows(month, start, 1) for month in range(43)]))
    return Path(table.path)


class TestBundles:
    def test_many_groups_are_few_versions(self, many: Path, tmp_path: Path) -> None:
        table = IndexTable.open(shutil.copytree(many, tmp_path / "t"))
        before, steps = contents(table), list[MergeProgress]()
        result = table.merge_splits(progress=steps.append)
        assert (result.groups, result.merged, result.version) == (43, 43, 3)
        assert (result.splits_before, result.splits_after, result.rows) == (86, 43, 86)
        assert [(step.done, step.groups) for step in steps] == [(number, 43) for number in range(1, 44)]
        assert steps[-1].result == result
        assert contents(table) == before
        assert contents(table.at(version=2)) == before
        assert dict(table.history()["metrics"][0].as_py())["numMergedGroups"] == "43"

    def test_a_bundle_is_full_at_some_number_of_groups(self, many: Path, tmp_path: Path) -> None:
        table = IndexTable.open(shutil.copytree(many, tmp_path / "t"))
        assert table.merge_splits(options={"merge.maxGroupsPerCommit": "20"}).version == 2 + 3
        assert (table.count(), len(table.splits())) == (86, 43)

    @pytest.mark.parametrize("options", [{"merge.maxGroupsPerCommit": "1"}, {"merge.commitInterval": "0 s"}])
    def test_groups_can_be_committed_one_by_one(self, table: IndexTable, options: dict[str, str]) -> None:
        version = table.version
        assert table.merge_splits(options=options).version == version + 3
        assert (table.count(), len(table.splits())) == (90, 3)

    def test_the_log_tells_groups_apart(self, table: IndexTable) -> None:
        table.merge_splits()
        lines = Path(table.path, "_transaction_log", f"{table.version:018}.json").read_bytes().splitlines()
        changes = [(next(iter(action)), next(iter(action.values()))) for action in map(msgspec.json.decode, lines[1:])]
        groups = {
            kind: Counter(change["mergeGroup"] for k, change in changes if k == kind) for kind in ("remove", "add")
        }
        assert groups == {"remove": {0: 6, 1: 6, 2: 6}, "add": {0: 1, 1: 1, 2: 1}}
        months = {(change["mergeGroup"], change["partitionValues"]["month"]) for _, change in changes}
        assert len(months) == 3


def merge_until_killed(path: str) -> None:
    """Commits two groups, and dies when the third is written."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        yield from map(work, groups[:2])
        work(groups[2])
        os.kill(os.getpid(), signal.SIGKILL)

    log, config = TransactionLog.open(path), Config(maintenance=MaintenanceConfig(merge_max_groups_per_commit=2))
    merge(log, log.snapshot(), MergeRequest(limits=Limits(target_size=1 << 20)), config, run=run)


class TestTrouble:
    def test_a_damaged_split_stays_and_the_others_are_merged(self, table: IndexTable) -> None:
        bad = table.splits()["path"][0].as_py()
        path = Path(table.path, bad)
        content = bytearray(path.read_bytes())
        content[20:60] = bytes(40)
        path.write_bytes(content)
        result = table.merge_splits()
        assert result.damaged == (bad,)
        assert bad in table.splits()["path"].to_pylist()
        assert sorted(splits_by_month(table).values()) == [1, 1, 2]
        assert (result.splits_before, result.rows) == (17, 85)
        assert bad in str(result)

    def test_a_split_with_too_few_rows_is_not_believed(self, table: IndexTable) -> None:
        log = TransactionLog.open(table.path)
        [add] = write_rows(plan_write(log.snapshot().metadata, Config()), rows(9, 0, 1).to_batches(), log.store)
        lying = msgspec.structs.replace(add, num_records=2)
        log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[lying]))
        assert table.refresh().merge_splits().damaged == (add.path,)
        assert add.path in table.splits()["path"].to_pylist()

    def test_a_drop_in_between_costs_one_group(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        left: list[int] = []

        def drop_the_rest(progress: MergeProgress) -> None:
            if progress.done == 1:
                merged = {
                    split["partition"]["month"]
                    for split in IndexTable.open(table.path).splits().to_pylist()
                    if split["num_merge_ops"]
                }
                left.extend(int(m) for m in {"9", "10", "11"} - merged)
                other.refresh().drop_partitions(f"month = {left[0]}")

        result = table.merge_splits(progress=drop_the_rest, options={"merge.maxGroupsPerCommit": "1"})
        assert (result.groups, result.merged, len(result.conflicts)) == (3, 2, 1)
        assert table.refresh().count() == 60
        assert table.count(f"month = {left[0]}") == 0
        assert files(table) >= set(table.splits()["path"].to_pylist())
        assert len(files(table)) == 18 + 2, "nothing is left of the group that lost"

    def test_a_drop_costs_one_group_of_a_bundle(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        dropped: list[int] = []

        def drop(progress: MergeProgress) -> None:
            if progress.done == 2:
                dropped.append(other.drop_partitions("month = 10").version)

        result = table.merge_splits(progress=drop)
        assert (result.groups, result.merged, result.rows) == (3, 2, 60)
        assert result.conflicts[0].startswith(f"6 of 6 splits were changed by DROP PARTITIONS (version {dropped[0]}), ")
        assert len(result.conflicts) == 1
        assert result.version == dropped[0] + 1, "the other groups are one version"
        assert (table.count(), splits_by_month(table)) == (60, {"9": 1, "11": 1})
        assert len(files(table)) == 18 + 2, "nothing is left of the group that lost"

    def test_two_groups_of_a_bundle_lose_to_two_writers(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)

        def disturb(progress: MergeProgress) -> None:
            if progress.done == 1:
                other.drop_partitions("month = 9")
                other.append(rows(9, 0, 2))
                other.overwrite(rows(11, 0, 3), options={"partitionOverwriteMode": "dynamic"})

        result = table.merge_splits(progress=disturb)
        assert (result.merged, len(result.conflicts)) == (1, 2)
        assert table.scan().group_by("month").count().sort_by("month")["count"].to_pylist() == [2, 30, 3]

    def test_a_replacement_goes_on_over_a_bundle(self, table: IndexTable) -> None:
        """It removes the merged split of its own partition, and leaves those of the others."""
        stale = IndexTable.open(table.path)
        table.merge_splits()
        assert stale.replace_where(rows(9, 0, 3), "month = 9") == table.version + 1
        assert splits_by_month(table.refresh()) == {"9": 1, "10": 1, "11": 1}
        assert (table.count(), table.count("month = 9")) == (63, 3)

    def test_a_failure_keeps_the_groups_that_are_finished(self, table: IndexTable) -> None:
        before, log = files(table), TransactionLog.open(table.path)

        def broken(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
            yield work(groups[0])
            work(groups[1])
            raise RuntimeError("an executor is gone")

        with pytest.raises(RuntimeError, match="an executor is gone"):
            merge(log, log.snapshot(), MergeRequest(limits=Limits(target_size=1 << 20)), Config(), run=broken)
        assert IndexTable.open(table.path).version == table.version + 1
        assert sorted(splits_by_month(table.refresh()).values()) == [1, 6, 6]
        assert len(files(table) - before) == 1

    def test_a_killed_process_leaves_what_it_committed(self, table: IndexTable) -> None:
        before = contents(table)
        victim = processes.Process(target=merge_until_killed, args=(table.path,))
        victim.start()
        victim.join()
        assert victim.exitcode == -signal.SIGKILL
        table.refresh()
        assert (contents(table), sorted(splits_by_month(table).values())) == (before, [1, 1, 6])
        assert len(files(table)) == 18 + 3, "one split of the bundle that was not committed"
        table.merge_splits()
        table.purge(older_than="0 days", force=True)
        assert (contents(table), len(files(table))) == (before, 3)

    def test_appends_in_between_do_no_harm(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        result = table.merge_splits(progress=lambda p: other.append(rows(9, 1000 + p.done, 1)))
        assert result.conflicts == ()
        assert table.refresh().count() == 93

    def test_a_merge_of_the_same_splits_in_between_is_a_conflict(self, table: IndexTable) -> None:
        log, other = TransactionLog.open(table.path), IndexTable.open(table.path)

        def too_late(work: Work, groups: Sequence[MergeGroup]) -> list[WrittenGroup]:
            written = [work(group) for group in groups]
            other.merge_splits(where="month = 9")
            return written

        request = MergeRequest(limits=Limits(target_size=1 << 20))
        _, result = merge(log, log.snapshot(), request, Config(), run=too_late)
        assert (result.merged, len(result.conflicts)) == (2, 1)
        assert table.refresh().count() == 90

    def test_a_failure_leaves_the_table_as_it_was(self, table: IndexTable) -> None:
        before, log = files(table), TransactionLog.open(table.path)

        def broken(work: Work, groups: Sequence[MergeGroup]) -> list[WrittenGroup]:
            work(groups[0])
            raise RuntimeError("an executor is gone")

        with pytest.raises(RuntimeError, match="an executor is gone"):
            merge(log, log.snapshot(), MergeRequest(limits=Limits(target_size=1 << 20)), Config(), run=broken)
        assert files(table) == before
        assert IndexTable.open(table.path).version == table.version


@pytest.mark.parametrize(
    ("given", "limits", "expected"),
    [
        ([], {}, []),
        ([(10, 1)], {}, []),
        ([(10, 1), (10, 1)], {}, [[0, 1]]),
        ([(40, 1), (40, 1), (40, 1)], {}, [[0, 1]]),
        ([(40, 5), (40, 5), (1, 5)], {"max_records": 10}, [[0, 1]]),
        ([(1, 1)] * 5, {"max_sources": 2}, [[0, 1], [2, 3]]),
    ],
)
def test_packing(given: list[tuple[int, int]], limits: dict[str, int], expected: list[list[int]]) -> None:
    assert packed(given, Limits(target_size=100, **limits)) == expected


@pytest.mark.parametrize(("other_attempts", "left"), [(True, 0), (False, 3)])
def test_what_lost_attempts_of_tasks_have_written_is_deleted(
    table: IndexTable,
    other_attempts: bool,  # noqa: FBT001 - a parameter of the test
    left: int,
) -> None:
    def each_twice(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        for group in groups:
            work(group)  # its executor is lost before it can report
            yield replace(work(group), other_attempts=other_attempts)

    before, known = contents(table), {str(file) for file in Path(table.path).rglob("*.split")}
    log = TransactionLog.open(table.path)
    merge(log, log.snapshot(), MergeRequest(limits=Limits(target_size=1 << 20)), Config(), run=each_twice)
    files = {str(file) for file in Path(table.path).rglob("*.split")}
    assert known < files
    assert len(files - known) == table.refresh().splits().num_rows + left
    assert contents(table) == before
