"""Changing the layout, the columns and the properties of a table that has rows."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable, Layout
from indextables.errors import ConfigError, ConflictError, LayoutError, SchemaError

SCHEMA = pa.schema(
    {"ts": pa.timestamp("us", "UTC"), "app": pa.string(), "n": pa.int32(), "x": pa.float32(), "message": pa.string()}
)


def row(day: int, app: str, n: int, **more: Any) -> dict[str, Any]:
    return {"ts": datetime(2024, 1, day, tzinfo=UTC), "app": app, "n": n, "x": n / 10, "message": "disk full", **more}


def data(*rows: dict[str, Any], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema)


@pytest.fixture
def table() -> IndexTable:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day(ts)", fields={"message": "text"})
    table.append(data(row(1, "a", 1), row(2, "b", 2)))
    return table


class TestLayout:
    def test_new_splits_follow_the_new_layout_and_old_ones_stay(self, table: IndexTable) -> None:
        before = table.splits()["path"].to_pylist()
        change = table.evolve_layout("month(ts), app")
        assert (change.version, change.spec_id, change.splits_of_other_layouts) == (2, 1, 2)
        assert change.layout == table.layout == Layout.parse("month(ts), app")
        table.append(data(row(1, "a", 3), row(20, "a", 4)))
        assert table.splits()["path"].to_pylist()[:2] == before
        assert table.splits()["spec_id"].to_pylist() == [0, 0, 1]
        assert table.scan(where="app = 'b'").explain().pruned_by_layout == 1
        assert table.count("ts < '2024-01-02'") == 2

    def test_a_layout_of_before_gets_its_number_again(self, table: IndexTable) -> None:
        table.evolve_layout("app")
        table.evolve_layout("")
        assert table.evolve_layout("day(ts)").spec_id == 0
        assert table.evolve_layout(["app"]).spec_id == 1
        assert IndexTable.open(table.path).layout == Layout.parse("app")

    def test_the_layout_it_has_is_no_new_version(self, table: IndexTable) -> None:
        assert table.evolve_layout("DAY(TS)").version == table.version == 1

    def test_a_renamed_field_is_another_layout(self, table: IndexTable) -> None:
        assert table.evolve_layout("day(ts) AS d").spec_id == 1
        table.append(data(row(1, "a", 9)))
        assert table.count("ts < '2024-01-02'") == 2
        assert table.scan(where="ts < '2024-01-02'").explain().pruned_by_layout == 1

    @pytest.mark.parametrize("layout", ["day(gone)", "hour(app)", "app, app", "day(ts) AS n"])
    def test_an_impossible_layout_changes_nothing(self, table: IndexTable, layout: str) -> None:
        with pytest.raises(LayoutError):
            table.evolve_layout(layout)
        assert IndexTable.open(table.path).version == 1

    def test_an_append_that_began_before_keeps_its_layout(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.evolve_layout("app")
        other.append(data(row(3, "c", 5)))
        assert other.splits()["spec_id"].to_pylist() == [0, 0, 0]
        assert other.layout == Layout.parse("app")

    def test_two_changes_at_once_do_not_undo_each_other(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.evolve_layout("app")
        with pytest.raises(ConflictError):
            other.evolve_layout("")

    def test_the_past_cannot_be_changed(self, table: IndexTable) -> None:
        with pytest.raises(Exception, match="shows the past"):
            table.at(version=1).evolve_layout("")


class TestAddColumn:
    def test_it_is_null_in_rows_that_are_there(self, table: IndexTable) -> None:
        assert table.add_column("level", "string", field="text") == 2
        table.append(data(row(3, "a", 3, level="very loud"), schema=table.schema))
        assert table.scan(columns=["level"]).to_arrow()["level"].to_pylist() == [None, None, "very loud"]
        assert table.search("level:loud")["n"].to_pylist() == [3]
        assert table.count(query="NOT level:loud") == 2

    def test_the_log_knows_that_it_is_null(self, table: IndexTable) -> None:
        table.add_column("level", "string")
        table.add_column("code", pa.int64())
        table.append(data(row(3, "a", 3, level="x", code=7), schema=table.schema))
        assert table.scan(where="level IS NULL").explain().always == 2
        assert table.scan(where="code > 3").explain().never == 2
        for split in table.splits()["path"].to_pylist()[:2]:
            table._log.store.delete([split])
        assert table.count("level IS NULL AND code IS NULL") == 2
        assert (table.scan().min("code"), table.scan().max("code")) == (7, 7)

    def test_groups_of_a_column_that_became_the_layout_are_known(self, table: IndexTable) -> None:
        table.add_column("region", "string")
        table.evolve_layout("region")
        table.append(data(row(3, "a", 3, region="eu"), schema=table.schema))
        for split in table.splits()["path"].to_pylist():
            table._log.store.delete([split])
        groups = table.scan().group_by("region").count().to_pylist()
        assert groups == [{"region": "eu", "count": 1}, {"region": None, "count": 2}]

    @pytest.mark.parametrize(
        ("name", "kind", "field", "what"),
        [
            ("APP", "string", None, "has a column 'app' already"),
            ("tags", pa.list_(pa.string()), None, "cannot hold"),
            ("v", "varchar", None, "'varchar' is not a type"),
            ("v", "long", "text", "cannot be indexed as 'text'"),
            ("", "long", None, "empty name"),
        ],
    )
    def test_what_cannot_be_is_refused(self, table: IndexTable, name: str, kind: Any, field: Any, what: str) -> None:
        with pytest.raises(SchemaError, match=what):
            table.add_column(name, kind, field=field)
        assert IndexTable.open(table.path).version == 1

    def test_a_name_that_the_layout_uses_is_refused(self, table: IndexTable) -> None:
        with pytest.raises(LayoutError, match="ts_day"):
            table.add_column("ts_day", "date")

    def test_appends_of_before_and_after_go_together(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.add_column("code", "bigint")
        other.append(data(row(3, "c", 5)))
        assert table.refresh().count("code IS NULL") == 3


class TestWidenColumn:
    def test_older_rows_are_read_as_wider_ones(self, table: IndexTable) -> None:
        assert table.widen_column("N", "long") == 2
        assert table.widen_column("x", "double") == 3
        big = {**row(3, "a", 2**40), "x": 0.1}
        table.append(data(big, schema=table.schema))
        assert table.scan(columns=["n"]).to_arrow()["n"].to_pylist() == [1, 2, 2**40]
        assert table.count("n > 5000000000") == table.count(query="n:>5000000000") == 1
        assert table.count("n = 2") == table.count(query="n:2") == 1
        assert table.count("x = 0.1") == 1, "the float 0.1 of the first row is another number"
        assert table.count("x > 0.1 AND x < 0.2") == 1
        assert table.scan().max("n") == 2**40

    def test_a_column_that_is_not_indexed_stays_so(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, fields={"n": "none"})
        table.widen_column("n", "long")
        table.append(data(row(1, "a", 1), schema=table.schema))
        assert table.count("n = 1") == 1

    @pytest.mark.parametrize(("name", "kind"), [("n", "double"), ("n", "short"), ("app", "binary"), ("x", "long")])
    def test_what_would_change_values_is_refused(self, table: IndexTable, name: str, kind: str) -> None:
        with pytest.raises(SchemaError, match="without a rewrite"):
            table.widen_column(name, kind)

    def test_a_float_that_splits_are_partitioned_by_is_refused(self, table: IndexTable) -> None:
        table.evolve_layout("x")
        table.evolve_layout("")
        with pytest.raises(SchemaError, match="partitioned by x"):
            table.widen_column("x", "double")

    def test_partition_values_of_integers_go_on(self, table: IndexTable) -> None:
        table.evolve_layout("n")
        table.append(data(row(1, "a", 7)))
        table.widen_column("n", "long")
        table.append(data(row(1, "a", 7), row(1, "a", 2**40), schema=table.schema))
        assert table.scan(where="n = 7").explain().always == 2
        assert table.count("n = 7") == 2

    def test_rows_that_come_in_between_are_widened_too(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        other.append(data(row(3, "c", 5)))
        table.widen_column("n", "long")
        assert table.count("n = 5") == 1


class TestProperties:
    def test_a_setting_has_one_key_however_it_is_spelled(self, table: IndexTable) -> None:
        assert table.set_properties({"targetRecordsPerSplit": "1", "owner.team": "web"}) == 2
        table.append(data(row(3, "c", 5), row(3, "c", 6)))
        assert table.splits()["num_records"].to_pylist() == [1, 1, 1, 1]
        table.set_properties({"optimizewrite.TARGETRECORDSPERSPLIT": "7"})
        full = "spark.indextables.optimizeWrite.targetRecordsPerSplit"
        assert IndexTable.open(table.path).properties == {full: "7", "owner.team": "web"}
        assert table.unset_properties("targetRecordsPerSplit") == table.version
        assert table.properties == {"owner.team": "web"}
        assert table.history()["operation"].to_pylist()[0] == "ALTER TABLE"

    def test_what_changes_nothing_is_no_new_version(self, table: IndexTable) -> None:
        table.set_properties({"a": "1"})
        assert table.set_properties({"a": "1"}) == 2
        assert table.unset_properties("b", missing_ok=True) == 2

    @pytest.mark.parametrize(
        ("given", "error", "what"),
        [
            ({"spark.indextables.mergeOnWrit.enabled": "true"}, ConfigError, "did you mean"),
            ({"checkpoint.interval": "often"}, ConfigError, "must be"),
            ({"s3.secretKey": "hush"}, ConfigError, "for all to read"),
            ({"partitionBy": "app"}, LayoutError, "evolve_layout"),
            ({"indexing.typemap.message": "string"}, SchemaError, "is indexed as text"),
            ({"optimizeWrite.clusterBy": "nowhere"}, SchemaError, "nowhere"),
        ],
    )
    def test_a_setting_that_no_write_could_use_is_refused(
        self, table: IndexTable, given: dict[str, str], error: type[Exception], what: str
    ) -> None:
        with pytest.raises(error, match=what):
            table.set_properties({"a": "1", **given})
        assert (IndexTable.open(table.path).version, table.properties) == (1, {})

    def test_what_is_not_there_cannot_be_unset(self, table: IndexTable) -> None:
        table.set_properties({"a": "1"})
        with pytest.raises(ConfigError, match="no property b; its properties: a"):
            table.unset_properties("a", "b")
        assert IndexTable.open(table.path).properties == {"a": "1"}

    def test_changes_of_other_keys_go_together(self, table: IndexTable) -> None:
        one, other, third = (IndexTable.open(table.path) for _ in range(3))
        table.set_properties({"a": "1"})
        one.set_properties({"b": "2"})
        other.append(data(row(3, "c", 5)))
        assert other.properties == {"a": "1", "b": "2"}
        with pytest.raises(ConflictError, match="both set a"):
            third.set_properties({"a": "3"})
        third.refresh().unset_properties("a")
        assert IndexTable.open(table.path).properties == {"b": "2"}


def test_several_columns_change_in_one_commit_or_none(table: IndexTable) -> None:
    assert table.add_columns({"host": pa.string(), "size": pa.int32()}) == 2
    assert table.widen_columns({"size": pa.int64(), "x": pa.float64()}) == 3
    with pytest.raises(SchemaError, match="'n' is integer and cannot become short"):
        table.widen_columns({"n": pa.int16()})
    with pytest.raises(SchemaError, match="'app' already"):
        table.add_columns({"new": pa.int64(), "app": pa.int64()})
    assert IndexTable.open(table.path).version == 3
    assert table.schema.field("size").type == pa.int64()
