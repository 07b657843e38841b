"""An overwrite that replaces the columns, the layout and the field types together with the rows."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable, Layout
from indextables.errors import ConfigError, ConflictError, LayoutError, SchemaError, StreamSchemaError

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "region": pa.string(), "id": pa.int64(), "message": pa.string()})
REPLACE = {"overwriteSchema": "true"}


def rows(*ids: int) -> pa.Table:
    count = len(ids)
    times = [datetime(2024, 1, 1, tzinfo=UTC)] * count
    return pa.table({"ts": times, "region": ["eu"] * count, "id": ids, "message": ["disk full"] * count}, schema=SCHEMA)


@pytest.fixture
def table() -> IndexTable:
    table = IndexTable.create(
        f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day(ts), region", fields={"message": "text"}
    )
    table.append(rows(1, 2))
    return table


OTHER = pa.table({"ts": ["a", "b"], "id": [b"1", b"2"], "message": ["disk is full", "well"], "n": [1, 2]})


class TestReplaced:
    def test_columns_layout_and_rows_change_together(self, table: IndexTable) -> None:
        assert table.overwrite(OTHER, options={**REPLACE, "partitionBy": "bucket(4, n)"}) == 2
        again = IndexTable.open(table.path)
        assert again.schema == OTHER.schema
        assert again.layout == Layout.parse("bucket(4, n)")
        assert again.scan().to_arrow().sort_by("n") == OTHER
        assert (again.count("ts = 'a'"), again.count("ts > '2020-01-01'"), again.count("n = 2")) == (1, 2, 1)
        assert [rule.type for rule in again.fields.values()] == ["string", "none", "text", "long"]
        assert again.count(query="message:disk") == 1
        assert again.check(deep=True).ok

    def test_old_versions_keep_their_schema(self, table: IndexTable) -> None:
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})
        old = table.at(version=1)
        assert (old.schema, str(old.layout)) == (SCHEMA, "day(ts), region")
        assert old.count("ts >= '2024-01-01' AND region = 'eu' AND id = 1", query="message:full") == 1

    def test_it_goes_on(self, table: IndexTable) -> None:
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": "n"})
        table.append(OTHER)
        table.merge_splits()
        table.checkpoint()
        again = IndexTable.open(table.path)
        assert (again.count(), again.count("n = 1"), len(again.splits())) == (4, 2, 2)
        again.overwrite(rows(7), options={**REPLACE, "partitionBy": "day(ts), region"})
        assert (again.schema, again.count("region = 'eu'"), again.count("id = 7")) == (SCHEMA, 1, 1)
        assert again.partitions()["partition"].to_pylist()[0]["region"] == "eu"

    def test_a_handle_that_has_seen_the_rows_of_before(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        assert len(other.splits()) == 1
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": "n"})
        assert other.refresh().scan(where="n = 2").to_arrow()["ts"].to_pylist() == ["b"]
        assert other.splits()["min"].to_pylist()[0]["ts"] == "a"

    def test_files_of_before_are_purged(self, tmp_path: Path) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day(ts)")
        table.append(rows(1))
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})
        table.purge(older_than="0 seconds", force=True)
        assert [path.parent.name for path in (tmp_path / "t").rglob("*.split")] == ["t"]

    def test_the_layout_stays_where_it_can(self, table: IndexTable) -> None:
        table.overwrite(rows(3).drop_columns(["message"]), options=REPLACE)
        assert (str(table.layout), table.schema.names) == ("day(ts), region", ["ts", "region", "id"])
        with pytest.raises(LayoutError, match="partitionBy with overwriteSchema"):
            table.overwrite(OTHER, options=REPLACE)
        assert table.version == 2

    def test_field_types_of_options(self, table: IndexTable) -> None:
        table.overwrite(rows(1), options={**REPLACE, "indexing.typemap.message": "string"})
        assert (table.fields["message"].type, table.schema, table.count(query="message:disk")) == ("string", SCHEMA, 0)

    def test_nothing_but_rows_may_change(self, table: IndexTable) -> None:
        table.overwrite(rows(5), options=REPLACE)
        assert (table.schema, table.count(), table.count("id = 5")) == (SCHEMA, 1, 1)

    def test_python_values_bring_their_types(self, table: IndexTable) -> None:
        table.overwrite([{"id": "x", "when": date(2024, 1, 1)}], options={**REPLACE, "partitionBy": ""})
        assert table.schema == pa.schema({"id": pa.string(), "when": pa.date32()})

    def test_without_it_other_columns_are_refused(self, table: IndexTable) -> None:
        with pytest.raises(SchemaError, match="no column 'n'"):
            table.overwrite(OTHER)
        with pytest.raises(SchemaError, match="no column 'n'"):
            table.overwrite(OTHER, options={"overwriteSchema": "false"})


class TestRefused:
    @pytest.mark.parametrize(
        "options",
        [{"replaceWhere": "region = 'eu'"}, {"partitionOverwriteMode": "dynamic"}],
        ids=min,
    )
    def test_a_part_of_the_table(self, table: IndexTable, options: dict[str, str]) -> None:
        with pytest.raises(ConfigError, match="overwriteSchema replaces the whole table"):
            table.overwrite(rows(1), options={**REPLACE, **options})
        handle = IndexTable.open(table.path, options=options)
        with pytest.raises(ConfigError, match="overwriteSchema replaces the whole table"):
            handle.overwrite(rows(1), options=REPLACE)

    def test_other_ways_to_write(self, table: IndexTable) -> None:
        with pytest.raises(ConfigError, match="needs mode overwrite"):
            table.append(rows(1), options=REPLACE)
        with pytest.raises(ConfigError, match="overwriteSchema replaces the whole table"):
            table.replace_where(rows(1), "region = 'eu'", options=REPLACE)
        with pytest.raises(ConfigError, match="option of one write"):
            table.set_properties(REPLACE)

    def test_properties_that_no_longer_fit(self, table: IndexTable) -> None:
        table.set_properties({"optimizeWrite.clusterBy": "region"})
        with pytest.raises(ConfigError, match=r"'region'.*unset the property first"):
            table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})


class TestConcurrently:
    @pytest.mark.parametrize(
        "winner",
        [
            lambda other: other.append(rows(9)),
            lambda other: other.overwrite(rows(9)),
            lambda other: other.set_properties({"a": "1"}),
            lambda other: other.set_indexing({"region": "text"}),
        ],
        ids=["append", "overwrite", "properties", "indexing"],
    )
    def test_it_loses(self, table: IndexTable, winner: Any) -> None:
        other = IndexTable.open(table.path)

        def racing() -> Iterator[pa.RecordBatch]:
            yield from OTHER.to_batches()
            winner(other)

        with pytest.raises(ConflictError):
            table.overwrite(racing(), options={**REPLACE, "partitionBy": ""})
        assert IndexTable.open(table.path).schema == SCHEMA

    def test_an_append_of_before_fails(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})
        with pytest.raises(ConflictError, match="schema"):
            other.append(rows(3))
        assert IndexTable.open(table.path).count() == 2

    def test_a_reindexing_or_compaction_does_not_hinder_it(self, table: IndexTable) -> None:
        table.append(rows(3))
        other = IndexTable.open(table.path)
        other.merge_splits()
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})
        assert IndexTable.open(table.path).scan().to_arrow().sort_by("n") == OTHER


class TestIncrementalScans:
    def test_rows_of_another_schema_are_refused(self, table: IndexTable) -> None:
        table.overwrite(OTHER, options={**REPLACE, "partitionBy": ""})
        with pytest.raises(StreamSchemaError, match="another type in column 'ts'"):
            table.incremental_scan(0, skip_change_commits=True).to_arrow()
        table.append(OTHER)
        assert table.incremental_scan(2).count() == 2
        assert table.incremental_scan(1, skip_change_commits=True).count() == 2

    def test_a_table_that_was_empty_before(self) -> None:
        table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA)
        table.overwrite(OTHER, options=REPLACE)
        assert table.incremental_scan(-1).count() == 2
