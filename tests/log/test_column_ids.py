"""Column ids: names of columns in metadata, in the splits table, in checkpoints and in version files."""

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from msgspec import structs

from indextables import IndexTable
from indextables.errors import CorruptLogError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.action_validation import check_change, check_metadata
from indextables.log.actions import DocMapping, FieldMapping, Metadata, PartitionSpec, SpecField
from indextables.log.column_ids import column_ids, ids_for, other_columns, renamed_columns, stored_name, with_column_ids
from indextables.schema import to_json

LONG = FieldMapping(type="long")


def mapping(number: int, *, complete: bool = True, **ids: int) -> DocMapping:
    return DocMapping(doc_mapping_id=number, fields=dict.fromkeys(ids, LONG), complete=complete, column_ids=ids)


def metadata(*mappings: DocMapping, columns: str, highest: int | None = 9, **more: Any) -> Metadata:
    schema = pa.schema(dict.fromkeys(columns.split(), pa.int64()))
    current = mappings[-1].doc_mapping_id
    given = {"doc_mappings": list(mappings), "current_doc_mapping_id": current, "max_column_id": highest, **more}
    return Metadata(id="t", schema=to_json(schema), **given)


class TestNames:
    def test_a_table_without_ids_goes_by_names(self) -> None:
        plain = structs.replace(mapping(0, a=1), column_ids={})
        table = metadata(plain, columns="a b", highest=None)
        assert (column_ids(table), renamed_columns(table), ids_for(["a", "c"], table)) == ({}, {}, ({}, None))
        assert (stored_name("a", plain, table), stored_name("b", plain, table)) == ("a", None)

    def test_only_mappings_with_other_names_are_listed(self) -> None:
        table = metadata(mapping(0, a=1), mapping(1, a=1, b=2), mapping(2, c=1, b=2), columns="c b")
        assert renamed_columns(table) == {0: {"a": "c"}, 1: {"a": "c"}}
        assert stored_name("c", table.doc_mappings[0], table) == "a"
        assert stored_name("b", table.doc_mappings[0], table) is None

    def test_a_dropped_column_gives_way_to_another_one_of_its_name(self) -> None:
        dropped = metadata(mapping(0, a=1, b=2), mapping(1, b=2), columns="b")
        assert renamed_columns(dropped) == {}
        added = metadata(mapping(0, a=1, b=2), mapping(1, b=2, A=3), columns="b A")
        assert renamed_columns(added) == {0: {"a": "a (dropped column 1)"}}
        assert stored_name("A", added.doc_mappings[0], added) is None
        assert other_columns(dropped, added) == []
        taken = metadata(
            mapping(0, **{"a": 1, "a (dropped column 1)": 2}), mapping(1, **{"a": 3, "a (dropped column 1)": 2}),
            columns="a",
        )  # fmt: skip
        assert renamed_columns(taken) == {0: {"a": "a (dropped column 1)'"}}

    def test_names_of_other_columns(self) -> None:
        before = metadata(mapping(0, a=1, b=2), columns="a b")
        swapped = metadata(mapping(0, a=1, b=2), mapping(1, b=1, a=2), columns="b a")
        again = metadata(mapping(0, a=1, b=2), mapping(1, a=3, b=2), columns="a b")
        assert sorted(other_columns(before, swapped)) == ["a", "b"]
        assert other_columns(before, again) == ["a"]

    def test_a_mapping_that_is_not_complete_may_have_ids_of_more_columns(self) -> None:
        table = metadata(mapping(0, complete=False, a=1, b=2), columns="a")
        check_metadata(table)
        assert column_ids(table) == {"a": 1}

    def test_ids_are_given_once_and_never_again(self) -> None:
        plain = [structs.replace(mapping(n, complete=n == 1, a=1), column_ids={}) for n in range(2)]
        table = with_column_ids(metadata(*plain, columns="a b", highest=None))
        assert [m.column_ids for m in table.doc_mappings] == [{"a": 1, "b": 2}, {"a": 1}]
        assert (table.max_column_id, with_column_ids(table)) == (2, table)
        later = metadata(mapping(0, a=1, b=2), mapping(1, b=2), columns="b", highest=2)
        assert ids_for(["b", "a", "c"], later) == ({"b": 2, "a": 3, "c": 4}, 4)


