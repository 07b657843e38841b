"""A table as it was at an older version, in a new one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ChangedRowsError, ConflictError, IndexTablesError, RestoreError, VersionNotFoundError
from indextables.log import TransactionLog
from indextables.log.actions import Add
from tests.maintain.matrix import KEEP_VECTORS
from tests.maintain.samples import made, numbers, rows
from tests.tiers import slow_after

NOW = timedelta(0)
EVEN = f"n IN ({', '.join(map(str, range(2, 21, 2)))})"
Change = Callable[[IndexTable], object]


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Version 1 has 1 to 10 of 2023, version 2 also 11 to 20 of 2024."""
    table = made(tmp_path / "t", "year")
    table.append(rows([2023] * 10, ["1"] * 10, range(1, 11)))
    table.append(rows([2024] * 10, ["2"] * 10, range(11, 21)))
    return table


def delete(table: IndexTable, where: str) -> None:
    assert table.delete(where, options=KEEP_VECTORS).vectors


def noted(n: int, note: object) -> pa.Table:
    return rows([2023], ["1"], [n]).append_column("note", [[note]])


def forget_versions_before(table: IndexTable, version: int) -> None:
    """Deletes their files, as a clean-up of the log does."""
    for number in range(version):
        Path(table.path, "_transaction_log", f"{number:018}.json").unlink()


def state(table: IndexTable) -> dict[str, Any]:
    """All that a reader can see of a version, but for its number, and for the partition terms of other layouts."""
    return {
        "rows": sorted(table.scan().to_arrow().to_pylist(), key=str),
        "splits": [without_other_terms(split) for split in table.splits().sort_by("path").to_pylist()],
        "partitions": sorted(map(without_other_terms, table.partitions().to_pylist()), key=str),
        "schema": table.schema,
        "layout": table.layout,
        "properties": table.properties,
        "fields": table.fields,
    }


def without_other_terms(described: dict[str, Any]) -> dict[str, Any]:
    known = {term: value for term, value in described["partition"].items() if value is not None}
    return {**described, "partition": known}


def last_metrics(table: IndexTable) -> dict[str, str]:
    return dict(table.history()["metrics"][0].as_py())


CHANGES: dict[str, Change] = {
    "append": lambda table: table.append(rows([2025], ["3"], [100])),
    "overwrite": lambda table: table.overwrite(rows([2025], ["3"], [100])),
    "replace": lambda table: table.replace_where(rows([2023], ["1"], [100]), "year = 2023"),
    "drop": lambda table: table.drop_partitions("year = 2023"),
    "deletion vectors": lambda table: delete(table, EVEN),
    "delete by rewriting": lambda table: table.delete(EVEN, options={"deletionVectors": "false"}),
    "delete of everything": lambda table: table.delete("true"),
    "merge": lambda table: [table.append(rows([2023], ["1"], [50])), table.merge_splits()],
    "column": lambda table: table.add_column("note", "string", field="text"),
    "rows with a new column": lambda table: [
        table.add_column("note", "string"),
        table.append(noted(50, "new")),
    ],
    "wider column": lambda table: [
        table.widen_column("year", "long"),
        table.append(pa.table({"year": [2**40], "month": ["1"], "n": [50]})),
    ],
    "layout": lambda table: [table.evolve_layout("month"), table.append(rows([2023], ["1"], [50]))],
    "moved to another layout": lambda table: [table.evolve_layout("month"), table.merge_splits(rewrite_layout=True)],
    "properties": lambda table: table.set_properties({"owner": "me", "mergeOnWrite": "false"}),
}


@pytest.mark.parametrize(
    "checkpointed", slow_after(1, [False, True], "restored from a checkpoint"), ids=["", "from a checkpoint"]
)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_is_restored_and_a_second_restore_undoes_it(
    table: IndexTable, change: Change, *, checkpointed: bool
) -> None:
    before = state(table)
    if checkpointed:
        table.checkpoint()
        forget_versions_before(table, 2)
    change(table)
    changed, version = state(table), table.version
    table = IndexTable.open(table.path)
    assert table.restore(version=2) == version + 1 == table.version
    assert state(table) == state(IndexTable.open(table.path)) == before
    assert table.restore(version=version) == version + 2
    assert state(table) == state(IndexTable.open(table.path)) == changed
    assert not table.check(deep=True).findings


def test_deletions_are_taken_back_and_made_again(table: IndexTable) -> None:
    delete(table, "n = 3")
    delete(table, "n IN (4, 15)")
    assert table.restore(version=3) == 5
    assert numbers(table) == [n for n in range(1, 21) if n != 3]
    assert table.restore(version=2) == 6
    assert numbers(table) == list(range(1, 21))
    assert table.restore(version=4) == 7
    assert numbers(table) == [n for n in range(1, 21) if n not in (3, 4, 15)]


