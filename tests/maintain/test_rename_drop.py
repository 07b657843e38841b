"""Renaming and dropping columns of a table that has rows: no split is written again."""

import pickle
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable, Layout
from indextables.errors import ConflictError, IndexTablesError, LayoutError, SchemaError, StreamSchemaError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Add
from indextables.read.appended_splits import AppendedSplits
from indextables.search import terms

SCHEMA = pa.schema(
    {"day": pa.date32(), "app": pa.string(), "n": pa.int64(), "level": pa.string(), "message": pa.string()}
)


def row(day: int, n: int, **more: Any) -> dict[str, Any]:
    when = datetime(2024, 1, day, tzinfo=UTC).date()
    return {"day": when, "app": "web", "n": n, "level": "INFO", "message": f"disk {n} is full", **more}


def data(*rows: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema)


def created(**more: Any) -> IndexTable:
    given = {"partition_by": "day", "fields": {"message": "text"}, **more}
    return IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, **given)


@pytest.fixture
def table() -> IndexTable:
    """Three rows on two days: two splits."""
    table = created()
    table.append(data(row(1, 1), row(1, 2), row(2, 3, level=None)))
    return table


def fitting(table: IndexTable, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The row with those of its values for which the table has a column."""
    return [{name: row[name] for name in table.schema.names if name in row}]


def values(table: IndexTable, column: str, **query: Any) -> list[Any]:
    return sorted(table.scan(columns=[column], **query).to_arrow()[column].to_pylist(), key=str)


class TestRename:
    def test_older_and_newer_splits_have_the_new_name(self, table: IndexTable) -> None:
        before = table.splits()["path"].to_pylist()
        assert table.rename_column("N", "number") == 2
        assert table.splits()["path"].to_pylist() == before
        table.append(fitting(table, row(1, 0, number=4)))
        for found in (table, IndexTable.open(table.path)):
            assert found.schema.names == ["day", "app", "number", "level", "message"]
            assert values(found, "number") == [1, 2, 3, 4]
            assert values(found, "number", where="number > 1 AND number < 4") == [2, 3]
            assert (found.scan().min("number"), found.scan().max("number")) == (1, 4)
        with pytest.raises(SchemaError, match="no column 'n'"):
            table.scan(columns=["n"])

    def test_searches_and_lookups_go_by_the_new_name(self, table: IndexTable) -> None:
        table.rename_column("message", "text")
        table.rename_column("level", "severity")
        table.append(fitting(table, row(3, 0, text="all is well", severity="WARN")))
        assert values(table, "n", query="text:full") == [1, 2, 3]
        assert values(table, "n", query='text:"disk 2"') == [2]
        assert values(table, "n", query="severity:INFO") == [1, 2]
        assert values(table, "n", query="NOT severity:*") == [3]
        assert values(table, "n", where="severity = 'WARN' OR text indexquery 'disk AND 3'") == [0, 3]
        assert table.search("text:full", columns=["text"]).num_rows == 3
        assert table.count(query="text:nothing") == 0
        assert table.scan(query="text:well").explain().pruned_by_terms == 2
        found = table.scan().aggregate(terms("severity")).to_pylist()
        assert {bucket["key"]: bucket["count"] for bucket in found} == {"INFO": 2, "WARN": 1}

    def test_statistics_and_partition_values_are_found(self, table: IndexTable) -> None:
        table.rename_column("day", "date")
        table.rename_column("n", "number")
        assert table.layout == Layout.parse("date AS day")
        assert table.append([], options={"partitionBy": "date"}) == table.version
        assert table.scan(where="date = '2024-01-02'").explain().pruned_by_layout == 1
        assert table.scan(where="number = 3").explain().pruned_by_statistics == 1
        assert table.scan().group_by("date").count()["count"].to_pylist() == [2, 1]
        assert [place.partition("/")[0] for place in table.splits()["path"].to_pylist()] == [
            "day=2024-01-01",
            "day=2024-01-02",
        ]
        assert table.drop_partitions("date = '2024-01-02'").rows == 1
        table.append(fitting(table, row(5, 0, date=row(5, 0)["day"], number=5)))
        assert values(table, "number") == [1, 2, 5]
        assert table.partition_names()["partition"].to_pylist() == ["day=2024-01-01", "day=2024-01-05"]
        table.replace_where(fitting(table, row(1, 0, date=row(1, 0)["day"], number=9)), "date = '2024-01-01'")
        assert values(table, "number") == [5, 9]

    def test_names_can_be_swapped(self, table: IndexTable) -> None:
        table.scan(query="level:INFO AND app:web").to_arrow()  # columns are cached
        for old, new in (("app", "x"), ("level", "app"), ("x", "level")):
            table.rename_column(old, new)
        assert values(table, "level") == ["web", "web", "web"]
        assert values(table, "app") == ["INFO", "INFO", None]
        assert (table.count("app = 'INFO'"), table.count("level = 'INFO'"), table.count("app IS NULL")) == (2, 0, 1)
        assert table.count(query="app:INFO AND level:web") == 2
        assert table.check(deep=True).ok

    def test_the_past_keeps_its_names(self, table: IndexTable) -> None:
        table.rename_column("n", "number")
        table.append(fitting(table, row(1, 0, number=4)))
        assert values(table.at(1), "n", where="n > 1") == [2, 3]
        assert values(table.at(2), "number") == [1, 2, 3]

    def test_splits_of_different_names_are_merged(self, table: IndexTable) -> None:
        table.rename_column("message", "text")
        table.append(fitting(table, row(1, 4, text="disk again")))
        table.drop_column("level")
        table.add_column("level", "long")
        table.append(fitting(table, row(1, 5, text="disk", level=7)))
        result = table.merge_splits()
        assert (result.splits_before, result.splits_after) == (3, 1)
        assert values(table, "level") == [7, None, None, None, None]
        assert values(table, "n", query="text:disk") == [1, 2, 3, 4, 5]
        assert table.check(deep=True, all_versions=True).ok

    def test_a_name_in_another_letter_case(self, table: IndexTable) -> None:
        table.rename_column("n", "N")
        assert table.schema.names[2] == "N"
        assert values(table, "N") == [1, 2, 3]
        assert table.rename_column("n", "N") == table.version == 2  # nothing to do

    @pytest.mark.parametrize("place", ["memory", "disk"])
    def test_any_name_can_be_another_one(self, tmp_path: Any, place: str) -> None:
        """To Arrow, `a.b` is nested in `a`; tantivy has names of fields of its own."""
        path = tmp_path / "t" if place == "disk" else f"memory://{uuid4().hex}/t"
        schema = {"a": pa.string(), "a.b": pa.string(), "=x": pa.string()}
        table = IndexTable.create(path, schema, fields=dict.fromkeys(schema, "text"))
        table.append([{"a": "one", "a.b": "uno", "=x": "eins"}])
        for old, new in (("a.b", "c.d"), ("a", "a.b"), ("=x", "a")):
            table.rename_column(old, new)
        assert table.scan().to_arrow().to_pylist() == [{"a.b": "one", "c.d": "uno", "a": "eins"}]
        assert table.scan(columns=["a.b"]).to_arrow().to_pylist() == [{"a.b": "one"}]
        assert (table.count("`a.b` = 'one'"), table.count("a = 'eins'"), table.count("a = 'one'")) == (1, 1, 0)
        assert table.search("eins", columns=["a"]).to_pylist()[0]["a"] == "eins"
        assert table.check(deep=True).ok

    def test_settings_of_the_column_follow(self) -> None:
        properties = {
            "spark.indextables.optimizeWrite.clusterBy": "n, app",
            "spark.indextables.indexing.typemap.message": "text",
            "spark.indextables.indexing.exact.app": "hash",
            "spark.indextables.partitionBy": "day",
            "n": "mine",
        }
        table = created(properties=properties)
        for old, new in (("n", "number"), ("message", "text"), ("app", "program"), ("day", "date")):
            table.rename_column(old, new)
        assert table.properties == {
            "spark.indextables.optimizeWrite.clusterBy": "number, program",
            "spark.indextables.indexing.typemap.text": "text",
            "spark.indextables.indexing.exact.program": "hash",
            "spark.indextables.partitionBy": "date AS day",
            "n": "mine",
        }
        rows = [{"date": row(1, 0)["day"], "number": n, "text": "disk", "program": "web"} for n in (2, 1)]
        table.append(rows)
        assert table.scan().to_arrow()["number"].to_pylist() == [1, 2]
        table.drop_column("text")
        assert not any("typemap" in key for key in table.properties)

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("n", "LEVEL", "the table has a column 'level'"),
            ("nowhere", "x", "there is no column 'nowhere'"),
            ("n", "", "empty name"),
            ("n", "shard", "the partition field bucket"),
            ("app", "shard", "the partition field bucket"),
        ],
    )
    def test_names_that_cannot_be_are_refused(self, old: str, new: str, reason: str) -> None:
        table = created(partition_by="bucket(4, app) AS shard")
        with pytest.raises((SchemaError, LayoutError), match=reason):
            table.rename_column(old, new)
        assert table.refresh().version == 0

    def test_the_name_of_a_partition_field_is_free_for_its_own_column(self, table: IndexTable) -> None:
        table.rename_column("day", "date")
        with pytest.raises(LayoutError, match="partition field date AS day"):
            table.rename_column("n", "day")
        with pytest.raises(LayoutError, match="day"):
            table.add_column("day", "long")
        table.rename_column("date", "day")
        assert table.layout == Layout.parse("day")


class TestDrop:
    def test_a_dropped_column_is_gone(self, table: IndexTable) -> None:
        assert table.drop_column("N", dry_run=True) == table.refresh().version == 1
        assert table.drop_column("N") == 2
        assert table.schema.names == ["day", "app", "level", "message"]
        assert "n" not in table.fields
        assert values(table.at(1), "n") == [1, 2, 3]
        assert table.count() == 3
        table.append(data(row(1, 4)).drop_columns("n"))
        assert table.check(deep=True, all_versions=True).ok

    @pytest.mark.parametrize("kind", ["long", "string"])
    @pytest.mark.parametrize("looked", ["before", "between", "never"])
    def test_a_column_of_the_same_name_has_none_of_the_old_values(
        self, table: IndexTable, kind: str, looked: str
    ) -> None:
        reader = IndexTable.open(table.path)
        if looked == "before":
            assert values(reader, "n") == [1, 2, 3]
        table.drop_column("n")
        if looked == "between":
            assert reader.refresh().count() == 3
        table.add_column("n", kind)
        for found in (reader.refresh(), table, IndexTable.open(table.path)):
            assert values(found, "n") == [None, None, None]
            assert (found.scan().min("n"), found.count("n IS NULL"), found.count("n IS NOT NULL")) == (None, 3, 0)
            assert found.scan(where="n IS NOT NULL").explain().never == 2
            assert found.count(query="n:1") == 0
        assert table.check(deep=True).ok

    def test_several_columns_in_one_version(self, table: IndexTable) -> None:
        assert table.drop_columns(["n", "LEVEL"]) == 2
        assert table.schema.names == ["day", "app", "message"]
        assert table.drop_columns(["n", "app"], missing_ok=True) == 3
        assert table.drop_columns(["n"], missing_ok=True) == 3

    def test_all_columns_of_a_split_can_be_dropped(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", {"a": pa.int64()})
        table.append([{"a": 1}, {"a": 2}])
        table.add_column("b", "string")
        table.drop_column("a")
        assert table.scan().to_arrow().to_pylist() == [{"b": None}, {"b": None}]
        table.add_column("a", "long")
        assert table.scan(where="a IS NULL").to_arrow().to_pylist() == [{"b": None, "a": None}] * 2
        assert table.count("a = 1") == 0

    @pytest.mark.parametrize(
        ("layout", "names", "reason"),
        [
            ("bucket(4, app)", ["app"], r"partitioned by bucket\(4, app\); change the layout first"),
            ("app", ["day", "n", "level", "message"], "only partition columns would be left"),
            ("", ["day", "n", "level", "message", "app"], "the table has no other column"),
            ("", ["n", "nowhere"], "no column 'nowhere'"),
        ],
    )
    def test_columns_that_are_needed_are_refused(self, layout: str, names: list[str], reason: str) -> None:
        table = created(partition_by=layout)
        with pytest.raises((SchemaError, LayoutError), match=reason):
            table.drop_columns(names)
        assert table.refresh().version == 0

    def test_a_column_that_rows_are_clustered_by_is_refused(self) -> None:
        table = created(properties={"spark.indextables.optimizeWrite.clusterBy": "n, app"})
        with pytest.raises(SchemaError, match="clusterBy is 'n, app'"):
            table.drop_column("N")


class TestOldLayouts:
    def test_the_source_of_an_old_layout_can_be_dropped(self, table: IndexTable) -> None:
        table.evolve_layout("app")
        table.append(data(row(1, 4)))
        table.drop_column("day")
        assert values(table, "n") == [1, 2, 3, 4]
        table.add_column("day", "date")
        table.evolve_layout("day")
        table.append(data(row(1, 5)))
        for found in (table, IndexTable.open(table.path)):
            assert values(found, "n", where="day = '2024-01-01'") == [5]
            assert values(found, "n", where="day IS NULL") == [1, 2, 3, 4]
            assert found.scan(where="day = '2024-01-01'").explain().never == 3
        assert table.check(deep=True, all_versions=True).ok

    def test_splits_of_such_a_layout_are_merged(self) -> None:
        table = created(partition_by="day, bucket(2, n) AS shard, app", properties={"coalesce.enabled": "true"})
        table.append(data(row(1, 1), row(2, 2), row(3, 3, app="x")))
        table.append(data(row(1, 4), row(2, 5), row(3, 6, app="x")))
        table.evolve_layout("app")
        table.drop_columns(["day", "n"])
        before = sorted(table.scan().to_arrow()["message"].to_pylist())
        table.merge_splits()
        assert sorted(table.scan().to_arrow()["message"].to_pylist()) == before
        assert table.count("app = 'x'") == 2
        table.merge_splits(rewrite_layout=True)
        assert sorted(table.scan().to_arrow()["message"].to_pylist()) == before
        assert set(table.splits()["spec_id"].to_pylist()) == {1}
        assert table.check(deep=True, all_versions=True).ok

    def test_shared_splits_are_pruned_by_the_new_name(self) -> None:
        table = created(partition_by="day, app", properties={"coalesce.enabled": "true"})
        table.append(data(row(1, 1), row(1, 2, app="x"), row(2, 3)))
        table.rename_column("app", "program")
        assert table.count("program = 'x'") == 1
        assert table.scan(where="program = 'x'").explain().never == 1
        groups = table.scan().group_by("program").count().to_pylist()
        assert groups == [{"program": "web", "count": 2}, {"program": "x", "count": 1}]
        assert table.check(deep=True).ok


class TestOthers:
    def test_an_append_that_loses_fails(self, table: IndexTable) -> None:
        for change in (lambda: table.rename_column("n", "number"), lambda: table.drop_column("level")):
            other = IndexTable.open(table.path)
            change()
            with pytest.raises(ConflictError, match="schema"):
                other.append(other.scan().to_arrow())
        assert table.refresh().count() == 3

    def test_a_rename_that_loses_against_an_append_is_made_again(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.append(data(row(1, 4)))
        other.rename_column("n", "number")
        assert values(other, "number") == [1, 2, 3, 4]

    def test_two_renames_conflict(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.rename_column("n", "number")
        with pytest.raises(ConflictError, match="both change"):
            other.rename_column("n", "amount")
        assert other.refresh().schema.names[2] == "number"

    def test_a_compaction_beside_a_rename_loses_nothing(self, table: IndexTable) -> None:
        table.append(data(row(1, 4)))
        other = IndexTable.open(table.path)
        table.rename_column("n", "number")
        table.drop_column("level")
        table.add_column("level", "string")
        other.merge_splits()
        found = IndexTable.open(table.path)
        assert values(found, "number") == [1, 2, 3, 4]
        assert values(found, "level") == [None] * 4
        assert found.check(deep=True).ok

    def test_a_drop_of_partitions_that_loses_is_planned_again(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.rename_column("n", "number")
        other.drop_partitions("day = '2024-01-01'")
        assert values(other, "number") == [3]

    def test_a_stream_ends_where_columns_change(self, table: IndexTable) -> None:
        log = TransactionLog.open(table.path)
        appended = AppendedSplits(log, log.snapshot())
        start = appended.latest()
        table.drop_column("message")
        table.add_column("message", "string", field="text")
        with pytest.raises(StreamSchemaError, match="message"):
            appended.advance(start)

    def test_an_incremental_scan_has_the_current_names(self, table: IndexTable) -> None:
        table.append(data(row(1, 4)))
        table.rename_column("n", "number")
        table.append(fitting(table, row(1, 0, number=5)))
        assert values_of(table.incremental_scan(1, where="number > 3"), "number") == [4, 5]
        assert values_of(table.incremental_scan(0, query="message:disk"), "number") == [1, 2, 3, 4, 5]

    def test_other_parquet_readers_see_the_names_of_the_time(self, tmp_path: Any) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA)
        table.append(data(row(1, 1)))
        table.rename_column("n", "number")
        table.drop_column("level")
        table.append(fitting(table, row(1, 0, number=2)))
        old, new = (pq.read_table(tmp_path / "t" / path) for path in table.splits()["path"].to_pylist())
        assert old.column_names == SCHEMA.names
        assert new.column_names == ["day", "app", "number", "message"]

    def test_tasks_carry_the_names(self, table: IndexTable) -> None:
        plan = table.scan().plan
        assert {task.split.renamed for task in plan.tasks} == {()}
        table.rename_column("n", "number")
        tasks = pickle.loads(pickle.dumps(table.scan().plan.tasks))
        assert {task.split.renamed for task in tasks} == {(("n", "number"),)}

    def test_splits_without_a_doc_mapping_are_refused(self, table: IndexTable) -> None:
        log = TransactionLog.open(table.path)
        path, size, rows = (table.splits()[name][0].as_py() for name in ("path", "size", "num_records"))
        foreign = Add(path=path, size=size, num_records=rows, modification_time=0, partition_values={"day": None})
        log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=[foreign]))
        with pytest.raises(IndexTablesError, match="1 of its splits"):
            table.refresh().rename_column("n", "number")


def values_of(scan: Any, column: str) -> list[Any]:
    return sorted(scan.to_arrow()[column].to_pylist())
