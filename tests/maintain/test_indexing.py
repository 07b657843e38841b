"""How columns are indexed changes on a table that has rows, and splits are indexed anew."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import ConflictError, SchemaError
from indextables.log import TransactionLog
from indextables.maintain.compact import Work
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.maintain.reindex import reindex, reindex_request
from indextables.search import FieldRule

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64(), "message": pa.string(), "level": pa.string()})


def rows(day: str, *messages: str | None, level: str = "WARN disk") -> pa.Table:
    count = len(messages)
    return pa.table(
        {"day": [day] * count, "n": range(count), "message": messages, "level": [level] * count}, schema=SCHEMA
    )


def new_table(path: object = None, **options: Any) -> IndexTable:
    """Two splits with words in `message`."""
    place = f"memory://{uuid4().hex}/t" if path is None else str(path)
    table = IndexTable.create(place, SCHEMA, partition_by="day", fields={"message": "text"}, **options)
    table.append(rows("mon", "disk full", None, "all is well"))
    table.append(rows("tue", "Disk broken", "full again"))
    return table


@pytest.fixture
def table() -> IndexTable:
    return new_table()


class TestSetIndexing:
    def test_words_are_found_in_splits_of_exact_values(self, table: IndexTable) -> None:
        assert table.count(query="level:disk") == 0
        assert table.set_indexing({"LEVEL": "text"}) == 3
        table.append(rows("wed", "fine", level="INFO disk"))
        assert (table.count(query="level:disk"), table.count(query="level:warn")) == (6, 5)
        assert table.count(query='level:"warn disk" AND message:full') == 2
        assert {str(rule) for rule in table.fields.values()} == {"string", "long", "text"}

    def test_exact_values_are_found_in_splits_of_words(self, table: IndexTable) -> None:
        table.set_indexing({"message": FieldRule("string")})
        assert (table.count(query="message:disk"), table.count(query='message:"disk full"')) == (0, 1)
        assert table.count(query="NOT message:*") == 1

    def test_another_tokenizer(self, table: IndexTable) -> None:
        table.set_indexing({"message": "text:whitespace"})
        assert (table.count(query="message:Disk"), table.count(query="message:disk")) == (1, 1)

    def test_old_versions_keep_their_rules(self, table: IndexTable) -> None:
        table.set_indexing({"message": "string"})
        assert table.at(version=2).count(query="message:disk") == 2

    def test_rules_of_before_get_their_number_again(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        table.set_indexing({"level": "string"})
        assert table.reindex(dry_run=True).splits == 0
        table.append(rows("wed", "fine"))
        assert table.splits()["doc_mapping_id"].unique().to_pylist() == [0]

    def test_the_rules_that_it_has_are_no_new_version(self, table: IndexTable) -> None:
        assert table.set_indexing({"message": "TEXT", "level": "string"}) == table.version == 2

    @pytest.mark.parametrize("fields", [{"gone": "text"}, {"n": "text"}, {"message": "words"}, {"message": "text:no"}])
    def test_impossible_rules_change_nothing(self, table: IndexTable, fields: dict[str, str]) -> None:
        with pytest.raises(SchemaError):
            table.set_indexing({"level": "text", **fields})
        assert IndexTable.open(table.path).version == 2

    def test_properties_follow(self) -> None:
        key = "spark.indextables.indexing.typemap.level"
        table = new_table(properties={key: "string"})
        table.set_indexing({"level": "text"})
        assert table.properties[key] == "text"
        table.append(rows("wed", "fine"))
        assert table.count(query="level:disk") == 6

    def test_a_property_that_contradicts_is_refused(self) -> None:
        table = new_table(properties={"indexing.exact.level": "hash"})
        with pytest.raises(SchemaError, match="level"):
            table.set_indexing({"level": "text"})

    def test_an_append_that_began_before(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.set_indexing({"level": "text"})
        other.append(rows("wed", "fine"))
        assert other.count(query="level:disk") == 6
        assert other.reindex().reindexed == 3

    def test_two_changes_at_once_do_not_undo_each_other(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        table.set_indexing({"level": "text"})
        with pytest.raises(ConflictError, match="field types"):
            other.set_indexing({"message": "string"})

    def test_a_column_that_splits_do_not_have(self, table: IndexTable) -> None:
        table.add_column("host", "string")
        table.set_indexing({"host": "text"})
        assert (table.count(query="host:web"), table.count(query="NOT host:web")) == (0, 5)
        assert table.reindex().reindexed == 0

    def test_a_compaction_indexes_by_the_current_rules(self, table: IndexTable) -> None:
        table.append(rows("mon", "more"))
        table.set_indexing({"level": "text"})
        assert table.merge_splits().merged == 1
        assert table.reindex().reindexed == 1
        assert table.count(query="level:disk") == 6


def test_all_rows_of_a_table_without_words() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", {"a": pa.string(), "n": pa.int64()})
    table.append(pa.table({"a": ["x", "y", None], "n": [1, 2, 3]}))
    assert [table.count(query=query) for query in ("*:*", "a:x OR *:*", "a:x AND *:*", "NOT *:*")] == [3, 3, 1, 0]
    assert table.search("*:*", limit=2)["_score"].to_pylist() == [1.0, 1.0]


class TestReindex:
    def test_rows_stay_where_they_are(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text", "message": "string"})
        before, paths = table.scan().to_arrow(), table.splits()["path"].to_pylist()
        result = table.reindex()
        assert (result.version, result.splits, result.reindexed, result.rows) == (4, 2, 2, 5)
        assert result.bytes_before > 0 < result.bytes_after
        assert table.scan().to_arrow().sort_by([("day", "ascending"), ("n", "ascending")]) == before
        assert set(paths).isdisjoint(table.splits()["path"].to_pylist())
        assert {path.split("/")[0] for path in paths} == {"day=mon", "day=tue"}
        last = table.history().slice(0, 1).to_pylist()[0]
        assert last["operation"] == "REINDEX"
        assert table.incremental_scan(2).count() == 0
        assert table.check(deep=True, sample=None).ok
        assert table.reindex() == type(result)(version=4)

    def test_the_words_are_found_by_the_index(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.set_indexing({"level": "text"})
        assert table.scan(query="level:absent").explain().pruned_by_terms == 0
        table.reindex()
        assert table.scan(query="level:absent").explain().pruned_by_terms == 2
        assert table.count(query="level:disk") == 5

    def test_only_some_columns_or_partitions(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        assert table.reindex("message").splits == 0
        assert table.reindex(["LEVEL"], dry_run=True).splits == 2
        assert table.reindex(where="day = 'mon'").reindexed == 1
        assert table.reindex().reindexed == 1
        with pytest.raises(SchemaError, match="gone"):
            table.reindex("gone")

    def test_a_dry_run_changes_nothing(self, table: IndexTable) -> None:
        table.set_indexing({"level": "none"})
        found = table.reindex(dry_run=True)
        assert (found.dry_run, found.splits, found.rows, found.reindexed) == (True, 2, 5, 0)
        assert str(found) == "2 splits with 5 rows would be reindexed (version 3)"
        assert IndexTable.open(table.path).version == 3

    def test_shared_splits_stay_shared(self) -> None:
        options = {"coalesce.enabled": "true"}
        table = IndexTable.create(
            f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day", fields={"message": "text"}, options=options
        )
        table.append(pa.concat_tables([rows("wed", "a", "b"), rows("mon", "c")]))
        before = table.splits().to_pylist()
        table.set_indexing({"level": "text"})
        table.reindex()
        (after,) = table.splits().to_pylist()
        assert after["logical_partitions"] == before[0]["logical_partitions"] is not None
        assert after["path"].rpartition("/")[0] == before[0]["path"].rpartition("/")[0]
        assert [table.count("day = 'mon'"), table.count("day = 'wed'", query="level:disk")] == [1, 2]

    def test_a_split_that_another_writer_removed_is_left_out(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        log = TransactionLog.open(table.path)

        def racing(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
            written = [work(group) for group in groups]
            other = IndexTable.open(table.path)
            other.drop_partitions("day = 'mon'")
            other.append(rows("wed", "fine", "well"))
            yield from written

        snapshot = log.snapshot()
        after, result = reindex(log, snapshot, reindex_request(snapshot, None, table=table.path), Config(), run=racing)
        assert (result.splits, result.reindexed, result.rows, len(result.conflicts)) == (2, 1, 2, 1)
        assert "reindex again" in result.conflicts[0]
        assert after.version == result.version == 6
        assert (table.refresh().count(), table.count(query="level:disk")) == (4, 4)
        assert table.check(deep=True).ok

    def test_a_split_that_cannot_be_read_is_left_as_it_is(self, tmp_path: Path) -> None:
        table = new_table(tmp_path / "t")
        table.set_indexing({"level": "text"})
        broken = next((tmp_path / "t").glob("day=mon/*.split"))
        content = broken.read_bytes()
        broken.write_bytes(content[:100] + bytes(200) + content[300:])
        result = table.reindex()
        assert (result.reindexed, [Path(path).name for path in result.damaged]) == (1, [broken.name])

    def test_health_recommends_it(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        assert "table.reindex()" in str(table.health())
        table.reindex()
        assert "reindex" not in str(table.health())


class TestUnsetProperties:
    def test_keys_come_one_by_one_or_in_a_list(self, table: IndexTable) -> None:
        table.set_properties({"a": "1", "b": "2", "c": "3"})
        table.unset_properties(["a", "b"])
        assert table.properties == {"c": "3"}
        table.unset_properties("c")
        assert table.properties == {}


class TestWithOtherChanges:
    def test_columns_that_change_names(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        assert table.count(query="level:disk") == 5
        table.rename_column("level", "old")
        table.rename_column("message", "level")
        assert (table.count(query="old:warn"), table.count(query="level:full")) == (5, 2)
        table.set_indexing({"level": "string", "old": "string"})
        assert (table.count(query="old:warn"), table.count(query="level:full")) == (0, 0)
        table.set_indexing({"level": "text:whitespace"})
        assert (table.count(query="level:Disk"), table.reindex(dry_run=True).splits) == (1, 2)
        assert table.reindex().reindexed == 2
        assert (table.count(query="level:Disk"), table.count(query='old:"WARN disk"')) == (1, 5)
        assert table.check(deep=True, sample=None).ok

    def test_deleted_rows_stay_deleted(self) -> None:
        table = IndexTable.create(
            f"memory://{uuid4().hex}/t", SCHEMA, partition_by="day", options={"coalesce.enabled": "true"}
        )
        table.append(pa.concat_tables([rows("mon", "a", "b"), rows("tue", "c", "d")]))
        table.delete("message IN ('a', 'd')")
        table.set_indexing({"message": "text"})
        assert [table.count(query=query) for query in ("message:a", "message:b", "*:*")] == [0, 1, 2]
        result = table.reindex()
        assert (result.reindexed, result.rows) == (1, 2)
        assert [table.count(query=query) for query in ("message:a", "message:b", "*:*")] == [0, 1, 2]
        assert (table.count("day = 'mon'"), table.count("day = 'tue'")) == (1, 1)
        assert table.check(deep=True, sample=None).ok

    def test_a_delete_at_the_same_time_wins(self, table: IndexTable) -> None:
        table.set_indexing({"level": "text"})
        log = TransactionLog.open(table.path)

        def racing(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
            written = [work(group) for group in groups]
            IndexTable.open(table.path).delete("n = 2")
            yield from written

        snapshot = log.snapshot()
        _, result = reindex(log, snapshot, reindex_request(snapshot, None, table=table.path), Config(), run=racing)
        assert (result.reindexed, len(result.conflicts)) == (1, 1)
        assert (table.refresh().count(), table.count(query="level:disk"), table.reindex().conflicts) == (4, 4, ())