def test_a_split_comes_back_with_its_deletion_vector(table: IndexTable) -> None:
    delete(table, "n = 3")
    table.overwrite(rows([2030], ["1"], [1]))
    table.restore(version=3)
    assert numbers(table) == [n for n in range(1, 21) if n != 3]
    assert table.count() == 19
    assert last_metrics(table)["numDeletionVectors"] == "1"


def test_the_history_has_the_figures(table: IndexTable) -> None:
    table.drop_partitions("year = 2023")
    table.append(rows([2030] * 3, ["1"] * 3, [1, 2, 3]))
    table.restore(version=2)
    last = table.history().slice(0, 1).to_pylist()[0]
    assert (last["operation"], dict(last["parameters"])) == ("RESTORE", {"version": "2"})
    metrics = {key: int(value) for key, value in last["metrics"]}
    assert metrics.pop("numRestoredBytes") > 0
    assert metrics == {
        "numRestoredSplits": 1,
        "numRestoredRows": 10,
        "numRemovedSplits": 1,
        "numRemovedRows": 3,
        "numDeletionVectors": 0,
    }


def test_rows_of_splits_that_stay_are_counted(table: IndexTable) -> None:
    delete(table, "n IN (1, 2, 12)")
    planned = table.restore_plan(version=2)
    assert (planned.rows_restored, planned.rows_removed, planned.vectors) == (3, 0, 2)
    table.restore(version=2)
    assert last_metrics(table)["numRestoredRows"] == "3"
    back = table.restore_plan(version=3)
    assert (back.rows_restored, back.rows_removed) == (0, 3)


def test_the_current_state_is_no_commit(table: IndexTable) -> None:
    assert table.restore(version=2) == 2
    table.append(rows([2030], ["1"], [1]))
    table.drop_partitions("year = 2030")
    assert table.restore(version=2) == 4
    assert len(table.history()) == 5


def test_a_dry_run_commits_nothing(table: IndexTable) -> None:
    table.drop_partitions("year = 2023")
    assert table.restore(version=2, dry_run=True) == 4
    planned = table.restore_plan(version=2)
    assert (planned.version, planned.restored, planned.splits_restored, planned.rows_restored) == (4, 2, 1, 10)
    assert str(planned).startswith("version 2 would be restored (version 4): 1 split added again, 0 removed")
    assert table.version == IndexTable.open(table.path).version == 3
    assert table.restore(version=3, dry_run=True) == 3


def test_by_timestamp(table: IndexTable) -> None:
    time: datetime = table.history().filter(pa.compute.field("version") == 1)["timestamp"][0].as_py()
    assert table.restore(timestamp=time) == 3
    assert numbers(table) == list(range(1, 11))
    assert dict(table.history()["parameters"][0].as_py()).keys() == {"version", "timestamp"}


def test_an_old_handle_restores_what_is_there_now(table: IndexTable) -> None:
    other = IndexTable.open(table.path)
    other.append(rows([2025], ["3"], [100]))
    assert table.restore(version=2) == 4
    assert numbers(table) == list(range(1, 21))
    assert table.restore(version=3) == 5
    assert 100 in numbers(table)


@pytest.mark.parametrize(
    "arguments", [{}, {"version": 1, "timestamp": "2024-01-01"}, {"version": "1"}, {"timestamp": "x"}]
)
def test_one_version_or_one_timestamp(table: IndexTable, arguments: dict[str, Any]) -> None:
    with pytest.raises(IndexTablesError, match=r"version|timestamp"):
        table.restore(**arguments)


@pytest.mark.parametrize("version", [-1, 3, 99])
def test_versions_that_never_were(table: IndexTable, version: int) -> None:
    with pytest.raises(VersionNotFoundError, match="versions 0 to 2 can be read"):
        table.restore(version=version)


def test_versions_that_the_log_no_longer_has(table: IndexTable) -> None:
    table.checkpoint()
    forget_versions_before(table, 2)
    with pytest.raises(VersionNotFoundError, match="versions 2 to 2 can be read"):
        table.restore(version=1)


def test_the_past_cannot_be_restored_in(table: IndexTable) -> None:
    with pytest.raises(IndexTablesError, match="cannot be written"):
        table.at(1).restore(version=0)