class TestValidation:
    @pytest.mark.parametrize(
        "wrong",
        [
            metadata(mapping(0, a=1), columns="a b"),
            metadata(mapping(0, a=1, b=1), columns="a b"),
            metadata(mapping(0, a=10), columns="a"),
        ],
    )
    def test_ids_that_cannot_be_are_refused(self, wrong: Metadata) -> None:
        with pytest.raises(ValueError, match="id"):
            check_metadata(wrong)

    def test_ids_do_not_change(self) -> None:
        before = metadata(mapping(0, a=1), columns="a")
        check_change(before, metadata(mapping(0, a=1), mapping(1, b=1), columns="b"))
        for wrong in (metadata(mapping(0, a=2), columns="a"), metadata(mapping(0, a=1), columns="a", highest=8)):
            with pytest.raises(ValueError, match="column id"):
                check_change(before, wrong)

    def test_specs_keep_their_fields(self) -> None:
        def over(source: str, transform: str, name: str = "day") -> Metadata:
            field = SpecField(source=source, transform=transform, name=name)
            return metadata(mapping(0, a=1), columns="a", partition_specs=[PartitionSpec(spec_id=0, fields=[field])])

        check_change(over("a", "identity"), over("b", "identity"))
        check_change(over("a", "identity"), over("a", "void"))
        for wrong in (over("a", "bucket[2]"), over("a", "identity", "other")):
            with pytest.raises(ValueError, match="spec 0"):
                check_change(over("a", "identity"), wrong)


class TestLogs:
    @pytest.fixture
    def table(self) -> IndexTable:
        schema = {"day": pa.string(), "n": pa.int64(), "m": pa.int64()}
        table = IndexTable.create(f"memory://{uuid4().hex}/t", schema, partition_by="day")
        table.append([{"day": "mon", "n": 1, "m": 10}, {"day": "tue", "n": 2, "m": 20}])
        return table

    @pytest.mark.parametrize("checkpoints", [{1}, {2}, {3}, {1, 4}, {5}, set()])
    def test_a_checkpoint_at_any_version_gives_the_same_splits(self, table: IndexTable, checkpoints: set[int]) -> None:
        changes = [
            lambda: table.rename_column("day", "date"),
            lambda: table.rename_column("n", "number"),
            lambda: table.drop_column("m"),
            lambda: table.add_column("m", "long"),
            lambda: table.rename_column("m", "n"),
        ]
        for change in changes:
            if table.version in checkpoints:
                table.checkpoint()
            change()
        opened = TransactionLog.open(table.path).snapshot().splits
        assert [split["date"]["value"] for split in opened["partition"].to_pylist()] == ["mon", "tue"]
        assert opened["min"].to_pylist() == [{"date": d, "number": n, "n": None} for d, n in (("mon", 1), ("tue", 2))]
        assert opened["null_count"].to_pylist() == [{"date": 0, "number": 0, "n": 1}] * 2
        followed = TransactionLog.open(table.path).snapshot(1).advanced(TransactionLog.open(table.path).versions(2, 6))
        assert followed.splits.equals(opened)

    def test_a_log_without_renames_has_no_ids(self, table: IndexTable) -> None:
        table.add_column("host", "string")
        metadata = TransactionLog.open(table.path).snapshot().metadata
        assert (metadata.max_column_id, [m.column_ids for m in metadata.doc_mappings]) == (None, [{}, {}])

    def test_a_writer_that_forgets_the_ids_is_found_out(self, table: IndexTable) -> None:
        table.rename_column("n", "number")
        log = TransactionLog.open(table.path)
        snapshot = log.snapshot()
        lost = [structs.replace(m, column_ids={}) for m in snapshot.metadata.doc_mappings]
        wrong = structs.replace(snapshot.metadata, doc_mappings=lost, max_column_id=None)
        log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=wrong))
        with pytest.raises(CorruptLogError, match="column id"):
            TransactionLog.open(table.path).snapshot()