class TestFilesThatAreGone:
    def test_splits_are_named(self, table: IndexTable) -> None:
        gone = table.splits()["path"].to_pylist()
        table.overwrite(rows([2030], ["1"], [1]))
        table.purge(older_than=NOW, force=True)
        for dry_run in (True, False):
            with pytest.raises(RestoreError, match="version 2 .* 2 of the 2 files .*vacuum") as caught:
                table.restore(version=2, dry_run=dry_run)
            assert sorted(caught.value.paths) == sorted(gone)
            assert (caught.value.version, caught.value.table) == (2, table.path)
        assert table.version == IndexTable.open(table.path).version == 3
        assert numbers(table) == [1]

    def test_files_of_deletion_vectors_are_named(self, tmp_path: Path) -> None:
        table = made(tmp_path / "t", "year")
        table.append(rows([2023] * 20_000, [str(n % 7) for n in range(20_000)], range(20_000)))
        table.delete("month = '0'")
        [vectors] = Path(table.path).glob("vectors-*.bin")
        table.restore(version=1)
        vectors.unlink()
        with pytest.raises(RestoreError, match="1 of the 1 files") as caught:
            table.restore(version=2)
        assert caught.value.paths == (vectors.name,)
        assert table.count() == 20_000

    def test_files_that_stay_are_not_looked_up(self, table: IndexTable) -> None:
        table.overwrite(rows([2030], ["1"], [1]))
        table.append(rows([2031], ["1"], [2]))
        table.purge(older_than=NOW, force=True)
        assert table.restore(version=3) == 5
        assert numbers(table) == [1]


def test_progress_of_applications_stays(table: IndexTable) -> None:
    batch = {"txnAppId": "loader", "txnVersion": "7"}
    table.append(rows([2025], ["1"], [100]), options=batch)
    table.restore(version=2)
    assert table.append(rows([2025], ["1"], [100]), options=batch) == 4
    assert numbers(table) == list(range(1, 21))


def test_a_vacuum_keeps_what_was_restored(table: IndexTable) -> None:
    delete(table, "n = 3")
    table.overwrite(rows([2030], ["1"], [1]))
    table.restore(version=3)
    table.purge(older_than=NOW, force=True)
    assert numbers(IndexTable.open(table.path)) == [n for n in range(1, 21) if n != 3]


def test_columns_that_were_restored_away_can_be_added_again(table: IndexTable) -> None:
    table.add_column("note", "string")
    table.evolve_layout("truncate(2, note)")
    table.append(noted(50, "new"))
    table.restore(version=2)
    table.add_column("note", "long")
    table.append(noted(51, 7))
    reopened = IndexTable.open(table.path)
    assert numbers(reopened, "note = 7") == [51]
    table.restore(version=5)
    assert numbers(table, "note = 'new'") == [50]


def test_a_column_that_a_later_layout_could_not_use_can_be_added(table: IndexTable) -> None:
    table.add_column("note", "string")
    table.evolve_layout("truncate(2, note)")
    table.restore(version=2)
    table.add_column("note", "timestamp")
    assert IndexTable.open(table.path).schema == table.schema
    table.restore(version=4)
    assert str(IndexTable.open(table.path).layout) == "truncate(2, note)"


class TestRenamedAndDroppedColumns:
    @pytest.fixture
    def columns(self, tmp_path: Path) -> IndexTable:
        """Version 1 is partitioned by region and has 0 to 2; version 2 is not, and version 3 has 3 as well."""
        schema = pa.schema({"region": pa.string(), "n": pa.int64(), "note": pa.string()})
        table = IndexTable.create(tmp_path / "t", schema, partition_by="region", fields={"note": "text"})
        table.append(pa.table({"region": ["eu", "eu", "us"], "n": [0, 1, 2], "note": ["", "disk full", "all well"]}))
        table.evolve_layout("")
        table.append(pa.table({"region": ["eu"], "n": [3], "note": ["disk gone"]}))
        return table

    CHANGES: ClassVar[dict[str, Change]] = {
        "rename": lambda table: table.rename_column("note", "message"),
        "rename a partition column": lambda table: table.rename_column("region", "area"),
        "swap": lambda table: [
            table.rename_column("note", "spare"),
            table.rename_column("region", "note"),
            table.rename_column("spare", "region"),
        ],
        "drop": lambda table: table.drop_column("note"),
        "other indexes": lambda table: [table.set_indexing({"note": "string", "region": "text"}), table.reindex()],
        "another schema": lambda table: table.overwrite(
            pa.table({"n": ["x"], "note": [5], "other": [1.5]}), options={"overwriteSchema": "true"}
        ),
        "another schema after a rename": lambda table: [
            table.rename_column("n", "m"),
            table.overwrite(pa.table({"n": ["x"], "m": [5]}), options={"overwriteSchema": "true", "partitionBy": "m"}),
        ],
        "drop a partition column": lambda table: table.drop_column("region"),
        "drop and merge": lambda table: [table.drop_column("region"), table.merge_splits()],
        "drop and add another": lambda table: [
            table.drop_column("note"),
            table.add_column("note", "long"),
            table.append(pa.table({"region": ["eu"], "n": [4], "note": [7]})),
        ],
        "rename and delete": lambda table: [table.rename_column("n", "m"), delete(table, "m = 1")],
    }

    @pytest.mark.parametrize(
        "checkpointed", slow_after(1, [False, True], "restored from a checkpoint"), ids=["", "from a checkpoint"]
    )
    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_they_are_back(self, columns: IndexTable, change: Change, *, checkpointed: bool) -> None:
        first, second = state(columns.at(1)), state(columns)
        change(columns)
        changed, version = state(columns), columns.version
        if checkpointed:
            columns.checkpoint()
        for target, expected in ((3, second), (1, first), (version, changed), (1, first), (3, second)):
            columns.restore(version=target)
            if checkpointed:
                columns.checkpoint()
            assert state(columns) == state(IndexTable.open(columns.path)) == expected
            assert not columns.check(deep=True).findings

    def test_ids_are_not_used_again(self, columns: IndexTable) -> None:
        columns.drop_column("note")
        columns.restore(version=3)
        columns.restore(version=4)
        columns.add_column("note", "string")
        columns.append(pa.table({"region": ["eu"], "n": [4], "note": ["new"]}))
        assert columns.scan(where="note IS NOT NULL", columns=["n"]).to_arrow()["n"].to_pylist() == [4]
        columns.restore(version=3)
        assert columns.count(query="note:disk") == 2

    def test_a_writer_of_another_column_of_the_same_name_loses(self, columns: IndexTable) -> None:
        columns.drop_column("note")
        columns.add_column("note", "string", field="text")
        late = IndexTable.open(columns.path)
        columns.restore(version=3)
        with pytest.raises(ConflictError, match="schema"):
            late.append(pa.table({"region": ["eu"], "n": [4], "note": ["new"]}))


class TestStreams:
    @pytest.fixture
    def restored(self, table: IndexTable) -> IndexTable:
        """Version 4 only adds what version 3 has dropped."""
        table.drop_partitions("year = 2023")
        table.restore(version=2)
        return table

    def test_rows_that_are_back_are_a_change(self, restored: IndexTable) -> None:
        with pytest.raises(ChangedRowsError, match=r"version 4 .* \(RESTORE\) .*brought such rows back"):
            restored.incremental_scan(3).to_arrow()
        with pytest.raises(ChangedRowsError):
            restored.incremental_scan(3, ignore_deletes=True).to_arrow()
        assert restored.incremental_scan(3, skip_change_commits=True).count() == 0

    def test_deletions_that_are_taken_back_are_a_change(self, table: IndexTable) -> None:
        delete(table, "n = 3")
        table.restore(version=2)
        with pytest.raises(ChangedRowsError):
            table.incremental_scan(3, ignore_deletes=True).to_arrow()

    def test_a_restore_that_only_removes_rows_is_a_delete(self, table: IndexTable) -> None:
        table.restore(version=1)
        table.append(rows([2030], ["1"], [100]))
        with pytest.raises(ChangedRowsError):
            table.incremental_scan(2).to_arrow()
        assert table.incremental_scan(2, ignore_deletes=True).to_arrow()["n"].to_pylist() == [100]

    def test_a_restore_of_properties_is_none(self, table: IndexTable) -> None:
        table.set_properties({"owner": "me"})
        table.restore(version=2)
        assert table.incremental_scan(2).count() == 0


def test_an_add_of_a_restore_says_what_the_first_one_said(tmp_path: Path) -> None:
    schema = pa.schema({"day": pa.date32(), "app": pa.string(), "x": pa.float64(), "ts": pa.timestamp("us", "UTC")})
    properties = {
        "spark.indextables.coalesce.enabled": "true",
        "spark.indextables.coalesce.columns": "app",
        "spark.indextables.coalesce.minRows": "100",
    }
    table = IndexTable.create(tmp_path / "t", schema, partition_by="day, app", properties=properties)
    start = datetime(2024, 1, 31, tzinfo=UTC)
    table.append(
        pa.table(
            {
                "day": [start.date(), start.date(), None],
                "app": ["a", None, "c"],
                "x": [1.5, None, float("inf")],
                "ts": [start, None, start],
            }
        ).cast(schema)
    )
    table.overwrite(schema.empty_table())
    table.restore(version=1)
    log = TransactionLog.open(table.path)
    first, again = ({add.path: add for add in log.versions(n, n)[0].adds} for n in (1, 3))
    assert first == again
    assert any(isinstance(add, Add) and add.logical_partitions for add in again.values())
